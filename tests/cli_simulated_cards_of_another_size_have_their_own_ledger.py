"""A simulated card is named by its place and its size: runs on cards of other sizes do not meet in one ledger."""
import json, os

from helper import COMMAND, run

LOOK = '''
import ctypes
cuda = ctypes.CDLL('libcuda.so.1')
assert cuda.cuInit(0) == 0
'''


def start(folder, *args):
    done = run([COMMAND, 'run', *args, '--', 'python3', '-c', LOOK], preload=False, CUQUOTA_DIR=folder)
    assert done.returncode == 0, done.stderr
    return done.stderr


def devices(folder):
    done = run([COMMAND, 'ps', '--json'], preload=False, CUQUOTA_DIR=folder)
    return {d['uuid']: d for d in json.loads(done.stdout)['devices']}


def test_sizes_and_places_are_apart(tmp_path):
    os.chmod(tmp_path, 0o1777)
    start(tmp_path, '-s', '1x16G')
    first = set(devices(tmp_path))
    start(tmp_path, '-s', '1x16G')
    assert len(first) == 1 and set(devices(tmp_path)) == first
    assert start(tmp_path, '-s', '1x24G', '-r', '20G') == ''
    assert len(devices(tmp_path)) == 2
    start(tmp_path, '-s', '2x24G')
    assert len(devices(tmp_path)) == 3

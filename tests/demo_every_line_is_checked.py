"""`make demo` succeeds, and fails when there is no cap: its lines are checked, not only printed.

timeout: 120
"""
import os, subprocess, sys

from helper import BUILD, SOURCE, environment
from sabotage import library


def demo(**settings):
    return subprocess.run([sys.executable, SOURCE / 'examples/demo/demo.py', '--build', BUILD, '--simulate'], text=True,
                          env=environment(preload=False, **settings), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=100)


def test_it_succeeds_and_fits_on_a_screen():
    before = set(os.listdir('/dev/shm')) if os.path.isdir('/dev/shm') else set()
    done = demo()
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'WRONG' not in done.stdout and done.stdout.rstrip().endswith('every line was checked')
    assert len(done.stdout.splitlines()) <= 40
    assert not [n for n in set(os.listdir('/dev/shm')) - before if n.startswith('cuquota-demo.')]


def test_it_fails_where_nothing_holds(tmp_path):
    empty = tmp_path / 'libempty.so'
    subprocess.run(['cc', '-shared', '-x', 'c', '-o', empty, '/dev/null'], check=True)
    done = demo(CUQUOTA_LIB=empty)
    assert done.returncode == 1 and 'WRONG' in done.stdout


def test_it_fails_where_a_hidden_card_is_found(tmp_path):
    """By one way of six: in NVML by its PCI address."""
    text = '	return found(rc, handle, device);\n}\n\nnvmlReturn_t nvmlDeviceGetHandleBySerial('
    leak = library(tmp_path, [('hooks/nvml_devices.c', text, text.replace('	return found(rc, handle, device);',
                                                                           '	if (device)\n		*device = handle;\n	return rc;'))])
    done = demo(CUQUOTA_LIB=leak)
    assert done.returncode == 1 and 'what alice finds is found NVML-PCI' in done.stdout, done.stdout

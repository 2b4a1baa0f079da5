"""A log file that cannot be written is said on stderr when a program starts with the GPU; one that can be is not made for nothing."""
from helper import python

START = '''
import ctypes
assert ctypes.CDLL('libcuda.so.1').cuInit(0) == 0
'''


def test_it_is_said_once(tmp_path):
    done = python(START, CUQUOTA_LOG_FILE=tmp_path / 'none/log')
    assert done.returncode == 0
    assert done.stderr.count('\n') == 1, done.stderr
    assert 'CUQUOTA_LOG_FILE="%s/none/log" cannot be written: No such file or directory; lines go to stderr' % tmp_path in done.stderr


def test_one_that_can_be_written_is_not_made_for_nothing(tmp_path):
    done = python(START, CUQUOTA_LOG_FILE=tmp_path / 'log')
    assert done.stderr == '' and not (tmp_path / 'log').exists()

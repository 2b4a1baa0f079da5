"""A limit for a device that is not here is a warning; a device that only CUDA_VISIBLE_DEVICES hides is not absent.

report: CP-03
"""
from helper import python

CODE = '''
import ctypes
driver = ctypes.CDLL('libcuda.so.1')
count = ctypes.c_int()
print(driver.cuInit(0), driver.cuDeviceGetCount(ctypes.byref(count)), count.value)
'''


def started(**settings):
    done = python(CODE, SIMGPU_DEVICES='24G,16G', **settings)
    assert done.returncode == 0, done.stderr
    return done


def test_an_absent_name_is_said_once_and_nothing_is_refused():
    done = started(CUQUOTA_MEMORY_LIMIT='GPU-00000000=1G,7=2G,0=4G,*=8G')
    assert done.stdout == '0 0 2\n'
    assert done.stderr.splitlines() == [
        'cuquota: CUQUOTA_MEMORY_LIMIT names GPU-00000000, which is not among the visible devices',
        'cuquota: CUQUOTA_MEMORY_LIMIT names device 7, but only 2 are visible',
    ]


def test_what_is_there_is_not_warned_of():
    done = started(CUQUOTA_MEMORY_LIMIT='1=4G,0=8G', CUDA_VISIBLE_DEVICES='0')
    assert done.stdout == '0 0 1\n'
    assert done.stderr == ''

"""A list that names a card that is not here: one line says so, the others of the list are there, and where none is left there
is no device, instead of all. A limit for such a card is a line as well.

report: UV-07
"""
import pytest

from helper import python

LOOK = '''
import ctypes
driver, nvml = ctypes.CDLL('libcuda.so.1'), ctypes.CDLL('libnvidia-ml.so.1')
def look_cuda():
    count = ctypes.c_int()
    rc = driver.cuInit(0)
    driver.cuDeviceGetCount(ctypes.byref(count))
    print('cuda', rc, count.value)
def look_nvml():
    count = ctypes.c_uint()
    assert nvml.nvmlInit_v2() == 0
    assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
    print('nvml', count.value)
'''
ABSENT = 'GPU-01234567-89ab-cdef-0123-456789abcdef'
WAYS = ['look_cuda()', 'look_nvml()', 'look_cuda(); look_nvml(); look_cuda()', 'look_nvml(); look_cuda(); look_nvml()']


def looked(code, **settings):
    done = python(LOOK + code, SIMGPU_DEVICES='24G,16G,8G', **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout.split('\n')[:-1], done.stderr.splitlines()


def shown(code, count):
    rc = 0 if count else 100
    return [('cuda %d %d' % (rc, count)) if 'cuda' in call else 'nvml %d' % count for call in code.split('; ')]


@pytest.mark.parametrize('code', WAYS)
@pytest.mark.parametrize('name', [ABSENT, 'GPU-01234567'])
def test_alone(code, name):
    out, said = looked(code, CUQUOTA_VISIBLE_DEVICES=name)
    assert out == shown(code, 0)
    assert said == ['cuquota: CUQUOTA_VISIBLE_DEVICES names %s, which is not here' % name]


@pytest.mark.parametrize('code', WAYS)
def test_an_index_alone(code):
    out, said = looked(code, CUQUOTA_VISIBLE_DEVICES='7')
    assert out == shown(code, 0)
    assert said == ['cuquota: CUQUOTA_VISIBLE_DEVICES names device 7, which is not here']


@pytest.mark.parametrize('code', WAYS)
def test_beside_one_that_is_here(code):
    out, said = looked(code, CUQUOTA_VISIBLE_DEVICES=ABSENT + ',1')
    assert out == shown(code, 1)
    assert said == ['cuquota: CUQUOTA_VISIBLE_DEVICES names %s, which is not here' % ABSENT]


def test_nothing_is_said_of_a_card_that_the_program_itself_does_not_want():
    uuid = python('''
import ctypes
nvml, handle, uuid = ctypes.CDLL('libnvidia-ml.so.1'), ctypes.c_void_p(), ctypes.create_string_buffer(96)
nvml.nvmlInit_v2(), nvml.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(handle)), nvml.nvmlDeviceGetUUID(handle, uuid, 96)
print(uuid.value.decode())
''', preload=False, SIMGPU_DEVICES='24G,16G,8G').stdout.strip()
    assert looked('look_cuda()', CUQUOTA_VISIBLE_DEVICES=uuid, CUDA_VISIBLE_DEVICES='') == (['cuda 100 0'], [])
    assert looked('look_cuda()', CUQUOTA_VISIBLE_DEVICES=uuid) == (['cuda 0 1'], [])


@pytest.mark.parametrize('limit', ['%s=1G', '%s=1G,*=2G'])
def test_a_limit_of_an_absent_card(limit):
    out, said = looked('look_cuda()', CUQUOTA_MEMORY_LIMIT=limit % ABSENT)
    assert out == ['cuda 0 3']
    assert said == ['cuquota: CUQUOTA_MEMORY_LIMIT names %s, which is not among the visible devices' % ABSENT]

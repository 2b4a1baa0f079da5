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


LIST = '''
import ctypes
nvml, card, instance, uuid = ctypes.CDLL('libnvidia-ml.so.1'), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(96)
nvml.nvmlInit_v2(), nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(card))
nvml.nvmlDeviceGetUUID(card, uuid, 96)
print(uuid.value.decode())
for i in range(2):
    nvml.nvmlDeviceGetMigDeviceHandleByIndex(card, i, ctypes.byref(instance))
    nvml.nvmlDeviceGetUUID(instance, uuid, 96)
    print(uuid.value.decode())
'''
DIVIDED = dict(SIMGPU_DEVICES='24G,16G', SIMGPU_MIG='0:10G+5G')


def started_divided(**settings):
    done = python(CODE, **DIVIDED, **settings)
    assert done.stdout == '0 0 1\n', done.stderr
    return [line.replace('cuquota: CUQUOTA_MEMORY_LIMIT names ', '') for line in done.stderr.splitlines()]


def test_an_instance_that_this_process_has_not_is_there_and_a_hidden_one_is_not():
    gpu, first, second = python(LIST, preload=False, **DIVIDED).stdout.split()
    old = 'MIG-%s/%d/0'
    keys = ','.join('%s=1G' % key for key in (first, second, gpu, old % (gpu, 1), old % (gpu, 2), 'MIG-' + second[4:12]))
    absent = ', which is not among the visible devices'
    for settings in {}, dict(CUDA_VISIBLE_DEVICES=second), dict(CUDA_VISIBLE_DEVICES='0'), dict(CUQUOTA_VISIBLE_DEVICES=gpu), \
            dict(CUQUOTA_VISIBLE_DEVICES='%s,%s' % (first, second)):
        assert started_divided(CUQUOTA_MEMORY_LIMIT=keys, **settings) == []
        assert started_divided(CUQUOTA_MEMORY_LIMIT='%s=1G,MIG-00=2G' % (old % (gpu, 3)), **settings) == \
            [old % (gpu, 3) + absent, 'MIG-00' + absent]
    # The GPU is there, as the one of the two lies on it.
    assert started_divided(CUQUOTA_MEMORY_LIMIT=keys, CUQUOTA_VISIBLE_DEVICES=second) == [first + absent, old % (gpu, 1) + absent]
    # Indices count the list, not what lies on a GPU of it.
    assert started_divided(CUQUOTA_MEMORY_LIMIT='0=1G,1=1G', CUQUOTA_VISIBLE_DEVICES='0') == ['device 1, but only 1 are visible']

"""A container is given two cards of the host, 1 and 3, and finds them as 0 and 1, with limits written for 1 and 3: an index
means the container's own order, and the one that is beyond it is said; a UUID is always right.

report: UV-05
"""
from helper import python

TOTALS = '''
import ctypes
driver, nvml = ctypes.CDLL('libcuda.so.1'), ctypes.CDLL('libnvidia-ml.so.1')
class Memory(ctypes.Structure):
    _fields_ = [(n, ctypes.c_ulonglong) for n in ('total', 'free', 'used')]
nvml.nvmlInit_v2()
count = ctypes.c_uint()
nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
for i in range(count.value):
    handle, memory, pci, ordinal, total = ctypes.c_void_p(), Memory(), ctypes.create_string_buffer(256), ctypes.c_int(), ctypes.c_size_t()
    uuid = ctypes.create_string_buffer(96)
    assert nvml.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(handle)) == 0
    assert nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0
    assert nvml.nvmlDeviceGetUUID(handle, uuid, 96) == 0
    assert nvml.nvmlDeviceGetPciInfo_v3(handle, pci) == 0
    assert driver.cuInit(0) == 0
    assert driver.cuDeviceGetByPCIBusId(ctypes.byref(ordinal), pci) == 0
    assert driver.cuDeviceTotalMem_v2(ctypes.byref(total), ordinal) == 0
    print(memory.total >> 30, total.value >> 30, uuid.value.decode())
'''
# The host's cards 1 and 3. CUDA has them in the other order.
CARDS = dict(SIMGPU_DEVICES='16G,24G', SIMGPU_CUDA_ORDER='reverse', CUDA_VISIBLE_DEVICES=None)


def totals(**settings):
    done = python(TOTALS, **CARDS, **settings)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len(rows) == 2
    for nvml, cuda, _ in rows:
        assert nvml == cuda
    return [int(row[0]) for row in rows], [row[2] for row in rows], done.stderr.splitlines()


def test_an_index_is_the_containers_own_and_one_beyond_is_said():
    shown, _, said = totals(CUQUOTA_MEMORY_LIMIT='1=4G,3=8G')
    assert shown == [16, 4]
    assert said == ['cuquota: CUQUOTA_MEMORY_LIMIT names device 3, but only 2 are visible']


def test_the_same_under_the_other_name_for_it():
    shown, _, said = totals(CUDA_DEVICE_MEMORY_LIMIT_1='4G', CUDA_DEVICE_MEMORY_LIMIT_3='8G')
    assert shown == [16, 4]
    assert len(said) == 1 and 'names device 3, but only 2 are visible' in said[0]


def test_a_uuid_is_always_right():
    _, uuid, _ = totals()
    shown, _, said = totals(CUQUOTA_MEMORY_LIMIT='%s=8G,%s=4G' % (uuid[1], uuid[0]))
    assert shown == [4, 8]
    assert said == []


def test_on_a_bare_host_the_list_says_what_is_counted():
    host = dict(SIMGPU_DEVICES='4G,16G,8G,24G', CUQUOTA_VISIBLE_DEVICES='1,3', CUQUOTA_MEMORY_LIMIT='1=4G,3=8G')
    done = python(TOTALS, **{**CARDS, **host})
    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [['16', '16'], ['4', '4']]
    assert done.stderr.splitlines() == ['cuquota: CUQUOTA_MEMORY_LIMIT names device 3, but only 2 are visible']

"""Python's ctypes, which looks up each function by dlsym, sees the cap."""
import helper

CLIENT = '''
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
G = 1 << 30
def call(name, *args):
    return getattr(cuda, name)(*args)
device, context = ctypes.c_int(), ctypes.c_void_p()
free, total = ctypes.c_size_t(), ctypes.c_size_t()
one, two = ctypes.c_uint64(), ctypes.c_uint64()
assert call("cuInit", 0) == 0
assert call("cuDeviceGet", ctypes.byref(device), 0) == 0
assert call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device) == 0
assert call("cuCtxSetCurrent", context) == 0
assert call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total)) == 0
print("total", total.value // G)
print("6G", call("cuMemAlloc_v2", ctypes.byref(one), ctypes.c_size_t(6 * G)))
print("3G", call("cuMemAlloc_v2", ctypes.byref(two), ctypes.c_size_t(3 * G)))
print("free", call("cuMemFree_v2", one))
'''


def test_sees_the_cap():
    r = helper.python(CLIENT, CUQUOTA_MEMORY_LIMIT='8G', SIMGPU_DEVICES='24G')
    assert r.returncode == 0, r.stderr
    assert r.stdout.split('\n')[:4] == ['total 8', '6G 0', '3G 2', 'free 0'], r.stdout + r.stderr

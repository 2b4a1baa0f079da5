"""For tests of several devices: their names, a program that uses some and looks at all by NVML, the ledgers and the truth."""
import json, os, sys

import pytest

from helper import BUILD, COMMAND, Client, python, run

MIB, GIB = 1 << 20, 1 << 30

NVML = r'''
import ctypes
from ctypes import byref, c_uint, c_uint64, c_void_p
ml = ctypes.CDLL('libnvidia-ml.so.1')
class First(ctypes.Structure):
    _fields_ = [(n, c_uint64) for n in ('total', 'free', 'used')]
class Second(ctypes.Structure):
    _fields_ = [('version', c_uint)] + [(n, c_uint64) for n in ('total', 'reserved', 'free', 'used')]
def handles():
    assert ml.nvmlInit_v2() == 0
    count, most = c_uint(), c_uint()
    assert ml.nvmlDeviceGetCount_v2(byref(count)) == 0
    for i in range(count.value):
        gpu = c_void_p()
        assert ml.nvmlDeviceGetHandleByIndex_v2(i, byref(gpu)) == 0
        yield gpu
        assert ml.nvmlDeviceGetMaxMigDeviceCount(gpu, byref(most)) == 0
        for k in range(most.value):
            one = c_void_p()
            if ml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, k, byref(one)) == 0:
                yield one
def name(handle):
    text = ctypes.create_string_buffer(96)
    assert ml.nvmlDeviceGetUUID(handle, text, 96) == 0
    return text.value.decode()
def memory(handle):
    first, second = First(), Second(version=ctypes.sizeof(Second) | 2 << 24)
    assert ml.nvmlDeviceGetMemoryInfo(handle, byref(first)) == 0
    assert ml.nvmlDeviceGetMemoryInfo_v2(handle, byref(second)) == 0
    assert (first.total, first.free, first.used) == (second.total, second.free, second.used)
    return first.total, first.free, first.used
def look():
    return {name(h): memory(h) for h in handles()}
'''


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """Ledgers and cards of each case's own: the ended members of the last one are still there for a moment."""
    for name in 'CUQUOTA_DIR', 'SIMGPU_DIR':
        os.mkdir(tmp_path / name)
        monkeypatch.setenv(name, str(tmp_path / name))


# One line asks, one answers.
MEMBER = NVML + r'''
import json, sys
cu = ctypes.CDLL('libcuda.so.1')
from ctypes import c_size_t, c_int
class Prop(ctypes.Structure):
    _fields_ = [('type', c_int), ('handles', c_int), ('place', c_int), ('id', c_int), ('win32', c_void_p), ('flags', c_uint64)]
blocks, contexts, here = [], [], 0
def start():
    count = c_int()
    for rc in cu.cuInit(0), cu.cuDeviceGetCount(byref(count)):
        if rc:
            return rc
    for i in range(count.value):
        contexts.append(None)
    return 0
def use(ordinal=0):
    """Its primary context is this thread's."""
    global here
    made = contexts[ordinal] or c_void_p()
    rc = 0 if contexts[ordinal] else cu.cuDevicePrimaryCtxRetain(byref(made), ordinal)
    rc = rc or cu.cuCtxSetCurrent(made)
    if not rc:
        contexts[ordinal], here = made, ordinal
    return rc
def uuids():
    """In CUDA's order, as the driver has them."""
    out = []
    for i in range(len(contexts)):
        raw = (ctypes.c_ubyte * 16)()
        assert cu.cuDeviceGetUuid_v2(raw, i) == 0
        x = bytes(raw).hex()
        out.append('GPU-%s-%s-%s-%s-%s' % (x[:8], x[8:12], x[12:16], x[16:20], x[20:]))
    return out
def info():
    free, total, whole = c_size_t(), c_size_t(), c_size_t()
    assert cu.cuMemGetInfo_v2(byref(free), byref(total)) == 0
    assert cu.cuDeviceTotalMem_v2(byref(whole), here) == 0
    assert whole.value == total.value
    return total.value, free.value
last = 0
def allocate(kind, size):
    """The block, or None; why not in `last`."""
    global last
    p, pitch = c_uint64(), c_size_t()
    if kind == 'linear':
        rc = cu.cuMemAlloc_v2(byref(p), c_size_t(size))
    elif kind == 'pitch':
        rc = cu.cuMemAllocPitch_v2(byref(p), byref(pitch), c_size_t(4096), c_size_t(-(-size // 4096)), 4)
    elif kind == 'managed':
        rc = cu.cuMemAllocManaged(byref(p), c_size_t(size), 1)
    elif kind == 'async':
        rc = cu.cuMemAllocAsync(byref(p), c_size_t(size), own_stream)
    elif kind == 'pool':
        rc = cu.cuMemAllocFromPoolAsync(byref(p), c_size_t(size), own_pool, own_stream)
    elif kind == 'heap':
        rc = cu.cuCtxSetLimit(2, c_size_t(size))
    else:
        rc = cu.cuMemCreate(byref(p), c_size_t(-(-size >> 21) << 21), byref(Prop(1, 0, 1, here)), c_uint64(0))
    last = rc
    return None if rc else (kind, p.value)
def take(kind, size):
    block = allocate(kind, size)
    if block:
        blocks.append(block)
    return 0 if block else last
def give(which=-1):
    return free(*blocks.pop(which))
def give_from(ordinal, which=-1):
    """By another thread, in the context of another device."""
    import threading
    out = []
    def work():
        out.append(cu.cuCtxSetCurrent(contexts[ordinal]) or give(which))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return out[0]
def free(kind, p):
    return cu.cuMemRelease(c_uint64(p)) if kind == 'vmm' else cu.cuMemFree_v2(c_uint64(p))
class Pool(ctypes.Structure):
    _fields_ = [('type', c_int), ('handles', c_int), ('place', c_int), ('id', c_int), ('win32', c_void_p), ('most', c_size_t),
                ('usage', ctypes.c_ushort), ('reserved', ctypes.c_ubyte * 54)]
own_pool, own_stream = c_void_p(), None
def stream():
    """What follows in stream order is in one of the device in use."""
    global own_stream
    own_stream = c_void_p()
    return cu.cuStreamCreate(byref(own_stream), 0)
def pool(place=1):
    """One of its own, on the device in use or in host memory (2)."""
    return cu.cuMemPoolCreate(byref(own_pool), byref(Pool(1, 0, place, here if place == 1 else 0)))
def pool_end():
    return cu.cuMemPoolDestroy(own_pool)
def current_pool():
    now = c_void_p()
    assert cu.cuDeviceGetMemPool(byref(now), here) == 0
    return now
def threshold(size):
    return cu.cuMemPoolSetAttribute(current_pool(), 4, byref(c_uint64(size)))
def reserved():
    value = c_uint64()
    assert cu.cuMemPoolGetAttribute(current_pool(), 5, byref(value)) == 0
    return value.value
def wait(how):
    if how == 'cuMemPoolTrimTo':
        return cu.cuMemPoolTrimTo(current_pool(), c_size_t(0))
    if how == 'cuEventSynchronize':
        event = c_void_p()
        return cu.cuEventCreate(byref(event), 0) or cu.cuEventSynchronize(event) or cu.cuEventDestroy_v2(event)
    return cu.cuCtxSynchronize() if how == 'cuCtxSynchronize' else cu.cuStreamSynchronize(own_stream)
def give_in_order(count):
    return sum(cu.cuMemFreeAsync(c_uint64(blocks.pop()[1]), own_stream) == 0 for _ in range(count))
def pairs_in_order(size, count):
    p = c_uint64()
    for _ in range(count):
        rc = cu.cuMemAllocAsync(byref(p), c_size_t(size), None) or cu.cuMemFreeAsync(p, None)
        if rc:
            return rc
    return 0
def reset():
    contexts[here] = None
    return cu.cuDevicePrimaryCtxReset_v2(here) or cu.cuDevicePrimaryCtxRelease_v2(here)
def take_some(count, kind, size):
    return sum(take(kind, size) == 0 for _ in range(count))
def give_some(count):
    return sum(give() == 0 for _ in range(count))
def churn(kinds, size, seconds):
    """A thread for each kind allocates and frees; how often each did."""
    import threading, time
    until, done = time.monotonic() + seconds, [0] * len(kinds)
    def work(k):
        own = c_void_p()
        assert cu.cuDevicePrimaryCtxRetain(byref(own), 0) == 0 and cu.cuCtxSetCurrent(own) == 0
        mine = []
        while time.monotonic() < until:
            p = allocate(kinds[k], size)
            if p:
                mine.append(p)
                done[k] += 1
            while mine and (not p or len(mine) > 3):
                assert free(*mine.pop(0)) == 0
        for one in mine:
            assert free(*one) == 0
    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(kinds))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return done
def until_refused(kind, size):
    count = 0
    while take(kind, size) == 0:
        count += 1
    return count
for line in sys.stdin:
    words = json.loads(line)
    print(json.dumps(globals()[words[0]](*words[1:])), flush=True)
'''


class Member(Client):
    """A program under the preload, with the devices that it names (None: all), on the first of them; `use` another."""

    def __init__(self, devices, start=0, use=True, **settings):
        super().__init__([sys.executable, '-c', MEMBER], CUDA_VISIBLE_DEVICES=devices, **settings)
        assert self.ask('start') == start
        if use and not start:
            assert self.ask('use') == 0

    def ask(self, *words):
        self.say(json.dumps(words))
        return json.loads(self.line())


def names(**cards):
    """The UUID of each card and of its instances, in NVML's order."""
    done = python(NVML + 'print(*[name(h) for h in handles()])', preload=False, CUDA_VISIBLE_DEVICES=None, **cards)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def look(**settings):
    """What a program that knows only NVML is shown of each: total, free, used."""
    done = python(NVML + 'import json; print(json.dumps(look()))', CUDA_VISIBLE_DEVICES=None, **settings)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ledgers(**settings):
    done = run([COMMAND, 'ps', '--json', '--all'], preload=False, **settings)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)['devices']


def used(**settings):
    """Bytes in the ledger of each device."""
    return {d['uuid']: sum(t['used'] for t in d['tenants']) for d in ledgers(**settings)}


def used_by(tenant, **settings):
    """Bytes of one tenant on each device."""
    return {d['uuid']: t['used'] for d in ledgers(**settings) for t in d['tenants'] if t['name'] == tenant}


def held(**settings):
    """Bytes that are really held of each device, by its UUID without what kind it is."""
    done = run([BUILD / 'simgpu/truth'], preload=False, **settings)
    assert done.returncode == 0, done.stderr
    return {d['uuid'][4:]: d['resident'] for d in json.loads(done.stdout)['devices']}

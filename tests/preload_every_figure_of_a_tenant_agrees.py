"""Random cards, limits, requests, visible lists and loads: cuMemGetInfo, cuDeviceTotalMem, both memory structures and the process
lists of NVML, `cuquota ps --json` and the ground truth of the cards say the same of every tenant. At rest exactly; while
others allocate or free, each within what was moved meanwhile. And what is shown as free can be had, no grain more.

timeout: 120
"""
import json, os, random, sys

import pytest

from helper import BUILD, COMMAND, Client, run

MIB, GRAIN = 1 << 20, 2 << 20
SEEDS = range(40) if os.environ.get('TEST_LONG') else (0, 1, 2, 3, 25, 34)

# A member. One line asks, one line answers; `look` answers for each device by UUID.
MEMBER = r'''
import ctypes, json, sys
from ctypes import byref, c_size_t, c_uint, c_int, c_uint64, c_void_p
cu, ml = ctypes.CDLL('libcuda.so.1'), ctypes.CDLL('libnvidia-ml.so.1')
class First(ctypes.Structure):
    _fields_ = [(n, c_uint64) for n in ('total', 'free', 'used')]
class Second(ctypes.Structure):
    _fields_ = [('version', c_uint)] + [(n, c_uint64) for n in ('total', 'reserved', 'free', 'used')]
class Row(ctypes.Structure):
    _fields_ = [('pid', c_uint), ('used', c_uint64), ('gi', c_uint), ('ci', c_uint)]
class Prop(ctypes.Structure):
    _fields_ = [('type', c_int), ('handles', c_int), ('place', c_int), ('id', c_int), ('win32', c_void_p), ('flags', c_uint64)]
def good(rc):
    assert rc == 0, rc
def nvml():
    good(ml.nvmlInit_v2())
    count, out = c_uint(), {}
    good(ml.nvmlDeviceGetCount_v2(byref(count)))
    for i in range(count.value):
        handle, uuid = c_void_p(), ctypes.create_string_buffer(96)
        first, second = First(), Second(version=ctypes.sizeof(Second) | 2 << 24)
        rows, n = (Row * 64)(), c_uint(64)
        good(ml.nvmlDeviceGetHandleByIndex_v2(i, byref(handle)))
        good(ml.nvmlDeviceGetUUID(handle, uuid, 96))
        good(ml.nvmlDeviceGetMemoryInfo(handle, byref(first)))
        good(ml.nvmlDeviceGetMemoryInfo_v2(handle, byref(second)))
        good(ml.nvmlDeviceGetComputeRunningProcesses_v3(handle, byref(n), rows))
        out[uuid.value.decode()] = dict(v1=[first.total, first.free, first.used], v2=[second.total, second.free, second.used],
            reserved=second.reserved, processes={rows[k].pid: rows[k].used for k in range(n.value)})
    good(ml.nvmlShutdown())
    return out
context, blocks = {}, []
def start():
    count = c_int()
    good(cu.cuInit(0))
    good(cu.cuDeviceGetCount(byref(count)))
    for i in range(count.value):
        raw, made = (ctypes.c_ubyte * 16)(), c_void_p()
        good(cu.cuDeviceGetUuid_v2(raw, i))
        good(cu.cuDevicePrimaryCtxRetain(byref(made), i))
        x = bytes(raw).hex()
        context['GPU-%s-%s-%s-%s-%s' % (x[:8], x[8:12], x[12:16], x[16:20], x[20:])] = i, made
def look():
    out = nvml()
    for uuid, (i, made) in context.items():
        free, total, whole = c_size_t(), c_size_t(), c_size_t()
        good(cu.cuCtxSetCurrent(made))
        good(cu.cuMemGetInfo_v2(byref(free), byref(total)))
        good(cu.cuDeviceTotalMem_v2(byref(whole), i))
        out[uuid].update(cuda=[total.value, free.value], whole=whole.value)
    return out
def take(uuid, kind, size):
    i, made = context[uuid]
    p, pitch = c_uint64(), c_size_t()
    good(cu.cuCtxSetCurrent(made))
    if kind == 'linear':
        rc = cu.cuMemAlloc_v2(byref(p), c_size_t(size))
    elif kind == 'pitch':
        rc = cu.cuMemAllocPitch_v2(byref(p), byref(pitch), c_size_t(4096), c_size_t(-(-size // 4096)), 4)
    elif kind == 'managed':
        rc = cu.cuMemAllocManaged(byref(p), c_size_t(size), 1)
    else:
        rc = cu.cuMemCreate(byref(p), c_size_t(-(-size >> 21) << 21), byref(Prop(1, 0, 1, i)), c_uint64(0))
    if not rc:
        blocks.append((kind, p.value))
    return rc
def give(which):
    kind, p = blocks.pop(which)
    good(cu.cuMemRelease(c_uint64(p)) if kind == 'vmm' else cu.cuMemFree_v2(c_uint64(p)))
    return 0
def grow(uuid, size, times):
    return sum(take(uuid, 'linear', size) == 0 for _ in range(times))
def shrink(times):
    for _ in range(times):
        give(-1)
    return times
def attempt(uuid, size):
    rc = take(uuid, 'linear', size)
    if not rc:
        give(-1)
    return rc
for line in sys.stdin:
    words = json.loads(line)
    print(json.dumps(globals()[words[0]](*words[1:])), flush=True)
'''


class Member(Client):
    def __init__(self, tenant, settings):
        super().__init__([sys.executable, '-c', MEMBER], **settings)
        self.tenant, self.blocks = tenant, 0

    def tell(self, *words):
        self.say(json.dumps(words))

    def answer(self):
        return json.loads(self.line())

    def ask(self, *words):
        self.tell(*words)
        return self.answer()


def truth(folders):
    out = json.loads(run([BUILD / 'simgpu/truth'], preload=False, **folders).stdout)
    return {d['uuid']: d for d in out['devices']}


def shown_by_ps(folders):
    done = run([COMMAND, 'ps', '--json', '--all'], preload=False, **folders)
    assert done.returncode == 0, done.stderr
    out = {}
    for device in json.loads(done.stdout)['devices']:
        out[device['uuid']] = {t['name']: t for t in device['tenants']}
    return out


def held(now, uuid, tenant):
    return now[uuid]['tags'].get(tenant, {'held': 0})['held']


def same(what, *values):
    assert len(set(map(json.dumps, values))) == 1, '%s: %s' % (what, values)


class Round:
    """Some tenants of one or two members each, on cards of their own."""

    def __init__(self, seed, folder):
        self.folders = {name: str(folder / name) for name in ('CUQUOTA_DIR', 'SIMGPU_DIR')}
        for path in self.folders.values():
            os.mkdir(path)
        self.chance = c = random.Random(seed)
        self.context = 2 * c.randrange(50, 200) * MIB
        cards = [c.randrange(8, 24) for _ in range(c.randrange(1, 4))]
        self.common = dict(self.folders, SIMGPU_DEVICES=','.join('%dG' % g for g in cards), SIMGPU_CONTEXT='%dM' % (self.context // MIB),
                           SIMGPU_CUDA_ORDER=c.choice(['reverse', 'pci']), CUQUOTA_LOG='off',
                           SIMGPU_RESERVED=c.choice(['0', '274M']))
        self.settings, self.members = {}, []
        for i in range(c.randrange(2, 4)):
            visible = c.choice(['all', ','.join(map(str, c.sample(range(len(cards)), c.randrange(1, len(cards) + 1))))])
            limit = c.choice(['none', '%dM' % c.randrange(3000, 30000), '%.1f%%' % c.uniform(40, 100), '0=%dG,*=3G' % c.randrange(3, 9)])
            request = c.choice(['0', '0', '%dM' % c.randrange(100, 2000)])
            self.settings['t%d' % i] = dict(self.common, CUQUOTA_VISIBLE_DEVICES=visible, CUQUOTA_MEMORY_LIMIT=limit,
                                            CUQUOTA_MEMORY_REQUEST=request, CUQUOTA_TENANT='t%d' % i, SIMGPU_TAG='t%d' % i,
                                            CUDA_VISIBLE_DEVICES=None)

    def __enter__(self):
        # One after the other: the first learns what a context takes.
        for tenant, settings in self.settings.items():
            for _ in range(self.chance.randrange(1, 3)):
                self.members.append(Member(tenant, settings))
                self.members[-1].ask('start')
        return self

    def __exit__(self, *error):
        for member in self.members:
            member.kill()

    def of(self, tenant):
        return [m for m in self.members if m.tenant == tenant]

    def spare(self, tenant):
        """One grain for small requests, which each member pays on each device."""
        return len(self.of(tenant)) * GRAIN

    def step(self):
        member, c = self.chance.choice(self.members), self.chance
        if member.blocks and c.random() < 0.4:
            assert member.ask('give', c.randrange(member.blocks)) == 0
            member.blocks -= 1
            return
        uuid = c.choice(sorted(member.ask('look')))
        rc = member.ask('take', uuid, c.choice(['linear', 'linear', 'pitch', 'managed', 'vmm']), c.randrange(GRAIN, 700 * MIB))
        assert rc in (0, 2)
        member.blocks += not rc

    def check_at_rest(self):
        now, ps = truth(self.folders), shown_by_ps(self.folders)
        looks = {m: m.ask('look') for m in self.members}
        for member, look in looks.items():
            for uuid, figures in look.items():
                here, row = (member.tenant, uuid), ps[uuid][member.tenant]
                total, free, used = figures['v1']
                limit = row['limit'] if row['limit'] is not None else now[uuid]['bytes']
                same(('NVML', here), figures['v1'], figures['v2'])
                same(('CUDA and NVML', here), figures['cuda'], figures['v1'][:2])
                same(('total', here), total, figures['whole'], min(limit, now[uuid]['bytes']))
                same(('used', here), used, row['used'], held(now, uuid, member.tenant) + self.spare(member.tenant))
                assert figures['reserved'] == 0
                left = now[uuid]['bytes'] - now[uuid]['resident']
                assert 0 <= free <= min(total - used, left), (here, free, total, used, left)
                # The command knows of the ledger alone, which has the spare grains as well.
                spares = sum(self.spare(t) for t in ps[uuid])
                assert row['free'] <= free <= row['free'] + spares, (here, free, row['free'], spares)
                same(('processes', here), figures['processes'],
                     {str(m['pid_in_namespace']): m['used'] for m in row['members'] if m['used']})
                assert sum(figures['processes'].values()) == used

    def check_from_outside(self):
        """One of the tenant that uses NVML alone, as nvidia-smi does."""
        tenant = self.chance.choice(sorted(self.settings))
        with Member(tenant, self.settings[tenant]) as other:
            seen, member = other.ask('nvml'), self.of(tenant)[0].ask('look')
            assert sorted(seen) == sorted(member)
            for uuid in seen:
                for what in ('v1', 'v2', 'processes'):
                    same((what, tenant, uuid, 'from outside'), seen[uuid][what], member[uuid][what])

    def check_free_can_be_had(self):
        member = self.chance.choice(self.members)
        for uuid, figures in member.ask('look').items():
            free = figures['cuda'][1] // GRAIN * GRAIN
            if free:
                assert member.ask('attempt', uuid, free) == 0, (member.tenant, uuid, free)
            assert member.ask('attempt', uuid, free + GRAIN) == 2, (member.tenant, uuid, free)

    def check_meanwhile(self, here, figures, rows, truths, slack):
        """`truths` before and after the look. Of one block it may not yet be said what the card says, or the other way round."""
        tenant, (total, free) = here[0], figures['cuda']
        low, high = sorted(t['tags'].get(tenant, {'held': 0})['held'] + self.spare(tenant) for t in truths)
        for what, used in ('v1', figures['v1'][2]), ('v2', figures['v2'][2]), ('ps', rows[tenant]['used']):
            assert low - slack <= used <= high + slack, (what, here, low, high, used, slack)
        same(('total', here), total, figures['whole'], figures['v1'][0], figures['v2'][0])
        left = [t['bytes'] - t['resident'] for t in truths]
        for what, most in ('cuda', free), ('v1', figures['v1'][1]), ('v2', figures['v2'][1]):
            assert most <= min(total - low, max(left)) + slack, (what, here, most, total, low, left)
            if not any(row['request'] for row in rows.values()):
                assert most >= min(total - high, min(left)) - slack, (what, here, most, total, high, left)

    def check_in_motion(self, grows):
        """One member allocates or frees, in one direction; others look meanwhile."""
        mover, size, times = self.chance.choice(self.members), self.chance.randrange(GRAIN, 3 * GRAIN), 300
        moved = self.chance.choice(sorted(mover.ask('look')))
        watchers = [m for m in self.members if m is not mover]
        block = -(-size // GRAIN) * GRAIN
        got = mover.ask('grow', moved, size, times) if not grows else 0
        mover.tell(*(('grow', moved, size, times) if grows else ('shrink', got)))
        for _ in range(3):
            for watcher in watchers:
                tenant, before = watcher.tenant, truth(self.folders)
                look, ps, after = watcher.ask('look'), shown_by_ps(self.folders), truth(self.folders)
                for uuid, figures in look.items():
                    slack = block if uuid == moved else 0
                    self.check_meanwhile((tenant, uuid), figures, ps[uuid], [t[uuid] for t in (before, after)], slack)
        done = mover.answer()
        assert grows or done == got
        if grows:
            mover.ask('shrink', done)


@pytest.mark.parametrize('seed', SEEDS)
def test_agreement(seed, tmp_path):
    with Round(seed, tmp_path) as r:
        r.check_at_rest()
        for turn in range(4):
            for _ in range(6):
                r.step()
            r.check_at_rest()
        r.check_free_can_be_had()
        r.check_in_motion(True)
        r.check_at_rest()
        r.check_in_motion(False)
        r.check_at_rest()
        r.check_from_outside()

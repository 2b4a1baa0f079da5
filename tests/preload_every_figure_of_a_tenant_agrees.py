"""Random cards, whole or divided into MIG instances, limits, requests, visible lists and loads: cuMemGetInfo, cuDeviceTotalMem,
both memory structures and the process lists of NVML, `cuquota ps --json` and the ground truth of the cards say the same of every
tenant, on each instance and on its GPU as well. At rest exactly; while others allocate or free, each within what was moved
meanwhile. And what is shown as free can be had, no grain more.

timeout: 120
"""
import json, os, random, sys

import pytest

from gpus import NVML, names
from helper import BUILD, COMMAND, Client, run

MIB, GRAIN = 1 << 20, 2 << 20
SEEDS = range(40) if os.environ.get('TEST_LONG') else (0, 1, 2, 3, 25, 34)
DIVIDED = range(40) if os.environ.get('TEST_LONG') else (0, 1, 2)

# A member. One line asks, one line answers; `look` answers for each device by UUID.
MEMBER = NVML + r'''
import json, sys
from ctypes import c_size_t, c_int
cu = ctypes.CDLL('libcuda.so.1')
class Row(ctypes.Structure):
    _fields_ = [('pid', c_uint), ('used', c_uint64), ('gi', c_uint), ('ci', c_uint)]
class Prop(ctypes.Structure):
    _fields_ = [('type', c_int), ('handles', c_int), ('place', c_int), ('id', c_int), ('win32', c_void_p), ('flags', c_uint64)]
def good(rc):
    assert rc == 0, rc
def nvml():
    out = {}
    for handle in handles():
        first, second = First(), Second(version=ctypes.sizeof(Second) | 2 << 24)
        rows, n = (Row * 64)(), c_uint(64)
        good(ml.nvmlDeviceGetMemoryInfo(handle, byref(first)))
        good(ml.nvmlDeviceGetMemoryInfo_v2(handle, byref(second)))
        good(ml.nvmlDeviceGetComputeRunningProcesses_v3(handle, byref(n), rows))
        out[name(handle)] = dict(v1=[first.total, first.free, first.used], v2=[second.total, second.free, second.used],
            reserved=second.reserved, processes={rows[k].pid: rows[k].used for k in range(n.value)})
    good(ml.nvmlShutdown())
    return out
context, blocks = {}, []
def start():
    count = c_int()
    good(cu.cuInit(0))
    good(cu.cuDeviceGetCount(byref(count)))
    for i in range(count.value):
        raw, whole, made = (ctypes.c_ubyte * 16)(), (ctypes.c_ubyte * 16)(), c_void_p()
        good(cu.cuDeviceGetUuid_v2(raw, i))
        good(cu.cuDeviceGetUuid(whole, i))
        good(cu.cuDevicePrimaryCtxRetain(byref(made), i))
        x = bytes(raw).hex()
        kind = 'GPU' if bytes(raw) == bytes(whole) else 'MIG'
        context['%s-%s-%s-%s-%s-%s' % (kind, x[:8], x[8:12], x[12:16], x[16:20], x[20:])] = i, made
    return list(context)
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
        self.tenant, self.blocks, self.devices = tenant, 0, []

    def tell(self, *words):
        self.say(json.dumps(words))

    def answer(self):
        return json.loads(self.line())

    def ask(self, *words):
        self.tell(*words)
        return self.answer()


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

    def __init__(self, seed, divided, folder):
        self.folders = {name: str(folder / name) for name in ('CUQUOTA_DIR', 'SIMGPU_DIR')}
        for path in self.folders.values():
            os.mkdir(path)
        self.chance = c = random.Random(seed)
        self.context = 2 * c.randrange(50, 200) * MIB
        cards = [c.randrange(8, 24) for _ in range(c.randrange(1, 4))]
        self.common = dict(self.folders, SIMGPU_DEVICES=','.join('%dG' % g for g in cards), SIMGPU_CONTEXT='%dM' % (self.context // MIB),
                           SIMGPU_CUDA_ORDER=c.choice(['reverse', 'pci']), CUQUOTA_LOG='off',
                           SIMGPU_RESERVED=c.choice(['0', '274M']))
        self.settings, self.members, self.mig = {}, [], random.Random(1000 + seed)
        if divided:
            self.divide(cards)
        self.learn()
        for i in range(c.randrange(2, 4)):
            visible = c.choice(['all', ','.join(map(str, c.sample(range(len(cards)), c.randrange(1, len(cards) + 1))))])
            limit = c.choice(['none', '%dM' % c.randrange(3000, 30000), '%.1f%%' % c.uniform(40, 100), '0=%dG,*=3G' % c.randrange(3, 9)])
            request = c.choice(['0', '0', '%dM' % c.randrange(100, 2000)])
            self.settings['t%d' % i] = dict(self.common, CUQUOTA_VISIBLE_DEVICES=visible, CUQUOTA_MEMORY_LIMIT=limit,
                                            CUQUOTA_MEMORY_REQUEST=request, CUQUOTA_TENANT='t%d' % i, SIMGPU_TAG='t%d' % i,
                                            CUDA_VISIBLE_DEVICES=None)
            if divided:
                self.settings['t%d' % i].update(self.of_instances())

    def divide(self, cards):
        parts = ['+'.join('%dM' % (g * 1024 // n) for n in self.mig.choice([(2, 4), (2, 3, 8), (3, 3), (1,)])) for g in cards]
        some = self.mig.sample(range(len(cards)), self.mig.randrange(1, len(cards) + 1))
        self.common['SIMGPU_MIG'] = ','.join('%d:%s' % (i, parts[i]) for i in some)

    def learn(self):
        """Who lies on which GPU; a whole one has nobody."""
        self.names, self.gpu = names(**self.common), {}
        for name in self.names:
            self.gpu[name] = name if name.startswith('GPU-') else gpu
            gpu = self.gpu[name]

    def of_instances(self):
        """A list and limits that name some."""
        c, out = self.mig, {}
        if c.random() < 0.5:
            out['CUQUOTA_VISIBLE_DEVICES'] = ','.join(c.sample(self.names, c.randrange(1, len(self.names) + 1)))
        if c.random() < 0.7:
            keys = c.sample(self.names, c.randrange(1, len(self.names) + 1))
            out['CUQUOTA_MEMORY_LIMIT'] = ','.join('%s=%dM' % (key, c.randrange(2000, 12000)) for key in keys)
            out['CUQUOTA_MEMORY_REQUEST'] = '0'
        return out

    def pick(self, tenant):
        """CUDA_VISIBLE_DEVICES of the next member."""
        said = self.settings[tenant]['CUQUOTA_VISIBLE_DEVICES']
        gpus = [n for n in self.names if n.startswith('GPU-')]
        keys = self.names if said == 'all' else [gpus[int(k)] if k.isdigit() else k for k in said.split(',')]
        return self.mig.choice([None] + [n for n in self.names if n in keys or self.gpu[n] in keys])

    def __enter__(self):
        # One after the other: the first learns what a context takes.
        for tenant, settings in self.settings.items():
            for _ in range(self.chance.randrange(1, 3)):
                if 'SIMGPU_MIG' in settings:
                    settings = dict(settings, CUDA_VISIBLE_DEVICES=self.pick(tenant))
                self.members.append(Member(tenant, settings))
                self.members[-1].devices = self.members[-1].ask('start')
        return self

    def __exit__(self, *error):
        for member in self.members:
            member.kill()

    def of(self, tenant):
        return [m for m in self.members if m.tenant == tenant]

    def spare(self, tenant, uuid):
        """One grain for small requests, which each member pays on each device, and on the GPU that it lies on."""
        return sum(uuid in m.devices or uuid in map(self.gpu.get, m.devices) for m in self.of(tenant)) * GRAIN

    def truth(self):
        """Of each device; of a divided GPU what its instances have together."""
        real = {d['uuid'][4:]: d for d in json.loads(run([BUILD / 'simgpu/truth'], preload=False, **self.folders).stdout)['devices']}
        out = {}
        for name in self.names:
            parts = [real[n[4:]] for n in self.names if name in (n, self.gpu[n])]
            out[name] = dict(bytes=real[name[4:]]['bytes'], resident=sum(p['resident'] for p in parts), tags={})
            for part in parts:
                for tag, figures in part['tags'].items():
                    out[name]['tags'].setdefault(tag, {'held': 0})['held'] += figures['held']
        return out

    def step(self):
        member, c = self.chance.choice(self.members), self.chance
        if member.blocks and c.random() < 0.4:
            assert member.ask('give', c.randrange(member.blocks)) == 0
            member.blocks -= 1
            return
        uuid = c.choice(sorted(member.devices))
        kind, size = c.choice(['linear', 'linear', 'pitch', 'managed', 'vmm']), c.randrange(GRAIN, 700 * MIB)
        # Managed memory may be more than a small instance has, which is then neither used nor free.
        if kind == 'managed' and 'SIMGPU_MIG' in self.common and size > member.ask('look')[uuid]['cuda'][1]:
            return
        rc = member.ask('take', uuid, kind, size)
        assert rc in (0, 2)
        member.blocks += not rc

    def check_at_rest(self):
        now, ps = self.truth(), shown_by_ps(self.folders)
        for member in self.members:
            look = member.ask('look')
            assert 'SIMGPU_MIG' in self.common or sorted(look) == sorted(member.devices)
            for uuid, figures in look.items():
                here, gpu = (member.tenant, uuid), self.gpu[uuid]
                assert ('cuda' in figures) == (uuid in member.devices)
                if member.tenant not in ps.get(uuid, {}):
                    # Nobody of the tenant has been there. Without a limit the real figures are shown.
                    assert not figures['processes'] and not held(now, uuid, member.tenant)
                    continue
                self.check_device(here, figures, now[uuid], [ps[n][member.tenant] for n in {uuid, gpu}], now[gpu])
                row, used = ps[uuid][member.tenant], figures['v1'][2]
                same(('used', here), used, row['used'], held(now, uuid, member.tenant) + self.spare(member.tenant, uuid))
                # The command knows of the ledger alone, which has the spare grains as well.
                spares = sum(self.spare(t, n) for n in {uuid, gpu} for t in ps[n])
                least = min(ps[n][member.tenant]['free'] for n in {uuid, gpu})
                assert least <= figures['v1'][1] <= least + spares, (here, figures, least, spares)
                same(('processes', here), figures['processes'],
                     {str(m['pid_in_namespace']): m['used'] for m in row['members'] if m['used']})
                assert sum(figures['processes'].values()) == used

    def check_device(self, here, figures, now, rows, gpu):
        """`rows` are the tenant's on the device and on its GPU."""
        total, free, used = figures['v1']
        same(('NVML', here), figures['v1'], figures['v2'])
        assert figures['reserved'] == 0
        limits = [row['limit'] for row in rows if row['limit'] is not None]
        if 'cuda' in figures:
            same(('CUDA and NVML', here), figures['cuda'], figures['v1'][:2])
            same(('total of CUDA', here), total, figures['whole'])
        same(('total', here), total, min(limits + [now['bytes'], gpu['bytes']]))
        left = now['bytes'] - now['resident']
        assert 0 <= free <= min(total - used, left), (here, free, total, used, left)

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
            if 'cuda' not in figures:
                continue
            free = figures['cuda'][1] // GRAIN * GRAIN
            # Who is alone on a device without a limit may have the grain for small requests too.
            more = GRAIN + (self.spare(member.tenant, uuid) if 'SIMGPU_MIG' in self.common else 0)
            if free:
                assert member.ask('attempt', uuid, free) == 0, (member.tenant, uuid, free)
            assert member.ask('attempt', uuid, free + more) == 2, (member.tenant, uuid, free)

    def check_meanwhile(self, tenant, uuid, look, ps, truths, slack):
        """`truths` before and after the look. Of one block it may not yet be said what the card says, or the other way round."""
        figures, gpu, here = look[uuid], self.gpu[uuid], (tenant, uuid)
        total, low, high = {}, {}, {}
        for n in {uuid, gpu}:
            total[n] = look[n]['v1'][0]
            low[n], high[n] = sorted(held(t, n, tenant) + self.spare(tenant, n) for t in truths)
        for what, used in ('v1', figures['v1'][2]), ('v2', figures['v2'][2]), ('ps', ps[uuid][tenant]['used']):
            assert low[uuid] - slack <= used <= high[uuid] + slack, (what, here, low, high, used, slack)
        same(('total', here), total[uuid], figures['v2'][0], *(figures[k] for k in ['whole'] if k in figures))
        left = [t[uuid]['bytes'] - t[uuid]['resident'] for t in truths]
        for what, most in ('v1', figures['v1'][1]), ('v2', figures['v2'][1]), ('cuda', figures.get('cuda', figures['v1'])[1]):
            assert most <= min(total[uuid] - low[uuid], max(left)) + slack, (what, here, most, total, low, left)
            if not any(row['request'] for n in {uuid, gpu} for row in ps[n].values()):
                assert most >= min([total[n] - high[n] for n in total] + [min(left)]) - slack, (what, here, most, total, high, left)

    def check_in_motion(self, grows):
        """One member allocates or frees, in one direction; others look meanwhile."""
        mover, size, times = self.chance.choice(self.members), self.chance.randrange(GRAIN, 3 * GRAIN), 300
        moved = self.chance.choice(sorted(mover.devices))
        watchers = [m for m in self.members if m is not mover]
        block = -(-size // GRAIN) * GRAIN
        got = mover.ask('grow', moved, size, times) if not grows else 0
        mover.tell(*(('grow', moved, size, times) if grows else ('shrink', got)))
        for _ in range(3):
            for watcher in watchers:
                before = self.truth()
                look, ps, after = watcher.ask('look'), shown_by_ps(self.folders), self.truth()
                for uuid in look:
                    slack = block if self.gpu[uuid] == self.gpu[moved] else 0
                    if watcher.tenant in ps.get(uuid, {}):
                        self.check_meanwhile(watcher.tenant, uuid, look, ps, (before, after), slack)
        done = mover.answer()
        assert grows or done == got
        if grows:
            mover.ask('shrink', done)


@pytest.mark.parametrize('divided, seed', [(False, seed) for seed in SEEDS] + [(True, seed) for seed in DIVIDED])
def test_agreement(divided, seed, tmp_path):
    with Round(seed, divided, tmp_path) as r:
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

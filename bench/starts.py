"""What is measured of whole programs: starts, races for the last byte, and the worst pair beside a member in trouble.

Each is a program of its own that does everything in C and prints one line; here it is run under each variant.
"""
import subprocess

from cells import Failed, Sample
from figures import Figure, share

GROUPS = []
RACE_LIMIT = 1 << 30
TROUBLES = {'none': 'runs as well', 'idle': 'runs SCHED_IDLE beside a busy loop', 'stop': 'is stopped again and again',
            'kill': 'is killed again and again', 'core': 'dumps core again and again'}


def group(name):
    def add(function):
        GROUPS.append((name, function))
        return function
    return add


def numbers(argv, env, folder, lines=False):
    """The numbers that a program prints, or the lines of them."""
    try:
        r = subprocess.run([str(a) for a in argv], env=env, cwd=folder, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        raise Failed('%s: no end within 120 s' % argv[0])
    rows = [[float(w) for w in line.split()] for line in r.stdout.splitlines()] if r.returncode == 0 else []
    if not rows:
        raise Failed('%s: status %d: %s' % (' '.join(map(str, argv[:4])), r.returncode, r.stderr.strip()[-300:]))
    return rows if lines else rows[0]


def of_each(setting, function):
    """{variant: what the function gives for it}; a peer that fails is left out."""
    found = {}
    for variant in setting.variants:
        try:
            found[variant] = function(variant)
        except Failed:
            if variant != 'peer':
                raise
    return found


def spawned(setting, ways, command, rounds, at_once=1):
    """Starts the command in each of the environments in turn; {way: Sample in ms}."""
    base = setting.environment('bare', setting.world())
    argv = [setting.program('spawn'), rounds, at_once]
    for i, env in enumerate(ways.values()):
        argv += [':'] * (i > 0) + ['%s=%s' % (k, v) for k, v in env.items() if base.get(k) != v]
    rows = numbers(argv + ['--'] + command, base, setting.folder, lines=True)
    return {way: Sample([row[i] / 1e6 for row in rows]) for i, way in enumerate(ways)}


@group('start.plain')
def start_plain(setting, budgets):
    """Bare is a preloaded library that does nothing: what the loader takes for any library is not ours."""
    world = setting.world()
    ways = {v: setting.environment(v, world) for v in setting.variants}
    ways['bare'] = {**ways['bare'], 'LD_PRELOAD': setting.program('empty.so')}
    ways['nothing'] = setting.environment('bare', world)
    samples = spawned(setting, ways, ['/bin/true'], 200 if setting.quick else 1000)
    note = 'without any preload %.3f ms' % samples.pop('nothing').median
    return [share('start.plain', 'start of /bin/true, added to an empty library', samples, budgets['start'], note=note)]


@group('start.cuda')
def start_cuda(setting, budgets):
    ways = {v: setting.environment(v, setting.world()) for v in setting.variants}
    samples = spawned(setting, ways, [setting.program('cell'), 'count=1'], 30 if setting.quick else 100)
    return [share('start.cuda', 'start, context, one pair, end', samples)]


@group('start.at_once')
def start_at_once(setting, budgets):
    ways = {v: setting.environment(v, setting.world()) for v in setting.variants}
    for env in ways.values():
        env['SIMGPU_DELAY'] = 'cuDevicePrimaryCtxRetain:100ms'
    samples = spawned(setting, ways, [setting.program('cell'), 'count=1'], 3 if setting.quick else 9, at_once=16)
    return [share('start.at_once', '16 programs at once, contexts of 100 ms', samples, budgets['start_at_once'])]


def race(setting, variant, family, killed):
    world = setting.world()
    env = setting.environment(variant, world, CUQUOTA_MEMORY_LIMIT='1G', CUQUOTA_LOG='off')
    env['SIMGPU_DEVICES'] = '8G'
    return numbers([setting.program('race'), 'family=' + family, 'kill=%d' % killed,
                    'ms=%d' % (300 if setting.quick else 800)], env, world)


@group('overshoot')
def overshoot(setting, budgets):
    figures = []
    for family in ('linear', 'small', 'managed', 'vmm'):
        for killed in (0, 20):
            rows = of_each(setting, lambda variant: race(setting, variant, family, killed))
            over = {v: row[0] - RACE_LIMIT for v, row in rows.items()}
            refused = rows['cuquota'][1]
            if over['cuquota'] < -RACE_LIMIT / 5 or not refused:
                raise Failed('no race: %d bytes below the limit, %d refusals' % (-over['cuquota'], refused))
            figures.append(Figure('overshoot.%s%s' % (family, '.killed' * (killed > 0)), '8 processes race for 1 GiB, %s%s' % (
                family, ', killed' * (killed > 0)), 'bytes', max(0, over['bare']), max(0, over['cuquota']),
                budget=budgets['overshoot'], peer=max(0, over['peer']) if 'peer' in over else None,
                note='%d bytes below, %d refusals' % (-over['cuquota'], refused) if over['cuquota'] <= 0 else None))
    return figures


def trouble_beside(setting, variant, trouble, at_limit):
    world = setting.world()
    # Two contexts of 16 MiB, two spare grains, and room for one block of 64 MiB but not for two.
    env = setting.environment(variant, world, CUQUOTA_LOG='off', CUQUOTA_MEMORY_LIMIT='140M' if at_limit else '20G')
    env['SIMGPU_DEVICES'] = '24G'  # a larger card takes longer to dump
    return numbers([setting.program('worst'), 'trouble=' + trouble, 'greedy=%d' % at_limit,
                    'ms=%d' % (400 if setting.quick else 1200)], env, world)


def worst(setting, budget, at_limit):
    figures = []
    for trouble, words in TROUBLES.items():
        rows = of_each(setting, lambda variant: trouble_beside(setting, variant, trouble, at_limit))
        took, refused = {v: row[0] / 1e6 for v, row in rows.items()}, rows['cuquota'][1]
        if at_limit and not refused:
            raise Failed('nothing was refused: this was not at the limit')
        figures.append(Figure('worst.%s%s' % ('limit.' * at_limit, trouble), 'worst pair%s while another %s' % (
            ' at the limit' * at_limit, words), 'ms', took['bare'], took['cuquota'], took['cuquota'] - took['bare'], budget,
            peer=took.get('peer'), note='%d refusals' % refused if at_limit else None))
    return figures


@group('worst.free')
def worst_free(setting, budgets):
    return worst(setting, budgets['worst'], False)


@group('worst.limit')
def worst_limit(setting, budgets):
    return worst(setting, budgets['worst_at_limit'], True)

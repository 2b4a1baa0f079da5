"""What is measured of pairs, memory queries and launches: each group is a function that measures a few figures at once.

A group gives its figures anew each time it is called; it is called again, twice at most, while one of them is missed.
"""
import os, time

from cells import PATIENCE, Cell, Failed, instructions, measure
from figures import Figure, added, rate

GROUPS = []  # (name, function) in the order of the table; the name begins the names of its figures
SLICE = 4000  # µs of work at a time
WARM = 30000  # and before it, uncounted, where there are more lines than a slice touches: the programs before took them from the cache
LIVE = (0, 1000, 10000, 100000, 1000000)
REQUEST = {'CUQUOTA_MEMORY_REQUEST': '256M'}  # of each tenant of a crowd
SMALL = 4096  # bytes; a million larger blocks fit no card


def group(name):
    def add(function):
        GROUPS.append((name, function))
        return function
    return add


def number(n):
    return '{:,}'.format(n)


def split(samples, key):
    """{variant: Sample} of those measured under (key, variant)."""
    return {k[1]: s for k, s in samples.items() if k[0] == key}


def live_cells(setting, counts, **options):
    return {(n, v): Cell(setting, v, live=n, bytes=SMALL if n == LIVE[-1] else 2 << 20, **options)
            for n in counts for v in setting.variants}


def count_instructions(setting, figure, **options):
    """Adds instructions for each call to a figure; where there is no valgrind, says so."""
    counts = {v: instructions(setting, v, **options) for v in setting.variants if v != 'peer'}
    figure.instructions = 'no valgrind' if None in counts.values() else counts
    return figure


@group('pair.newest')
def newest(setting, budgets):
    samples = measure(setting, live_cells(setting, LIVE), SLICE)
    figures = [added('pair.newest.%d' % n, 'pair, newest first, %s live' % number(n), split(samples, n), budgets['newest'])
               for n in LIVE]
    extra = [f.added for f in figures]
    flat = max(extra) / min(extra) if min(extra) > 0 else 1.0 if max(extra) <= 0 else float('nan')
    figures.append(Figure('pair.newest.flat', 'the same, dearest / cheapest', '×', added=flat, budget=budgets['newest_flat']))
    count_instructions(setting, figures[0])
    return figures


@group('pair.random')
def random_order(setting, budgets):
    samples = measure(setting, live_cells(setting, LIVE[1:], order='random'), 3 * SLICE, warm=WARM)
    return [added('pair.random.%d' % n, 'pair, random order, %s live' % number(n), split(samples, n),
                  budgets['random_million' if n == LIVE[-1] else 'random']) for n in LIVE[1:]]


@group('pair.oldest')
def oldest(setting, budgets):
    samples = measure(setting, live_cells(setting, LIVE[1:], order='oldest'), SLICE)
    return [added('pair.oldest.%d' % n, 'pair, oldest first, %s live' % number(n), split(samples, n)) for n in LIVE[1:]]


@group('pair.door')
def doors(setting, budgets):
    names = ('link', 'dlsym', 'resolver')
    samples = measure(setting, {(d, v): Cell(setting, v, door=d) for d in names for v in setting.variants}, SLICE)
    figures = [added('pair.door.%s' % d, 'pair, called by %s' % {'link': 'direct link', 'resolver': 'cuGetProcAddress'}.get(d, d),
                     split(samples, d)) for d in names]
    return [count_instructions(setting, f, door=d) for f, d in zip(figures, names)]


@group('pair.small')
def small(setting, budgets):
    sizes = {'4K': SMALL, '1M': 1 << 20, '1.5M': 3 << 19}
    cells = {(s, v): Cell(setting, v, bytes=b, live=100) for s, b in sizes.items() for v in setting.variants}
    samples = measure(setting, cells, SLICE)
    return [added('pair.small.%s' % s, 'pair of %sB, sharing grains' % s, split(samples, s)) for s in sizes]


def crowd(setting, cell, count, **options):
    """`count` idle members beside the cell: in its world, each with one block."""
    if not cell.why:
        Cell(setting, cell.variant, cell.world, job='idle', processes=count, live=1, **options)


@group('pair.idle')
def idle(setting, budgets):
    counts, cells = (0, 64, 256, 1000), {}
    for n in counts:
        for v in setting.variants:
            cells[n, v] = Cell(setting, v)
            if n and (v != 'peer' or n <= 256):
                crowd(setting, cells[n, v], n, tenants=32)
            elif n:
                cells.pop((n, v)).end()
    samples = measure(setting, cells, SLICE)
    setting.end_cells()
    figures = [added('pair.idle.%d' % n, 'pair beside %d idle members' % n, split(samples, n)) for n in counts]
    alone, beside = figures[0].added, figures[counts.index(256)].added
    figures.append(Figure('pair.idle.ratio', 'added beside 256 idle members / alone', '×',
                          added=beside / alone if alone > 0 else 1.0 if beside <= 0 else float('nan'),
                          budget=budgets['idle_members']))
    return figures


RATE = lambda count, ns: 1e3 * count / ns  # millions a second


def rates(setting, name, text, counts, option, budget=None, judged=(), beside=0, others=None, **options):
    """Figures of several processes or threads together, with so many idle members of other tenants, of those settings."""
    cells = {}
    for n in counts:
        for v in setting.variants:
            cells[n, v] = Cell(setting, v, **{option: n, 'spread': 1}, **options)
            if beside:
                crowd(setting, cells[n, v], beside, tenants=32, env=others)
    # Of more than there are processors each is to have its turn, or most of them only look on.
    us = lambda key: SLICE * (5 if key[0] > len(os.sched_getaffinity(0)) else 1)
    samples = measure(setting, cells, us, setting.rounds, RATE, judged=judged)
    setting.end_cells()
    words = lambda n: '%d %s' % (n, option) if n > 1 else {'processes': 'one process', 'threads': 'one thread'}[option]
    return [rate('%s.%d' % (name, n), text % words(n), split(samples, n),
                 budget if n in judged else None) for n in counts]


@group('rate.processes')
def processes(setting, budgets):
    return rates(setting, 'rate.processes', '%s, within their credit', (1, 2, 4, 8, 16, 64), 'processes',
                 budgets['rate'], (2, 16))


@group('rate.grow')
def grow(setting, budgets):
    return rates(setting, 'rate.grow', '%s, every pair larger than the credit', (1, 2, 16), 'processes',
                 budgets['grow_rate'], (2, 16), bytes=64 << 20)


@group('rate.crowd')
def grow_crowd(setting, budgets):
    return rates(setting, 'rate.crowd', '%s, larger than the credit, beside 256 members', (2, 16), 'processes',
                 budgets['grow_rate_crowd'], (2, 16), beside=256, bytes=64 << 20)


@group('rate.promised')
def grow_promised(setting, budgets):
    return rates(setting, 'rate.promised', '%s, larger than the credit, beside 256 members with requests', (2, 16), 'processes',
                 budgets['grow_rate_crowd'], (2, 16), beside=256, others=REQUEST, bytes=64 << 20)


@group('rate.threads')
def threads(setting, budgets):
    return rates(setting, 'rate.threads', '%s of one process', (1, 2, 4, 8, 16), 'threads', budgets['thread_rate'],
                 (2, 4))


@group('info')
def info(setting, budgets):
    counts, cells, each = (1, 16, 64, 256), {}, budgets['info_member'].bound
    for n in counts:
        for v in setting.variants:
            cells[n, v] = Cell(setting, v, job='info')
            if n > 1:
                crowd(setting, cells[n, v], n - 1)
    samples = measure(setting, cells, SLICE)
    setting.end_cells()
    figures = [added('info.%d' % n, 'cuMemGetInfo, %d member%s' % (n, 's' * (n > 1)), split(samples, n), budgets['info'],
                     budgets['info'].bound + each * n) for n in counts]
    count_instructions(setting, figures[0], job='info')
    return figures


@group('info.promised')
def info_promised(setting, budgets):
    cells = {v: Cell(setting, v, job='info') for v in setting.variants}
    for cell in cells.values():
        crowd(setting, cell, 256, tenants=32, env=REQUEST)
    samples = measure(setting, {('info', v): cell for v, cell in cells.items()}, SLICE)
    setting.end_cells()
    return [added('info.promised', 'cuMemGetInfo beside 256 members with requests', split(samples, 'info'))]


@group('launch')
def launch(setting, budgets):
    samples = measure(setting, {('launch', v): Cell(setting, v, job='launch') for v in setting.variants}, SLICE)
    return [count_instructions(setting, added('launch', 'kernel launch', split(samples, 'launch'), budgets['launch']),
                               job='launch')]


def driver_alone(setting, most):
    """The bare simulated driver's pair in ns, the best of three medians, or of as many more as a minute has while all are above
    `most`. Looks for the machine's least pace first."""
    best, tries, until = None, 0, time.monotonic() + (0 if setting.quick else PATIENCE)
    while tries < 3 or best.median > most and time.monotonic() < until:
        if tries % 3 == 0:
            cell = Cell(setting, 'bare')
            for _ in range(100):
                cell.run(1000)
                time.sleep(0.03)
            cell.end()
        sample = measure(setting, {('alone', 'bare'): Cell(setting, 'bare')}, SLICE)['alone', 'bare']
        best = min(best or sample, sample, key=lambda s: s.median)
        tries += 1
    return best


__all__ = ['GROUPS', 'driver_alone', 'Failed']

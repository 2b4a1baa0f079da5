"""Programs that are measured: a world of their own for each, started under one library or none, and run in turn.

A cell is bench/cell.c with its options under one variant. All cells of a measurement are alive at once and work one
after the other, a few milliseconds each, round by round: what disturbs the machine disturbs all of them.
"""
import os, pathlib, re, shutil, statistics, subprocess, tempfile, time

MEMORY = '/dev/shm' if os.access('/dev/shm', os.W_OK) else tempfile.gettempdir()
SETTINGS = re.compile(r'(CUQUOTA|SIMGPU|CUDA|NVIDIA)_|(LD_PRELOAD|LD_LIBRARY_PATH|MAKEFLAGS|MAKELEVEL|MFLAGS)$')
CARD, LIMIT = '500G', '400G'
QUIET = 1.15  # times the least pace
MOST = 4  # times as long as the rounds that are wanted take, to find quiet slices
LONG = 20  # s, and so long where that is longer
PATIENCE = 60  # s to wait for quiet, at the begin and before a group is tried again


class Failed(Exception):
    """A figure that cannot be had, and why."""


class Setting:
    """Where everything is, which variants there are, and how long to measure."""

    def __init__(self, build, quick=False, peer=None, peer_env=''):
        self.build, self.quick = pathlib.Path(build).resolve(), quick
        self.variants = ('bare', 'cuquota') + (('peer',) if peer else ())
        self.peer = peer and str(pathlib.Path(peer).resolve())
        self.peer_env = [pair.split('=', 1) for pair in peer_env.split()]
        self.folder = tempfile.mkdtemp(prefix='cq-bench-', dir=MEMORY)
        self.worlds, self.open = 0, []
        self.cpu = max(os.sched_getaffinity(0))
        self.pace = float('inf')  # ns, the least of any slice
        self.rounds = 9 if quick else 25

    def world(self):
        """A folder of its own for ledgers and for the simulated card's account."""
        self.worlds += 1
        path = pathlib.Path(self.folder, str(self.worlds))
        for sub in ('c', 's', 'p'):
            (path / sub).mkdir(parents=True)
        return path

    def environment(self, variant, world, **more):
        env = {k: v for k, v in os.environ.items() if not SETTINGS.match(k)}
        env.update(LD_LIBRARY_PATH=str(self.build / 'simgpu'), SIMGPU_DEVICES=CARD, SIMGPU_CONTEXT='16M',
                   SIMGPU_DIR=str(world / 's'), CUQUOTA_DIR=str(world / 'c'), LC_ALL='C')
        if variant == 'cuquota':
            env.update(LD_PRELOAD=str(self.build / 'libcuquota.so'), CUQUOTA_MEMORY_LIMIT=LIMIT, CUQUOTA_TENANT='bench')
        elif variant == 'peer':
            env.update({k: v.replace('%d', str(world / 'p')) for k, v in self.peer_env}, LD_PRELOAD=self.peer)
        env.update({k: v for k, v in more.items() if variant == 'cuquota' or not k.startswith('CUQUOTA_')})
        return env

    def program(self, name):
        return str(self.build / 'bench' / name)

    def close(self):
        """Ends what is still open and removes the worlds."""
        self.end_cells()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_cells(self):
        for cell in self.open[:]:
            cell.end()


class Cell:
    """One program that waits to be told to work."""

    def __init__(self, setting, variant, world=None, env=None, **options):
        self.setting, self.variant = setting, variant
        self.world = world or setting.world()
        if variant == 'peer':
            options.setdefault('patience', 5000)
        if options.get('processes', 1) == 1 and options.get('threads', 1) == 1:
            options.setdefault('cpu', setting.cpu)
        argv = [setting.program('cell')] + ['%s=%s' % o for o in options.items()]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                        env=setting.environment(variant, self.world, **(env or {})))
        setting.open.append(self)
        self.why = None
        word = self.process.stdout.readline().strip()
        if word != 'ready':
            self.why = 'set-up took too long' if word == 'slow' else 'ended with status %s' % self.end()
            if variant != 'peer':
                raise Failed('%s: %s' % (' '.join(argv[1:]) or 'pair', self.why))

    def run(self, us, warm=0):
        """(how often, ns, pace), after `warm` µs of work that do not count."""
        self.process.stdin.write('run %d %d\n' % (us, warm))
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        if len(words) != 3:
            raise Failed('%s ended with status %s' % (self.variant, self.end()))
        self.setting.pace = min(self.setting.pace, int(words[2]))
        return int(words[0]), int(words[1]), int(words[2])

    def end(self):
        if self in self.setting.open:
            self.setting.open.remove(self)
            self.process.stdin.close()
            self.process.stdout.close()
        return self.process.wait()


def await_quiet(setting):
    """Until all processors run at the pace that this run has seen, for a while at most."""
    until = time.monotonic() + PATIENCE
    cell = Cell(setting, 'bare', processes=len(os.sched_getaffinity(0)), spread=1)
    while cell.run(1000)[2] > QUIET * setting.pace and time.monotonic() < until:
        time.sleep(0.1)
    cell.end()


class Sample:
    """What one cell gave, round by round."""

    def __init__(self, values, of=None):
        self.of = of or len(values)  # rounds, the disturbed ones included
        self.values = sorted(values)
        self.median = statistics.median(values)
        quarters = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
        self.spread = [quarters[0], quarters[2]]


def measure(setting, cells, us, rounds=None, figure=lambda count, ns: ns / count, warm=0, judged=None):
    """Runs the cells in turn, `us` µs each (a number, or of the key), the order reversed each round. {key: Sample}, without those that could not be set up.

    A slice beside which the processor ran at a slower pace than the fastest seen says what a stranger on the same core took:
    figures of which a cell lacks quiet slices go on in turn then, for a while, and the quiet slices count if each cell of the
    figure (the keys of which begin alike) had some. Where some figures are `judged`, only those go on.
    """
    rounds = rounds or setting.rounds
    length = us if callable(us) else lambda key: us
    slices = {key: [] for key, cell in cells.items() if not cell.why}
    quiet = lambda key: [value for value, pace in slices[key] if pace <= QUIET * setting.pace]
    lacking = lambda: [key for key in slices if len(quiet(key)) < rounds // 2 + 1 and (not judged or key[0] in judged)]
    turn, begin, until = 0, time.monotonic(), float('inf')
    while turn < rounds or lacking() and time.monotonic() < until:
        of = {key[0] for key in (slices if turn < rounds else lacking())}
        working = [key for key in slices if key[0] in of]
        for key in working if turn % 2 else working[::-1]:
            try:
                count, ns, pace = cells[key].run(length(key), warm)
                slices[key].append((figure(count, ns), pace))
            except Failed:
                if cells[key].variant != 'peer':
                    raise
                del slices[key]
        turn += 1
        if turn == rounds:
            took = time.monotonic() - begin
            until = begin + max(MOST * took, took if setting.quick else LONG)
    for cell in cells.values():
        cell.end()
    enough = lambda of: all(len(quiet(key)) >= 3 for key in slices if key[0] == of)
    return {key: Sample(quiet(key) if enough(key[0]) else [value for value, pace in slices[key]], len(slices[key]))
            for key in slices}


def instructions(setting, variant, **options):
    """Instructions of one measured call (or pair) by callgrind, or None where there is no valgrind."""
    if not shutil.which('valgrind'):
        return None
    count, world = 2000, setting.world()
    out = world / 'callgrind'
    # valgrind's address space is small: a small card.
    env = setting.environment(variant, world, CUQUOTA_MEMORY_LIMIT='900M')
    env['SIMGPU_DEVICES'] = '1G'
    argv = ['valgrind', '--tool=callgrind', '--toggle-collect=work_count', '--callgrind-out-file=%s' % out, '-q',
            setting.program('cell'), 'count=%d' % count] + ['%s=%s' % o for o in options.items()]
    r = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120)
    total = re.search(r'^(?:totals|summary): (\d+)', out.read_text(), re.M) if out.exists() else None
    if r.returncode or not total:
        raise Failed('callgrind: status %d: %s' % (r.returncode, r.stderr.strip()[-300:]))
    return int(total[1]) / count

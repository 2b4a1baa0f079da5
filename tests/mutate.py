#!/usr/bin/env python3
"""Plants the faults of tests/mutants/ one by one and sees the tests they name fail. See tests/mutants/README.

    tests/mutate.py --build DIR --cuda DIR --nvml DIR [--jobs N] [PATTERN]     (make mutants ONLY=PATTERN)
    tests/mutate.py --check [--build DIR --cuda DIR --nvml DIR] [PATTERN]      only whether rows and texts still hold, and
                                                                               whether what they edit in C still compiles

Works on copies of the tree below DIR/mutant, never on the tree itself, and builds there only what changed.
"""
import argparse, collections, os, pathlib, queue, shutil, subprocess, sys, tempfile, threading, time
from concurrent.futures import ThreadPoolExecutor

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PARTS = ('Makefile', 'shim', 'include', 'tests', 'examples', 'bench', '.ci', 'README.md', '.clang-format', '.clang-tidy')
OVER_TIME = 'over its time limit of'  # what tests/run prints below a test that it had to end
KILLED, SURVIVED, TIMED_OUT, BROKE_OFF = 'killed', 'SURVIVED', 'TIMED OUT', 'BROKE OFF'
# As the Makefile has it; a name that nobody declared would only fail at the link.
SYNTAX = ('-fsyntax-only', '-Werror=implicit-function-declaration', '-D_GNU_SOURCE', '-std=gnu11', '-fPIC', '-pthread')
Mutant = collections.namedtuple('Mutant', 'where edits tests shows times hangs')  # edits: [(file, text, replacement)]


def parse(path):
    """The rows of one file; a malformed one ends the program with its place."""
    for number, stanza in stanzas(path):
        file, edits, tests, shows, times, hangs, sign = None, [], [], '', 1, False, ''
        where = '%s:%d' % (path.relative_to(SOURCE), number)
        for line in stanza:
            body = line[2:] if line[1:2] == ' ' else line[1:]
            if line.startswith('@'):
                file, sign = body.strip(), '@'
            elif line.startswith('-') and file:
                if sign != '-':
                    edits.append((file, [], []))
                edits[-1][1].append(body)
                sign = '-'
            elif line.startswith('+') and edits:
                edits[-1][2].append(body)
                sign = '+'
            elif line.startswith('tests:'):
                tests = line[6:].split()
            elif line.startswith('shows:'):
                shows = line[6:].strip()
            elif line.startswith('times:'):
                times = int(line[6:])
            elif line.strip() == 'hangs: yes':
                hangs = True
            else:
                sys.exit('%s: not understood: %s' % (where, line))
        if not edits or not tests or not shows:
            sys.exit('%s: a row needs @, -, tests: and shows:' % where)
        yield Mutant(where, [(f, '\n'.join(a), '\n'.join(b)) for f, a, b in edits], tests, shows, times, hangs)


def stanzas(path):
    stanza, begin = [], 0
    for number, line in enumerate(path.read_text().split('\n') + [''], 1):
        if line.startswith('#'):
            continue
        if line.strip():
            begin = begin if stanza else number
            stanza.append(line)
        elif stanza:
            yield begin, stanza
            stanza = []


def stale(mutant):
    """Why the row no longer fits the tree, or None."""
    for file, text, _ in mutant.edits:
        path = SOURCE / file
        if not path.is_file():
            return 'no file ' + file
        count = path.read_text().count(text)
        if count != 1:
            return '%s: the text is found %d times: %s' % (file, count, text.strip().split('\n')[0])
    for test in mutant.tests:
        if test != 'build' and not list(SOURCE.glob('tests/%s.*' % test)) + list(SOURCE.glob('tests/*/%s.*' % test)):
            return 'no test ' + test
    return None


def broken(mutant, args):
    """Why what the row makes of a file in C does not compile, or None: such a fault shows nothing."""
    files = list(dict.fromkeys(f for f, _, _ in mutant.edits))
    if 'build' in mutant.tests:
        return None
    with tempfile.TemporaryDirectory(prefix='mutant-') as folder:
        for file in files:
            content = (SOURCE / file).read_text()
            for text, replacement in ((t, r) for f, t, r in mutant.edits if f == file):
                content = content.replace(text, replacement, 1)
            path = pathlib.Path(folder, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        search = ['-I%s' % (top / below) for below in ('include', 'shim', 'tests') for top in (pathlib.Path(folder), SOURCE)]
        for file in files:
            if file.endswith(('.c', '.h')):
                beside = ['-iquote', str((SOURCE / file).parent)]
                points = ['-DCUQUOTA_POINTS'] * file.startswith('tests/')
                r = subprocess.run([os.environ.get('CC', 'gcc'), *SYNTAX, *points, *beside, *search, '-I%s/gen' % args.build,
                                    '-isystem', args.cuda, '-isystem', args.nvml, '-x', 'c', os.path.join(folder, file)],
                                   cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
                if r.returncode:
                    lines = [l for l in r.stdout.split('\n') if 'error:' in l] or [r.stdout]
                    return 'does not compile: ' + lines[0].replace(folder + '/', '')
    return None


class Tree:
    """A copy of the tree with its own build; what the main build has made is taken over, times and all."""

    def __init__(self, number, args):
        self.root = args.build / 'mutant' / str(number)
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        for part in PARTS:
            if (SOURCE / part).exists():
                subprocess.run(['cp', '-a', SOURCE / part, self.root], check=True)
        (self.root / 'build').mkdir()
        if args.build == SOURCE / 'build':  # the dependency files hold paths below build/
            for p in args.build.iterdir():
                if p.name not in ('mutant', 'asan', 'tsan', 'venv', 'nvidia'):
                    subprocess.run(['cp', '-a', p, self.root / 'build'], check=True)
        self.make = ['make', '-s', 'BUILD=build', 'CUDA_INCLUDE=%s' % args.cuda, 'NVML_INCLUDE=%s' % args.nvml,
                     'PYTHON=%s' % sys.executable]
        self.env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MAKELEVEL', 'MFLAGS')}
        self.env.update(CUDA_INCLUDE=args.cuda, NVML_INCLUDE=args.nvml)

    def build(self, tests):
        programs = ['build/tests/' + t for t in tests
                    if list(self.root.glob('tests/%s.c' % t)) + list(self.root.glob('tests/*/%s.c' % t))]
        return self.call(self.make + ['test-deps'] + programs)

    def call(self, command):
        r = subprocess.run(command, cwd=self.root, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors='replace')
        return r.returncode, r.stdout

    def run(self, names, jobs=1):
        return self.call([sys.executable, 'tests/run', '--build', 'build', '--jobs', str(jobs)] + names)

    def judge(self, mutant):
        """(verdict, what happened)"""
        kept = {}
        try:
            for file, text, replacement in mutant.edits:
                path = self.root / file
                content = path.read_text()
                kept.setdefault(path, content)
                path.write_text(content.replace(text, replacement, 1))
            tests = [t for t in mutant.tests if t != 'build']
            status, output = self.build(tests)
            if 'build' in mutant.tests:
                return (KILLED, 'does not build') if status else (SURVIVED, 'it builds')
            if status:
                return SURVIVED, 'does not build:\n' + output
            for test in tests:
                for turn in range(mutant.times):
                    status, output = self.run([test])
                    if status == 0 or ', 0 failed,' in output.strip().split('\n')[-1]:
                        return SURVIVED, '%s passes%s' % (test, ' in run %d' % (turn + 1) if mutant.times > 1 else '')
                    if OVER_TIME in output and not mutant.hangs:
                        return TIMED_OUT, '%s did not end, which shows nothing unless the row says hangs: yes' % test
            return KILLED, ' '.join(tests) + (' (%d of %d)' % (mutant.times, mutant.times) if mutant.times > 1 else '')
        finally:
            for path, content in kept.items():
                path.write_text(content)


def all_mutants():
    for path in sorted((SOURCE / 'tests/mutants').iterdir()):
        if path.name != 'README' and not path.name.endswith('~'):
            yield from parse(path)


def first_line(mutant):
    file, text, replacement = mutant.edits[0]
    words = lambda s: ' '.join(s.split())
    return '%s: %s -> %s' % (file, words(text)[:50], words(replacement)[:40] or '(nothing)')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build'))
    parser.add_argument('--cuda')
    parser.add_argument('--nvml')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--check', action='store_true')
    parser.add_argument('only', nargs='?', default='')
    args = parser.parse_args()
    args.build = args.build.resolve()
    args.cuda, args.nvml = (os.path.abspath(p or args.build / 'nvidia/include') for p in (args.cuda, args.nvml))

    mutants = [m for m in all_mutants() if any(args.only in s for s in
               [m.shows, m.where] + m.tests + [e[0] for e in m.edits])]
    unfit = [(m, why) for m in mutants if (why := stale(m))]
    for mutant, why in unfit:
        print('stale     %s: %s' % (mutant.where, why))
    mutants = [m for m in mutants if not stale(m)]
    if args.check:
        with ThreadPoolExecutor(args.jobs) as pool:
            bad = [(m, why) for m, why in zip(mutants, pool.map(lambda m: broken(m, args), mutants)) if why]
        for mutant, why in bad:
            print('broken    %s: %s' % (mutant.where, why))
        sys.exit(1 if unfit or bad else 0)
    if not mutants:
        sys.exit('no mutants' + (' match ' + args.only if args.only else ''))

    trees = [Tree(n, args) for n in range(min(args.jobs, len(mutants)))]
    names = sorted({t for m in mutants for t in m.tests if t != 'build'})
    for tree in trees:
        status, output = tree.build(names)
        if status:
            sys.exit('the tree does not build without a mutant:\n' + output)
    if names:
        status, output = trees[0].run(names, args.jobs)
        if status:
            sys.exit('these tests fail without a mutant, and so show nothing:\n' + output)

    work, lock, verdicts, shown = queue.Queue(), threading.Lock(), {}, collections.Counter()
    for m in sorted(mutants, key=lambda m: m.edits[0][0]):
        work.put(m)

    def worker(tree):
        while True:
            try:
                mutant = work.get_nowait()
            except queue.Empty:
                return
            begin = time.monotonic()
            try:
                verdict, what = tree.judge(mutant)
            except Exception as error:  # this copy of the tree is of no use any more
                verdict, what = BROKE_OFF, repr(error)
            with lock:
                print('%-9s %s\n          %s: %s (%.0f s)' % (
                    verdict, first_line(mutant), mutant.where, what, time.monotonic() - begin), flush=True)
                verdicts[mutant.where] = verdict
                for tag in mutant.shows.split(';'):
                    shown[tag.strip()] += verdict == KILLED
            if verdict == BROKE_OFF:
                return

    threads = [threading.Thread(target=worker, args=(t,)) for t in trees]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print('\nshown: ' + ', '.join('%s (%d)' % pair for pair in sorted(shown.items())))
    verdict_of = lambda m: verdicts.get(m.where, 'no verdict')
    for m in mutants:
        if verdict_of(m) != KILLED:
            print('%s: %s %s' % (verdict_of(m).lower(), m.where, first_line(m)))
    count = collections.Counter(map(verdict_of, mutants))
    print('%d killed, %d survived, %d stale, %d timed out, %d without a verdict' % (
        count[KILLED], count[SURVIVED], len(unfit), count[TIMED_OUT],
        len(mutants) - count[KILLED] - count[SURVIVED] - count[TIMED_OUT]))
    sys.exit(0 if count[KILLED] == len(mutants) and not unfit else 1)


main()

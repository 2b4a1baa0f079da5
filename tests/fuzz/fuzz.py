#!/usr/bin/env python3
"""Runs the fuzzers that `make fuzz` has built, one after the other, and prints the coverage of their corpora.

    tests/fuzz/fuzz.py --build DIR [--time SECONDS] [--keep] [NAME...]

Each is fed its corpus first, then works for SECONDS; what it finds that is new stays in DIR/fuzz/found. A failure ends
with the input and how to see it again, and makes the exit status 1. NAME is part of a fuzzer's name. --keep only merges
what earlier runs found into the corpus: inputs that reach what none of the corpus does, the smallest first.
"""
import argparse, os, pathlib, re, shutil, subprocess, sys, tempfile, time

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
MEMORY = '/dev/shm' if os.access('/dev/shm', os.W_OK) else tempfile.gettempdir()
MOST = 200  # files of one corpus


def corpus_of(name):
    text = (SOURCE / 'tests/fuzz' / (name + '.c')).read_text()
    return re.search(r'#define FUZZ_CORPUS "(\w+)"', text)[1]


class Fuzzer:
    def __init__(self, name, args):
        self.name, self.corpus = name, SOURCE / 'tests/fuzz/corpus' / corpus_of(name)
        self.build = args.build
        self.program = args.build / 'fuzz/fuzzers' / name
        self.found = args.build / 'fuzz/found' / self.corpus.name
        self.crashes = args.build / 'fuzz/crashes' / self.corpus.name
        for folder in (self.found, self.crashes):
            folder.mkdir(parents=True, exist_ok=True)
        words = SOURCE / 'tests/fuzz' / (self.corpus.name + '.dict')
        self.options = ['-dict=%s' % words] if words.exists() else []

    def call(self, *arguments):
        """(exit status, what libFuzzer said); in folders of its own, as tests/run gives them."""
        with tempfile.TemporaryDirectory(prefix='cq-', dir=MEMORY) as shm:
            env = {k: v for k, v in os.environ.items() if not k.startswith(('CUQUOTA_', 'SIMGPU_', 'CUDA_VISIBLE'))}
            env.update(SOURCE=str(SOURCE), CUQUOTA_DIR=shm + '/c', SIMGPU_DIR=shm + '/s', TMPDIR=shm, LC_ALL='C.UTF-8',
                       LD_LIBRARY_PATH=str(self.build / 'simgpu'),
                       ASAN_OPTIONS='allocator_may_return_null=1:detect_leaks=1', UBSAN_OPTIONS='print_stacktrace=1',
                       LSAN_OPTIONS='print_suppressions=0:suppressions=%s/leaks' % shm)
            pathlib.Path(shm, 'leaks').write_text('leak:libcuda.so.1\n')  # the simulated driver's own
            for folder in (env['CUQUOTA_DIR'], env['SIMGPU_DIR']):
                os.mkdir(folder)
                os.chmod(folder, 0o1777)
            r = subprocess.run([str(self.program), *self.options, *arguments], env=env, cwd=shm, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
            return r.returncode, r.stdout

    def run(self, seconds):
        """Whether all was well; prints a line of figures."""
        common = ['-artifact_prefix=%s/' % self.crashes, '-print_final_stats=1', '-timeout=20', '-max_len=4096',
                  '-rss_limit_mb=2048']
        begin = time.monotonic()
        status, said = self.call(*common, '-runs=0', str(self.corpus))
        if not status:
            status, said = self.call(*common, '-max_total_time=%d' % seconds, str(self.found), str(self.corpus))
        figure = lambda pattern: (re.findall(pattern, said) or ['?'])[-1]
        print('%-8s %s: %s runs in %.0f s, %s edges, %s features, %d of the corpus, %d more found' % (
            'FAILED' if status else 'ok', self.corpus.name, figure(r'number_of_executed_units: (\d+)'),
            time.monotonic() - begin, figure(r'cov: (\d+)'), figure(r'ft: (\d+)'), len(list(self.corpus.iterdir())),
            len(list(self.found.iterdir()))), flush=True)
        if status:
            artifact = figure(r'Test unit written to (\S+)')
            print('\n'.join('    ' + line[:300] for line in [l for l in said.strip().splitlines() if not l.startswith('#')][-100:]))
            print('    again: make tests; SOURCE=. %s/tests/%s %s' % (self.build, self.name, artifact), flush=True)
        return not status

    def keep(self):
        """Merges into a copy of the corpus, whose files come first and keep their names."""
        room = MOST - len(list(self.corpus.iterdir()))
        with tempfile.TemporaryDirectory() as merged:
            for path in self.corpus.iterdir():
                shutil.copy(path, merged)
            status, said = self.call('-merge=1', '-max_len=4096', merged, str(self.found))
            if status:
                sys.exit(said)
            new = [p for p in pathlib.Path(merged).iterdir() if not (self.corpus / p.name).exists()]
            for path in sorted(new, key=lambda p: p.stat().st_size)[:max(room, 0)]:
                shutil.copy(path, self.corpus / ('found_' + path.name[:12]))
            print('%s: %d of %d new inputs kept' % (self.corpus.name, min(len(new), max(room, 0)), len(new)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build'))
    parser.add_argument('--time', type=int, default=60)
    parser.add_argument('--keep', action='store_true')
    parser.add_argument('--without-clang', action='store_true', help='only say so')
    parser.add_argument('names', nargs='*')
    args = parser.parse_args()
    if args.without_clang:
        print('*' * 100 + '\nSKIPPED: there is no clang with libFuzzer, so nothing was fuzzed. `make setup` installs it where it '
              'can\n(clang, libclang-rt-dev); `make test` still feeds the corpora to the same code.\n' + '*' * 100, file=sys.stderr)
        return
    args.build = args.build.resolve()
    known = [p.stem for p in sorted((SOURCE / 'tests/fuzz').glob('*_*.c')) if re.search('FUZZ_CORPUS "', p.read_text())]
    names = [k for k in known if not args.names or any(n in k for n in args.names)]
    if not names:
        sys.exit('no fuzzer matches %s; there are: %s' % (' '.join(args.names), ', '.join(known)))
    fuzzers = [Fuzzer(n, args) for n in names]
    if args.keep:
        for fuzzer in fuzzers:
            fuzzer.keep()
        return
    good = [fuzzer.run(args.time) for fuzzer in fuzzers]
    status = subprocess.run([sys.executable, str(SOURCE / 'tests/fuzz/coverage.py')]).returncode
    sys.exit(0 if all(good) and not status else 1)


main()

"""For lint.py: compilers and analysers over C files, two at a time. What was clean, and of which nothing has changed
since (the file, what of ours it includes, the command, the tool), is not run again: its stamp lies in BUILD/lint."""
import hashlib, os, pathlib, re, subprocess, time
from concurrent.futures import ThreadPoolExecutor

SOURCE = pathlib.Path(__file__).resolve().parent.parent
KEEP_DAYS = 7  # a stamp that no run has looked at for so long

WARN = ['-Wall', '-Wextra', '-Wmissing-prototypes', '-Wstrict-prototypes', '-Wold-style-definition', '-Wshadow', '-Wvla',
        '-Walloca', '-Wpointer-arith', '-Wcast-qual', '-Wundef', '-Wwrite-strings', '-Wredundant-decls', '-Wnested-externs',
        '-Wformat=2', '-Wdate-time', '-Wno-unused-parameter', '-Werror']
# A client and a callback print formats that they were given.
WARN += ['-Wno-format-nonliteral']
WARN_OF = {
    'gcc': ['-Wduplicated-cond', '-Wduplicated-branches', '-Wlogical-op', '-Wtrampolines', '-Wimplicit-fallthrough=3'],
    'clang': ['-Wunreachable-code', '-Wloop-analysis', '-Wshift-sign-overflow'],
}
# The product: sizes are unsigned, and no bit is lost in silence; compiled whole, for what only the optimiser sees.
WARN_PRODUCT = ['-Wconversion', '-Wsign-conversion', '-Wdouble-promotion']
WARN_PRODUCT_OF = {'gcc': ['-Wformat-signedness', '-O2', '-c', '-o', '/dev/null'], 'clang': ['-fsyntax-only']}


def sh(*command, **kw):
    try:
        r = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           errors='replace', cwd=SOURCE, **kw)
    except FileNotFoundError as e:
        return 127, str(e)
    return r.returncode, r.stdout


def points(name):
    """What the Makefile gives proc_ tests."""
    return ['-DCUQUOTA_POINTS'] if re.match(r'tests/((fuzz/|step/)?proc_|step/sweep\.h)', name) else []


def digest(*parts):
    h = hashlib.sha256()
    for part in parts:
        h.update(part if isinstance(part, bytes) else str(part).encode())
        h.update(b'\0')
    return h.hexdigest()


class Tools:
    def __init__(self, build, flags, headers):
        self.stamps, self.flags, self.read = build / 'lint', flags, {}
        self.stamps.mkdir(parents=True, exist_ok=True)
        self.fixed = [(p, os.stat(p).st_mtime_ns) for p in headers if os.path.exists(p)]

    def of_file(self, name):
        """A digest of the file and of all of ours that it includes; None where that cannot be told."""
        if name not in self.read:
            status, out = sh('gcc', *self.flags, *points(name), '-MM', '-x', 'c', name)
            names = re.sub(r'\\\n', ' ', out).split(':', 1)[-1].split()
            self.read[name] = None if status else digest(*names, *((SOURCE / n).read_bytes() for n in names))
        return self.read[name]

    def each(self, files, *command, also=()):
        """Runs the command on each file and yields the output of those that fail. `also`: files that it reads besides."""
        version = sh(command[0], '--version')[1]
        besides = digest(version, self.fixed, *command, *((SOURCE / f).read_bytes() for f in also))

        def job(name):
            own = self.of_file(name)
            line = [a.replace('{}', name) for a in command]
            line += points(name) + [name] * (line == list(command))
            stamp = self.stamps / digest(besides, own, *line)
            if own and stamp.exists():
                stamp.touch()
                return 0, ''
            status, out = sh(*line)
            if own and not status:
                stamp.touch()
            return status, out

        with ThreadPoolExecutor(2) as pool:
            for name, (status, out) in zip(files, pool.map(job, files)):
                if status:
                    yield '%s: %s:\n%s' % (command[0], name, out.rstrip())

    def warnings(self, compiler, product, others):
        flags = [compiler, *self.flags, *WARN, *WARN_OF[compiler]]
        yield from self.each(product, *flags, *WARN_PRODUCT, *WARN_PRODUCT_OF[compiler])
        yield from self.each(others, *flags, '-fsyntax-only')

    def alone(self, compiler, headers):
        yield from self.each(headers, compiler, *self.flags, *WARN, *WARN_OF[compiler], '-Wno-unused-function', '-fsyntax-only',
                             '-include', '{}', '-x', 'c', '/dev/null')

    def tidy(self, files, configs):
        yield from self.each(files, 'clang-tidy', '--quiet', '--warnings-as-errors=*', '{}', '--', *self.flags, also=configs)

    def analyzer(self, files):
        yield from self.each(files, 'gcc', *self.flags, '-O1', '-fanalyzer', '-Werror', '-c', '-o', '/dev/null')

    def prune(self):
        for stamp in self.stamps.iterdir():
            if time.time() - stamp.stat().st_mtime > KEEP_DAYS * 86400:
                stamp.unlink(missing_ok=True)

#!/usr/bin/env python3
"""`make lint`: the rules of the tree that no compiler checks. Each check yields what is wrong, a line each.

    tests/lint.py --build DIR --cuda DIR --nvml DIR [CHECK...]      (make lint ONLY="floors doors")

Works on the files that git knows or would add, and on what DIR holds, which `make lint` has built.
"""
import argparse, ast, os, pathlib, re, shutil, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

import lint_tools
from lint_tools import sh

SOURCE = pathlib.Path(__file__).resolve().parent.parent
FLOORS = ('base', 'ledger', 'driver', 'policy', 'hooks')

# A header of a floor above, or one that the rule would not allow: file, include, why it may.
FLOOR_EXCEPTIONS = {
    # Who is alive, what is promised and what would be granted is told by the same tests as in the members.
    'shim/cli/reader.c': ('ledger/segment.h', 'ledger/life.h', 'ledger/sum.h', 'ledger/tenant.h'),
}

SHOWN = 25  # complaints printed for one check

# Each awkward dependency has its doors: what, how it looks, which files may.
DOORS = (
    ('mapping memory', r'\b(mmap|munmap|mremap)\s*\(', r'shim/(ledger/(segment|life)|base/wiped|driver/search)\.c'),
    ('futex', r'\bSYS_futex\b|<linux/futex\.h>', r'shim/ledger/account\.c'),
    ('file locks', r'\bF_(OFD_)?(SETLKW?|GETLK)\b|\b(flock|lockf)\s*\(', r'shim/ledger/lockfile\.c'),
    ('dlfcn.h', r'<dlfcn\.h>', r'shim/driver/(driver|loader|copies|resolve\w*|frontend\w*|elf|cover)\.[chS]|shim/policy/callsite\.c|'
     r'shim/cli/(doctor_(doors|look)|probe/probe)\.c'),
    ('libc\'s numbers', r'\b(strto(u?ll?|[iu]max)|ato(i|ll?)|v?[fs]?scanf)\s*\(', r'shim/base/point\.c'),
    ('environment', r'\benviron\b|\b(secure_)?getenv\s*\(', r'shim/base/(settings|point)\.c|shim/policy/visible\.c|shim/cli/\w+\.c'),
    ('uthash', r'<uthash\.h>', r'shim/policy/\w+\.[ch]'),
    ('libunwind', r'<libunwind\.h>', r'shim/policy/callsite\.c'),
    ('cuda.h', r'<(cuda\w*|nvml)\.h>', r'shim/driver/driver\.h'),
    ('simgpu', r'#include ".*simgpu', r'$'),
)

# What the library must never do in its host, as symbols: (why, names).
BANNED = (
    ('ends the program', 'exit _exit _Exit quick_exit abort __assert_fail raise'),
    ('prints', 'printf vprintf puts putchar perror fputs fwrite __printf_chk __vprintf_chk stdout psignal'),
    ('starts a thread or process', 'pthread_create thrd_create fork vfork system popen posix_spawn'),
    ('changes signal handling', 'signal sigaction sigprocmask sigaltstack siginterrupt bsd_signal __sysv_signal'),
    ('changes the environment', 'setenv putenv unsetenv clearenv'),
    ('changes the process', 'umask chdir fchdir setlocale setrlimit prctl setuid setgid'),
    ('registers a handler', 'atexit on_exit __cxa_atexit pthread_atfork __register_atfork'),
)

# A banned symbol that one object may use: its reason.
BANNED_EXCEPTIONS = {
    ('shim/ledger/heir.c.o', '__register_atfork'): 'after a fork parent and child need a lock of their own each',
    ('shim/ledger/heir.c.o', 'pthread_atfork'): 'the same, where libc exports it',
    ('shim/policy/visible.c.o', 'unsetenv'): 'takes out what it put in for the length of cuInit, under libc\'s own lock',
}

FAMILY = re.compile(r'(libc|libpthread|libdl|librt)\.so\.\d+|ld-linux.*')
SECRET = re.compile(r'/w[o]rk/|\.\./s[h]ared|p[y]pi\.org|p[y]thonhosted|d[e]b\.debian|debian\.o[r]g|archive\.u[b]untu|'
                    r'[c]onda\.org|[n]pmjs')
ABSENT = re.compile(r'\bDES[I]GN\b')  # a file that is not in the tree: shim/README.md tells the design


def listed():
    """The tree's files, as git sees them; without git, all but the build's."""
    status, text = sh('git', 'ls-files', '--cached', '--others', '--exclude-standard')
    if status == 0:
        names = text.splitlines()
    else:
        names = [str(p.relative_to(SOURCE)) for p in SOURCE.rglob('*') if '__pycache__' not in p.parts]
    return sorted(n for n in set(names) if (SOURCE / n).is_file() and not n.startswith(('build/', '.git/')))


def text(name):
    return (SOURCE / name).read_text(errors='replace')


def code(name):
    """The text with comments blanked, line numbers kept."""
    blank = lambda m: m[0] if m[0].startswith('"') else re.sub(r'[^\n]', ' ', m[0])
    return re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', blank, text(name), flags=re.S)


def lines_with(name, pattern):
    for number, line in enumerate(code(name).split('\n'), 1):
        if re.search(pattern, line):
            yield number, line.strip()


class Lint:
    def __init__(self, args):
        self.build, self.nvml, self.files = args.build, args.nvml, listed()
        self.where = ['--build', args.build, '--cuda', args.cuda, '--nvml', args.nvml]
        self.c = [f for f in self.files if f.endswith(('.c', '.h'))]
        self.shim = [f for f in self.c if f.startswith('shim/')]
        self.flags = ['-D_GNU_SOURCE', '-Iinclude', '-Ishim', '-Itests', '-I%s/gen' % self.build, '-isystem', args.cuda,
                      '-isystem', args.nvml, '-std=gnu11', '-fPIC', '-pthread']
        self.tools = lint_tools.Tools(self.build, self.flags, [args.cuda + '/cuda.h', args.nvml + '/nvml.h'])
        self.objects = [p for floor in FLOORS for p in sorted((self.build / 'obj/shim' / floor).glob('*.o'))
                        if (SOURCE / 'shim' / floor / p.name[:-2]).exists()]

    def floors(self):
        """a file includes only its own floor and those below"""
        for name in self.shim:
            floor = name.split('/')[1]
            may = ('base', 'cli') if floor == 'cli' else FLOORS[:FLOORS.index(floor) + 1] if floor in FLOORS else ()
            for number, line in lines_with(name, r'^\s*#\s*include\s+"'):
                target = re.search(r'"(.*?)"', line)[1]
                top = target.split('/')[0] if '/' in target else floor
                if target in ('cuquota/ledger.h', 'cuquota/cuquota.h') or target in FLOOR_EXCEPTIONS.get(name, ()):
                    continue
                if top not in may and not (SOURCE / 'shim' / floor / target).exists() and \
                        not (self.build / 'gen' / target).exists():
                    yield '%s:%d: floor %s may not include %s' % (name, number, floor, target)
        for number, line in lines_with('include/cuquota/ledger.h', r'#\s*include'):
            if '<stdint.h>' not in line:
                yield 'include/cuquota/ledger.h:%d: needs more than <stdint.h>' % number

    def doors(self):
        """each awkward dependency is used in its own files only"""
        for name in self.shim + [f for f in self.files if f.startswith('shim/') and f.endswith('.S')]:
            for what, pattern, allowed in DOORS:
                if not re.fullmatch(allowed, name):
                    for number, line in lines_with(name, pattern):
                        yield '%s:%d: %s is not for this file: %s' % (name, number, what, line)

    def words(self):
        """no typedef struct, no _t of our own, nothing that names a machine, a registry or what is not there"""
        for name in [f for f in self.shim if not f.startswith('shim/cli/')] + \
                [f for f in self.c if f.startswith('include/')]:
            for number, line in lines_with(name, r'\btypedef\s+(struct|union|enum)\b|\btypedef\b.*\w_t\s*;'):
                yield '%s:%d: %s' % (name, number, line)
        for name in self.files:
            for number, line in enumerate(text(name).split('\n'), 1):
                if SECRET.search(line):
                    yield '%s:%d: names a place that is not the project\'s: %s' % (name, number, line.strip()[:100])
                if ABSENT.search(line):
                    yield '%s:%d: names a file that is not there: %s' % (name, number, line.strip()[:100])
        for name in re.findall(r'[\w./]+\.mk', re.search(r'^FRAGMENTS :=((?:.*\\\n)*.*)', text('Makefile') if 'Makefile'
                               in self.files else 'FRAGMENTS :=', re.M)[1]):
            if name not in self.files:
                yield 'Makefile: no fragment %s' % name

    def length(self):
        """files have one job and at most 400 lines, of at most 100 columns in C and assembler"""
        for name in self.files:
            if name.endswith(('.c', '.h', '.S', '.py', '.sh', '.mk', '.pml')) or name.startswith('tests/mutants/') or \
                    name in ('Makefile', 'tests/run', '.ci/run', '.ci/setup'):
                count = text(name).count('\n')
                if count > 400:
                    yield '%s: %d lines' % (name, count)
        for name in self.c + [f for f in self.files if f.endswith('.S')]:
            for number, line in enumerate(text(name).split('\n'), 1):
                if len(line.expandtabs(8)) > 100:
                    yield '%s:%d: %d columns' % (name, number, len(line.expandtabs(8)))

    def headers(self):
        """every header compiles alone, for gcc and clang"""
        headers = [f for f in self.c if f.endswith('.h')]
        yield from self.tools.alone('gcc', headers)
        yield from self.tools.alone('clang', headers)

    def warnings(self):
        """no warning from gcc or clang in anything in C, and fewer still in the product"""
        sources = [f for f in self.c if f.endswith('.c')]
        product = [f for f in sources if f.startswith(('shim/', 'examples/'))]
        others = [f for f in sources if f not in product]
        yield from self.tools.warnings('gcc', product, others)
        yield from self.tools.warnings('clang', product, others)

    def tidy(self):
        """clang-tidy on the product; .clang-tidy says what is left out and why"""
        product = [f for f in self.c if f.endswith('.c') and f.startswith(('shim/', 'examples/'))]
        yield from self.tools.tidy(product, [f for f in self.files if f.endswith('.clang-tidy')])

    def analyzer(self):
        """gcc -fanalyzer on the floors without the driver"""
        yield from self.tools.analyzer([f for f in self.shim if re.match(r'shim/(base|ledger)/.*\.c$', f)])

    def cppcheck(self):
        """cppcheck on the shim"""
        sources = [f for f in self.shim if f.endswith('.c')]
        if sources:
            status, out = sh('cppcheck', '-q', '-j2', '--std=c11', '--enable=warning,portability', '--inline-suppr',
                             '--error-exitcode=1', '-D_GNU_SOURCE', '-DElfW(type)=Elf64_##type', '-Iinclude', '-Ishim',
                             '--suppress=missingIncludeSystem', '--template={file}:{line}: {id}: {message}',
                             *sources)
            if status:
                yield out.rstrip()

    def format(self):
        """clang-format would change nothing (make format does)"""
        with ThreadPoolExecutor(2) as pool:
            files = [f for f in self.c if not f.startswith('tests/simgpu/')]  # its CUAPI() reads as no C to it
            job = lambda f: sh('clang-format', '--dry-run', '-Werror', f)
            for name, (status, out) in zip(files, pool.map(job, files)):
                if status:
                    yield '%s: %d places' % (name, out.count('error:'))

    def banned(self):
        """the library does nothing in its host that it promised not to"""
        for path in self.objects:
            used = set(sh('nm', '-u', path)[1].split())
            for why, names in BANNED:
                for name in used & set(names.split()):
                    if (str(path.relative_to(self.build / 'obj')), name) in BANNED_EXCEPTIONS:
                        continue
                    yield '%s: %s: %s' % (path.relative_to(self.build / 'obj'), why, name)
            for kind in re.findall(r'\.(fini_array|dtors)\b', sh('readelf', '-SW', path)[1]):
                yield '%s: has a destructor (%s)' % (path.relative_to(self.build / 'obj'), kind)

    def library(self):
        """the library needs libc's family alone, is never unloaded, and exports exactly its rows"""
        library = self.build / 'libcuquota.so'
        dynamic = sh('readelf', '-dW', library)[1]
        for name in re.findall(r'\(NEEDED\).*\[(.*)\]', dynamic):
            if not FAMILY.fullmatch(name):
                yield 'libcuquota.so needs ' + name
        if re.search(r'\((RPATH|RUNPATH)\)', dynamic):
            yield 'libcuquota.so has a run path'
        if 'NODELETE' not in dynamic:
            yield 'libcuquota.so is not linked -z nodelete'
        for name in re.findall(r'\bU (\w+)', sh('nm', '-D', library)[1]):
            if re.match(r'(cu|nvml)[A-Z]|__isoc', name):
                yield 'libcuquota.so has an undefined ' + name
        if (SOURCE / 'shim/driver/exports.py').exists():
            status, out = sh(sys.executable, 'shim/driver/exports.py', 'library', library, 'shim/driver/cuda.def',
                             'shim/driver/nvml.def')
            if status:
                yield out.rstrip()

    def rows(self):
        """each name of nvml.h has a row, and each that is left alone says why"""
        name = 'shim/driver/nvml.def'
        if name not in self.files:
            return
        head, body = text(name).split('*/', 1)
        words = re.findall(r'^ \*   (\w+) +\w', head, re.M)
        for number, line in enumerate(body.split('\n'), head.count('\n') + 1):
            reason = re.search(r'/\* (.*) \*/', line)
            if line.startswith('PASS(') and not (reason and (reason[1] in words or ' ' in reason[1])):
                yield '%s:%d: says not why it is left alone: %s' % (name, number, line)
        if (SOURCE / 'tests/simgpu/exports.py').exists():
            declared = sh(sys.executable, 'tests/simgpu/exports.py', 'names', 'nvml', self.nvml)[1].split()
            for missing_row in sorted(set(declared) - set(re.findall(r'^\w+\((\w+)\)', body, re.M))):
                yield '%s: no row for %s' % (name, missing_row)

    def scripts(self):
        """shell scripts pass shellcheck, Python parses"""
        for name in self.files:
            head = text(name)[:60] if os.access(SOURCE / name, os.X_OK) or name.endswith(('.py', '.sh')) else ''
            if name.endswith('.sh') or re.match(r'#!.*\b(ba|da)?sh\b', head):
                if shutil.which('shellcheck'):
                    status, out = sh('shellcheck', '-x', name)
                    if status:
                        yield out.strip()
            elif name.endswith('.py') or re.match(r'#!.*python', head):
                try:
                    ast.parse(text(name), name)
                except SyntaxError as e:
                    yield '%s: %s' % (name, e)

    def lists(self):
        """mutants still find their text, reports are known, generated tables are up to date"""
        for command in (['tests/mutate.py', '--check', *self.where], ['tests/reports.py', '--check'], ['tests/tables.py', '--check']):
            if (SOURCE / command[0]).exists():
                status, out = sh(sys.executable, *command)
                if status:
                    yield out.rstrip()


# What a check cannot do without. It is left out, which is said, and where CI is set is a failure.
NEEDS = {'headers': ('gcc', 'clang'), 'warnings': ('gcc', 'clang'), 'tidy': ('clang-tidy',), 'cppcheck': ('cppcheck',),
         'analyzer': ('gcc',), 'format': ('clang-format',), 'scripts': ('shellcheck',)}
# Others know other checks and lay out differently: the tree is held to Debian 12's.
VERSIONS = {'clang-tidy': '14', 'clang-format': '14'}

CHECKS = ('floors', 'doors', 'words', 'length', 'headers', 'warnings', 'banned', 'library', 'rows', 'scripts', 'lists', 'format',
          'cppcheck', 'analyzer', 'tidy')


def missing(check):
    for tool in NEEDS.get(check, ()):
        wanted = VERSIONS.get(tool)
        if not shutil.which(tool):
            yield tool
        elif wanted and not re.search(r'version %s\b' % wanted, sh(tool, '--version')[1]):
            yield '%s %s' % (tool, wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build'))
    parser.add_argument('--cuda')
    parser.add_argument('--nvml')
    parser.add_argument('only', nargs='*', choices=[*CHECKS, []])
    args = parser.parse_args()
    args.build = args.build.resolve()
    args.cuda = os.path.abspath(args.cuda or args.build / 'nvidia/include')
    args.nvml = os.path.abspath(args.nvml or args.build / 'nvidia/include')
    lint, failed = Lint(args), []
    for name in args.only or CHECKS:
        check = getattr(lint, name)
        absent = list(missing(name))
        if absent:
            print('MISS %-9s NOT CHECKED, there is no %s: make setup installs it' % (name, ' and no '.join(absent)), flush=True)
            failed += [name] if os.environ.get('CI', '') not in ('', '0', 'false') else []
            continue
        wrong = list(check())
        print('%-4s %-9s %s' % ('FAIL' if wrong else 'ok', name, check.__doc__), flush=True)
        for line in wrong[:SHOWN] + ['... and %d more' % (len(wrong) - SHOWN)] * (len(wrong) > SHOWN):
            print('     ' + line.replace('\n', '\n     '), flush=True)
        if wrong:
            failed.append(name)
    lint.tools.prune()
    print('lint: ' + ('%d of the checks found something: %s' % (len(failed), ' '.join(failed)) if failed else 'clean'))
    sys.exit(1 if failed else 0)


main()

#!/usr/bin/env python3
"""Feeds the corpora to builds that count lines, and prints how much of the parser and of the snapshot reader they reach.

    tests/fuzz/coverage.py [--missed]

Exit status 1 below LEAST percent of either, 77 without gcc and gcov. Needs no clang. --missed prints the lines that
nothing reached. CUDA_INCLUDE and NVML_INCLUDE are the folders of the headers (build/nvidia/include).
"""
import json, os, pathlib, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LEAST = 90.0
# What is counted, by which target; the others are only printed.
PARTS = {
    'parser': ['shim/base/%s.c' % n for n in ('parse', 'size', 'uuid', 'devices', 'settings_parse', 'settings_value')],
    'snapshot reader': ['shim/cli/reader.c'],
    'also: visible list': ['shim/policy/visible.c', 'shim/policy/visible_ask.c', 'shim/policy/visible_list.c'],
    'also: what is shown': ['shim/cli/show_bars.c', 'shim/cli/show_json.c'],
    'also: ledger': [str(p.relative_to(SOURCE)) for p in sorted((SOURCE / 'shim/ledger').glob('*.c'))],
}
WRAPPED = ['-Wl,--wrap=' + n for n in ('clock_gettime', 'nanosleep', 'syscall', 'mmap', 'munmap')]
BASE = [str(p.relative_to(SOURCE)) for p in sorted((SOURCE / 'shim/base').glob('*.c'))]
TARGETS = {
    'unit_any_settings_hold_or_are_refused': (BASE, []),
    'proc_any_ledger_bytes_harm_nobody': (BASE + PARTS['also: ledger'] + PARTS['also: what is shown'] +
                                          PARTS['snapshot reader'], ['-DCUQUOTA_POINTS']),
}


def call(command, **kw):
    r = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)
    if r.returncode:
        sys.exit('%s\n%s' % (' '.join(str(c) for c in command), r.stdout))
    return r.stdout


def measure(name, home):
    """{file: {line: times}} of one target's corpus."""
    sources, defines = TARGETS[name]
    sources = ['tests/fuzz/%s.c' % name] + [s for s in sources if s != 'shim/base/point.c']
    headers = [os.path.abspath(os.environ.get(v) or SOURCE / 'build/nvidia/include') for v in ('CUDA_INCLUDE', 'NVML_INCLUDE')]
    flags = ['-D_GNU_SOURCE', '-Iinclude', '-Ishim', '-Itests', '-isystem', headers[0], '-isystem', headers[1], '-std=gnu11',
             '-O0', '--coverage', '-fprofile-update=atomic', '-pthread', *defines]
    folder = home / name
    folder.mkdir()
    objects = [folder / (s.replace('/', '_') + '.o') for s in sources]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda pair: call(['gcc', *flags, '-c', pair[0], '-o', pair[1]], cwd=SOURCE), zip(sources, objects)))
    call(['gcc', '--coverage', '-pthread', '-o', folder / 'program', *objects, '-ldl', *(WRAPPED if name[:4] == 'proc' else [])])
    dir_ = folder / 'ledgers'
    dir_.mkdir()
    print('%s: %s' % (name, call([folder / 'program'], env={**os.environ, 'SOURCE': str(SOURCE), 'CUQUOTA_DIR': str(dir_)}).strip()))
    lines = {}
    for data in folder.glob('*.gcda'):
        for one in call(['gcov', '--json-format', '--stdout', data], cwd=SOURCE).splitlines():
            for file in json.loads(one)['files']:
                counts = lines.setdefault(os.path.relpath(SOURCE / file['file'], SOURCE), {})
                for line in file['lines']:
                    counts[line['line_number']] = counts.get(line['line_number'], 0) + line['count']
    return lines


def main():
    if not shutil.which('gcc') or not shutil.which('gcov'):
        print('skipped: no gcc, or no gcov')
        sys.exit(77)
    total, poor = {}, []
    memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix='cq-', dir=memory) as home:
        for name in TARGETS:
            for file, counts in measure(name, pathlib.Path(home)).items():
                sum_ = total.setdefault(file, {})
                for line, count in counts.items():
                    sum_[line] = sum_.get(line, 0) + count
    for part, files in PARTS.items():
        have = [n for f in files for n in total.get(f, {0: 0}).values()]
        percent = 100.0 * sum(1 for n in have if n) / len(have)
        print('%5.1f %%  %s (%d of %d lines)' % (percent, part, sum(1 for n in have if n), len(have)))
        for f in files:
            missed = sorted(line for line, n in total.get(f, {}).items() if not n)
            print('            %s: %d of %d' % (f, len(total.get(f, {})) - len(missed), len(total.get(f, {}))) +
                  (', not ' + ' '.join(map(str, missed)) if '--missed' in sys.argv and missed else ''))
        if percent < LEAST and not part.startswith('also'):
            poor.append('%s: %.1f %%, needs %.0f %%' % (part, percent, LEAST))
    for line in poor:
        print('too little: ' + line)
    sys.exit(1 if poor else 0)


main()

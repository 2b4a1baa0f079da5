#!/usr/bin/env python3
"""Prints which field report (tests/data/reports.txt) has which test: `make reports`.

A test carries an id in a comment, `report: HE-01` (several: `report: HE-01 HE-02`), or in its file's name. A test is shown
to be able to fail when a row of tests/mutants/ names it. Fails on an id that is not in the list.
"""
import collections, pathlib, re, sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
ID = re.compile(r'\b[A-Z]{2}-\d\d\b')
TESTS = re.compile(r'(unit|proc|preload|sim|gpu|cli|build|demo)_.*\.(c|py|sh)$')

reports = {}
for line in (SOURCE / 'tests/data/reports.txt').read_text().splitlines():
    if ID.match(line):
        fields = [f.strip() for f in line.split(' | ')]
        reports[fields[0]] = dict(zip(('id', 'priority', 'state', 'symptom', 'seen'), fields))

tests, unknown = collections.defaultdict(set), []
for path in sorted((SOURCE / 'tests').rglob('*')):
    if not TESTS.match(path.name):
        continue
    ids = [i for line in re.findall(r'\breports?:(.*)', path.read_text(errors='replace')) for i in ID.findall(line)]
    ids += [i.upper().replace('_', '-') for i in re.findall(r'(?<![a-z])[a-z]{2}[-_]\d\d(?!\d)', path.stem)
            if i.upper().replace('_', '-') in reports]
    for i in ids:
        if i in reports:
            tests[i].add(path.stem)
        else:
            unknown.append('%s: no such report: %s' % (path.relative_to(SOURCE), i))

mutated = set()
for path in (SOURCE / 'tests/mutants').iterdir():
    if path.name != 'README':
        for line in re.findall(r'^tests:(.*)', path.read_text(), re.M):
            mutated.update(line.split())

groups = collections.OrderedDict((name, []) for name in (
    'has a test that fails under a mutant', 'has a test', 'has no test yet', 'out of scope'))
for i, r in reports.items():
    shown = sorted(tests[i] & mutated)
    if shown:
        groups['has a test that fails under a mutant'].append((r, ', '.join(shown)))
    elif tests[i]:
        groups['has a test'].append((r, ', '.join(sorted(tests[i]))))
    elif r['state'].startswith('scope:'):
        groups['out of scope'].append((r, r['state'][6:].strip()))
    else:
        groups['has no test yet'].append((r, ''))

for name, rows in groups.items() if '--check' not in sys.argv else ():
    print('%s: %d' % (name, len(rows)))
    for r, what in rows:
        print('  %s %s %s%s' % (r['id'], r['priority'], r['symptom'], '\n           ' + what if what else ''))
    print()
if '--check' not in sys.argv:
    print('; '.join('%s: %d' % (name, len(rows)) for name, rows in groups.items()) + '; in all: %d' % len(reports))
for line in unknown:
    print(line, file=sys.stderr)
sys.exit(1 if unknown else 0)

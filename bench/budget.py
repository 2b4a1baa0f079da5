#!/usr/bin/env python3
"""bench/budget.def: read, used to judge a figure, and held against the table "Budget" of shim/README.md.

    bench/budget.py [--source DIR]     prints what differs and fails; `make lint` runs it
"""
import collections, pathlib, re, sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
KINDS = ('added', 'each', 'flat', 'beside', 'rate', 'share', 'most', 'never')
Budget = collections.namedtuple('Budget', 'name text bound unit kind')
ROW = re.compile(r'^BUDGET\((\w+), "((?:[^"\\]|\\.)*)", ([\d.]+), "([^"]*)", (\w+)\)$')
# A bound as the table writes it. What stands in brackets there is somebody else's figure.
BOUND = re.compile(r'(?:(≤|≥|within|\+)\s*|^)([\d,]+(?:\.\d+)?)\s*(ns|ms|M|×|%|bytes)')
SIGN = {'rate': '≥', 'each': '+'}  # all other kinds: at most


def read(source=SOURCE):
    """The rows by name, in order. A line that is no row ends the program with its place."""
    rows, path = {}, source / 'bench/budget.def'
    text = re.sub(r'/\*.*?\*/', lambda m: '\n' * m[0].count('\n'), path.read_text(), flags=re.S)
    for number, line in enumerate(text.split('\n'), 1):
        m = ROW.match(line)
        if m and m[5] in KINDS and m[1] not in rows:
            rows[m[1]] = Budget(m[1], m[2], float(m[3]), m[4], m[5])
        elif line.strip():
            sys.exit('%s:%d: not understood: %s' % (path, number, line))
    return rows


def table(source=SOURCE):
    """The rows of the table: {text: set of (sign, number, unit)}."""
    part = re.search(r'^## Budget$(.*?)(?=^## |\Z)', (source / 'shim/README.md').read_text(), re.M | re.S)
    found = {}
    for line in part[1].split('\n') if part else []:
        cells = [c.strip() for c in line.strip().strip('|').split('|')]
        if line.startswith('|') and len(cells) == 2 and cells[0] not in ('what', '---'):
            own = re.sub(r'\([^)]*\)', '', cells[1]).strip()
            found[cells[0]] = {('≤' if sign in ('', 'within') else sign, float(number.replace(',', '')), unit)
                               for sign, number, unit in BOUND.findall(own)}
    return found


def differences(source=SOURCE):
    wanted = {}
    for b in read(source).values():
        wanted.setdefault(b.text, set()).add((SIGN.get(b.kind, '≤'), b.bound, b.unit))
    shown, said = table(source), lambda bounds: ', '.join('%s %g %s' % b for b in sorted(bounds)) or 'nothing'
    for text in {**wanted, **shown}:
        if wanted.get(text) != shown.get(text):
            yield '%s: bench/budget.def says %s, the table in shim/README.md %s' % (
                text, said(wanted.get(text, ())), said(shown.get(text, ())))


if __name__ == '__main__':
    wrong = list(differences(pathlib.Path(sys.argv[2]) if sys.argv[1:2] == ['--source'] else SOURCE))
    print('\n'.join(wrong), end='\n' if wrong else '')
    sys.exit(1 if wrong else 0)

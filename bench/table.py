#!/usr/bin/env python3
"""Writes the figures of the last whole bench into README.md, between its markers, with the date and how to repeat them.

    bench/table.py [--build DIR] [--readme FILE]          (make bench-table)

Refuses a bench that left rows of the budget out or was a quick one.
"""
import argparse, json, os, pathlib, re, sys, time

import budget, report

PART = re.compile(r'(<!-- figures: bench -->\n).*?(<!-- /figures -->)', re.S)
QUICK = 20  # rounds; a whole bench has more


def machine():
    try:
        info = pathlib.Path('/proc/cpuinfo').read_text()
        name = re.search(r'^model name\s*: (.*)$', info, re.M)
        return '%d × %s' % (os.cpu_count(), name[1].strip() if name else os.uname().machine)
    except OSError:
        return '%d × %s' % (os.cpu_count(), os.uname().machine)


def bound(figure, kind):
    if kind in ('rate',):
        return '≥ %g M/s' % figure['budget']
    unit = {'share': '%', 'beside': '×', 'flat': '×'}.get(kind, figure['unit'])
    return '≤ %s %s' % (report.shown(figure['budget']) if figure['budget'] % 1 else '%g' % figure['budget'], unit)


def lines(figures, day):
    """The part of README.md, line by line."""
    peer = any('peer' in f for f in figures.values())
    yield 'Measured on %s on %s, by `make bench` against the simulated driver.' % (
        day, machine())
    yield '`make bench` measures them anew, `make bench-table` writes this table; [bench/README.md](bench/README.md) tells how.'
    yield ''
    yield '| what | unit | driver alone | with cuquota | added | budget |%s' % (' a peer |' if peer else '')
    yield '|---|---|---|---|---|---|%s' % ('---|' if peer else '')
    for figure in figures.values():
        if figure['budget'] is None:
            continue
        kind = figure['kind']
        if figure['added'] is None or kind in ('most', 'never'):
            added = '> bare' if kind == 'rate' and figure['within'] else ''
        else:
            added = report.shown(figure['added']) + {'share': ' %', 'beside': '×', 'flat': '×'}.get(kind, '')
        cells = [figure['text'], figure['unit'], report.shown(figure['bare']), report.shown(figure['cuquota']), added,
                 bound(figure, kind) + ('' if figure['within'] else ' **missed**')]
        yield '| ' + ' | '.join(cells + [report.shown(figure.get('peer'))] * peer) + ' |'


def refusal(figures, budgets):
    """Why these figures are not for the README, or None."""
    left_out = {b.text for b in budgets.values()} - {f.get('row') for f in figures.values()}
    if left_out:
        return 'the last bench left out: ' + '; '.join(sorted(left_out))
    if min(f['rounds'] or QUICK for n, f in figures.items() if n.startswith('pair.newest.')) < QUICK:
        return 'the last bench was a quick one'
    return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('\n')[2].strip())
    parser.add_argument('--build', default='build')
    parser.add_argument('--readme', default=str(budget.SOURCE / 'README.md'))
    args = parser.parse_args()
    source, budgets = pathlib.Path(args.build, 'bench.json'), budget.read()
    if not source.exists():
        sys.exit('%s is not there: make bench' % source)
    figures = json.loads(source.read_text())
    why = refusal(figures, budgets)
    if why:
        sys.exit('%s: %s' % (source, why))
    day = time.strftime('%Y-%m-%d', time.localtime(source.stat().st_mtime))
    readme = pathlib.Path(args.readme)
    old = readme.read_text()
    if not PART.search(old):
        sys.exit('%s has no place for the figures: <!-- figures: bench --> and <!-- /figures -->' % readme)
    readme.write_text(PART.sub(lambda m: m[1] + '\n'.join(lines(figures, day)) + '\n' + m[2], old))


if __name__ == '__main__':
    main()

"""The table on stdout: one line for each figure as soon as it is there."""
import math

from figures import Figure

WIDTH = 58


def shown(value):
    return '-' if value is None else '> bare' if value == math.inf else '%.0f' % value if abs(value) >= 1000 else '%.1f' % value if abs(value) >= 10 else '%.2f' % value


def limit(figure):
    if figure.bound is None:
        return ''
    sign = {'rate': '≥'}.get(figure.budget.kind, '≤')
    unit = '' if figure.budget.unit in ('ns', 'M') else ' ' + figure.budget.unit
    return '%s %s%s' % (sign, '%g' % round(figure.bound, 1), unit)


def head(setting):
    print('%-*s %9s %9s %9s %9s %-6s %-10s %-6s %s' % (
        WIDTH, 'what', 'bare', 'cuquota', 'added', 'peer' if setting.peer else '', 'unit', 'budget', 'within',
        'quartiles bare, cuquota; instructions bare, cuquota; tries'))


def line(figure, setting):
    more = []
    for variant in ('bare', 'cuquota'):
        if variant in figure.spread:
            more.append('%s..%s' % tuple(map(shown, figure.spread[variant])))
    text = ' '.join(more)
    if figure.instructions:
        counts = figure.instructions
        text += '; ' + (counts if isinstance(counts, str) else '%.0f %.0f instr.' % (counts['bare'], counts['cuquota']))
    if len(figure.tries) > 1:
        text += '; tries ' + ' '.join(map(shown, figure.tries))
    if figure.note:
        text += '; ' + figure.note
    print('%-*s %9s %9s %9s %9s %-6s %-10s %-6s %s' % (
        WIDTH, figure.text, shown(figure.bare), shown(figure.cuquota), shown(figure.added),
        shown(figure.peer) if setting.peer else '', figure.unit, limit(figure),
        '' if figure.bound is None else 'yes' if figure.within else 'NO', text), flush=True)


def unmeasured(name, why):
    """A figure that stands for a group which could not be measured: never within."""
    figure = Figure(name, name, '', note='cannot be measured: ' + why)
    figure.broken = True
    return figure

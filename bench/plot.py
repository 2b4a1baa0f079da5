"""build/bench.svg: cost against live blocks, members and processes, drawn from the figures of build/bench.json."""
import html, math

WIDTH, HEIGHT, LEFT, TOP, GAP = 320, 240, 60, 50, 80
COLOURS = {'bare': '#888888', 'cuquota': '#1f6fb4', 'peer': '#c8501e'}
DASHES = ('', '6 3', '2 3')

# title, label of x, unit of y, lines: (prefix of the figures, what it is called)
PANELS = (
    ('Pair against live blocks', 'live blocks', 'ns', (('pair.newest.', 'newest first'), ('pair.random.', 'random'),
                                                       ('pair.oldest.', 'oldest first'))),
    ('Pair against idle members', 'idle members of others', 'ns', (('pair.idle.', ''),)),
    ('Pairs per second in all', 'processes', 'M/s', (('rate.processes.', 'within credit'), ('rate.grow.', 'larger'))),
)


def points(figures, prefix, variant):
    """[(x, y)] of the figures whose name is the prefix and a number."""
    found = []
    for name, f in figures.items():
        rest = name[len(prefix):]
        if name.startswith(prefix) and rest.isdigit() and f.get(variant):
            found.append((int(rest), f[variant]))
    return sorted(found)


def place(x):
    return math.log10(x) + 1 if x >= 1 else 0.0  # 0 stands one decade left of 1


def text(x, y, words, size=11, anchor='middle', more=''):
    return '<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s"%s>%s</text>' % (x, y, size, anchor, more, html.escape(words))


def panel(number, figures, title, across, unit, lines):
    left = LEFT + number * (WIDTH + GAP)
    drawn = [(v, i, label, points(figures, prefix, v)) for i, (prefix, label) in enumerate(lines) for v in COLOURS]
    drawn = [d for d in drawn if d[3]]
    out = [text(left + WIDTH / 2, TOP - 25, title, 14), text(left + WIDTH / 2, TOP + HEIGHT + 35, across)]
    out.append('<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#444"/>' % (left, TOP, WIDTH, HEIGHT))
    if not drawn:
        return out + [text(left + WIDTH / 2, TOP + HEIGHT / 2, 'not measured')]
    xs = sorted({x for d in drawn for x, _ in d[3]})
    ys = [y for d in drawn for _, y in d[3]]
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
    high = max(high, low + 1)
    first, wide = place(xs[0]), (place(xs[-1]) - place(xs[0])) or 1
    at_x = lambda x: left + 12 + (WIDTH - 24) * (place(x) - first) / wide
    at_y = lambda y: TOP + HEIGHT - HEIGHT * (math.log10(y) - low) / (high - low)
    for x in xs:
        out.append(text(at_x(x), TOP + HEIGHT + 16, '{:,}'.format(x), 10))
    for decade in range(low, high + 1):
        y = at_y(10.0 ** decade)
        out.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>' % (left, y, left + WIDTH, y))
        out.append(text(left - 6, y + 4, '%g %s' % (10.0 ** decade, unit), 10, 'end'))
    for row, (variant, dash, label, line) in enumerate(drawn):
        where = ' '.join('%.1f,%.1f' % (at_x(x), at_y(y)) for x, y in line)
        style = 'stroke="%s" stroke-width="2" stroke-dasharray="%s"' % (COLOURS[variant], DASHES[dash])
        out.append('<polyline points="%s" fill="none" %s/>' % (where, style))
        out += ['<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>' % (at_x(x), at_y(y), COLOURS[variant]) for x, y in line]
        key = TOP + HEIGHT + 58 + row * 16
        out.append('<line x1="%d" y1="%d" x2="%d" y2="%d" %s/>' % (left, key - 4, left + 30, key - 4, style))
        out.append(text(left + 38, key, ' '.join(w for w in (variant, label) if w), 11, 'start'))
    return out


def svg(figures):
    """The picture as text. `figures` is what bench.json holds."""
    wide, high = LEFT + len(PANELS) * (WIDTH + GAP), TOP + HEIGHT + 58 + 16 * 9 + 10
    body = [p for i, one in enumerate(PANELS) for p in panel(i, figures, *one)]
    return ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
            'font-family="sans-serif">\n<rect width="100%%" height="100%%" fill="white"/>\n%s\n</svg>\n' % (
                wide, high, wide, high, '\n'.join(body)))

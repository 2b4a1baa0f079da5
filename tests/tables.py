#!/usr/bin/env python3
"""The generated parts of the README files: `make tables` writes them, `make lint` checks that they are up to date.

A part stands between `<!-- table: NAME -->` and `<!-- /table -->`. NAME is one of

    options   every setting, from shim/base/options.def, and what the command alone reads, from shim/cli/commands.def
    aliases   other names of settings, from the same file
    commands  what `cuquota` can do, from shim/cli/commands.def
    doors     the ways to the driver that `cuquota doctor` goes, from shim/cli/doctor_doors.c
"""
import pathlib, re, sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PART = re.compile(r'(<!-- table: (\w+) -->\n).*?(<!-- /table -->)', re.S)


def rows(macro, path='shim/base/options.def'):
    """The arguments of each use of the macro in the file; string literals are joined and unquoted."""
    text = re.sub(r'/\*.*?\*/', '', (SOURCE / path).read_text(), flags=re.S)
    text = re.sub(r'^\s*#.*$', '', text, flags=re.M)
    literal = r'"(?:\\.|[^"\\])*"'
    for body in re.findall(r'\b%s\(((?:%s|[^()"])*)\)' % (macro, literal), text):
        args = re.findall(r'(?:%s|[^,"])+' % literal, body)
        yield [''.join(s[1:-1] for s in re.findall(literal, a)).replace(r'\"', '"') or a.strip() for a in args]


def options():
    yield '| variable | value | default | what it says |'
    yield '|---|---|---|---|'
    settings = [(name, default, value, summary, more) for _, name, _, default, value, summary, more in rows('OPTION')]
    settings += [(name, default, value, summary, more) for name, value, default, summary, more in
                 rows('VARIABLE', 'shim/cli/commands.def')]
    for name, default, value, summary, more in settings:
        quoted = default if '`' in default or default == 'derived' else '`%s`' % default
        yield '| `%s` | %s | %s | %s. %s |' % (name, value.replace('|', r'\|'), quoted, summary, more.replace('|', r'\|'))


def aliases():
    names = {row[0]: row[1] for row in rows('OPTION')}
    yield '| name | read as |'
    yield '|---|---|'
    for field, name in rows('ALIAS'):
        yield '| `%s` | `%s` |' % (name, names[field])


def commands():
    yield '| command | what it does |'
    yield '|---|---|'
    for name, arguments, summary, _ in rows('COMMAND', 'shim/cli/commands.def'):
        yield '| `cuquota %s %s` | %s |' % (name, arguments.replace('|', r'\|'), summary)


def doors():
    table = re.search(r'struct door doors\[\] = \{(.*?)\n\};', (SOURCE / 'shim/cli/doctor_doors.c').read_text(), re.S)[1]
    yield from ('* ' + sentence.rstrip(',') for _, sentence in re.findall(r'\{"(.*?)", "(.*?)"\}', table))


PARTS = {'options': options, 'aliases': aliases, 'commands': commands, 'doors': doors}


def filled(text):
    return PART.sub(lambda m: m[1] + '\n'.join(PARTS[m[2]]()) + '\n' + m[3], text)


def main(verb):
    stale = False
    for path in (SOURCE / 'README.md', SOURCE / 'shim/README.md', SOURCE / 'tests/simgpu/README.md'):
        if path.exists():
            old = path.read_text()
            new = filled(old)
            if verb == '--write' and new != old:
                path.write_text(new)
            elif new != old:
                print('%s: a generated table is not up to date: make tables' % path.relative_to(SOURCE))
                stale = True
    sys.exit(1 if stale else 0)


main(sys.argv[1] if len(sys.argv) > 1 else '--check')

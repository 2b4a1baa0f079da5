"""The help and the manual page tell every option with its value, each setting, and an example that works."""
import re, shlex, shutil

import pytest
from helper import BUILD, COMMAND, SOURCE, run

TABLE = (SOURCE / 'shim/cli/commands.def').read_text()
FLAGS = re.findall(r'^FLAG\((\w+), (?:\'(\w)\'|0), "([\w-]+)", "([^"]*)", "\w*",\s*"([^"]*)"\)', TABLE, re.M)
EXAMPLES = re.findall(r'^EXAMPLE\((\w+), "([^"]*)"', TABLE, re.M)


def cuquota(*args):
    done = run([COMMAND, *args], preload=False)
    assert done.returncode == 0
    return done.stdout


def page():
    """The manual page as text, roff's escapes for hyphens and fonts taken out."""
    return re.sub(r'\\f[BRI]', '', cuquota('help', '--man')).replace('\\-', '-')


def test_options_have_their_values_and_texts():
    assert len(FLAGS) == TABLE.count('\nFLAG(')
    shown = page()
    for command, letter, name, value, text in FLAGS:
        option = ('-%s, ' % letter if letter else '') + '--' + name + ('' if value[:1] in ('[', '') else ' ') + value
        assert '%s %s' % (option, text) in ' '.join(cuquota(command, '--help').split())
        assert '\n%s\n%s\n' % (option, text) in shown


def test_the_page_is_whole():
    text = page()
    for heading in ('NAME', 'SYNOPSIS', 'COMMANDS', 'EXAMPLES', 'ENVIRONMENT', 'FILES', 'EXIT STATUS'):
        assert '.SH %s\n' % heading in text
    assert 'cuquota --version' in text and 'CUQUOTA_LIB' in text
    assert not re.search(r'^\.PP\n(\n|\.)', text, re.M), 'an empty paragraph'
    assert '\n\n' not in text


@pytest.mark.skipif(not shutil.which('groff'), reason='no groff')
def test_the_page_is_roff():
    (BUILD / 'tests').mkdir(exist_ok=True)
    page_file = BUILD / 'tests/cuquota.1'
    page_file.write_text(cuquota('help', '--man'))
    done = run(['groff', '-man', '-ww', '-Tutf8', '-z', page_file], preload=False)
    assert (done.returncode, done.stderr) == (0, '')


@pytest.mark.parametrize('command, line', EXAMPLES)
def test_examples_are_understood(command, line):
    """Each with a command that says what limit it runs under in place of its own."""
    assert line in cuquota(command, '--help') and line in page()
    words = shlex.split(line)
    assert words[:2] == ['cuquota', command]
    done = run([COMMAND, *words[1:words.index('--') + 1], '/bin/sh', '-c', 'echo $CUQUOTA_MEMORY_LIMIT'], preload=False)
    assert (done.returncode, done.stdout) == (0, '8G\n'), done.stderr

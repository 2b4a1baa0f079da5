"""tests/mutate.py fails for a mutant that survives, one whose text is gone, and a test that fails without any mutant."""
import shutil, subprocess, sys
import pytest
import helper

ROW = '@ shim/a.c\n- %s\n+ %s\ntests: %s\nshows: promise 1\n\n'


@pytest.fixture
def tree(tmp_path):
    (tmp_path / 'tests/mutants').mkdir(parents=True)
    (tmp_path / 'shim').mkdir()
    (tmp_path / 'build').mkdir()
    for name in ('run', 'mutate.py'):
        shutil.copy(helper.SOURCE / 'tests' / name, tmp_path / 'tests' / name)
    (tmp_path / 'tests/skips.expected').write_text('')
    (tmp_path / 'Makefile').write_text('test-deps:\n\tgrep -q compiles shim/a.c\n')
    (tmp_path / 'shim/a.c').write_text('compiles\ngood one\ngood two\n')
    (tmp_path / 'tests/unit_one.sh').write_text('grep -q "good one" shim/a.c\n')
    (tmp_path / 'tests/unit_two.sh').write_text('grep -q "good two" shim/a.c\n')
    return tmp_path


def run(tree, rows):
    (tree / 'tests/mutants/rows').write_text(''.join(ROW % row for row in rows))
    r = subprocess.run([sys.executable, str(tree / 'tests/mutate.py'), '--build', str(tree / 'build'), '--cuda', '/', '--nvml', '/'],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=50)
    return r.returncode, r.stdout


def test_killed(tree):
    status, output = run(tree, [('good one', 'bad', 'unit_one'), ('good two', 'bad', 'unit_two'), ('compiles', 'x', 'build')])
    assert status == 0 and '3 killed, 0 survived, 0 stale' in output, output
    assert (tree / 'shim/a.c').read_text() == 'compiles\ngood one\ngood two\n'


def test_survivor(tree):
    status, output = run(tree, [('good one', 'bad', 'unit_one'), ('good two', 'bad', 'unit_two unit_one')])
    assert status == 1 and '1 killed, 1 survived, 0 stale' in output, output


def test_a_fault_that_does_not_compile_shows_nothing(tree):
    status, output = run(tree, [('compiles', 'x', 'unit_one')])
    assert status == 1 and '0 killed, 1 survived' in output, output


def test_a_row_without_a_verdict_is_not_killed(tree):
    (tree / 'tests/unit_one.sh').write_text('grep -q "good one" shim/a.c || { rm -r shim; exit 1; }\n')
    status, output = run(tree, [('good one', 'bad', 'unit_one')])
    assert status == 1 and '0 killed, 0 survived, 0 stale, 0 timed out, 1 without a verdict' in output, output


HANG = '# timeout: 1\ngrep -q "good one" shim/a.c || sleep 20\n'


def test_a_hang_shows_nothing(tree):
    (tree / 'tests/unit_one.sh').write_text(HANG)
    status, output = run(tree, [('good one', 'bad', 'unit_one'), ('good two', 'bad', 'unit_two')])
    assert status == 1 and '1 killed, 0 survived, 0 stale, 1 timed out' in output, output


def test_a_hang_that_is_expected_kills(tree):
    (tree / 'tests/unit_one.sh').write_text(HANG)
    status, output = run(tree, [('good one', 'bad', 'unit_one\nhangs: yes')])
    assert status == 0 and '1 killed, 0 survived, 0 stale, 0 timed out' in output, output


@pytest.mark.parametrize('text', ['gone', 'good'])
def test_text_that_is_not_found_once(tree, text):
    status, output = run(tree, [('good one', 'bad', 'unit_one'), (text, 'x', 'unit_one')])
    assert status == 1 and '1 killed, 0 survived, 1 stale' in output, output


def test_unknown_test(tree):
    status, output = run(tree, [('good one', 'bad', 'unit_one'), ('good two', 'x', 'unit_three')])
    assert status == 1 and '1 stale' in output, output


def test_a_test_that_fails_anyway(tree):
    (tree / 'tests/unit_two.sh').write_text('exit 1\n')
    status, output = run(tree, [('good two', 'bad', 'unit_two')])
    assert status == 1 and 'fail without a mutant' in output, output

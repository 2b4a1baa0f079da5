"""bench/budget.def and the table "Budget" of shim/README.md say the same; a number that differs is found, on either side."""
import re, shutil, subprocess, sys
import pytest
import helper


@pytest.fixture
def tree(tmp_path):
    for name in ('bench/budget.def', 'shim/README.md'):
        (tmp_path / name).parent.mkdir()
        shutil.copy(helper.SOURCE / name, tmp_path / name)
    return tmp_path


def compare(tree):
    r = subprocess.run([sys.executable, helper.SOURCE / 'bench/budget.py', '--source', tree], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    return r.returncode, r.stdout


def change(tree, name, old, new):
    text = (tree / name).read_text()
    assert text.count(old) == 1, '%s holds %d times %s' % (name, text.count(old), old)
    (tree / name).write_text(text.replace(old, new))


def test_the_two_agree(tree):
    assert compare(tree) == (0, '')


FAULTS = [
    ('bench/budget.def', '60, "ns", added)\nBUDGET(newest_flat', '61, "ns", added)\nBUDGET(newest_flat', '61 ns'),
    ('bench/budget.def', '1.2, "ns", each', '1.3, "ns", each', '1.3 ns'),
    ('bench/budget.def', '0, "bytes", never', '1, "bytes", never', '1 bytes'),
    ('bench/budget.def', '30, "M", rate', '30, "M", added', 'M'),
    ('bench/budget.def', 'BUDGET(launch, "kernel launch", 3, "ns", added)\n', '', 'kernel launch'),
    ('shim/README.md', '≥ 30 M', '≥ 29 M', '29 M'),
    ('shim/README.md', 'within 1.2×', 'within 1.3×', '1.3 ×'),
    ('shim/README.md', '≤ 60 ms at the limit', '≤ 61 ms at the limit', '61 ms'),
    ('shim/README.md', '| kernel launch | ≤ 3 ns (20 ns) |\n', '', 'kernel launch'),
    ('shim/README.md', '## Budget\n', '## Costs\n', 'nothing'),
]


@pytest.mark.parametrize('name,old,new,word', FAULTS, ids=[f[3] for f in FAULTS])
def test_a_difference_is_found(tree, name, old, new, word):
    change(tree, name, old, new)
    status, output = compare(tree)
    assert status == 1 and word in output, output


def test_what_others_take_may_change(tree):
    change(tree, 'shim/README.md', '(20 ns)', '(30 ns)')
    assert compare(tree) == (0, '')


def test_a_row_that_is_not_understood_is_named(tree):
    change(tree, 'bench/budget.def', '3, "ns", added)\nBUDGET(start,', '3, "ns", dearer)\nBUDGET(start,')
    status, output = compare(tree)
    line = (tree / 'bench/budget.def').read_text().split('"kernel launch"')[0].count('\n') + 1
    assert status == 1 and re.search(r'budget.def:%d: not understood' % line, output), output


def test_lint_runs_it():
    r = subprocess.run(['make', '-n', 'lint'], cwd=helper.SOURCE, capture_output=True, text=True,
                       env={**helper.environment(False), 'MAKEFLAGS': ''})
    assert 'bench/budget.py' in r.stdout, r.stdout[-500:] + r.stderr[-500:]

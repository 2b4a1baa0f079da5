"""tests/run adds up every kind of test, ends the late ones with all they started, and fails a run whose skipped tests are
not the expected ones."""
import os, shutil, subprocess, sys
import pytest
import helper

PASS, FAIL, SKIP = 'exit 0\n', 'echo seen; exit 3\n', 'exit 77\n'


@pytest.fixture
def tree(tmp_path):
    (tmp_path / 'tests').mkdir()
    (tmp_path / 'build/tests').mkdir(parents=True)
    shutil.copy(helper.SOURCE / 'tests/run', tmp_path / 'tests/run')
    (tmp_path / 'tests/skips.expected').write_text('')
    return tmp_path


def run(tree, tests, *args, expected=''):
    for name, text in tests.items():
        (tree / 'tests' / name).write_text(text)
    (tree / 'tests/skips.expected').write_text(expected)
    r = subprocess.run([sys.executable, str(tree / 'tests/run'), '--build', str(tree / 'build'), *args],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=50)
    return r.returncode, r.stdout, r.stdout.splitlines()[-1]


def test_all_pass(tree):
    status, output, last = run(tree, {'unit_a.sh': PASS, 'cli_b.py': 'def test_x(): pass\ndef test_y(): pass\n'})
    assert (status, last) == (0, '3 passed, 0 failed, 0 skipped'), output


def test_a_failure_is_shown_and_counted(tree):
    status, output, last = run(tree, {'unit_a.sh': PASS, 'unit_b.sh': FAIL, 'cli_c.py': 'def test_x(): assert 1 == 2\n'})
    assert (status, last) == (1, '1 passed, 2 failed, 0 skipped'), output
    assert 'seen' in output and 'status 3' in output and 'assert 1 == 2' in output


def test_a_crash_is_a_failure(tree):
    status, output, last = run(tree, {'unit_a.sh': 'kill -SEGV $$\n'})
    assert (status, last) == (1, '0 passed, 1 failed, 0 skipped'), output
    assert 'SIGSEGV' in output


def test_no_test_is_a_failure(tree):
    assert run(tree, {})[0] == 1


def test_skipped_tests_must_be_the_expected_ones(tree):
    tests = {'unit_a.sh': PASS, 'unit_b.sh': SKIP}
    assert run(tree, tests, expected='unit_b always\n')[0::2] == (0, '1 passed, 0 failed, 1 skipped')
    assert run(tree, tests)[0::2] == (1, '1 passed, 1 failed, 1 skipped')
    assert run(tree, tests, expected='unit_* always\n')[0::2] == (1, '1 passed, 1 failed, 1 skipped')


def gone(pid):
    try:
        return open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()[0] == 'Z'
    except OSError:
        return True


@pytest.mark.parametrize('way', ['sleep 50 &', 'setsid sleep 50 &', '(setsid sleep 50 & echo $! >FILE) &'])
def test_what_a_late_test_started_is_ended(tree, way):
    file = tree / 'pid'
    way = way.replace('FILE', str(file))
    text = '# timeout: 1\n%s\n[ -s %s ] || echo $! >%s\nexec sleep 50\n' % (way, file, file)
    status, output, last = run(tree, {'unit_a.sh': text if '(' not in way else text.replace('[ -s', 'true || [ -s')})
    assert (status, last) == (1, '0 passed, 1 failed, 0 skipped'), output
    assert 'time limit' in output
    assert gone(int(file.read_text()))


def test_a_test_that_leaves_a_process_fails(tree):
    file = tree / 'pid'
    status, output, last = run(tree, {'unit_a.sh': 'setsid sleep 50 >/dev/null & echo $! >%s\n' % file})
    assert status == 1 and last == '0 passed, 1 failed, 0 skipped', output
    assert gone(int(file.read_text()))


def test_each_test_has_folders_of_its_own_and_no_preload(tree):
    text = '[ -z "$LD_PRELOAD$CUQUOTA_MEMORY_LIMIT" ] && [ -z "$(ls "$CUQUOTA_DIR" "$SIMGPU_DIR" | grep -v :)" ] || exit 1\n' \
           'touch "$CUQUOTA_DIR/x" "$SIMGPU_DIR/y" "$TMPDIR/z"; echo "$CUQUOTA_DIR" >>%s\n' % (tree / 'folders')
    os.environ['CUQUOTA_MEMORY_LIMIT'] = '1G'
    try:
        status, output, last = run(tree, {'unit_a.sh': text, 'unit_b.sh': text})
    finally:
        del os.environ['CUQUOTA_MEMORY_LIMIT']
    assert (status, last) == (0, '2 passed, 0 failed, 0 skipped'), output
    folders = (tree / 'folders').read_text().split()
    assert len(set(folders)) == 2 and not any(os.path.exists(f) for f in folders)

"""Under the preload a program that never uses CUDA does what it does without: `/bin/true` makes the same system calls
once the loader is done, opens no other file, makes no thread and prints nothing.

report: CR-02
"""
import os, re, subprocess
import helper

EMPTY = 'int cuquota_test_empty;'


def traced(library, tmp_path, tag):
    """[(call, whole line)] of /bin/true under a preload, as strace sees them."""
    trace = tmp_path / (tag + '.trace')
    r = subprocess.run(['strace', '-f', '-E', 'LD_PRELOAD=%s' % library, '-o', str(trace), '/bin/true'],
                       capture_output=True, text=True, timeout=30, env=helper.environment(preload=False))
    assert (r.returncode, r.stdout, r.stderr) == (0, '', '')
    calls = []
    for line in trace.read_text().splitlines():
        m = re.match(r'\d+\s+(\w+)\(', line)
        if m:
            calls.append((m[1], line))
    assert calls, 'nothing traced'
    return calls


def empty_library(tmp_path):
    source, library = tmp_path / 'empty.c', tmp_path / 'empty.so'
    source.write_text(EMPTY)
    subprocess.run([os.environ.get('CC', 'gcc'), '-shared', '-fPIC', '-o', str(library), str(source)], check=True)
    return library


def after_loading(calls):
    last = max(i for i, (name, _) in enumerate(calls) if name in ('mprotect', 'munmap'))
    return [name for name, _ in calls[last + 1:]]


def opened(calls, but):
    return [m[1] for name, line in calls if name.startswith('open')
            for m in [re.search(r'"([^"]*)"', line)] if m and m[1] != str(but)]


def test_same_calls_as_under_an_empty_library(tmp_path):
    empty = empty_library(tmp_path)
    bare, ours = traced(empty, tmp_path, 'empty'), traced(helper.LIBRARY, tmp_path, 'ours')
    assert after_loading(ours) == after_loading(bare)
    assert opened(ours, helper.LIBRARY) == opened(bare, empty)


def test_without_any_driver_programs_start(tmp_path):
    for argv in (['/bin/true'], ['bash', '-c', ':'], [os.environ.get('PYTHON', 'python3'), '-c', '']):
        r = helper.run(argv, LD_LIBRARY_PATH=None)
        assert (r.returncode, r.stdout, r.stderr) == (0, '', ''), argv

"""Adding a hook takes one row and one function; a wrong signature, a row without its function, a function without its
row, and a misspelt name do not build.

timeout: 240
"""
import os, subprocess
import pytest
import helper

NAME = 'cuCtxResetPersistingL2Cache'  # takes nothing, moves no memory: will never be a hook
FUNCTION = '#include "driver/driver.h"\n\nCUresult %s(%s)\n{\n\treturn %s;\n}\n'


@pytest.fixture(scope='module')
def tree(tmp_path_factory):
    """A copy that is built once; each case changes and restores it."""
    root = tmp_path_factory.mktemp('tree')
    for part in ('Makefile', 'shim', 'include'):
        subprocess.run(['cp', '-a', helper.SOURCE / part, root], check=True)
    (root / 'shim/hooks').mkdir(exist_ok=True)
    assert 'PASS(%s)' % NAME in (root / 'shim/driver/cuda.def').read_text()
    status, output = build(root)
    assert status == 0, output
    return root


def build(root):
    env = {k: v for k, v in os.environ.items() if k not in ('BUILD', 'MAKEFLAGS', 'CFLAGS')}
    r = subprocess.run(['make', '-s', '-j2', 'BUILD=build', 'CFLAGS=-O0', 'PYTHON=python3', 'build/libcuquota.so'], cwd=root,
                       env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return r.returncode, r.stdout


def changed(root, row=None, function=None):
    """Builds with a row in place of NAME's and a function in a file of its own; (status, output, exports)."""
    rows, source = root / 'shim/driver/cuda.def', root / 'shim/hooks/added.c'
    text = rows.read_text()
    try:
        if row:
            rows.write_text(text.replace('PASS(%s)' % NAME, row))
        if function:
            source.write_text(function)
        status, output = build(root)
        exports = subprocess.run(['nm', '-D', '--defined-only', root / 'build/libcuquota.so'], capture_output=True,
                                 text=True).stdout if status == 0 else ''
        return status, output, exports
    finally:
        rows.write_text(text)
        source.unlink(missing_ok=True)


def test_one_row_and_one_function_are_a_hook(tree):
    status, output, exports = changed(tree, 'HOOK(%s)' % NAME, FUNCTION % (NAME, 'void', 'real.%s()' % NAME))
    assert status == 0, output
    assert NAME in exports.split()


def test_a_wrong_signature_does_not_build(tree):
    status, output, _ = changed(tree, 'HOOK(%s)' % NAME, FUNCTION % (NAME, 'int wrong', 'CUDA_SUCCESS'))
    assert status != 0 and 'conflicting types' in output, output


def test_a_row_without_its_function_does_not_build(tree):
    status, output, _ = changed(tree, 'HOOK(%s)' % NAME)
    assert status != 0 and NAME in output, output


def test_a_function_without_its_row_does_not_build(tree):
    status, output, _ = changed(tree, None, FUNCTION % (NAME, 'void', 'CUDA_SUCCESS'))
    assert status != 0 and NAME in output, output


def test_a_misspelt_name_does_not_build(tree):
    status, output, _ = changed(tree, 'HOOK(cuCtxResetPersistingL2Cash)', None)
    assert status != 0 and 'cuCtxResetPersistingL2Cash' in output, output

"""`make lint` finds a fault of each kind: a small tree is clean, and one change makes the check of its kind fail."""
import os, shutil, subprocess, sys
import pytest
import helper

CLEAN = '/*\n * One.\n */\n#include "base/one.h"\n\nint one(void)\n{\n\treturn 1;\n}\n'

# check, file, text put behind what it holds (or the whole file), a word of the complaint
FAULTS = [
    ('floors', 'shim/base/one.c', '#include "ledger/two.h"\n', 'floor base'),
    ('floors', 'include/cuquota/ledger.h', '#include <stdio.h>\n', 'stdint'),
    ('doors', 'shim/base/one.c', 'void *p(void)\n{\n\treturn mmap(0, 1, 0, 0, 0, 0);\n}\n', 'mapping'),
    ('doors', 'shim/ledger/two.c', 'const char *p(void)\n{\n\treturn getenv("X");\n}\n', 'environment'),
    ('doors', 'shim/ledger/two.c', '#include <dlfcn.h>\n', 'dlfcn'),
    ('doors', 'shim/ledger/two.c', '#include <cuda.h>\n', 'cuda.h'),
    ('doors', 'shim/base/one.c', '#include "../tests/simgpu/sim.h"\n', 'simgpu'),
    ('words', 'shim/base/one.c', 'typedef struct one one_t;\n', 'typedef'),
    ('words', 'README.md', 'see /wo' + 'rk/x\n', 'names a place'),
    ('words', 'README.md', 'see DES' + 'IGN.md\n', 'not there'),
    ('words', 'Makefile', 'FRAGMENTS := shim/a.mk \\\n\tshim/b.mk\n', 'no fragment shim/b.mk'),
    ('length', 'shim/base/one.c', '/* */\n' * 400, 'lines'),
    ('length', 'tests/x.pml', '/* */\n' * 401, 'lines'),
    ('length', 'tests/mutants/base', '# ...\n' * 401, 'lines'),
    ('length', 'shim/base/one.c', '/* ' + 'x' * 95 + ' */\n', '101 columns'),
    ('headers', 'shim/base/one.h', 'size_t needs_stddef(void);\n', 'size_t'),
    ('warnings', 'shim/base/one.c', 'int unannounced(void)\n{\n\treturn 2;\n}\n', 'prototype'),
    ('scripts', 'tests/x.sh', '#!/bin/sh\necho $1\n', 'SC2086'),
    ('scripts', 'tests/x.py', 'def:\n', 'invalid syntax'),
    ('format', 'shim/base/one.c', 'int  spaced;\n', 'one.c'),
    ('analyzer', 'shim/base/one.c', '#include <stdlib.h>\nvoid twice(char *p)\n{\n\tfree(p);\n\tfree(p);\n}\n', 'double-free'),
    ('doors', 'shim/ledger/two.c', 'long p(const char *t)\n{\n\treturn strtol(t, 0, 10);\n}\n', 'numbers'),
    ('warnings', 'shim/base/one.c', 'int wide(long n);\nint wide(long n)\n{\n\treturn n;\n}\n', 'conversion'),
    ('warnings', 'shim/base/one.c', 'int both(int n);\nint both(int n)\n{\n\treturn n && n;\n}\n', 'logical-op'),
    ('warnings', 'shim/base/one.c', 'int never(void);\nint never(void)\n{\n\treturn 1;\n\tone();\n\treturn 2;\n}\n', 'unreachable'),
    ('warnings', 'tests/x.c', 'char *cast(const char *t);\nchar *cast(const char *t)\n{\n\treturn (char *)t;\n}\n', 'cast-qual'),
    ('cppcheck', 'shim/base/one.c', 'int past(void)\n{\n\tint a[2] = {0};\n\n\treturn a[2];\n}\n', 'arrayIndexOutOfBounds'),
    ('tidy', 'shim/base/one.c', 'int loose(int n);\nint loose(int n)\n{\n\tif (n)\n\t\t;\n\treturn n;\n}\n', 'bugprone-suspicious-semicolon'),
    ('tidy', 'shim/base/one.c', '#include <stdlib.h>\nint r(void);\nint r(void)\n{\n\treturn rand();\n}\n', 'cert-msc30-c'),
    ('tidy', 'shim/base/one.c', '#include <string.h>\nchar *w(char *t);\nchar *w(char *t)\n{\n\treturn strtok(t, " ");\n}\n',
     'concurrency-mt-unsafe'),
    ('tidy', 'shim/base/one.c', 'int null(void);\nint null(void)\n{\n\tint *p = 0;\n\n\treturn *p;\n}\n', 'clang-analyzer-core.Null'),
    ('banned', 'shim/base/one.c', '#include <stdlib.h>\nvoid end(void)\n{\n\texit(1);\n}\n', 'ends the program'),
    ('banned', 'shim/base/one.c', '__attribute__((destructor)) static void end(void)\n{\n}\n', 'destructor'),
    ('library', 'shim/base/one.c', '#include <stdio.h>\nint s(const char *t, int *n)\n{\n\treturn sscanf(t, "%d", n);\n}\n',
     'undefined __isoc'),
    ('library', 'shim/base/one.c', 'int cuInit(unsigned n);\nint u(void)\n{\n\treturn cuInit(0);\n}\n', 'undefined cuInit'),
    ('rows', 'shim/driver/nvml.def', '/*\n *   one       of one\n */\nPASS(nvmlX) /* one */\nPASS(nvmlY)\n', 'PASS(nvmlY)'),
    ('rows', 'shim/driver/nvml.def', '/*\n *   one       of one\n */\nPASS(nvmlX) /* none */\n', 'PASS(nvmlX)'),
    ('lists', 'tests/mutants/base', '@ shim/base/one.c\n- \treturn 7;\n+ \treturn 8;\ntests: build\nshows: promise 7\n',
     'found 0 times'),
    ('lists', 'tests/mutants/base', '@ shim/base/one.c\n- \treturn 1;\n+ \treturn two(1);\ntests: lint\nshows: promise 7\n',
     'does not compile'),
]


@pytest.fixture
def tree(tmp_path):
    for folder in ('shim/base', 'shim/driver', 'shim/ledger', 'include/cuquota', 'tests/mutants', 'build/obj/shim/base'):
        (tmp_path / folder).mkdir(parents=True)
    for name in ('tests/lint.py', 'tests/lint_tools.py', 'tests/mutate.py', '.clang-format', '.clang-tidy'):
        shutil.copy(helper.SOURCE / name, tmp_path / name)
    (tmp_path / 'shim/base/one.h').write_text('#ifndef ONE_H\n#define ONE_H\n\nint one(void);\n\n#endif\n')
    (tmp_path / 'shim/base/one.c').write_text(CLEAN)
    (tmp_path / 'shim/ledger/two.h').write_text('#ifndef TWO_H\n#define TWO_H\n\n#endif\n')
    (tmp_path / 'shim/ledger/two.c').write_text('#include "ledger/two.h"\n\n#include "base/one.h"\n')
    (tmp_path / 'include/cuquota/ledger.h').write_text('#include <stdint.h>\n')
    return tmp_path


def lint(tree, *checks, **env):
    object_file = 'build/obj/shim/base/one.c.o'
    for command in (['-c', '-fPIC', '-Ishim', '-o', object_file, 'shim/base/one.c'],
                    ['-shared', '-Wl,-z,nodelete', '-o', 'build/libcuquota.so', object_file]):
        subprocess.run(['gcc', *command], cwd=tree, capture_output=True)
    r = subprocess.run([sys.executable, 'tests/lint.py', '--build', 'build', *checks], cwd=tree, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, env={**os.environ, 'CI': '', **env})
    return r.returncode, r.stdout


def test_a_clean_tree_is_clean(tree):
    status, output = lint(tree, *dict.fromkeys(f[0] for f in FAULTS))
    assert status == 0 and output.endswith('lint: clean\n'), output


@pytest.mark.parametrize('check,file,fault,word', FAULTS, ids=['%s-%d' % (f[0], i) for i, f in enumerate(FAULTS)])
def test_fault_is_found(tree, check, file, fault, word):
    tool = {'format': 'clang-format', 'tidy': 'clang-tidy'}.get(check)
    if tool and 'version 14' not in helper.run([tool, '--version'], preload=False).stdout:
        pytest.skip('no %s 14' % tool)
    path = tree / file
    path.write_text((path.read_text() if path.exists() else '') + fault)
    status, output = lint(tree, check)
    assert status == 1 and word in output, output


def test_what_was_clean_is_looked_at_again_once_a_header_changes(tree):
    assert lint(tree, 'analyzer')[0] == 0
    assert lint(tree, 'analyzer')[0] == 0
    (tree / 'shim/base/one.h').write_text('#include <stdlib.h>\nvoid two(char *p);\nvoid two(char *p)\n{\n\tfree(p);\n\tfree(p);\n}\n')
    status, output = lint(tree, 'analyzer')
    assert status == 1 and 'double-free' in output, output


@pytest.mark.parametrize('ci,want', [('true', 1), ('', 0)])
def test_a_missing_checker_is_said_and_fails_in_ci(tree, ci, want):
    tools = tree / 'tools'
    tools.mkdir()
    for name in ('gcc', 'git'):
        (tools / name).symlink_to(shutil.which(name))
    status, output = lint(tree, 'cppcheck', 'floors', PATH=str(tools), CI=ci)
    assert status == want and 'NOT CHECKED, there is no cppcheck' in output, output


@pytest.mark.parametrize('check,tool', [('format', 'clang-format'), ('tidy', 'clang-tidy')])
def test_another_version_is_missing_too(tree, check, tool):
    (tree / tool).write_text('#!/bin/sh\necho version 15.0.7\n')
    (tree / tool).chmod(0o755)
    status, output = lint(tree, check, PATH='%s:%s' % (tree, os.environ['PATH']), CI='true')
    assert status == 1 and 'NOT CHECKED, there is no %s 14' % tool in output, output

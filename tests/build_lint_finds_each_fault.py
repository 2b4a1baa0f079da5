"""`make lint` finds a fault of each kind: a small tree is clean, and one change makes the check of its kind fail."""
import shutil, subprocess, sys
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
    ('length', 'shim/base/one.c', '/* */\n' * 400, 'lines'),
    ('length', 'shim/base/one.c', '/* ' + 'x' * 95 + ' */\n', '101 columns'),
    ('headers', 'shim/base/one.h', 'size_t needs_stddef(void);\n', 'size_t'),
    ('warnings', 'shim/base/one.c', 'int unannounced(void)\n{\n\treturn 2;\n}\n', 'prototype'),
    ('scripts', 'tests/x.sh', '#!/bin/sh\necho $1\n', 'SC2086'),
    ('scripts', 'tests/x.py', 'def:\n', 'invalid syntax'),
    ('format', 'shim/base/one.c', 'int  spaced;\n', 'one.c'),
    ('analyzer', 'shim/base/one.c', '#include <stdlib.h>\nvoid twice(char *p)\n{\n\tfree(p);\n\tfree(p);\n}\n', 'double-free'),
    ('banned', 'shim/base/one.c', '#include <stdlib.h>\nvoid end(void)\n{\n\texit(1);\n}\n', 'ends the program'),
    ('banned', 'shim/base/one.c', '__attribute__((destructor)) static void end(void)\n{\n}\n', 'destructor'),
]


@pytest.fixture
def tree(tmp_path):
    for folder in ('shim/base', 'shim/ledger', 'include/cuquota', 'tests/mutants', 'build/obj/shim/base'):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(helper.SOURCE / 'tests/lint.py', tmp_path / 'tests/lint.py')
    shutil.copy(helper.SOURCE / '.clang-format', tmp_path / '.clang-format')
    (tmp_path / 'shim/base/one.h').write_text('#ifndef ONE_H\n#define ONE_H\n\nint one(void);\n\n#endif\n')
    (tmp_path / 'shim/base/one.c').write_text(CLEAN)
    (tmp_path / 'shim/ledger/two.h').write_text('#ifndef TWO_H\n#define TWO_H\n\n#endif\n')
    (tmp_path / 'shim/ledger/two.c').write_text('#include "ledger/two.h"\n\n#include "base/one.h"\n')
    (tmp_path / 'include/cuquota/ledger.h').write_text('#include <stdint.h>\n')
    return tmp_path


def lint(tree, *checks):
    subprocess.run(['gcc', '-c', '-Ishim', '-o', 'build/obj/shim/base/one.c.o', 'shim/base/one.c'], cwd=tree, capture_output=True)
    r = subprocess.run([sys.executable, 'tests/lint.py', '--build', 'build', *checks], cwd=tree, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    return r.returncode, r.stdout


def test_a_clean_tree_is_clean(tree):
    status, output = lint(tree, *dict.fromkeys(f[0] for f in FAULTS))
    assert status == 0 and output.endswith('lint: clean\n'), output


@pytest.mark.parametrize('check,file,fault,word', FAULTS, ids=['%s-%d' % (f[0], i) for i, f in enumerate(FAULTS)])
def test_fault_is_found(tree, check, file, fault, word):
    if check == 'format' and 'version 14' not in subprocess.run(['clang-format', '--version'], capture_output=True,
                                                                text=True).stdout:
        return
    path = tree / file
    path.write_text((path.read_text() if path.exists() else '') + fault)
    status, output = lint(tree, check)
    assert status == 1 and word in output, output

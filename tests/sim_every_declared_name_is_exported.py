"""The simulated libraries export exactly the names that the headers declare, and have the right SONAMEs."""
import os
import pathlib
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get('BUILD', 'build'))


@pytest.mark.parametrize('flavour', ['simgpu', 'simgpu-plt'])
@pytest.mark.parametrize('kind,soname,least', [('cuda', 'libcuda.so.1', 700), ('nvml', 'libnvidia-ml.so.1', 400)])
def test_exports(flavour, kind, soname, least):
    library = BUILD / flavour / soname
    exported = subprocess.run(['nm', '-D', '--defined-only', '--format=posix', library], check=True,
                              capture_output=True, text=True).stdout
    declared = (BUILD / 'simgpu/gen/stubs_{}.names'.format(kind)).read_text().split()
    assert {line.split()[0] for line in exported.splitlines()} == set(declared)
    assert len(declared) > least
    dynamic = subprocess.run(['readelf', '-d', library], check=True, capture_output=True, text=True).stdout
    assert 'soname: [%s]' % soname in dynamic
    assert ('SYMBOLIC' in dynamic) == (flavour == 'simgpu')


def calls(flavour, soname):
    """Which of its own exports a library calls through the PLT."""
    text = subprocess.run(['readelf', '-rW', BUILD / flavour / soname], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r'JUMP_SLO\S* .* ((?:cu|nvml)[A-Z]\w*)', text))


def test_inner_calls_can_be_interposed_in_the_second_build_only():
    for soname, some in (('libcuda.so.1', {'cuMemFree_v2', 'cuGetProcAddress_v2', 'cuCtxDestroy_v2'}),
                         ('libnvidia-ml.so.1', {'nvmlInit_v2', 'nvmlInitWithFlags'})):
        assert not calls('simgpu', soname)
        assert some <= calls('simgpu-plt', soname)

"""The simulated libraries export exactly the names that the headers declare, and have the right SONAMEs."""
import os
import pathlib
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ.get('BUILD', 'build'))
SOURCE = pathlib.Path(os.environ.get('SOURCE', '.'))


def include(header):
    """Where this build found the header: a dependency file names it."""
    for d in sorted((BUILD / 'simgpu/obj/tests/simgpu').glob('*.d')):
        for word in d.read_text().split():
            if word.endswith('/' + header):
                return str(pathlib.Path(word).parent)
    pytest.fail('no dependency file names ' + header)


@pytest.mark.parametrize('flavour', ['simgpu', 'simgpu-plt'])
@pytest.mark.parametrize('kind,header,soname', [('cuda', 'cuda.h', 'libcuda.so.1'),
                                                ('nvml', 'nvml.h', 'libnvidia-ml.so.1')])
def test_exports(flavour, kind, header, soname):
    library = BUILD / flavour / soname
    exported = subprocess.run(['nm', '-D', '--defined-only', '--format=posix', library], check=True,
                              capture_output=True, text=True).stdout
    declared = subprocess.run([sys.executable, SOURCE / 'tests/simgpu/exports.py', 'names', kind, include(header)],
                              check=True, capture_output=True, text=True).stdout
    assert {line.split()[0] for line in exported.splitlines()} == set(declared.split())
    assert len(declared.split()) > (700 if kind == 'cuda' else 400)
    dynamic = subprocess.run(['readelf', '-d', library], check=True, capture_output=True, text=True).stdout
    assert 'soname: [%s]' % soname in dynamic
    assert ('SYMBOLIC' in dynamic) == (flavour == 'simgpu')

"""The sweep over all look-ups is made from NVIDIA's headers: it has a row for each name there, and a name that no .def file
decides about ends the build of the tests."""
import os, pathlib, re, shutil, subprocess, sys
import pytest
import helper

NVIDIA = pathlib.Path(os.environ.get('NVML_INCLUDE') or helper.BUILD / 'nvidia/include')


def made(tmp_path, **more):
    """Runs lookups.py with text added to a header; (status, output, rows)."""
    for name in ('cuda.h', 'nvml.h'):
        shutil.copy(NVIDIA / name, tmp_path / name)
        (tmp_path / name).chmod(0o644)
        with (tmp_path / name).open('a') as header:
            header.write(more.get(name[:-2], ''))
    r = subprocess.run([sys.executable, 'tests/lookups.py', tmp_path / 'out.h', tmp_path, tmp_path], cwd=helper.SOURCE,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return r.returncode, r.stdout, (tmp_path / 'out.h').read_text() if r.returncode == 0 else ''


def test_every_name_has_a_row(tmp_path):
    status, output, rows = made(tmp_path)
    assert status == 0, output
    names = set(re.findall(r'^NVML\((\w+),', rows, re.M))
    declared = subprocess.run([sys.executable, 'tests/simgpu/exports.py', 'names', 'nvml', tmp_path], cwd=helper.SOURCE,
                              capture_output=True, text=True, check=True).stdout.split()
    assert names == set(declared) and len(names) > 400
    assert 'CUDA(cuDeviceGetUuid_v2, HOOK, "pd", 0)' in rows and rows.count('CUDA(') > 35
    assert 'NVML(nvmlDeviceGetTopologyNearestGpus, HOOK, "dipD", 0)' in rows


@pytest.mark.parametrize('header,text', [
    ('nvml', 'nvmlReturn_t DECLDIR nvmlDeviceGetNeighbour(nvmlDevice_t device, nvmlDevice_t *next);\n'),
    ('cuda', 'CUresult CUDAAPI cuDeviceGetNeighbour(CUdevice *next, CUdevice device);\n'),
    ('nvml', 'nvmlReturn_t DECLDIR nvmlDeviceGetIndex(nvmlDevice_t device, struct never one);\n'),
])
def test_a_name_without_a_decision_ends_the_build(tmp_path, header, text):
    status, output, _ = made(tmp_path, **{header: text})
    assert status != 0 and ('Neighbour' in output or 'what is' in output), output

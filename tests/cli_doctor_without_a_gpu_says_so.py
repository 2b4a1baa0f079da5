"""Without a GPU `cuquota doctor` says so and ends with 3, which is neither well nor a fault; a fault is still one."""
import pytest
from doctor import Report
from helper import COMMAND, run

NO_DRIVER = {'CUQUOTA_MEMORY_LIMIT': '8G', 'LD_LIBRARY_PATH': None}
NO_DEVICE = {'CUQUOTA_MEMORY_LIMIT': '8G', 'SIMGPU_FAULT': 'cuInit@*:100,nvmlInit_v2@*:9'}


@pytest.mark.parametrize('settings, why', [(NO_DRIVER, 'libcuda.so.1'), (NO_DEVICE, 'cuInit: error 100')])
def test_it_is_said(settings, why):
    report = Report(**settings)
    if settings is NO_DRIVER and 'libcuda' not in str(report):
        pytest.skip('this machine has a driver')
    assert report.status == 3 and report.whole['device'] is False, report
    assert why in report.of('unchecked')['device']
    assert not [c for c in report.of('ok') if c.startswith(('door', 'hidden'))]
    assert 'there is no GPU here' in report.whole['text']


def test_a_fault_comes_first():
    report = Report(preload=False, **NO_DEVICE)
    assert report.status == 1 and 'preload' in report.of('wrong'), report


def test_plainly():
    done = run([COMMAND, 'doctor'], **NO_DEVICE)
    assert done.returncode == 3 and done.stdout.splitlines()[-1].startswith('there is no GPU here')

"""In a whole set-up `cuquota doctor` sees the limit through each door, finds no hidden device, and ends with 0.

timeout: 120
"""
import pytest
from doctor import CAP, DOORS, Report
from helper import COMMAND, LIBRARY, run

def test_each_door():
    report = Report(**CAP)
    assert report.status == 0, report
    assert not report.of('wrong') and not report.of('unchecked')
    right = report.of('ok')
    for door in DOORS:
        assert right['door.' + door].count('8.0 GiB') == 2, right['door.' + door]
    assert right['preload'].endswith(str(LIBRARY)) and right['nvml.memory'].count('8.0 GiB') == 2
    assert [c for c in right if c.startswith('door.')] == ['door.' + d for d in DOORS]
    assert 'hidden' in report.of('note')


@pytest.mark.parametrize('listed', ['0', 'GPU'])
def test_each_look_up_of_a_hidden_device(listed):
    wish = listed if listed == '0' else Report(**CAP).all('ok', 'device')[1][:12]
    report = Report(CUQUOTA_VISIBLE_DEVICES=wish, **CAP)
    assert report.status == 0, report
    for kind in ('cuda.index', 'cuda.uuid', 'cuda.pci', 'nvml.index', 'nvml.uuid', 'nvml.serial', 'nvml.pci'):
        assert report.of('ok')['hidden.' + kind].startswith('1 hidden device is not found'), report
    assert '1 of 2' in report.of('ok')['cuda.count'] and '1 of 2' in report.of('ok')['nvml.count']


def test_none_of_three_but_the_last():
    report = Report(CUQUOTA_VISIBLE_DEVICES='2', CUQUOTA_MEMORY_LIMIT='1G', SIMGPU_DEVICES='3x8G')
    assert report.status == 0, report
    assert report.of('ok')['hidden.nvml.pci'].startswith('2 hidden devices are not found')


def test_sentences_of_one_line_each():
    done = run([COMMAND, 'doctor'], **CAP)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and done.stderr == ''
    assert lines[-1].startswith('all is well: the limit is seen through each of %d doors' % len(DOORS))
    assert all(l.startswith(('ok     ', 'note   ')) for l in lines[:-1]) and len(lines) > len(DOORS)


def test_under_cuquota_run_on_simulated_cards(tmp_path):
    done = run([COMMAND, 'run', '-s', '2x24G', '-m', '50%', '-d', '1', '--', COMMAND, 'doctor'], preload=False,
               LD_LIBRARY_PATH=None)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '12.0 GiB of 24.0 GiB' in done.stdout


def test_what_a_program_is_told_to_use_is_no_fault():
    report = Report(CUDA_VISIBLE_DEVICES='1', **CAP)
    assert report.status == 0 and report.of('ok')['door.dlsym'].count('8.0 GiB') == 1, report


def test_an_operand_is_a_mistake():
    done = run([COMMAND, 'doctor', 'please'], **CAP)
    assert done.returncode == 2 and 'cuquota doctor --help' in done.stderr

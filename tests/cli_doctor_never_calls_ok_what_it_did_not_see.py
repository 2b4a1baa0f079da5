"""What `cuquota doctor` could not look at is said to be so, is not ok, and leaves the status at 1."""
import pytest
from doctor import CAP, DOORS, Report
from helper import LIBRARY
from sabotage import call

CRASH = '''#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <string.h>
__attribute__((constructor)) static void crash(void)
{
    char line[4096] = "";
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t got = fread(line, 1, sizeof(line) - 1, file);
    for (size_t i = 0; i + 1 < got; i++)
        if (!line[i])
            line[i] = ' ';
    fclose(file);
    if (strstr(line, "--look " WHAT))
        kill(getpid(), SIGKILL);
}
'''


def crashing(tmp_path, what):
    source, made = tmp_path / 'crash.c', tmp_path / 'crash.so'
    source.write_text(CRASH)
    call('cc', '-shared', '-fPIC', '-DWHAT="%s"' % what, '-o', made, source)
    return '%s:%s' % (LIBRARY, made)


def test_door_whose_child_breaks_off(tmp_path):
    report = Report(preload=False, LD_PRELOAD=crashing(tmp_path, 'resolver-v2'), **CAP)
    assert report.status == 1 and not report.of('wrong'), report
    assert list(report.of('unchecked')) == ['door.resolver-v2'] and 'signal 9' in report.of('unchecked')['door.resolver-v2']
    assert {c for c in report.of('ok') if c.startswith('door.')} == {'door.' + d for d in DOORS if d != 'resolver-v2'}


@pytest.mark.parametrize('what', ['cuda', 'nvml'])
def test_look_ups_whose_child_breaks_off(tmp_path, what):
    report = Report(preload=False, LD_PRELOAD=crashing(tmp_path, what), CUQUOTA_VISIBLE_DEVICES='0', **CAP)
    assert report.status == 1 and what in report.of('unchecked'), report
    assert not [c for c in report.of('ok') if c.startswith('hidden.' + what)]


def test_programs_that_do_not_start(tmp_path):
    report = Report(preload=False, LD_PRELOAD=crashing(tmp_path, 'here'), **CAP)
    assert report.status == 1 and 'preload' in report.of('unchecked') and 'doors' in report.of('unchecked'), report


def test_list_that_cannot_be_read_without_nvml():
    report = Report(CUQUOTA_VISIBLE_DEVICES='0', SIMGPU_FAULT='nvmlInit_v2@*:9', **CAP)
    assert report.status == 1 and 'NVML does not start' in report.of('unchecked')['visible'], report
    assert not [c for c in report.of('ok') if c.startswith('hidden.')]


def test_no_device_that_a_program_may_see():
    report = Report(CUDA_VISIBLE_DEVICES='', **CAP)
    assert report.status == 1 and set(report.of('unchecked')) == {'door.' + d for d in DOORS}, report

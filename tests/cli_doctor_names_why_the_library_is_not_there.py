"""`cuquota doctor` names what keeps the library out of programs, and ends with 1.

timeout: 120
"""
# report: PG-02
import os, pathlib, subprocess

import pytest
from doctor import CAP, Report
from helper import LIBRARY
from sabotage import call, wrong_header

CLASS, SYSTEM, MACHINE = 4, 7, 18  # bytes of an ELF header


def report_of(preloaded, **settings):
    report = Report(preload=False, LD_PRELOAD=preloaded, **{**CAP, **settings})
    assert report.status == 1 and not report.of('ok').get('preload'), report
    assert 'not checked' in report.of('unchecked')['doors']
    assert not [c for c in report.of('ok') if c.startswith(('door.', 'hidden.'))]
    return report.of('wrong')['preload']


def test_not_preloaded():
    said = report_of(None)
    assert 'LD_PRELOAD is not set' in said and 'cuquota run' in said
    assert 'LD_PRELOAD is not set' in report_of('')


def test_path_that_is_wrong(tmp_path):
    assert '%s/libcuquota.so, which LD_PRELOAD names, is not there' % tmp_path in report_of(tmp_path / 'libcuquota.so')


def test_folder(tmp_path):
    (tmp_path / 'libcuquota.so').mkdir()
    assert 'is a folder' in report_of(tmp_path / 'libcuquota.so')


def test_empty_file(tmp_path):
    (tmp_path / 'libcuquota.so').touch()
    assert 'is empty' in report_of(tmp_path / 'libcuquota.so')


def test_text(tmp_path):
    (tmp_path / 'libcuquota.so').write_text('version https://git-lfs.github.com/spec/v1\n' * 10)
    assert 'is no shared library' in report_of(tmp_path / 'libcuquota.so')


def test_another_architecture(tmp_path):
    machine = 62 if LIBRARY.read_bytes()[MACHINE] != 62 else 183
    assert 'is for another architecture' in report_of(wrong_header(tmp_path / 'libcuquota.so', LIBRARY, MACHINE, machine))


def test_another_word_size(tmp_path):
    assert 'another word size' in report_of(wrong_header(tmp_path / 'libcuquota.so', LIBRARY, CLASS, 1))


def test_what_the_loader_alone_knows(tmp_path):
    said = report_of(wrong_header(tmp_path / 'libcuquota.so', LIBRARY, SYSTEM, 9))
    assert 'is not taken by the loader' in said and 'cannot be preloaded' in said


def test_only_other_libraries(tmp_path):
    other = tmp_path / 'other.so'
    subprocess.run(['cc', '-shared', '-x', 'c', '-o', other, '/dev/null'], check=True)
    assert 'does not name it' in report_of(other)


def test_a_name_is_no_library(tmp_path):
    made = tmp_path / 'libcuquota.so'
    subprocess.run(['cc', '-shared', '-x', 'c', '-o', made, '/dev/null'], check=True)
    assert 'is not this library' in report_of(made)


def test_named_where_only_some_shells_look(tmp_path):
    (tmp_path / '.bashrc').write_text('export LD_PRELOAD=/usr/local/lib/libcuquota.so\n')
    said = report_of(None, HOME=tmp_path)
    assert '.bashrc' in said and 'ENV' in said
    there = Report(HOME=tmp_path, **CAP)
    assert '.bashrc' in there.of('note')['preload-shell']


def test_clean_environment_is_told():
    if 'libcuquota' in (pathlib.Path('/etc/ld.so.preload').read_text() if os.path.exists('/etc/ld.so.preload') else ''):
        pytest.skip('it is preloaded for the whole machine')
    assert 'env -i' in Report(**CAP).of('note')['preload-reach']


def test_another_library_whose_dlsym_comes_first(tmp_path):
    source, made = tmp_path / 'tracer.c', tmp_path / 'tracer.so'
    source.write_text('void *dlsym(void *h, const char *n); extern void *dlvsym(void *, const char *, const char *);\n'
                      'void *dlsym(void *h, const char *n) { return dlvsym(h, n, "GLIBC_2.2.5"); }\n')
    call('cc', '-shared', '-fPIC', '-o', made, source)
    report = Report(preload=False, LD_PRELOAD='%s:%s' % (made, LIBRARY), **CAP)
    assert report.status == 1 and 'dlsym' in report.of('wrong')['front'] and 'tracer.so' in report.of('wrong')['front']


def test_switched_off():
    report = Report(CUQUOTA_DISABLE='1', **CAP)
    assert report.status == 1 and 'CUQUOTA_DISABLE' in report.of('wrong')['disable'], report


def test_refused_value():
    report = Report(**{**CAP, 'CUQUOTA_MEMORY_LIMIT': '4X'})
    assert report.status == 1 and 'CUQUOTA_MEMORY_LIMIT="4X" is refused' in report.of('wrong')['settings'], report


def test_nothing_is_limited():
    report = Report(SIMGPU_DEVICES='24G')
    assert report.status == 1 and 'CUQUOTA_MEMORY_LIMIT=8G' in report.of('wrong')['limit'], report

"""The command's own text: help, version, and what it says to a mistake."""
import re

import pytest
from helper import COMMAND, SOURCE, run



def cuquota(*args, **settings):
    return run([COMMAND, *args], preload=False, **settings)


@pytest.mark.parametrize('args, said', [
    (['rnu'], 'did you mean `cuquota run`?'),
    (['sp'], 'did you mean `cuquota ps`?'),
    (['completely-different'], 'see `cuquota help`'),
    (['top'], '`cuquota top` does not exist yet'),
    (['set'], '`cuquota set` does not exist yet'),
    (['--memory-limit', '4G'], 'cuquota run --memory-limit'),
    (['ps', 'extra'], 'cuquota ps --help'),
    (['ps', '--jsno'], 'cuquota ps --help'),
    (['help', 'nothing'], 'cuquota help'),
])
def test_mistakes(args, said):
    done = cuquota(*args)
    assert done.returncode == 2
    assert said in done.stderr and done.stdout == ''


def test_help_and_version():
    assert cuquota().returncode == 2
    for args in (['help'], ['--help'], ['-h']):
        done = cuquota(*args)
        assert done.returncode == 0 and 'cuquota run' in done.stdout and 'cuquota ps' in done.stdout
    for command in ('run', 'ps', 'help'):
        assert cuquota(command, '--help').stdout == cuquota('help', command).stdout != ''
    assert cuquota('--version').stdout.startswith('cuquota 0.')


def test_every_setting_is_explained_everywhere():
    settings, page = cuquota('help', 'settings').stdout, cuquota('help', '--man').stdout
    for name in re.findall(r'^OPTION\(\w+, "(\w+)"', (SOURCE / 'shim/base/options.def').read_text(), re.M):
        assert name in settings and name in page and name in cuquota('run', '--help').stdout
    for line in page.splitlines():
        assert not line.startswith("'")


def test_ps_without_ledgers(tmp_path):
    done = cuquota('ps', CUQUOTA_DIR=tmp_path / 'none')
    assert done.returncode == 1 and str(tmp_path / 'none') in done.stderr and 'CUQUOTA_DIR' in done.stderr
    done = cuquota('ps', CUQUOTA_DIR=tmp_path)
    assert done.returncode == 0 and 'no ledger in' in done.stdout
    assert '"devices":[]' in cuquota('ps', '--json', CUQUOTA_DIR=tmp_path).stdout


def test_ps_shows_no_other_folder_than_the_one_named():
    done = cuquota('ps', CUQUOTA_DIR='relative')
    assert done.returncode == 2 and done.stdout == '' and 'must begin with /' in done.stderr
    assert done.stderr.count('\n') == 1 and 'until then' not in done.stderr
    assert cuquota('ps', CUQUOTA_DIR='', CUQUOTA_MEMORY_LIMIT='8GG').returncode != 2


def test_ps_passes_over_what_is_no_ledger(tmp_path):
    (tmp_path / 'notes.ledger').write_text('junk')
    assert cuquota('ps', CUQUOTA_DIR=tmp_path).returncode == 0
    (tmp_path / 'GPU-1f2e3d4c-0000-1111-2222-333344445555.ledger').write_text('junk')
    done = cuquota('ps', CUQUOTA_DIR=tmp_path)
    assert done.returncode == 1
    assert 'cannot be read' in done.stdout and 'notes' not in done.stdout + done.stderr

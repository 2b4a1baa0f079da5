"""`cuquota run` sets what a Dockerfile would set, keeps what is preloaded, and becomes the command."""
import os, shutil, subprocess, sys

import pytest
from helper import BUILD, COMMAND, LIBRARY, run

FIRST = os.environ.get('TEST_PRELOAD_FIRST')


def cuquota(*args, **settings):
    return run([COMMAND, *args], preload=False, **settings)


def environment_of(*args, **settings):
    done = cuquota('run', *args, '--', 'env', '-0', **settings)
    assert done.returncode == 0, done.stderr
    return dict(entry.split('=', 1) for entry in done.stdout.split('\0') if '=' in entry)


def preload(**settings):
    return environment_of(**settings)['LD_PRELOAD']


def test_options_become_variables():
    env = environment_of('--memory-limit', '8G', '-r', '2G', '--devices=GPU-1f2e,0', '-t', 'team a')
    assert env['CUQUOTA_MEMORY_LIMIT'] == '8G'
    assert env['CUQUOTA_MEMORY_REQUEST'] == '2G'
    assert env['CUQUOTA_VISIBLE_DEVICES'] == 'GPU-1f2e,0'
    assert env['CUQUOTA_TENANT'] == 'team a'


def test_the_library_beside_the_command_is_preloaded():
    assert preload() == str(LIBRARY.resolve())


def test_other_preloads_stay_and_ours_is_named_once(tmp_path):
    ours, other, more = str(LIBRARY.resolve()), tmp_path / 'other.so', tmp_path / 'more.so'
    link = tmp_path / 'link.so'
    link.symlink_to(ours)
    for name in (other, more):  # a library that can be loaded
        subprocess.run(['cc', '-shared', '-x', 'c', '-o', name, '/dev/null'], check=True)
    assert preload(LD_PRELOAD='%s %s' % (other, more)) == '%s:%s:%s' % (ours, other, more)
    assert preload(LD_PRELOAD='%s:%s:%s' % (other, ours, more)) == '%s:%s:%s' % (ours, other, more)
    assert preload(LD_PRELOAD='%s:%s' % (link, other)) == '%s:%s' % (ours, other)
    assert preload(LD_PRELOAD=ours) == ours


def test_another_library_can_be_named(tmp_path):
    copy = tmp_path / 'renamed.so'
    shutil.copy(LIBRARY, copy)
    assert preload(CUQUOTA_LIB=copy) == str(copy)
    done = cuquota('run', 'true', CUQUOTA_LIB=tmp_path / 'none.so')
    assert done.returncode == 1
    assert 'CUQUOTA_LIB' in done.stderr and 'no such file' in done.stderr.lower()


def test_the_library_of_an_installation(tmp_path):
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'lib').mkdir()
    shutil.copy(COMMAND, tmp_path / 'bin/cuquota')
    done = run([tmp_path / 'bin/cuquota', 'run', 'true'], preload=False)
    assert done.returncode == 1 and 'CUQUOTA_LIB' in done.stderr
    shutil.copy(LIBRARY, tmp_path / 'lib/libcuquota.so')
    done = run([tmp_path / 'bin/cuquota', 'run', 'env'], preload=False)
    assert 'LD_PRELOAD=%s/lib/libcuquota.so\n' % tmp_path in done.stdout


def test_simulated_cards():
    env = environment_of('--simulate', '2x24G', LD_LIBRARY_PATH='/elsewhere')
    assert env['SIMGPU_DEVICES'] == '2x24G'
    for cards in ('64M', '24G,16G', '1.5g', '16x511G', '2x24G,8192M'):
        assert environment_of('-s', cards)['SIMGPU_DEVICES'] == cards
    assert env['LD_LIBRARY_PATH'] == '%s:/elsewhere' % (BUILD / 'simgpu').resolve()


@pytest.mark.parametrize('args, said', [
    (['-m', '4X'], '--memory-limit="4X" is refused at character 2: unknown unit'),
    (['--memory-limit=${CAP}'], 'variable'),
    (['--memory-limit='], 'needs a value'),
    (['--memory-limit'], 'needs a value'),
    (['-m', '8'], '--memory-limit="8" is refused at character 1: a number without a unit'),
    (['-m', '2G', '-r', '3G'], '--memory-request="3G" is refused at character 1: the request is above the limit; ask for less, '
     'or raise the limit'),
    (['-d', 'GPU-xyz'], '--devices="GPU-xyz"'),
    (['-s', '2'], '--simulate=2 is not understood; write'),
    (['--simulate=2x24'], '2x24G'),
    (['-s', '0x24G'], '2x24G'),
    (['-s', '9x24G,8x24G'], '16 cards'),
    (['-s', '24G,'], '24G,16G'),
    (['-s', ',24G'], '24G,16G'),
    (['-s', '24GiB'], '24G,16G'),
    (['-s', '1x512G'], '511G'),
    (['--memory-limt=4G'], 'cuquota run --help'),
    (['-z'], 'cuquota run --help'),
    ([], 'which command?'),
])
def test_mistakes_start_nothing(args, said, tmp_path):
    mark = tmp_path / 'started'
    done = cuquota('run', *args, *(['--', 'touch', mark] if args else []))
    assert done.returncode == 2
    assert said in done.stderr and done.stderr.count('\n') == 1 and done.stderr.startswith('cuquota: ')
    assert not mark.exists()
    assert 'until then' not in done.stderr


def test_a_refused_value_may_run_where_that_was_asked_for():
    done = cuquota('run', '-m', '4X', '--', 'echo', 'ran', CUQUOTA_ON_ERROR='allow')
    assert done.returncode == 0 and done.stdout == 'ran\n'
    assert 'WITHOUT a limit, as --memory-limit is refused' in done.stderr


def test_what_was_not_typed_is_named_as_it_is_set():
    done = cuquota('run', '--', 'true', CUQUOTA_MEMORY_LIMIT='4X')
    assert done.returncode == 2 and 'CUQUOTA_MEMORY_LIMIT="4X" is refused' in done.stderr


def test_the_command_is_the_process_itself_and_keeps_its_options_and_status():
    assert cuquota('run', 'sh', '-c', 'exit 7').returncode == 7
    assert cuquota('run', '-m', '1G', 'echo', '-m', '--help').stdout == '-m --help\n'
    process = subprocess.Popen([COMMAND, 'run', '--', 'sh', '-c', 'echo $$'], stdout=subprocess.PIPE, text=True)
    assert process.communicate(timeout=20)[0] == '%d\n' % process.pid


def test_what_cannot_be_started(tmp_path):
    done = cuquota('run', 'no-such-command')
    assert done.returncode == 127 and 'cannot start no-such-command' in done.stderr
    (tmp_path / 'text').write_text('x')
    assert cuquota('run', tmp_path / 'text').returncode == 126


def test_a_static_program_is_said_to_escape(tmp_path):
    (tmp_path / 'a.c').write_text('int main(void) { return 5; }')
    subprocess.run(['cc', '-static', '-o', tmp_path / 'a', tmp_path / 'a.c'], check=True)
    done = cuquota('run', tmp_path / 'a')
    assert done.returncode == 5
    assert 'statically linked' in done.stderr


def test_waiting_is_said_not_to_be_there():
    for flag in ('--wait', '--wait=10s'):
        done = cuquota('run', flag, 'echo', 'ran')
        assert done.stdout == 'ran\n' and 'does not exist yet' in done.stderr

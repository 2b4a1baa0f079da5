"""`cuquota ps` shows other tenants to root and the folder's owner outside containers; else only one's own.

In bars and as JSON, with the process ids of the caller's own namespace.
"""
import json, os, pathlib, shutil, subprocess, tempfile

import pytest
from helper import BUILD, COMMAND, Client, run

MEMORY = '/dev/shm' if os.path.isdir('/dev/shm') else None
ROOT = os.geteuid() == 0


@pytest.fixture
def folder():
    """A folder that anybody may enter, with the command in it."""
    path = pathlib.Path(tempfile.mkdtemp(prefix='cuquota-ps.', dir=MEMORY))
    path.chmod(0o755)
    (path / 'ledgers').mkdir()
    shutil.copy(COMMAND, path / 'cuquota')
    yield path
    shutil.rmtree(path)


@pytest.fixture
def alice_and_bob(folder):
    settings = {'CUQUOTA_DIR': folder / 'ledgers', 'SIMGPU_DEVICES': '24G'}
    with Client([BUILD / 'demo/client'], CUQUOTA_TENANT='alice', CUQUOTA_MEMORY_LIMIT='4G', **settings) as alice, \
            Client([BUILD / 'demo/client'], CUQUOTA_TENANT='bob', CUQUOTA_MEMORY_REQUEST='2G', **settings) as bob:
        for client in (alice, bob):  # a promise takes the credit of those who were there before it
            assert client.line().startswith('ready ')
        for client, mib in ((alice, 1024), (bob, 512)):
            for step in ('alloc %d' % mib, 'alloc 16', 'free'):  # what was freed stays granted, as credit
                client.say(step)
                assert client.line() == 'ok'
        yield alice, bob
        for client in (alice, bob):
            assert client.end() == 0


def ps(folder, *options, prefix=(), **settings):
    return run([*prefix, folder / 'cuquota', 'ps', *options], preload=False, CUQUOTA_DIR=folder / 'ledgers', **settings)


def tenants(done):
    assert done.returncode == 0, done.stderr
    return {t['name']: t for d in json.loads(done.stdout)['devices'] for t in d['tenants']}


def test_the_owner_sees_all_with_their_processes(folder, alice_and_bob):
    everybody = ps(folder, '--all', '--json')
    seen = tenants(everybody)
    assert sorted(seen) == ['alice', 'bob']
    assert seen['alice']['limit'] == 4 << 30 and seen['bob']['limit'] is None and seen['bob']['request'] == 2 << 30
    for client, name, mib in zip(alice_and_bob, ('alice', 'bob'), (1024, 512)):
        (member,) = seen[name]['members']
        assert member['pid'] == client.process.pid and member['command'] == 'client' and member['state'] == 'alive'
        assert member['families']['linear'] == mib << 20 and member['credit'] > 0
        assert seen[name]['used'] == member['used'] == sum(member['families'].values())
    device = json.loads(everybody.stdout)['devices'][0]
    assert device['used'] == sum(t['used'] for t in seen.values()) and device['promised'] == 2 << 30


def test_bars_are_as_the_locale_and_the_width_allow(folder, alice_and_bob):
    plain = ps(folder, '--all', LC_ALL='C', COLUMNS='100').stdout
    assert plain.isascii() and '[#' in plain and '|' in plain
    drawn = ps(folder, '--all', LC_ALL='C.UTF-8', COLUMNS='100').stdout
    assert '█' in drawn
    for text in (plain, drawn):
        assert max(map(len, text.splitlines())) <= 110
    assert max(map(len, ps(folder, '--all', LC_ALL='C', COLUMNS='140').stdout.splitlines())) > \
        max(map(len, plain.splitlines()))


def test_strangers_see_their_own_tenant_only(folder, alice_and_bob):
    if not ROOT:
        return
    stranger = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')
    done = ps(folder, '--json', prefix=stranger, CUQUOTA_TENANT='alice')
    assert sorted(tenants(done)) == ['alice']
    assert 'promised' not in json.loads(done.stdout)['devices'][0]
    assert 'bob' not in ps(folder, prefix=stranger, CUQUOTA_TENANT='alice').stdout
    assert tenants(ps(folder, '--json', prefix=stranger)) == {}
    done = ps(folder, '--all', prefix=stranger)
    assert done.returncode == 1 and 'owner of' in done.stderr


def test_inside_a_container_others_are_hidden_and_process_ids_not_made_up(folder, alice_and_bob):
    if not ROOT:
        return
    inside = ('unshare', '--pid', '--fork', '--mount-proc')
    seen = tenants(ps(folder, '--json', prefix=inside, CUQUOTA_TENANT='bob'))
    assert sorted(seen) == ['bob']
    (member,) = seen['bob']['members']
    assert member['pid'] is None and member['pid_in_namespace'] == alice_and_bob[1].process.pid
    assert sorted(tenants(ps(folder, '--all', '--json', prefix=inside))) == ['alice', 'bob']

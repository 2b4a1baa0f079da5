"""`cuquota ps` shows what it can read and fails where it cannot read all: a card that is missing is never passed over in silence."""
import json, os

from helper import BUILD, COMMAND, Client, run


def test_what_cannot_be_read_is_named_and_the_rest_is_shown(tmp_path):
    settings = dict(CUQUOTA_DIR=tmp_path, SIMGPU_DEVICES='24G')
    with Client([BUILD / 'demo/client'], CUQUOTA_MEMORY_LIMIT='4G', **settings) as client:
        uuid = client.line().split()[3]
        assert run([COMMAND, 'ps'], preload=False, **settings).returncode == 0
        other = 'GPU-00000000-0000-4000-8000-000000000000'
        (tmp_path / (other + '.ledger')).write_bytes(b'no ledger' * 1000)
        for how in [], ['--json'], ['--all']:
            done = run([COMMAND, 'ps', *how], preload=False, **settings)
            assert done.returncode == 1
            (line,) = done.stderr.splitlines()
            assert line.startswith('cuquota: %s/%s.ledger cannot be read' % (tmp_path, other))
            assert uuid in done.stdout
        devices = json.loads(run([COMMAND, 'ps', '--json'], preload=False, **settings).stdout)['devices']
        assert {d['uuid']: 'error' in d for d in devices} == {uuid: False, other: True}
        os.unlink(tmp_path / (other + '.ledger'))
        assert run([COMMAND, 'ps'], preload=False, **settings).returncode == 0

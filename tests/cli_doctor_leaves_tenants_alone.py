"""`cuquota doctor` beside a running tenant lowers no limit, promises nothing, takes no memory and stays no member."""
import json

from doctor import CAP, Report
from helper import BUILD, COMMAND, Client, run

TENANT = {'CUQUOTA_TENANT': 'alice', 'SIMGPU_DEVICES': '2x24G'}


def tenant():
    done = run([COMMAND, 'ps', '--all', '--json'], preload=False)
    return [t for d in json.loads(done.stdout)['devices'] for t in d['tenants'] if t['name'] == 'alice']


def taken():
    done = run([BUILD / 'simgpu/truth'], preload=False, SIMGPU_DEVICES='2x24G')
    return [(t, u['max']) for d in json.loads(done.stdout)['devices'] for t, u in d['tags'].items() if u['max'] and t == 'doctor']


def test_a_lower_limit_is_not_brought_to_those_who_run():
    with Client([BUILD / 'demo/client'], CUQUOTA_MEMORY_LIMIT='8G', **TENANT) as client:
        assert client.line().startswith('ready')
        report = Report(CUQUOTA_MEMORY_LIMIT='4G', **TENANT)
        assert report.status == 0 and 'lowers the limit of tenant alice' in report.of('note')['tightens'], report
        assert '8.0 GiB' in report.of('ok')['door.dlsym'], report
        client.say('info')
        assert client.line().split()[2] == '8192'
        assert {t['limit'] for t in tenant() if t['members']} == {8 << 30}


def test_a_higher_limit_shows_what_the_tenant_has():
    with Client([BUILD / 'demo/client'], CUQUOTA_MEMORY_LIMIT='4G', **TENANT) as client:
        uuid = client.line().split()[3]
        report = Report(CUQUOTA_MEMORY_LIMIT='8G', **TENANT)
        assert report.status == 0, report
        line = [l for l in report.all('ok', 'device') if uuid in l][0]
        assert 'limit 4.0 GiB of 24.0 GiB' in line and 'used ' in line and 'used 0 B' not in line, report
        assert uuid[:12] + '... 4.0 GiB' in report.of('ok')['door.linked'], report


def test_nothing_is_promised_taken_or_left_behind():
    report = Report(CUQUOTA_MEMORY_REQUEST='6G', SIMGPU_TAG='doctor', **{**CAP, **TENANT})
    assert report.status == 0, report
    assert not [t for t in tenant() if t['request'] or t['promised'] or t['members']]
    assert taken() == []


def test_what_is_kept_for_a_tenant_that_is_away_stays():
    with Client([BUILD / 'demo/client'], CUQUOTA_MEMORY_LIMIT='8G', CUQUOTA_MEMORY_REQUEST='6G', **TENANT) as client:
        assert client.line().startswith('ready')
    kept = [(t['request'], t['limit']) for t in tenant() if t['promised'] and not t['members']]
    assert kept and all(k == (6 << 30, 8 << 30) for k in kept)
    for settings in ({'CUQUOTA_MEMORY_LIMIT': '4G'}, {'CUQUOTA_MEMORY_LIMIT': '8G', 'CUQUOTA_MEMORY_REQUEST': '7G'}):
        report = Report(**settings, **TENANT)
        assert report.status == 0 and settings['CUQUOTA_MEMORY_LIMIT'][0] + '.0 GiB' in report.of('ok')['door.dlsym'], report
        assert [(t['request'], t['limit']) for t in tenant() if t['promised']] == kept

"""`cuquota doctor` tells for each card what limit holds there and what is used of it, before anything used the card,
and that is what programs see and get.
"""
# report: MG-06 OB-07
import pytest
from doctor import Report
from helper import BUILD, Client

CARDS = {'SIMGPU_DEVICES': '3x8G', 'SIMGPU_CUDA_ORDER': 'pci'}
GIB = 1024


@pytest.mark.parametrize('limit, holds', [('2G', (2, 2, 2)), ('0=2G', (2, 8, 8)), ('1=2G', (8, 2, 8)), ('1=2G,*=4G', (4, 2, 4))])
def test_each_card(limit, holds):
    report = Report(CUQUOTA_MEMORY_LIMIT=limit, **CARDS)
    assert report.status == 0, report
    lines = [c for c in report.whole['checks'] if c['check'] == 'device']
    assert len(lines) == 3
    for card, line in enumerate(lines):
        if holds[card] == 8:
            assert line['verdict'] == 'note' and 'no limit is set for it' in line['text']
        else:
            assert 'limit %d.0 GiB of 8.0 GiB, used 0 B' % holds[card] in line['text']
        uuid = line['text'].split()[0].rstrip(':')
        assert '%s... %d.0 GiB' % (uuid[:12], holds[card]) in report.of('ok')['door.dlsym']
        with Client([BUILD / 'demo/client', card], CUQUOTA_MEMORY_LIMIT=limit, **CARDS) as client:
            assert client.line().split()[3] == uuid
            client.say('info')
            assert client.line().split()[2] == str(holds[card] * GIB)
            for mib, answer in ((holds[card] * GIB - 512, 'ok'), (512, 'refused 2')):
                client.say('alloc %d' % mib)
                assert client.line() == answer

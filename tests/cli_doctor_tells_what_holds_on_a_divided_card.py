"""`cuquota doctor` on a card that is divided into MIG instances: it names the one that CUDA shows and what holds there, through every door,
and what the instances have together; nothing is said to be wrong that is right, and a limit that is not there is missed.
"""
import pytest
from doctor import Report
from gpus import names

CARDS = dict(SIMGPU_DEVICES='40G,16G', SIMGPU_MIG='0:10G+5G')


@pytest.mark.parametrize('limit, own, together', [('2G', 2, 40), ('{gpu}=3G', 3, 3), ('{gpu}=8G,{first}=4G', 4, 8), ('{gpu}=6G,*=50%', 5, 6), ('0=4G,*=none', 4, 4)])
def test_each_door_shows_the_instances_limit(limit, own, together):
    gpu, first, _, other = names(**CARDS)
    report = Report(CUQUOTA_MEMORY_LIMIT=limit.format(gpu=gpu, first=first), **CARDS)
    assert report.status == 0, report
    device = {c['text'].split(':')[0]: c for c in report.whole['checks'] if c['check'] == 'device'}
    assert list(device) == [gpu, other, first]
    assert 'divided into MIG instances, which together have %d.0 GiB of 40.0 GiB' % together in device[gpu]['text']
    assert ' %d.0 GiB of 10.0 GiB' % own in device[first]['text']
    ok = report.of('ok')
    doors = [text for check, text in ok.items() if check.startswith('door.')]
    assert len(doors) == 13
    for text in doors:
        assert text.endswith('sees the limit: %s... %d.0 GiB' % (first[:12], own))
    assert '%s... %d.0 GiB' % (first[:12], own) in ok['nvml.memory']
    if together < 40:
        assert '%s... %d.0 GiB' % (gpu[:12], together) in ok['nvml.memory']


def test_what_cannot_be_told_is_not_called_ok():
    """Which instance CUDA shows, where a list hides some."""
    report = Report(CUQUOTA_MEMORY_LIMIT='2G', CUQUOTA_VISIBLE_DEVICES='0', **CARDS)
    assert report.status == 1, report
    assert not report.of('wrong')
    assert 'divided into MIG instances' in report.of('unchecked')['visible']

"""Several cards of different sizes and limits, which CUDA numbers otherwise than NVML: whatever subset or order a program
chooses, each card's limit holds on that card, and what is used is shown and refunded there.
"""
# report: MG-01 MG-02 MG-03 MG-04 MG-05
import pytest

from gpus import GIB, MIB, Member, fresh, held, ledgers, look, names, used, used_by

GRAIN = 2 * MIB
CONTEXT = 100 * MIB
FOUR = dict(SIMGPU_DEVICES='4x8G', SIMGPU_CONTEXT='100M', SIMGPU_CUDA_ORDER='reverse', CUQUOTA_LOG='off')


@pytest.mark.parametrize('order', ['pci', 'reverse', '2,0,3,1'])
@pytest.mark.parametrize('visible', [None, '2,3', '3,2', '3', '1,0,2'])
def test_the_limit_holds_on_each_of_a_subset(visible, order):
    cards = dict(FOUR, SIMGPU_CUDA_ORDER=order)
    name = names(**cards)
    limits = {uuid: (1000 + 10 * i) * MIB for i, uuid in enumerate(name)}
    with Member(visible, CUQUOTA_MEMORY_LIMIT=','.join('%s=%d' % l for l in limits.items()), **cards) as member:
        seen = member.ask('uuids')
        if visible:
            assert len(seen) == len(visible.split(','))
        elif order == 'reverse':
            assert seen == name[::-1]
        for ordinal, uuid in enumerate(seen):
            assert member.ask('use', ordinal) == 0
            assert member.ask('info')[0] == limits[uuid]
            assert member.ask('take', 'linear', 890 * MIB) == 0
            assert member.ask('take', 'linear', 50 * MIB) == 2
            assert used()[uuid] == 890 * MIB + CONTEXT + GRAIN
        shown = member.ask('look')
        assert {uuid: shown[uuid][2] for uuid in name} == {uuid: used().get(uuid, 0) for uuid in name}
        assert {uuid for uuid in name if held()[uuid[4:]]} == set(seen)


def test_two_programs_each_with_another_device_0():
    name = names(**FOUR)
    settings = dict(FOUR, CUQUOTA_MEMORY_LIMIT='1G', CUQUOTA_TENANT='one')
    with Member(name[1], **settings) as first, Member(name[2], **settings) as second:
        assert first.ask('take', 'linear', 300 * MIB) == 0
        assert second.ask('take', 'linear', 200 * MIB) == 0
        want = {name[1]: 300 * MIB + CONTEXT + GRAIN, name[2]: 200 * MIB + CONTEXT + GRAIN}
        assert used_by('one') == want
        for figures in first.ask('look'), second.ask('look'), look(**settings):
            assert {uuid: figures[uuid][2] for uuid in name} == {uuid: want.get(uuid, 0) for uuid in name}
        # A third on both has what they leave on each.
        with Member('%s,%s' % (name[2], name[1]), **settings) as third:
            assert third.ask('use', 1) == 0
            assert third.ask('info')[1] == GIB - want[name[1]] - CONTEXT - GRAIN
            assert third.ask('use', 0) == 0
            assert third.ask('info')[1] == GIB - want[name[2]] - CONTEXT - GRAIN


def test_ranks_on_a_card_each_and_a_launcher_have_room():
    name = names(**FOUR)
    settings = dict(FOUR, CUQUOTA_MEMORY_LIMIT='1G', CUQUOTA_TENANT='job')
    most = 8 * GIB // 10 - CONTEXT
    with Member('0,1', use=False, **settings), Member('0,1', **settings) as first, Member('0,1', use=False, **settings) as second:
        assert second.ask('use', 1) == 0
        ranks = (first, first.ask('uuids')[0]), (second, second.ask('uuids')[1])
        for rank, _ in ranks:
            assert rank.ask('take', 'linear', most // GRAIN * GRAIN) == 0
        for rank, uuid in ranks:
            assert used_by('job')[uuid] == most // GRAIN * GRAIN + CONTEXT + GRAIN
            assert rank.ask('take', 'linear', 150 * MIB) == 0
            assert rank.ask('take', 'linear', 150 * MIB) == 2
        assert [t['name'] for d in ledgers() for t in d['tenants'] if t['used']] == ['job', 'job']


@pytest.mark.parametrize('own, other', [(0, 1), (3, 2)])
@pytest.mark.parametrize('kind', ['linear', 'pitch', 'managed', 'vmm'])
def test_what_is_freed_is_refunded_where_it_was_charged(kind, own, other):
    with Member(None, CUQUOTA_MEMORY_LIMIT='1G', **FOUR) as member:
        assert member.ask('use', other) == 0
        assert member.ask('use', own) == 0
        before, uuid = used(), member.ask('uuids')[own]
        for by_thread in False, True:
            assert member.ask('take', kind, 500 * MIB) == 0
            assert used() == dict(before, **{uuid: before[uuid] + 500 * MIB})
            if by_thread:
                assert member.ask('give_from', other) == 0
            else:
                assert member.ask('use', other) == 0
                assert member.ask('give') == 0
                assert member.ask('use', own) == 0
            assert used() == before
        # By the first small one it is learnt that the driver gives an emptied grain back.
        for place in own, other:
            assert member.ask('take', 'linear', 1000) == 0
            assert used() == dict(before, **{uuid: before[uuid] + GRAIN})
            assert member.ask('use', place) == 0
            assert member.ask('give') == 0
            assert used() == before
            assert member.ask('use', own) == 0


@pytest.mark.parametrize('own, other', [(0, 1), (3, 2)])
@pytest.mark.parametrize('kind', ['async', 'pool'])
def test_what_is_in_stream_order_is_of_the_streams_card(kind, own, other):
    with Member(None, CUQUOTA_MEMORY_LIMIT='1G', **FOUR) as member:
        assert member.ask('use', other) == 0
        assert member.ask('use', own) == 0
        assert member.ask('pool') == member.ask('stream') == 0
        before, uuid = used(), member.ask('uuids')[own]
        for where in own, other:
            assert member.ask('use', where) == 0
            assert member.ask('take', kind, 320 * MIB) == 0
            assert used() == dict(before, **{uuid: before[uuid] + 320 * MIB})
            assert member.ask('use', other) == 0
            assert member.ask('give_in_order', 1) == 1
            assert used() == dict(before, **{uuid: before[uuid] + 320 * MIB})
            assert member.ask('wait', 'cuStreamSynchronize') == 0
            assert used() == before


@pytest.mark.parametrize('order', ['reverse', 'largest', '1,0,2'])
def test_cuda_and_nvml_say_the_same_of_each_card(order):
    cards = dict(FOUR, SIMGPU_DEVICES='4G,16G,8G', SIMGPU_CUDA_ORDER=order)
    name = names(**cards)
    limit = {name[0]: 2 * GIB, name[1]: 12 * GIB, name[2]: 8 * GIB}
    with Member(None, CUQUOTA_MEMORY_LIMIT='%s=2G,%s=12G' % (name[0], name[1]), **cards) as member:
        seen = member.ask('uuids')
        assert sorted(seen) == sorted(name) and seen != name
        for ordinal, uuid in enumerate(seen):
            assert member.ask('use', ordinal) == 0
            assert member.ask('take', 'linear', (ordinal + 1) * 100 * MIB) == 0
        shown = member.ask('look')
        for ordinal, uuid in enumerate(seen):
            assert member.ask('use', ordinal) == 0
            total, free = member.ask('info')
            assert shown[uuid] == [total, free, total - free]
            assert total == limit[uuid]
            assert total - free == (ordinal + 1) * 100 * MIB + CONTEXT + GRAIN

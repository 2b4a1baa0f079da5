"""A limit or request whose key names a divided GPU bounds what a tenant's instances on it have together: whatever they take it
by, whoever holds it, and nothing of a refusal is left charged in either ledger.
"""
import random

import pytest

from gpus import GIB, MIB, Member, fresh, held, ledgers, names, used

CARDS = dict(SIMGPU_DEVICES='40G', SIMGPU_MIG='0:10G+10G+5G', SIMGPU_CONTEXT='100M')
GRAIN = 2 * MIB
GPU, FIRST, SECOND, THIRD = range(4)


@pytest.fixture(scope='module')
def name():
    return names(**CARDS)


def check_sums(name, **members):
    """Each member pays for a grain beside what it holds, for small requests."""
    now, true = used(), held()
    assert now[name[GPU]] == sum(now.get(n, 0) for n in name[FIRST:])
    for place, one in enumerate(name[FIRST:]):
        spare = members.get(('first', 'second', 'third')[place], 0) * GRAIN
        assert now.get(one, 0) == true[one[4:]] + spare


@pytest.mark.parametrize('kind, size', [('linear', 64 * MIB), ('linear', 64 * 1024), ('pitch', 64 * MIB), ('managed', 64 * MIB), ('vmm', 64 * MIB)])
def test_both_together_have_no_more(name, kind, size, tmp_path):
    limit, some = GIB, max(1, 2 * GRAIN // size)
    settings = dict(CARDS, CUQUOTA_MEMORY_LIMIT='%s=%d' % (name[GPU], limit), CUQUOTA_LOG_FILE=tmp_path / 'log')
    with Member(name[FIRST], **settings) as first, Member(name[SECOND], **settings) as second:
        assert first.ask('info')[0] == second.ask('info')[0] == limit
        assert first.ask('take_some', limit // 2 // size, kind, size) == limit // 2 // size
        free = second.ask('info')[1]
        count = second.ask('until_refused', kind, size)
        # The spare grain can be used up, too.
        assert free - size < count * size <= free + GRAIN
        total = sum(held()[n[4:]] for n in name[FIRST:])
        assert limit - size - 3 * GRAIN < total <= limit
        assert '%s: asked' % name[GPU] in (tmp_path / 'log').read_text()
        if size >= GRAIN:
            check_sums(name, first=1, second=1)
        # What the one gives back the other can have.
        assert first.ask('take_some', some, kind, size) < some
        assert second.ask('give_some', 2 * some) == 2 * some
        assert first.ask('take_some', some, kind, size) == some
        if size >= GRAIN:
            check_sums(name, first=1, second=1)
    assert used()[name[GPU]] == 0


def test_an_instance_has_its_own_limit_inside(name):
    settings = dict(CARDS, CUQUOTA_MEMORY_LIMIT='%s=6G,%s=2G,*=5G' % (name[GPU], name[FIRST]))
    with Member(name[FIRST], **settings) as first, Member(name[SECOND], **settings) as second:
        assert first.ask('info')[0] == 2 * GIB
        assert second.ask('info')[0] == 5 * GIB
        assert second.ask('until_refused', 'linear', 256 * MIB) == 19
        assert first.ask('until_refused', 'linear', 256 * MIB) == 4
        check_sums(name, first=1, second=1)


@pytest.mark.parametrize('limit, each, together', [('*=2G', 2, 4), ('0=3G', 3, 3), ('{gpu}=10%', 4, 4), ('{gpu}=30G,*=none', 10, 20), ('{gpu}=none,*=1G', 1, 2)])
def test_which_key_binds_what(name, limit, each, together):
    settings = dict(CARDS, CUQUOTA_MEMORY_LIMIT=limit.format(gpu=name[GPU]), SIMGPU_CONTEXT='0')
    with Member(name[FIRST], **settings) as first, Member(name[SECOND], **settings) as second:
        assert first.ask('info')[0] == second.ask('info')[0] == each * GIB
        count = first.ask('until_refused', 'linear', 128 * MIB) + second.ask('until_refused', 'linear', 128 * MIB)
        # Each may keep a grain for small requests.
        assert together * 8 - 2 <= count <= together * 8


def test_a_promise_of_the_gpu_is_kept_against_all_on_it(name):
    taker = dict(CARDS, CUQUOTA_TENANT='taker')
    with Member(name[THIRD], CUQUOTA_TENANT='promised', CUQUOTA_MEMORY_REQUEST='%s=28G' % name[GPU], **CARDS) as promised, \
            Member(name[FIRST], **taker) as first, Member(name[SECOND], **taker) as second:
        assert first.ask('until_refused', 'linear', GIB) == 9
        assert 2 * GIB < second.ask('info')[1] < 3 * GIB
        assert second.ask('until_refused', 'linear', GIB) == 2
        assert promised.ask('until_refused', 'linear', GIB) == 4
        check_sums(name, first=1, second=1, third=1)


def test_a_limit_that_cannot_be_held_denies(name):
    for setting in dict(CUQUOTA_MEMORY_REQUEST='%s=41G' % name[GPU]), dict(CUQUOTA_MEMORY_LIMIT='%s=0.001%%' % name[GPU]):
        with Member(name[FIRST], start=800, **CARDS, **setting):
            pass


@pytest.mark.parametrize('seed', range(3))
def test_ledgers_of_both_stay_even(name, seed):
    chance = random.Random(seed)
    settings = dict(CARDS, CUQUOTA_MEMORY_LIMIT='%s=3G,%s=2G' % (name[GPU], name[SECOND]), CUQUOTA_LOG='off')
    with Member(name[FIRST], **settings) as first, Member(name[FIRST], **settings) as beside, Member(name[SECOND], **settings) as second:
        count = {m: 0 for m in (first, beside, second)}
        for step in range(150):
            member = chance.choice(list(count))
            if count[member] and chance.random() < 0.4:
                assert member.ask('give', chance.randrange(count[member])) == 0
                count[member] -= 1
            else:
                rc = member.ask('take', chance.choice(['linear', 'pitch', 'managed', 'vmm']), chance.choice([1000, 50 * MIB, 300 * MIB]))
                assert rc in (0, 2)
                count[member] += not rc
            if step % 30 == 29:
                check_sums(name, first=2, second=1)
        beside.kill()
        assert first.ask('take', 'linear', GIB) in (0, 2)  # it looks for the dead
        check_sums(name, first=1, second=1)


def test_a_context_may_use_what_the_gpus_limit_leaves(name):
    """Less than a context is expected to take before one was measured."""
    with Member(name[FIRST], CUQUOTA_MEMORY_LIMIT='%s=110M' % name[GPU], **CARDS) as member:
        assert member.ask('info') == [110 * MIB, 8 * MIB]
        check_sums(name, first=1)


def test_what_is_not_counted_is_refused_under_the_gpus_limit(name):
    for limit, code in ('%s=1G' % name[GPU], 801), ('%s=none' % name[GPU], 0):
        with Member(name[FIRST], CUQUOTA_MEMORY_LIMIT=limit, **CARDS) as member:
            assert member.ask('take', 'heap', GIB) == code


def test_where_nvml_does_not_tell_the_gpus_size(name, tmp_path):
    """Its limit cannot be held, which is said and denies; who sets none of it goes on."""
    unknown = dict(CARDS, SIMGPU_FAULT='nvmlDeviceGetMemoryInfo@*:3', CUQUOTA_LOG_FILE=tmp_path / 'log')
    for what in 'LIMIT', 'REQUEST':
        with Member(name[FIRST], start=800, **{'CUQUOTA_MEMORY_%s' % what: '%s=1G' % name[GPU]}, **unknown):
            pass
        assert '%s: NVML does not tell its size' % name[GPU] in (tmp_path / 'log').read_text()
    with Member(name[FIRST], CUQUOTA_MEMORY_LIMIT='1G', **unknown) as member:
        assert member.ask('info')[0] == GIB
        assert member.ask('until_refused', 'linear', 100 * MIB) == 9


def test_families_of_the_gpu_are_those_of_its_instances(name):
    with Member(name[FIRST], CUQUOTA_MEMORY_LIMIT='%s=1G' % name[GPU], **CARDS) as member:
        for kind in 'linear', 'managed', 'vmm', 'managed':
            assert member.ask('take', kind, 50 * MIB) == 0
        assert member.ask('give') == 0
        families = [d['tenants'][0]['members'][0]['families'] for d in ledgers()]
        assert families[0] == families[1]
        assert [families[0][kind] for kind in ('linear', 'managed', 'vmm')] == [50 * MIB] * 3

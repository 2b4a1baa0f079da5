"""What NVML shows of a divided GPU and its instances is the same in a program that only has NVML as in one that uses an
instance, and as that one's own figures: an instance has no more than its GPU's limit leaves it, before and after somebody
holds something.
"""
import pytest

from gpus import GIB, MIB, Member, fresh, look, names, used

CARDS = dict(SIMGPU_DEVICES='40G', SIMGPU_MIG='0:10G+10G', SIMGPU_CONTEXT='100M', CUQUOTA_LOG='off')


@pytest.mark.parametrize('limit, gpu_total, total', [
    ('{gpu}=4G', 4, 4), ('{gpu}=4G,{first}=1G', 4, 1), ('{gpu}=15G', 15, 10), ('0=6G', 6, 6), ('*=3G', 40, 3), ('none', 40, 10), ('{gpu}=25%,*=50%', 10, 5)])
def test_alike(limit, gpu_total, total):
    gpu, first, second = names(**CARDS)
    settings = dict(CARDS, CUQUOTA_MEMORY_LIMIT=limit.format(gpu=gpu, first=first))
    before = look(**settings)
    assert [before[n][0] for n in (gpu, first)] == [gpu_total * GIB, total * GIB]
    assert before[gpu][2] == before[first][2] == 0
    with Member(first, **settings) as one, Member(second, **settings) as two:
        assert one.ask('take', 'linear', 500 * MIB) == 0
        assert two.ask('take', 'linear', 300 * MIB) == 0
        alone, now = look(**settings), used()
        for member, name in (one, first), (two, second):
            seen = member.ask('look')
            assert {n: tuple(v) for n, v in seen.items()} == {n: tuple(v) for n, v in alone.items()}
            assert member.ask('info') == seen[name][:2]
            assert seen[name][2] == now[name]
            assert seen[name][1] == min(seen[name][0] - now[name], seen[gpu][1])
        assert alone[gpu][2] == now[gpu] == now[first] + now[second]
        assert alone[gpu][0] == gpu_total * GIB and alone[gpu][1] <= gpu_total * GIB - now[gpu]

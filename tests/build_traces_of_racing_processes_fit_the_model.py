"""Real processes race in a build that prints the ledger's steps: the model has a course for what they print, and none for
a trace that was edited."""
# timeout: 150
import os, pathlib, shutil, subprocess, sys

import pytest

SOURCE, BUILD = pathlib.Path(os.environ['SOURCE']), os.environ['BUILD']
sys.path.insert(0, str(SOURCE / 'tests/model'))
import replay

pytestmark = pytest.mark.skipif(not shutil.which('spin'), reason='no spin')
LIMIT = 64  # tests/model/racers.c


@pytest.fixture(scope='module')
def traces():
    for seed in range(1, 20):
        traces = replay.race(BUILD + '/trace/racers', 60, seed)
        if contended(traces):
            return traces
    pytest.fail('the processes never met')


def contended(traces):
    """Somebody saw another's announcement, and somebody was refused."""
    steps = [s for t in traces for s in t]
    return any(s.name == 'read_pending' and s.value for s in steps) and any(s.name == 'refused' for s in steps)


def index(trace, name, value=lambda s: True):
    return next(i for i, s in enumerate(trace) if s.name == name and value(s) and i > len(trace) // 3)


def edited(traces, edit):
    copies = [[replay.copy(s) for s in t] for t in traces]
    edit(copies[0])
    return replay.fits(copies, LIMIT)


def test_what_they_print_fits(traces):
    good, text = replay.fits(traces, LIMIT)
    print(text)
    assert good


def test_a_trace_without_a_step_does_not():
    good, text = replay.fits([[], [], []], LIMIT)
    assert not good, text


def test_a_grant_beyond_the_limit_does_not(traces):
    good, text = replay.fits(traces, LIMIT // 2)
    assert not good, text


def test_an_announcement_cleared_before_word_is_raised_does_not(traces):
    def edit(trace):
        i = index(trace, 'committed')
        trace[i].name, trace[i + 1].name = trace[i + 1].name, trace[i].name
        trace[i].value, trace[i + 1].value = trace[i + 1].value, trace[i].value

    good, text = edited(traces, edit)
    assert not good, text


def test_a_word_that_nobody_wrote_does_not(traces):
    def edit(trace):
        trace[index(trace, 'read_word')].value += 1

    good, text = edited(traces, edit)
    assert not good, text


def test_a_charge_without_a_grant_does_not(traces):
    def edit(trace):
        del trace[index(trace, 'committed')]

    good, text = edited(traces, edit)
    assert not good, text


def test_the_normal_library_has_nothing_of_it():
    for name in ('libcuquota.so', 'debug/libcuquota.so'):
        content = pathlib.Path(BUILD, name).read_bytes()
        for word in (b'CUQUOTA_TRACE', b'point_trace', b'read_pending'):
            assert word not in content, (name, word)
            assert word in pathlib.Path(BUILD, 'trace/racers').read_bytes(), word

"""The short form of `make model`: the protocol's models hold, and the traps that were planted in them are found."""
# timeout: 150
import os, shutil, subprocess, sys

import pytest

RUN = os.path.join(os.environ['SOURCE'], 'tests/model/run.py')


def test_models_hold_and_faults_are_found(tmp_path):
    done = subprocess.run([sys.executable, RUN, '--build', str(tmp_path), '--short'], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    print(done.stdout)
    if done.returncode == 77:
        pytest.skip('no spin')
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith('model: ')


def test_a_search_that_breaks_off_is_no_success(tmp_path):
    """The tool takes away what is searched in, for one of the rows."""
    if not shutil.which('spin'):
        pytest.skip('no spin')
    tools = tmp_path / 'tools'
    tools.mkdir()
    (tools / 'spin').write_text('#!/bin/sh\ncase "$*" in *WORD_FIRST*) rm -r "$PWD" ;; *) exec %s "$@" ;; esac\n'
                                % shutil.which('spin'))
    (tools / 'spin').chmod(0o755)
    done = subprocess.run([sys.executable, RUN, '--build', str(tmp_path), '--short', 'find grow'], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env={**os.environ, 'PATH': '%s:%s' % (tools, os.environ['PATH'])})
    print(done.stdout)
    assert done.returncode == 1
    assert '3 of 4 planted faults found' in done.stdout.splitlines()[-1]


def test_a_name_that_is_none_is_answered_with_those_there_are(tmp_path):
    for script, said in ((RUN, 'no row matches nosuch; models are: grow, guarantee, life, '),
                         (os.path.join(os.environ['SOURCE'], 'tests/fuzz/fuzz.py'), 'no fuzzer matches nosuch; there are: preload_any_calls_')):
        done = subprocess.run([sys.executable, script, '--build', str(tmp_path), 'nosuch'], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode == 77:
            pytest.skip('no spin')
        assert done.returncode == 1 and done.stdout.startswith(said), done.stdout


def test_what_time_cut_off_is_counted_apart(tmp_path):
    """One search that goes by bitstate, given a tenth of a second."""
    if not shutil.which('spin'):
        pytest.skip('no spin')
    code = ("import sys; sys.path.insert(0, %r); import run; run.HOLD = [r[:3] + (0.1, True) for r in run.HOLD if r[1] == "
            "'three processes die three times']; run.main()" % os.path.dirname(RUN))
    done = subprocess.run([sys.executable, '-c', code, '--build', str(tmp_path), '--short', 'hold life'], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert '1 of 1 models hold (1 of them as far as time allowed), ' in done.stdout, done.stdout

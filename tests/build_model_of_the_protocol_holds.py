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

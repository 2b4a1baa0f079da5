"""The short form of `make model`: the protocol's models hold, and the traps that were planted in them are found."""
# timeout: 150
import os, subprocess, sys

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

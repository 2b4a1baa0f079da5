"""The corpora of the fuzzers reach at least 90 % of the lines of the settings' parser and of the snapshot reader.

timeout: 120
"""
import os, pathlib, subprocess, sys

import pytest

SCRIPT = pathlib.Path(__file__).parent / 'coverage.py'


def test_the_corpora_reach_what_they_should():
    r = subprocess.run([sys.executable, str(SCRIPT), '--missed'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(r.stdout)
    if r.returncode == 77:
        pytest.skip(r.stdout.strip())
    assert r.returncode == 0, r.stdout

"""nvmlDeviceGetFieldValues is left alone since no field of the pinned header tells memory held or a process: a field that
does, of a newer header, fails here. So do the kinds of samples."""
import os
import re

NVML = os.environ.get('NVML_INCLUDE') or os.environ['BUILD'] + '/nvidia/include'
TELLS = re.compile(r'FB_|_FB\b|FRAMEBUFFER|BAR1|MEM(ORY)?_?(USED|FREE|TOTAL|USAGE|SIZE|RESERVED|INFO)|PROCESS(ES)?(_|\b)|_PIDS?\b')


def names(pattern):
    with open(NVML + '/nvml.h') as header:
        return re.findall(pattern, header.read(), re.M)


def test_fields():
    fields = names(r'^#define\s+(NVML_FI_\w+)')
    assert len(fields) > 200
    assert [f for f in fields if TELLS.search(f)] == []


def test_samples():
    # NVML_MEMORY_UTILIZATION_SAMPLES is time in which memory was read or written.
    samples = names(r'^\s*(NVML_\w+_SAMPLES)\b')
    assert len(samples) >= 6
    assert [s for s in samples if TELLS.search(s)] == []


def test_the_pattern_sees_such_a_field():
    for name in ('NVML_FI_DEV_FB_USED', 'NVML_FI_DEV_MEMORY_USED', 'NVML_FI_DEV_BAR1_USED', 'NVML_FI_DEV_PROCESS_COUNT'):
        assert TELLS.search(name), name

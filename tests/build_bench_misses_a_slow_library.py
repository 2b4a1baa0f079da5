"""`make bench` finds a library that costs too much: one that wastes half a microsecond in each launch is not within, one that
does nothing is; both runs are real, write bench.json and bench.svg, and tell it by their exit status."""
# timeout: 120
# serial: yes
import json, subprocess, sys, xml.etree.ElementTree
import pytest
import helper

SLOW = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_nsec;
}

int cuLaunchKernel(void *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned shared,
		   void *stream, void **args, void **extra)
{
	static __typeof__(&cuLaunchKernel) real;
	const long begin = now();

	if (!real)
		real = (__typeof__(&cuLaunchKernel))dlsym(RTLD_NEXT, "cuLaunchKernel");
	while ((now() - begin + 1000000000) % 1000000000 < 500)
		;
	return real(f, a, b, c, d, e, g, shared, stream, args, extra);
}
'''


@pytest.fixture
def build(tmp_path):
    for name in ('simgpu', 'bench'):
        (tmp_path / name).symlink_to(helper.BUILD / name)
    return tmp_path


def bench(build, source):
    (build / 'library.c').write_text(source)
    subprocess.run(['gcc', '-shared', '-fPIC', '-O1', '-o', build / 'libcuquota.so', build / 'library.c', '-ldl'], check=True)
    r = subprocess.run([sys.executable, helper.SOURCE / 'bench/run', '--build', build, '--quick', 'launch'],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100)
    xml.etree.ElementTree.parse(build / 'bench.svg')
    return r.returncode, json.loads((build / 'bench.json').read_text())['launch'], r.stdout


def test_slow_library_is_missed_three_times(build):
    status, figure, output = bench(build, SLOW)
    assert status in (1, 2) and figure['within'] is False and len(figure['tries']) == 3, output
    assert all(t > 400 for t in figure['tries']) and figure['added'] == min(figure['tries']), output
    assert figure['budget'] == 3 and figure['unit'] == 'ns' and ' NO ' in output and '1 missed: launch' in output, output


def test_empty_library_is_within(build):
    status, figure, output = bench(build, '')
    # 2: the simulated driver itself was too slow here, which is said.
    assert figure['within'] is True and status == (2 if 'hide what is measured' in output else 0), output

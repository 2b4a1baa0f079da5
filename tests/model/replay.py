#!/usr/bin/env python3
"""Replays traces of real processes through the model: is there a course of the model that is what they tell?

    tests/model/replay.py --racers PROGRAM [--calls N] [--seeds N]    runs the program of tests/model/racers.c, then replays
    tests/model/replay.py --trace FOLDER --limit UNITS                replays what is there: a file for each process

A trace is what a build with TRACE=1 writes (shim/base/point.h), of three processes at most, of one tenant, without deaths
or changes of rules. The model is replay.pml, with the threads of protocol.pml; spin does the search. Exit status 0: each
fits. A trace fits when it has steps and spin comes to replay.pml's last assertion; any other error of spin's is none of its.
"""
import argparse, bisect, copy as copying, os, pathlib, re, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
STEPS = {name.lower(): int(number) for name, number in
         re.findall(r'^#define S_(\w+) (\d+)', (HERE / 'replay.pml').read_text(), re.M)}
MEMBERS = 3


class Step:
    def __init__(self, line):
        begin, end, self.name, slot, value, kept = line.split()
        self.begin, self.end, self.slot, self.value, self.kept = int(begin), int(end), int(slot), int(value), int(kept)


copy = copying.copy


def read(path):
    """One process's steps; its own slot is filled in, and its look at its own announcement left out."""
    steps, own, out = [Step(line) for line in path.read_text().splitlines()], None, []
    for s in steps:
        if s.name == 'published':
            own = s.slot
        if s.slot >= 1 << 32:
            s.slot = own
        if s.name == 'read_pending' and s.slot == own:
            continue
        if s.name == 'read_word':
            s.value = s.value * 256 + s.kept
        out.append(s)
    return out


def header(traces):
    """trace.h: the steps, and for each how many of each process must be done before it."""
    ends = [[s.end for s in t] for t in traces]
    text = ['static const int trace_length[%d] = {%s};' % (MEMBERS, ', '.join(str(len(t)) for t in traces))]
    for number, trace in enumerate(traces):
        rows = ['{%d, %d, %d, %d, {%s}},' % (STEPS[s.name], s.slot, s.value, s.kept,
                ', '.join('0' if q == number else str(bisect.bisect_left(ends[q], s.begin)) for q in range(MEMBERS)))
                for s in trace]
        text.append('static const struct { int step, slot, value, kept, after[%d]; } trace_%d[] = {%s\n{0}};'
                    % (MEMBERS, number, '\n'.join(rows)))
    load = '\n'.join('''	if (now.done[%(n)d] < trace_length[%(n)d]) {
		now.next_step[%(n)d] = trace_%(n)d[now.done[%(n)d]].step;
		now.next_slot[%(n)d] = trace_%(n)d[now.done[%(n)d]].slot;
		now.next_value[%(n)d] = trace_%(n)d[now.done[%(n)d]].value;
		now.next_kept[%(n)d] = trace_%(n)d[now.done[%(n)d]].kept;
		now.ready[%(n)d] = 1;
		for (q = 0; q < %(m)d; q++)
			if (now.done[q] < trace_%(n)d[now.done[%(n)d]].after[q])
				now.ready[%(n)d] = 0;
	} else {
		now.next_step[%(n)d] = now.next_slot[%(n)d] = now.next_value[%(n)d] = now.next_kept[%(n)d] = 0;
		now.ready[%(n)d] = 0;
	}''' % {'n': n, 'm': MEMBERS} for n in range(MEMBERS))
    text.append('''#define TRACE_NEXT
static int trace_most, trace_at[%(m)d];
static void trace_tell(void)
{
	printf("farthest: %%d %%d %%d\\n", trace_at[0], trace_at[1], trace_at[2]);
}
#define trace_next() do { int q, sum = 0; \\
%(load)s \\
	for (q = 0; q < %(m)d; q++) sum += now.done[q]; \\
	if (!trace_most) atexit(trace_tell); \\
	if (sum >= trace_most) { trace_most = sum + 1; for (q = 0; q < %(m)d; q++) trace_at[q] = now.done[q]; } \\
	now.finished = sum == trace_length[0] + trace_length[1] + trace_length[2]; \\
} while (0)''' % {'m': MEMBERS, 'load': load.replace('\n', ' \\\n') })
    return '\n'.join(text) + '\n'


def fits(traces, limit):
    """(does it, what to say)"""
    if not any(traces):
        return False, 'no step was told'
    traces = traces + [[]] * (MEMBERS - len(traces))
    with tempfile.TemporaryDirectory(prefix='replay-') as folder:
        def call(*command):
            r = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return r.stdout

        (pathlib.Path(folder) / 'trace.h').write_text(header(traces))
        said = call('spin', '-a', '-DSLOTS=%d' % MEMBERS, '-DLIMIT=%d' % limit, HERE / 'replay.pml')
        said += call('gcc', '-O1', '-w', '-I', folder, '-DSAFETY', '-DNOREDUCE', '-DMEMLIM=1500', '-o', 'pan', 'pan.c')
        if not os.path.exists(folder + '/pan'):
            sys.exit('replay: ' + said)
        text = call('./pan', '-n', '-E', '-m1000000')
    errors, states = re.search(r'errors: (\d+)', text), re.search(r'(\d\S*) states, stored', text)
    far = re.search(r'farthest: (\d+) (\d+) (\d+)', text)
    if not errors or not states or not far or 'depth too small' in text or 'out of memory' in text:
        sys.exit('replay: spin says\n' + text)
    count = '%d steps, %s states' % (sum(map(len, traces)), states[1])
    if errors[1] != '0':
        if not re.search(r'^pan:1: assertion violated 0 \(at depth \d+\)$', text, re.M):
            sys.exit('replay: spin says\n' + text)
        return True, count
    stuck = ['%d: %s %d %d' % (number, t[int(at)].name, t[int(at)].slot, t[int(at)].value)
             for number, (t, at) in enumerate(zip(traces, far.groups())) if int(at) < len(t)]
    return False, count + '; no course of the model goes beyond ' + ', '.join(stuck)


def race(racers, calls, seed):
    with tempfile.TemporaryDirectory(prefix='race-') as folder:
        for name in ('ledger', 'trace'):
            os.mkdir(folder + '/' + name)
        env = dict(os.environ, CUQUOTA_TRACE=folder + '/trace')
        subprocess.run([racers, folder + '/ledger', str(MEMBERS), str(calls), str(seed)], env=env, check=True, timeout=60)
        return [read(p) for p in sorted(pathlib.Path(folder + '/trace').iterdir())]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--racers')
    parser.add_argument('--calls', type=int, default=150)
    parser.add_argument('--seeds', type=int, default=3)
    parser.add_argument('--trace', type=pathlib.Path)
    parser.add_argument('--limit', type=int, default=64)
    args = parser.parse_args()
    if not shutil.which('spin'):
        print('replay: there is no spin (make setup brings it)')
        sys.exit(77)
    failed = 0
    for seed in range(1, 2 if args.trace else args.seeds + 1):
        traces = [read(p) for p in sorted(args.trace.iterdir())] if args.trace else race(args.racers, args.calls, seed)
        good, text = fits(traces, args.limit)
        failed += not good
        print('%-4s replay %d: %s' % ('ok' if good else 'FAIL', seed, text), flush=True)
    print('replay: %d traces, %d do not fit' % (seed, failed))
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()

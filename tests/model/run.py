#!/usr/bin/env python3
"""Checks the Promela models of the ledger's protocol with spin: `make model`.

    tests/model/run.py --build DIR [--short] [--long] [--jobs N] [PATTERN]

A row is a model with its constants. `hold`: it must hold, searched completely (every state) or, where that does not end
in memory and time to spare, by bitstate hashing for some seconds; which of the two, and how many states, is said. `find`:
a fault is planted and must be found. `open`: a gap that is known, and must still be found: who closes it makes the row
`hold`. --short: those that a test runs; --long: bitstate searches go on for ten minutes.
"""
import argparse, os, pathlib, queue, re, shutil, signal, subprocess, sys, tempfile, threading, time

HERE = pathlib.Path(__file__).resolve().parent
MEMORY_MB = 1800  # of one search
STOPPED = 'stopped by time'

# kind, model, what it shows, constants, seconds of a bitstate search (0: complete), in the short form
HOLD = (
    ('grow', 'three members wait for each other without end', 'PATIENT=1 LIMIT=2 MOST=1 PIECE=1', 0, True),
    ('grow', 'the same, room for one', 'PATIENT=1 LIMIT=1 MOST=1 PIECE=1', 0, False),
    ('grow', 'the same, larger charges', 'PATIENT=1 LIMIT=2 MOST=2 PIECE=2', 30, False),
    ('grow', 'one of two dies', 'SLOTS=2 DEATHS=1', 0, False),
    ('grow', 'two of three die', 'DEATHS=2 LIMIT=2 MOST=1 PIECE=1', 30, False),
    ('grow', 'a charge ends beside one that is stopped', 'PROGRESS=1 STOPS=1 SLOTS=2 LIMIT=1 MOST=1 PIECE=1 STOLEN=1', 0, False),
    ('grow', 'a charge ends beside one that dies', 'PROGRESS=1 DEATHS=1 SLOTS=2 LIMIT=2 MOST=2 PIECE=1 STOLEN=1', 0, False),
    ('grow', 'a charge ends beside one of two that is stopped', 'PROGRESS=1 STOPS=1 WAITS=0 LIMIT=1 MOST=1 PIECE=1 STOLEN=1', 30,
     False),
    ('life', 'two processes die twice, and lose their hold', 'PROCS=2 DEATHS=2 CLOSES=1', 0, False),
    ('life', 'two processes, one dies', 'PROCS=2 DEATHS=1', 0, True),
    ('life', 'three processes, one dies', 'PROCS=3 DEATHS=1', 0, False),
    ('life', 'three processes die three times', 'PROCS=3 DEATHS=3 LIMIT=2', 30, False),
    ('tighten', 'two members with one thread', 'SINGLE=1', 0, False),
    ('tighten', 'one member with two threads', 'THREADS=2 MOST=2', 0, True),
    ('tighten', 'two threads and another member', 'THREADS=3 MOST=1', 30, False),
    ('guarantee', 'one borrower', 'SLOTS=2 DEATHS=1', 0, False),
    ('guarantee', 'two borrowers', 'SLOTS=3 DEATHS=1 DEVICE=3 MOST=2', 30, False),
    ('guarantee', 'the borrower is charged by force', 'SLOTS=2 DEATHS=0 FORCES=1 FORCER=1', 0, False),
    ('guarantee', 'the promised one is charged by force', 'SLOTS=2 DEATHS=0 FORCES=1 FORCER=0', 0, False),
    ('settle', 'a looser one settles beside a joiner, and may die', 'NEW=3 DEATHS=1', 0, True),
    ('settle', 'a tighter one settles beside a joiner', 'NEW=1', 0, False),
)
FIND = (
    ('grow', 'WORD_FIRST', 'PATIENT=1 LIMIT=2 MOST=1 PIECE=1', True),
    ('grow', 'NO_ANNOUNCEMENT', 'PATIENT=1 LIMIT=2 MOST=1 PIECE=1', True),
    ('grow', 'LOWEST_BLIND', 'PATIENT=1 LIMIT=1 MOST=1 PIECE=1', True),
    ('grow', 'DRIVER_FIRST', 'PATIENT=1 LIMIT=2 MOST=1 PIECE=1', False),
    ('grow', 'REFUND_FIRST', 'PATIENT=1 LIMIT=2 MOST=1 PIECE=1', False),
    ('grow', 'STRANGER_RAISES', 'PATIENT=1 LIMIT=1 MOST=1 PIECE=1', False),
    ('grow', 'TAKEN_BY_STORE', 'PATIENT=1 LIMIT=2 MOST=1 PIECE=1', False),
    ('grow', 'CLEARS_FIRST', 'PATIENT=1 LIMIT=2 MOST=1 PIECE=1', True),
    ('grow', 'STOPPED_IGNORED', 'SLOTS=2 LIMIT=1 MOST=1 PIECE=1', False),
    ('grow', 'WAITS_UNBOUNDED', 'PROGRESS=1 STOPS=1 SLOTS=2 LIMIT=1 MOST=1 PIECE=1 STOLEN=1', False),
    ('life', 'HOLD_IGNORED', 'PROCS=2 DEATHS=1', True),
    ('life', 'LIFE_IGNORED', 'PROCS=2 DEATHS=1 CLOSES=1', True),
    ('life', 'NOT_ZEROED', 'PROCS=2 DEATHS=1', False),
    ('life', 'UNMAPPED_LATE', 'PROCS=2 DEATHS=1', False),
    ('tighten', 'EPOCH_IGNORED', 'THREADS=2 MOST=2', True),
    ('tighten', 'CREDIT_ADOPTED', 'THREADS=2 MOST=2', False),
    ('tighten', 'TAG_KEPT', 'THREADS=2 MOST=2', False),
    ('tighten', 'CREDIT_LEFT', 'SINGLE=1', False),
    ('guarantee', 'STAMPED_LATE', 'SLOTS=2 DEATHS=1', False),
    ('guarantee', 'BOUND_ONCE', 'SLOTS=2 DEATHS=1', False),
    ('guarantee', 'RISEN_FIRST', 'SLOTS=2 DEATHS=1', True),
    ('guarantee', 'RISEN_LATE', 'SLOTS=2 DEATHS=1', False),
    ('guarantee', 'BASED_LATE', 'SLOTS=2 DEATHS=1', False),
    ('guarantee', 'FORCE_RISEN_FIRST', 'SLOTS=2 DEATHS=0 FORCES=1 FORCER=1', True),
    ('guarantee', 'FORCE_RISEN_FIRST', 'SLOTS=2 DEATHS=0 FORCES=1 FORCER=0', False),
    ('settle', 'LOOKED_ONCE', 'NEW=3', True),
    ('settle', 'FLAG_IGNORED', 'NEW=3', False),
    ('settle', 'MEMBERS_FIRST', 'NEW=1', False),
)
OPEN = (
    ('life', "the driver's memory outlives the locks of the dead", 'PROCS=2 DEATHS=1 LATE=1'),
)


class Row:
    def __init__(self, kind, model, what, constants, seconds=0):
        self.kind, self.model, self.what, self.seconds = kind, model, what, seconds
        self.constants = constants.split()
        self.name = '%-9s %s (%s)' % (model, what, constants)


def rows(short):
    for model, what, constants, seconds, quick in HOLD:
        if quick or not short:
            yield Row('hold', model, what, constants, seconds)
    for model, fault, constants, quick in FIND:
        if quick or not short:
            yield Row('find', model, fault, constants + ' FAULT=' + fault)
    if not short:
        for model, what, constants in OPEN:
            yield Row('open', model, what, constants)


def call(command, folder):
    r = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode or re.search(r'\bError\b|error:', r.stdout):
        raise RuntimeError('%s:\n%s' % (' '.join(map(str, command)), r.stdout))


def search(folder, seconds, progress):
    """What pan says; after `seconds` it is told to come to its end."""
    options = ['-m2000000', '-n'] + ['-w27'] * bool(seconds) + ['-a', '-f'] * progress
    p = subprocess.Popen(['./pan', *options], cwd=folder,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        return p.communicate(timeout=seconds or 600)[0], True
    except subprocess.TimeoutExpired:
        p.send_signal(signal.SIGINT)
        return p.communicate()[0], False


def check(row, folder, long, short):
    """(as it must be, what to print)"""
    call(['spin', '-a'] + ['-D' + c for c in row.constants] + [HERE / (row.model + '.pml')], folder)
    flags = ['-DBITSTATE'] if row.seconds else ['-DMEMLIM=%d' % MEMORY_MB]
    progress = 'PROGRESS=1' in row.constants
    flags += ['-DNFAIR=3'] if progress else ['-DSAFETY']
    # Short searches are over before an optimizer would be.
    call(['gcc', '-O2' if row.kind == 'hold' and not short else '-O0', '-w', *flags, '-o', 'pan', 'pan.c'], folder)
    text, ended = search(folder, row.seconds * (20 if long else 1), progress)
    states = re.search(r'(\d[\d.e+]*) states, stored', text)
    errors = re.search(r'errors: (\d+)', text)
    whole = ended and 'max search depth too small' not in text and 'Search not completed' not in text
    why = re.search(r'^pan:1: (.*?)(?: \(at depth \d+\))?$', text, re.M)
    if not states or not errors:
        return False, 'spin says nothing:\n' + text
    count = '{:,.0f} states'.format(float(states[1]))
    if row.kind == 'hold':
        if errors[1] != '0':
            return False, 'BROKEN: %s' % (why[1] if why else text)
        if row.seconds:
            return True, '%s, bitstate, %s' % (count, 'to its end' if whole else STOPPED)
        return whole, '%s, %s' % (count, 'complete' if whole else 'NOT complete:\n' + text)
    return errors[1] != '0', '%s: %s' % (count, why[1][:90] if errors[1] != '0' and why else 'NOT FOUND')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build'))
    parser.add_argument('--short', action='store_true')
    parser.add_argument('--long', action='store_true')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('only', nargs='?', default='')
    args = parser.parse_args()
    if not shutil.which('spin'):
        print('model: there is no spin (make setup brings it)')
        sys.exit(77)
    args.build.mkdir(parents=True, exist_ok=True)
    work, lock, done, said = queue.Queue(), threading.Lock(), {}, {}
    # The longest first, so that none is left alone at the end.
    known = list(rows(args.short))
    chosen = [r for r in known if args.only in r.kind + ' ' + r.name]
    if not chosen:
        sys.exit('no row matches %s; models are: %s' % (args.only, ', '.join(sorted({r.model for r in known}))))
    for row in sorted(chosen, key=lambda r: (r.kind != 'hold', -r.seconds)):
        work.put(row)

    def worker():
        while True:
            try:
                row = work.get_nowait()
            except queue.Empty:
                return
            begin = time.monotonic()
            with tempfile.TemporaryDirectory(dir=args.build, prefix='model-') as folder:
                try:
                    good, text = check(row, folder, args.long, args.short)
                except Exception as error:
                    good, text = False, repr(error) if not isinstance(error, RuntimeError) else str(error)
            with lock:
                print('%-4s %s %s\n       %s (%.0f s)' % ('ok' if good else 'FAIL', row.kind, row.name, text,
                                                         time.monotonic() - begin), flush=True)
                done[row], said[row] = good, text

    threads = [threading.Thread(target=worker) for _ in range(args.jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    count = lambda kind: '%d of %d' % (sum(done.get(r, False) for r in chosen if r.kind == kind),
                                       sum(r.kind == kind for r in chosen))
    timed = sum(STOPPED in said.get(r, '') for r in chosen)
    far = ' (%d of them as far as time allowed)' % timed if timed else ''
    print('model: %s models hold%s, %s planted faults found, %s known gaps seen' % (
        count('hold'), far, count('find'), count('open')))
    sys.exit(0 if all(done.get(r) for r in chosen) else 1)


if __name__ == '__main__':
    main()

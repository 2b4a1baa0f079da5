#!/usr/bin/env python3
"""The main job of cuquota on one screen: `make demo`.

    examples/demo/demo.py [--build DIR] [--simulate]

Three tenants share a card: a limit that two processes share, a refusal that explains itself, a promise that a
borrower cannot touch, and a killed process whose memory is back at once. Every line is checked against what the
programs got and what `cuquota ps` says; if a figure is not as it should be the line says so and the status is 1.

Runs on the card of this machine, or on two simulated ones where there is none. Uses folders of its own and removes
them; the programs are examples/demo/client.c, which knows nothing of limits.
"""
import argparse, json, os, pathlib, select, shutil, subprocess, sys, tempfile, time

WAIT = 60.0  # seconds for any one answer
OUT_OF_MEMORY = 'refused 2'
OURS = ('CUQUOTA_', 'SIMGPU_', 'CUDA_DEVICE_MEMORY_', 'NVIDIA_GPU_MEMORY_')


class Wrong(Exception):
    pass


class Client:
    """One running program of a tenant."""

    def __init__(self, demo, tenant, ordinal=0, **options):
        self.tenant, self.buffer = tenant, b''
        self.log = open(demo.folder / ('%s-%d.err' % (tenant, len(demo.clients))), 'w+')
        argv = [demo.command, 'run', '--tenant', tenant]
        for name, value in options.items():
            argv += ['--' + name.replace('_', '-'), str(value)]
        argv += ['--simulate', demo.cards] if demo.simulated else []
        self.process = subprocess.Popen([*argv, '--', demo.client, str(ordinal)], env=demo.environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=0)
        demo.clients.append(self)
        answer = self.hear()
        if not answer.startswith('ready '):
            raise Wrong('%s did not start: %s; %s' % (tenant, answer, self.said()))
        _, pid, devices, self.uuid = answer.split()
        self.pid, self.devices = int(pid), int(devices)

    def hear(self):
        end = time.monotonic() + WAIT
        while b'\n' not in self.buffer:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise Wrong('%s does not answer' % self.tenant)
            more = os.read(self.process.stdout.fileno(), 4096)
            if not more:
                raise Wrong('%s ended: %s' % (self.tenant, self.said()))
            self.buffer += more
        line, self.buffer = self.buffer.split(b'\n', 1)
        return line.decode()

    def tell(self, line):
        self.process.stdin.write(line.encode() + b'\n')

    def ask(self, line):
        self.tell(line)
        return self.hear()

    def alloc(self, mib):
        return self.ask('alloc %d' % mib)

    def take(self, mib):
        answer = self.alloc(mib)
        if answer != 'ok':
            raise Wrong('%s asked for %s and got: %s; %s' % (self.tenant, size(mib), answer, self.said()))

    def figures(self):
        word, free, total = self.ask('info').split()
        return int(free), int(total)

    def held(self):
        return int(self.ask('total').split()[1])

    def said(self):
        """What was written to its stderr, newest line last."""
        self.log.flush()
        with open(self.log.name) as log:
            return log.read().strip()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def size(mib):
    return '%.1f GiB' % (mib / 1024) if mib >= 1024 else '%d MiB' % mib


class Demo:
    def __init__(self, build, simulated):
        self.build, self.clients, self.failed = build, [], 0
        self.command, self.client = build / 'cuquota', build / 'demo/client'
        memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='cuquota-demo.', dir=memory))
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(OURS) and k != 'CUDA_VISIBLE_DEVICES'}
        if 'CUQUOTA_LIB' in os.environ:
            self.environment['CUQUOTA_LIB'] = os.environ['CUQUOTA_LIB']
        self.environment.update(CUQUOTA_DIR=str(self.folder / 'ledgers'), SIMGPU_DIR=str(self.folder / 'cards'))
        for name in ('ledgers', 'cards'):
            (self.folder / name).mkdir()
        self.cards = '2x24G'
        self.simulated = simulated or not self.has_card()
        self.both = '0,1' if self.simulated else '0'

    def has_card(self):
        """Does the driver that the loader finds show a device?"""
        done = subprocess.run([self.client], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.stdout.startswith('ready ')

    def close(self):
        for client in self.clients:
            client.kill()
            client.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ps(self, *options):
        done = subprocess.run([self.command, 'ps', '--all', *options], env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise Wrong('cuquota ps: %s' % done.stderr.strip())
        return done.stdout

    def ledger(self, uuid):
        """tenant -> what `cuquota ps --json` says of it on this card."""
        for device in json.loads(self.ps('--json'))['devices']:
            if device['uuid'] == uuid:
                return {t['name']: t for t in device['tenants']}
        raise Wrong('no ledger of %s' % uuid)

    def line(self, text, *facts):
        """One line of the screen. Each fact is (what, what it is, whether it is as it should be)."""
        wrong = ['%s is %s' % (what, value) for what, value, right in facts if not right]
        self.failed += bool(wrong)
        print('  %s  %s%s' % ('WRONG' if wrong else 'ok', text, ''.join('\n         ' + w for w in wrong)), flush=True)

    def quote(self, client, words):
        """The line on the client's stderr that has all these words."""
        for said in reversed(client.said().splitlines()):
            if said.startswith('cuquota: ') and all(w in said for w in words):
                print('      | ' + said.replace(client.uuid, client.uuid[:12] + '...'))
                return True
        return False


def show(demo, g):
    """The story. `g` is a 24th of the card in MiB: on a card of 24 GiB it is 1 GiB."""
    print('alice may hold %s, however many processes she runs' % size(8 * g))
    one = Client(demo, 'alice', memory_limit='%dM' % (8 * g), devices='0')
    two = Client(demo, 'alice', memory_limit='%dM' % (8 * g), devices='0')
    one.take(4 * g)
    two.take(2 * g)
    free, total = two.figures()
    demo.line('one takes %s, the other %s; to both the card has %s, %s free' % (size(4 * g), size(2 * g), size(total), size(free)),
              ('total', total, total == 8 * g), ('free', free, 0 < free <= 2 * g),
              ('the other\'s view', one.figures(), one.figures() == (free, total)))
    answer = two.alloc(2 * g)
    demo.line('the other asks for %s more: out of memory, and it says why' % size(2 * g), ('the answer', answer, answer == OUT_OF_MEMORY))
    explained = demo.quote(two, ('limit', size(2 * g), size(8 * g)))
    answer = two.alloc(g // 4)
    demo.line('%s more it may have: a refusal breaks nothing' % size(g // 4), ('the answer', answer, answer == 'ok'),
              ('an explanation', two.said() or 'missing', explained))

    print('carol is promised %s of it; bob has no limit and may borrow the rest' % size(10 * g))
    carol = Client(demo, 'carol', memory_limit='%dM' % (12 * g), memory_request='%dM' % (10 * g), devices='0')
    bob = Client(demo, 'bob', devices=demo.both)
    carol.take(g)
    while (answer := bob.alloc(g // 2)) == 'ok':
        pass
    held = bob.held()
    free = carol.figures()[0]
    spared = demo.ledger(carol.uuid)['carol']
    demo.line('bob takes all he can get, %s, and is stopped where the promise begins' % size(held),
              ('the answer', answer, answer == OUT_OF_MEMORY), ('bob\'s share', size(held), held >= g),
              ('what carol can have', size(free), free >= 9 * g - g // 2), ('lent', spared['lent'], spared['lent'] == 0))
    explained = demo.quote(bob, ('promised',))
    carol.take(free // 2)
    carol.take(carol.figures()[0] - g // 64)
    used = demo.ledger(carol.uuid)['carol']['used'] >> 20
    demo.line('carol comes for hers at once: she holds %s, and nobody was killed' % size(used),
              ('carol holds', size(used), 10 * g - g // 32 <= used <= 12 * g), ('bob runs', bob.process.poll(), bob.process.poll() is None),
              ('an explanation', bob.said() or 'missing', explained and 'carol' not in bob.said()))

    if demo.simulated:
        print('the second card is counted apart, and is not there for who may not see it')
        far = Client(demo, 'bob', ordinal=1, devices=demo.both)
        far.take(6 * g)
        apart = demo.ledger(far.uuid)['bob']['used'] >> 20
        demo.line('bob sees %d cards and takes %s of the other one; alice sees %d' % (far.devices, size(6 * g), one.devices),
                  ('bob\'s cards', far.devices, far.devices == 2), ('alice\'s cards', one.devices, one.devices == 1),
                  ('the other card', far.uuid, far.uuid != bob.uuid), ('bob there', size(apart), 6 * g <= apart < 8 * g))
        pci = far.ask('names').split()[1]
        bobs, alices = far.ask('find %s %s 1' % (far.uuid, pci)), one.ask('find %s %s 1' % (far.uuid, pci))
        every = 'found ' + ' '.join('%s-%s' % (by, how) for by in ('CUDA', 'NVML') for how in ('index', 'UUID', 'PCI'))
        demo.line('by index, by UUID or by PCI address, in CUDA or NVML: bob finds it, alice does not',
                  ('what bob finds', bobs, bobs == every), ('what alice finds', alices, alices == 'absent'))

    print('bob is killed with kill -9 while carol waits for memory beyond her share')
    carol.tell('until %d 20000' % g)
    waits = carol.hear()
    start = time.monotonic()
    bob.process.kill()
    got = carol.hear()
    took = (time.monotonic() - start) * 1000
    bob.process.wait()
    left = demo.ledger(carol.uuid).get('bob', {'used': 0})['used'] >> 20
    demo.line('she has it %.1f ms after the kill; of bob\'s %s no byte is left behind' % (took, size(held)), ('first', waits, waits == 'trying'),
              ('then', got, got == 'ok'), ('milliseconds', took, took < 2000), ('bob\'s account', size(left), left == 0))

    print('the ledger, as `cuquota ps` shows it')
    print(demo.ps().rstrip())
    rows = demo.ledger(one.uuid)
    mine = one.held() + two.held()
    counted = rows['alice']['used'] >> 20
    by_hand = sum(m['families']['linear'] for m in rows['alice']['members']) >> 20
    demo.line('its figures are those of the programs: alice allocated %s, and contexts come on top' % size(mine),
              ('allocations counted', size(by_hand), by_hand == mine), ('all counted', size(counted), mine < counted <= 8 * g),
              ('alice\'s processes', len(rows['alice']['members']), len(rows['alice']['members']) == 2))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build'))
    parser.add_argument('--simulate', action='store_true', help='simulated cards even where there is a real one')
    args = parser.parse_args()
    demo = Demo(args.build.resolve(), args.simulate)
    try:
        g = 1024
        if not demo.simulated:
            g = Client(demo, 'measure', devices='0').figures()[1] // 24 // 16 * 16
            demo.clients.pop().kill()
        print('cuquota on %s' % ('two simulated cards of 24 GiB (there is no real one here)' if demo.simulated else 'the card of this machine, %s' % size(24 * g)))
        show(demo, g)
    except Wrong as wrong:
        demo.failed += 1
        print('  WRONG  %s' % wrong)
    finally:
        demo.close()
    print('%s' % ('%d of the lines are not as they should be' % demo.failed if demo.failed else 'every line was checked'))
    return 1 if demo.failed else 0


sys.exit(main())

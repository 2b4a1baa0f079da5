"""For the tests in Python: where things are, and clients under the preload that go step by step on pipes."""
import os, pathlib, select, subprocess, sys, time

SOURCE = pathlib.Path(os.environ.get('SOURCE') or pathlib.Path(__file__).resolve().parent.parent)
BUILD = pathlib.Path(os.environ.get('BUILD') or SOURCE / 'build')
LIBRARY = BUILD / 'libcuquota.so'
COMMAND = BUILD / 'cuquota'
DEADLINE = 20.0


def environment(preload=True, library=LIBRARY, **settings):
    """Ours with the settings put over it (None unsets); with the library preloaded if asked for."""
    env = dict(os.environ)
    if preload:
        first = os.environ.get('TEST_PRELOAD_FIRST')
        env['LD_PRELOAD'] = (first + ':' if first else '') + str(library)
    for name, value in settings.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def run(argv, preload=True, timeout=DEADLINE, **settings):
    """Runs a command to its end; the result has returncode, stdout and stderr as text."""
    return subprocess.run([str(a) for a in argv], env=environment(preload, **settings), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=timeout)


def python(code, preload=True, timeout=DEADLINE, **settings):
    return run([sys.executable, '-c', code], preload, timeout, **settings)


class Client:
    """A running child: say() sends a line, line() reads one within the deadline, end() waits for the exit status."""

    def __init__(self, argv, preload=True, **settings):
        self.process = subprocess.Popen([str(a) for a in argv], env=environment(preload, **settings),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.buffer = b''

    def say(self, text):
        self.process.stdin.write(text.encode() + b'\n')

    def line(self, timeout=DEADLINE):
        until = time.monotonic() + timeout
        while b'\n' not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            assert ready, 'no line within %g s, after %r' % (timeout, self.buffer)
            more = os.read(self.process.stdout.fileno(), 4096)
            assert more, 'the client ended after %r, status %r' % (self.buffer, self.process.poll())
            self.buffer += more
        text, self.buffer = self.buffer.split(b'\n', 1)
        return text.decode()

    def end(self, timeout=DEADLINE):
        if self.process.stdin:
            self.process.stdin.close()
        try:
            return self.process.wait(timeout)
        finally:
            self.kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.kill()

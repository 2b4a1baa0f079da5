"""Runs `cuquota doctor` and reads what it says."""
import json, pathlib, subprocess

from helper import COMMAND, LIBRARY, environment

DOORS = ('linked dlsym default next dlvsym resolver resolver-v2 table deepbind-linked deepbind-table namespace '
         'namespace-linked namespace-table').split()
CAP = {'CUQUOTA_MEMORY_LIMIT': '8G', 'SIMGPU_DEVICES': '2x24G'}


class Report:
    def __init__(self, *args, preload=True, library=LIBRARY, **settings):
        env = environment(preload, library, **settings)
        self.done = subprocess.run([str(COMMAND), 'doctor', '--json', *args], env=env, stdin=subprocess.DEVNULL,
                                   capture_output=True, text=True, timeout=50)
        self.status = self.done.returncode
        self.whole = json.loads(self.done.stdout)
        assert self.whole['status'] == self.status and self.whole['ok'] == (self.status == 0), self.done.stdout

    def of(self, verdict):
        """check -> text of its last line, of those with this verdict."""
        return {c['check']: c['text'] for c in self.whole['checks'] if c['verdict'] == verdict}

    def all(self, verdict, check):
        return [c['text'] for c in self.whole['checks'] if (c['verdict'], c['check']) == (verdict, check)]

    def __str__(self):
        return self.done.stdout + self.done.stderr

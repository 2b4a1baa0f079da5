"""CUDA_VISIBLE_DEVICES that a program sets itself, after the preload and before its first CUDA call, counts in the tenant's
list; afterwards it is what the program made it, for itself and for every child, where it counts in the same list again."""
import sys

from helper import python

# Prints what is seen, by memory in GiB in the order of ordinals, and what the variable is then, in C and in Python.
LOOK = '''
import ctypes, os, subprocess, sys
def look():
    driver, libc = ctypes.CDLL('libcuda.so.1'), ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_char_p
    rc, count, seen = driver.cuInit(0), ctypes.c_int(), []
    driver.cuDeviceGetCount(ctypes.byref(count))
    for i in range(count.value):
        total = ctypes.c_size_t()
        assert driver.cuDeviceTotalMem_v2(ctypes.byref(total), i) == 0
        seen.append(total.value >> 30)
    print(rc, seen, libc.getenv(b'CUDA_VISIBLE_DEVICES'), os.environ.get('CUDA_VISIBLE_DEVICES'), flush=True)
'''
CARDS = dict(SIMGPU_DEVICES='24G,16G,8G,4G', CUQUOTA_VISIBLE_DEVICES='1,2,3')


def lines(code, **settings):
    done = python(LOOK + code, **CARDS, **settings)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ''
    return done.stdout.splitlines()


def test_set_late():
    assert lines("os.environ['CUDA_VISIBLE_DEVICES'] = '2,0'\nlook()", CUDA_VISIBLE_DEVICES=None) == [
        "0 [4, 16] b'2,0' 2,0"]


def test_changed_late():
    assert lines("os.environ['CUDA_VISIBLE_DEVICES'] = '1'\nlook()", CUDA_VISIBLE_DEVICES='0') == ["0 [8] b'1' 1"]


def test_removed_late():
    assert lines("del os.environ['CUDA_VISIBLE_DEVICES']\nlook()", CUDA_VISIBLE_DEVICES='0') == [
        "0 [16, 8, 4] None None"]


def test_made_empty_late():
    assert lines("os.environ['CUDA_VISIBLE_DEVICES'] = ''\nlook()", CUDA_VISIBLE_DEVICES=None) == ["100 [] b'' "]


def test_a_hidden_card_cannot_be_named_late():
    assert lines("os.environ['CUDA_VISIBLE_DEVICES'] = '3'\nlook()", CUDA_VISIBLE_DEVICES=None) == ["100 [] b'3' 3"]


def test_a_child_that_is_executed_after_the_start():
    code = "os.environ['CUDA_VISIBLE_DEVICES'] = '2,1'\nlook()\nsubprocess.run([sys.executable, '-c', %r], check=True)"
    assert lines(code % (LOOK + 'look()'), CUDA_VISIBLE_DEVICES=None) == ["0 [4, 8] b'2,1' 2,1"] * 2


def test_a_child_of_a_program_that_set_nothing():
    code = "look()\nos.execv(sys.executable, [sys.executable, '-c', %r])"
    assert lines(code % (LOOK + 'look()'), CUDA_VISIBLE_DEVICES=None) == ["0 [16, 8, 4] None None"] * 2


def test_each_forked_child_sets_its_own():
    code = '''
for i in '2', '0,1':
    child = os.fork()
    if not child:
        os.environ['CUDA_VISIBLE_DEVICES'] = i
        look()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
look()
'''
    assert lines(code, CUDA_VISIBLE_DEVICES='1') == ["0 [4] b'2' 2", "0 [16, 8] b'0,1' 0,1", "0 [8] b'1' 1"]


def test_a_forked_child_that_executes_another_while_the_parent_runs_on():
    code = '''
look()
child = os.fork()
if not child:
    os.environ['CUDA_VISIBLE_DEVICES'] = '0'
    os.execv(sys.executable, [sys.executable, '-c', %r])
assert os.waitpid(child, 0)[1] == 0
look()
'''
    assert lines(code % (LOOK + 'look()'), CUDA_VISIBLE_DEVICES='1') == [
        "0 [8] b'1' 1", "0 [16] b'0' 0", "0 [8] b'1' 1"]

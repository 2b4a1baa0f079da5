"""A library that brings functions of its own under names like the driver's gets them, wherever our library lies and by
whatever name it was preloaded, before and after a driver was opened.

report: DL-05
report: PG-04
"""
import os, shutil
import pytest
import helper

CLIENT = '''
import ctypes, sys, time
begin = time.monotonic()
bundled = ctypes.CDLL(sys.argv[1])
bundled.bundled_is_itself.restype = ctypes.c_char_p
def check():
    wrong = bundled.bundled_is_itself(sys.argv[1].encode())
    assert wrong is None, wrong
check()
cuda = ctypes.CDLL("libcuda.so.1")
check()
name = ctypes.cast(cuda.cuGetProcAddress_v2, ctypes.c_void_p).value
assert name != ctypes.cast(bundled.cuGetProcAddress_v2, ctypes.c_void_p).value
assert time.monotonic() - begin < 1, time.monotonic() - begin
print("itself")
'''


@pytest.mark.parametrize('place', ['libcuquota.so', 'other name.so', 'deep/er/x.so', 'link.so'])
def test_from(place, tmp_path):
    library = tmp_path / place
    if ' ' in place:
        library = tmp_path / place.replace(' ', '-')
    library.parent.mkdir(parents=True, exist_ok=True)
    if place == 'link.so':
        library.symlink_to(helper.LIBRARY)
    else:
        shutil.copy(helper.LIBRARY, library)
    r = helper.run([os.environ.get('PYTHON', 'python3'), '-c', CLIENT, helper.BUILD / 'tests/doors/bundled.so'],
                   library=library, CUQUOTA_MEMORY_LIMIT='8G')
    assert (r.returncode, r.stdout) == (0, 'itself\n'), r.stderr

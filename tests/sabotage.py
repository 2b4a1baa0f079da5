"""Builds libcuquota.so with a planted fault, for the tests of `cuquota doctor`: what is planted is compiled anew in a
folder of the test's own and linked with the objects of the shipped one."""
import os, pathlib, subprocess

from helper import BUILD, SOURCE

CC = os.environ.get('CC', 'gcc').split()
NVIDIA = BUILD / 'nvidia/include'


def library(folder, edits=(), gone=()):
    """The path of a library in `folder`. edits: (file, text, replacement), of files below shim/; a .def comes with the
    sources to compile anew as (file, text, replacement, sources). gone: names that are not exported."""
    folder.mkdir(exist_ok=True)
    sources = {}
    for file, text, replacement, *also in edits:
        planted = sources[file] if file in sources else (SOURCE / 'shim' / file).read_text()
        assert planted.count(text) == 1, '%s: found %d times: %s' % (file, planted.count(text), text)
        sources[file] = planted.replace(text, replacement)
        for source in also:
            sources[source] = (SOURCE / 'shim' / source).read_text()
    objects = {'%s/%s' % (floor, p.name): p for floor in ('base', 'ledger', 'driver', 'policy', 'hooks')
               for p in (BUILD / 'obj/shim' / floor).glob('*.o') if (SOURCE / 'shim' / floor / p.name[:-2]).exists()}
    for file, planted in sources.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(planted)
    for file in sources:
        if file.endswith('.c'):
            objects[file + '.o'] = folder / (file + '.o')
            call(*CC, '-std=gnu11', '-O1', '-fPIC', '-fvisibility=hidden', '-pthread', '-D_GNU_SOURCE', '-I', folder,
                 '-I', SOURCE / 'include', '-I', SOURCE / 'shim', '-I', BUILD / 'gen',
                 '-isystem', os.environ.get('CUDA_INCLUDE') or NVIDIA, '-isystem', os.environ.get('NVML_INCLUDE') or NVIDIA,
                 '-c', folder / file, '-o', folder / (file + '.o'))
    exports = [l for l in (BUILD / 'gen/exports.map').read_text().split('\n') if l.strip(' \t;') not in gone]
    (folder / 'exports.map').write_text('\n'.join(exports))
    made = folder / 'libcuquota.so'
    call(*CC, '-shared', '-Wl,-soname,libcuquota.so', '-Wl,-z,nodelete', '-Wl,-z,defs', '-Wl,-Bsymbolic',
         '-Wl,--version-script,%s' % (folder / 'exports.map'), '-o', made, *objects.values(), '-ldl', '-pthread')
    return made


def call(*command):
    done = subprocess.run([str(c) for c in command], cwd=SOURCE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def wrong_header(path, original, byte, value):
    """A copy of an ELF file whose header says something else."""
    content = bytearray(pathlib.Path(original).read_bytes())
    content[byte] = value
    path.write_bytes(content)
    return path

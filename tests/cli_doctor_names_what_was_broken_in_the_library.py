"""A library with one planted fault is named by the door or look-up that it leaves open, and no other fault is told.

timeout: 120
"""
from doctor import CAP, Report
from sabotage import library

NOT_REWRITTEN = ('driver/library.c', '	if (!take_patch(taken, &library->patched))\n		return;', '	if (taken)\n		return;')
NO_DLSYM = ('driver/resolve.c', '		return query->row->hook ? hook_of(query) : found;', '		return found;')
DEEPBIND = [('driver/open.c', '		*flags = int_to_arg(mode & ~RTLD_DEEPBIND);\n	}', '		*flags = int_to_arg(mode);\n	}'),
            ('driver/cover.c', '	if (!loader_is_libc(image))', '	if (image)')]
LEAK_NVML = ('hooks/nvml_devices.c', '	if (seen_device(handle) != SEEN_SHOWN)\n		return NVML_ERROR_NOT_FOUND;', '	if (0)\n		return rc;')
LEAK_CUDA = [('policy/visible.c', '	if (list->all)\n		return real.cuInit(flags);', '	if (list)\n		return real.cuInit(flags);'),
             ('policy/visible.c', '	if (list->all || visible_is_asking())', '	if (list)')]
NO_HOOK = ('driver/cuda.def', 'HOOK(cuMemAlloc_v2)', 'CALL(cuMemAlloc_v2)', 'driver/driver.c')


def faults(tmp_path, *edits, gone=(), **settings):
    report = Report(library=library(tmp_path / 'planted', edits, gone), **{**CAP, **settings})
    assert report.status == 1, report
    return report.of('wrong'), report


def test_front_end_of_dlsym_is_gone(tmp_path):
    wrong, report = faults(tmp_path, gone=['dlsym'])
    assert 'dlsym in programs leads to libc' in wrong['front'], report
    assert 'dlvsym' not in wrong['front'], report


def test_dlsym_answers_with_the_drivers_own(tmp_path):
    wrong, report = faults(tmp_path, NOT_REWRITTEN, NO_DLSYM)
    for door in ('dlsym', 'dlvsym'):
        assert 'cuMemAlloc_v2' in wrong['door.' + door] or 'and' in wrong['door.' + door], report
    assert 'linked' not in [w[5:] for w in wrong], report


def test_resolver_is_not_rewritten(tmp_path):
    wrong, report = faults(tmp_path, ('driver/procaddr.c', '	if (rc != CUDA_SUCCESS || !name || !pfn || !*pfn)',
                                      '	if (rc != CUDA_ERROR_UNKNOWN)'))
    assert {'door.resolver', 'door.resolver-v2', 'door.table', 'door.deepbind-table', 'door.namespace-table'} == set(wrong), report


def test_deepbind_is_kept(tmp_path):
    wrong, report = faults(tmp_path, *DEEPBIND, NOT_REWRITTEN)
    assert {'door.deepbind-linked', 'door.deepbind-table'} == set(wrong), report
    assert 'RTLD_DEEPBIND' in wrong['door.deepbind-linked']


def test_hook_is_missing(tmp_path):
    wrong, report = faults(tmp_path, NO_HOOK, gone=['cuMemAlloc_v2'])
    assert len(wrong) == len([c for c in wrong if c.startswith('door.')]) >= 10, report
    assert all("the driver's own cuMemAlloc_v2;" in text for text in wrong.values()), report


def test_total_memory_is_passed_on(tmp_path):
    wrong, report = faults(tmp_path, ('hooks/device.c', '		*bytes = device_total(device);\n	return rc;', '		(void)device_total(device);\n	return rc;'))
    assert '24.0 GiB, not 8.0 GiB' in wrong['door.dlsym'], report


def test_hidden_device_leaks_in_nvml(tmp_path):
    wrong, report = faults(tmp_path, LEAK_NVML, CUQUOTA_VISIBLE_DEVICES='0')
    assert {'hidden.nvml.uuid', 'hidden.nvml.serial', 'hidden.nvml.pci'} == set(wrong), report
    assert all('GPU-' in text for text in wrong.values())


def test_hidden_device_leaks_in_cuda(tmp_path):
    wrong, report = faults(tmp_path, *LEAK_CUDA, CUQUOTA_VISIBLE_DEVICES='0')
    assert {'cuda.count', 'hidden.cuda.pci', 'hidden.cuda.uuid'} <= set(wrong), report
    assert 'shows what is hidden: GPU-' in wrong['door.linked'], report

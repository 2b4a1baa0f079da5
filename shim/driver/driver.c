/*
 * The tables of the real functions; see driver.h.
 *
 * Filled without a lock, so that fork and threads that end need no care: every thread that comes
 * before the flag is set computes the same values from the same object and stores them.
 */
#include "driver/driver.h"

#include "driver/library.h"
#include "driver/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

struct driver driver_table;
struct nvml_driver nvml_driver_table;
bool driver_ready, nvml_driver_ready;

static CUresult cuda_lacking(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

static CUresult cuda_absent(void)
{
	return CUDA_ERROR_NO_DEVICE;
}

static nvmlReturn_t nvml_lacking(void)
{
	return NVML_ERROR_FUNCTION_NOT_FOUND;
}

static nvmlReturn_t nvml_absent(void)
{
	return NVML_ERROR_LIBRARY_NOT_FOUND;
}

#define SLOT(table, sym) (__builtin_offsetof(struct table, sym) / sizeof(void *))

/* The names of all rows, one behind another; a row knows its own by the offset. */
#define HOOK(sym) char sym[sizeof(#sym)];
#define CALL(sym) HOOK(sym)
#define PASS(sym) HOOK(sym)
struct cuda_names {
#include "driver/cuda.def"
};
#define HOOK(sym) char sym[sizeof(#sym)];
#define CALL(sym) HOOK(sym)
#define PASS(sym) HOOK(sym)
struct nvml_names {
#include "driver/nvml.def"
};

static const struct cuda_names cuda_names = {
#define HOOK(sym) .sym = #sym,
#define CALL(sym) .sym = #sym,
#define PASS(sym) .sym = #sym,
#include "driver/cuda.def"
};

static const struct nvml_names nvml_names = {
#define HOOK(sym) .sym = #sym,
#define CALL(sym) .sym = #sym,
#define PASS(sym) .sym = #sym,
#include "driver/nvml.def"
};

enum {
#define HOOK(sym) CUDA_HOOK_##sym,
#define CALL(sym)
#define PASS(sym)
#include "driver/cuda.def"
};

enum {
#define HOOK(sym) NVML_HOOK_##sym,
#define CALL(sym)
#define PASS(sym)
#include "driver/nvml.def"
};

static void *const cuda_hooks[] = {
#define HOOK(sym) (void *)&sym,
#define CALL(sym)
#define PASS(sym)
#include "driver/cuda.def"
};

static void *const nvml_hooks[] = {
#define HOOK(sym) (void *)&sym,
#define CALL(sym)
#define PASS(sym)
#include "driver/nvml.def"
};

#define NAME(names, sym) (__builtin_offsetof(struct names, sym))

static const struct row cuda_rows[] = {
#define HOOK(sym) {NAME(cuda_names, sym), CUDA_HOOK_##sym + 1, SLOT(driver, sym)},
#define CALL(sym) {NAME(cuda_names, sym), 0, SLOT(driver, sym)},
#define PASS(sym) {NAME(cuda_names, sym), 0, ROW_NO_SLOT},
#include "driver/cuda.def"
};

static const struct row nvml_rows[] = {
#define HOOK(sym) {NAME(nvml_names, sym), NVML_HOOK_##sym + 1, SLOT(nvml_driver, sym)},
#define CALL(sym) {NAME(nvml_names, sym), 0, SLOT(nvml_driver, sym)},
#define PASS(sym) {NAME(nvml_names, sym), 0, ROW_NO_SLOT},
#include "driver/nvml.def"
};

struct library libraries[LIBRARIES] = {
	[LIBRARY_CUDA] = {
		.stem = "libcuda.so",
		.file = "libcuda.so.1",
		.rows = cuda_rows,
		.count = sizeof(cuda_rows) / sizeof(*cuda_rows),
		.names = (const char *)&cuda_names,
		.hooks = cuda_hooks,
		.table = (void **)&driver_table,
		.lacking = (void *)cuda_lacking,
		.absent = (void *)cuda_absent,
		.ready = &driver_ready,
	},
	[LIBRARY_NVML] = {
		.stem = "libnvidia-ml.so",
		.file = "libnvidia-ml.so.1",
		.rows = nvml_rows,
		.count = sizeof(nvml_rows) / sizeof(*nvml_rows),
		.names = (const char *)&nvml_names,
		.hooks = nvml_hooks,
		.table = (void **)&nvml_driver_table,
		.lacking = (void *)nvml_lacking,
		.absent = (void *)nvml_absent,
		.ready = &nvml_driver_ready,
	},
};

static void absent(const struct library *library)
{
	for (size_t i = 0; i < library->count; i++)
		if (library->rows[i].slot != ROW_NO_SLOT)
			__atomic_store_n(&library->table[library->rows[i].slot], library->absent,
					 __ATOMIC_RELAXED);
	__atomic_store_n(library->ready, true, __ATOMIC_RELEASE);
}

static void library_load(struct library *library)
{
	const int keep = errno;
	struct elf_image image;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (library_loaded(library, &image) ||
	    (loader_get()->open(library->file, RTLD_NOW | RTLD_LOCAL) &&
	     library_loaded(library, &image)))
		library_adopt(library, &image);
	else
		absent(library);
	pthread_setcancelstate(cancel, &cancel);
	errno = keep;
}

void driver_load(void)
{
	library_load(&libraries[LIBRARY_CUDA]);
}

void nvml_driver_load(void)
{
	library_load(&libraries[LIBRARY_NVML]);
}

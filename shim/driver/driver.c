/*
 * The tables of the real functions; see driver.h.
 *
 * Filled without a lock, so that fork and threads that end need no care: every thread that comes before the flag is
 * set computes the same values from the same object and stores them.
 */
#include "driver/library.h"

#include "driver/driver.h"
#include "driver/loader.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

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

static const struct row cuda_rows[] = {
#define HOOK(sym) { #sym, (void *)&sym, SLOT(driver, sym) },
#define CALL(sym) { #sym, NULL, SLOT(driver, sym) },
#define PASS(sym) { #sym, NULL, ROW_NO_SLOT },
#include "driver/cuda.def"
};

static const struct row nvml_rows[] = {
#define HOOK(sym) { #sym, (void *)&sym, SLOT(nvml_driver, sym) },
#define CALL(sym) { #sym, NULL, SLOT(nvml_driver, sym) },
#define PASS(sym) { #sym, NULL, ROW_NO_SLOT },
#include "driver/nvml.def"
};

struct library libraries[LIBRARIES] = {
	[LIBRARY_CUDA] = { "libcuda.so", "libcuda.so.1", cuda_rows, sizeof(cuda_rows) / sizeof(*cuda_rows),
			   (void **)&driver_table, (void *)cuda_lacking, (void *)cuda_absent, &driver_ready },
	[LIBRARY_NVML] = { "libnvidia-ml.so", "libnvidia-ml.so.1", nvml_rows, sizeof(nvml_rows) / sizeof(*nvml_rows),
			   (void **)&nvml_driver_table, (void *)nvml_lacking, (void *)nvml_absent, &nvml_driver_ready },
};

const struct row *library_row(const struct library *library, const char *name)
{
	size_t low = 0, high = library->count;

	while (low < high) {
		const size_t middle = (low + high) / 2;
		const int order = strcmp(name, library->rows[middle].name);

		if (!order)
			return &library->rows[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static void fill(const struct library *library, const struct elf_image *image)
{
	for (size_t i = 0; i < library->count; i++) {
		const struct row *const row = &library->rows[i];
		const ElfW(Sym) *sym;
		void *address = library->absent;

		if (row->slot == ROW_NO_SLOT)
			continue;
		if (image) {
			sym = elf_symbol(image, row->name);
			address = sym ? elf_address(image, sym) : library->lacking;
		}
		__atomic_store_n(&library->table[row->slot], address, __ATOMIC_RELAXED);
	}
	__atomic_store_n(library->ready, true, __ATOMIC_RELEASE);
}

struct loaded {
	const char *stem;
	struct elf_image *image;
};

static bool loaded_step(const struct elf_image *image, void *arg)
{
	const struct loaded *const loaded = arg;

	if (!elf_named(image->soname, loaded->stem))
		return false;
	*loaded->image = *image;
	return true;
}

static void library_load(struct library *library)
{
	const int keep = errno;
	struct elf_image image;
	struct loaded loaded = { library->stem, &image };
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (elf_each(loaded_step, &loaded) ||
	    (loader_get()->open(library->file, RTLD_NOW | RTLD_LOCAL) && elf_each(loaded_step, &loaded)))
		fill(library, &image);
	else
		fill(library, NULL);
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

bool driver_aside(void)
{
	return false;
}

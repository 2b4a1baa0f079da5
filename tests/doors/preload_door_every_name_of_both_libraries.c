/* Every name that the driver and NVML export is found through us, twice, from two threads at once;
 * and NVML starts and stops a hundred times afterwards.
 * report: CR-07 */
#include "doors/door.h"

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define NAMES_MOST 8192

struct library {
	void *handle;
	const char *names[NAMES_MOST];
	int count;
};

static struct library cuda, nvml;

/* The defined names, out of the symbol table in memory: it ends where the string table begins. */
static void list(struct library *library, const char *file)
{
	const ElfW(Sym) *sym = NULL;
	const char *strings = NULL;
	struct link_map *map;

	library->handle = opened(file, RTLD_NOW);
	CHECK_EQ(dlinfo(library->handle, RTLD_DI_LINKMAP, &map), 0);
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			sym = (const void *)d->d_un.d_ptr;
		if (d->d_tag == DT_STRTAB)
			strings = (const void *)d->d_un.d_ptr;
	}
	CHECK(sym && strings);
	for (; (const char *)(sym + 1) <= strings && library->count < NAMES_MOST; sym++)
		if (sym->st_shndx != SHN_UNDEF &&
		    (strings[sym->st_name] == 'c' || strings[sym->st_name] == 'n'))
			library->names[library->count++] = strings + sym->st_name;
}

static void *look(void *start)
{
	pthread_barrier_wait(start);
	for (int turn = 0; turn < 2; turn++)
		for (int l = 0; l < 2; l++) {
			const struct library *const library = l ? &nvml : &cuda;

			for (int i = 0; i < library->count; i++) {
				void *const found = dlsym(library->handle, library->names[i]);

				if (!found)
					FAIL("%s is not found: %s", library->names[i], dlerror());
				if (*(volatile const unsigned char *)found == 0)
					FAIL("%s at %p is no code", library->names[i], found);
			}
		}
	return NULL;
}

static void client(void)
{
	pthread_barrier_t start;
	pthread_t threads[2];
	int (*nvml_init)(void), (*nvml_shutdown)(void);

	list(&cuda, "libcuda.so.1");
	list(&nvml, "libnvidia-ml.so.1");
	CHECK_GE(cuda.count, 600);
	CHECK_GE(nvml.count, 300);
	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, look, &start), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);

	*(void **)&nvml_init = dlsym(nvml.handle, "nvmlInit_v2");
	*(void **)&nvml_shutdown = dlsym(nvml.handle, "nvmlShutdown");
	for (int turn = 0; turn < 100; turn++) {
		CHECK_EQ(nvml_init(), 0);
		CHECK_EQ(nvml_shutdown(), 0);
	}
}

DOOR_TEST(client)

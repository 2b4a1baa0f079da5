/*
 * report: CR-07
 * Every name that the driver and NVML export is looked up twice from each of two threads and can be
 * called, before anything was started; then NVML is started and stopped a hundred times.
 */
#include "client.h"

#include <elf.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct names {
	const char *name[8192];
	unsigned count;
};

/* The functions in the dynamic symbol table of a library's file. */
static void read_names(const char *path, const char *prefix, struct names *names)
{
	const int file = open(path, O_RDONLY);
	const Elf64_Ehdr *header;
	const Elf64_Shdr *section;
	struct stat st;
	char *at;

	CHECK_SYS(file);
	CHECK_SYS(fstat(file, &st));
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	CHECK(at != MAP_FAILED);
	close(file);
	header = (const Elf64_Ehdr *)at;
	section = (const Elf64_Shdr *)(at + header->e_shoff);
	for (unsigned s = 0; s < header->e_shnum; s++) {
		const Elf64_Sym *const symbols = (const Elf64_Sym *)(at + section[s].sh_offset);
		const char *text;

		if (section[s].sh_type != SHT_DYNSYM)
			continue;
		text = at + section[section[s].sh_link].sh_offset;
		for (size_t i = 0; i < section[s].sh_size / sizeof(*symbols); i++) {
			const char *const name = text + symbols[i].st_name;

			if (symbols[i].st_shndx == SHN_UNDEF ||
			    ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC ||
			    strncmp(name, prefix, strlen(prefix)))
				continue;
			CHECK_LE(names->count, 8191u);
			names->name[names->count++] = name;
		}
	}
}

static struct names cuda, nvml;
static pthread_barrier_t barrier;

static void look_up(const char *library, const struct names *names, int again)
{
	void *const handle = dlopen(library, RTLD_NOW);

	CHECK(handle);
	for (unsigned i = 0; i < names->count; i++) {
		void *const symbol = dlsym(handle, names->name[i]);
		const void *const second = dlsym(handle, names->name[i]);
		int (*call)(void *, void *, void *, void *, void *, void *, void *, void *, void *);

		if (!symbol || symbol != second)
			FAIL("%s: %p, then %p", names->name[i], symbol, second);
		*(void **)&call = symbol;
		/* Nothing is started, so nothing looks at its arguments; cuInit and
		 * nvmlInit are called last. */
		if (again && strncmp(names->name[i], "nvmlInit", 8) &&
		    strcmp(names->name[i], "cuInit"))
			call(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	}
}

static void *work(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (int again = 0; again < 2; again++) {
		look_up("libcuda.so.1", &cuda, again);
		look_up("libnvidia-ml.so.1", &nvml, again);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=1G", NULL};
	pthread_t thread[2];
	unsigned count;

	start_capped(argv, env);
	read_names(built("simgpu/libcuda.so.1"), "cu", &cuda);
	read_names(built("simgpu/libnvidia-ml.so.1"), "nvml", &nvml);
	CHECK_GE(cuda.count, 600u);
	CHECK_GE(nvml.count, 300u);
	/* Loaded before there are threads: the loader's own lock is not seen by thread checkers. */
	CHECK(symbol_of("libcuda.so.1", "cuInit") && symbol_of("libnvidia-ml.so.1", "nvmlInit_v2"));
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 2), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, work, NULL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(i % 2 ? ML(nvmlInit_v2)() : ML(nvmlInitWithFlags)(0), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
	}
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	return 0;
}

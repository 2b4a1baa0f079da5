/*
 * A pointer that we do not know goes to the driver all the same and its code comes back; only what
 * is ours is refunded.
 *
 * report: EC-02
 */
#include "client.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MIB (1ull << 20)

static unsigned calls(void)
{
	FILE *const trace = fopen(getenv("SIMGPU_TRACE"), "r");
	unsigned count = 0;
	char line[512];

	CHECK(trace);
	while (fgets(line, sizeof(line), trace))
		count += strstr(line, "cuMemFree_v2") != NULL;
	fclose(trace);
	return count;
}

static void expect(const char *what, CUdeviceptr pointer, CUresult want)
{
	const unsigned before = calls();
	const size_t had = free_now();
	const CUresult rc = CU(cuMemFree_v2)(pointer);

	if (rc != want)
		FAIL("%s: %d, want %d", what, rc, want);
	if (calls() != before + 1)
		FAIL("%s: the driver was called %u times, want once", what, calls() - before);
	if (free_now() != had)
		FAIL("%s: %zu bytes are free, want %zu", what, free_now(), had);
}

/* Where the driver's own function lies, past us: as its file has it. */
static void *of_the_driver(const char *name)
{
	void *const handle = dlopen("libcuda.so.1", RTLD_NOW);
	const Elf64_Shdr *section;
	const struct link_map *map;
	const char *at;
	struct stat st;
	int file;

	CHECK_EQ(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	file = open(map->l_name, O_RDONLY);
	CHECK_SYS(file);
	CHECK_SYS(fstat(file, &st));
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	CHECK(at != MAP_FAILED);
	close(file);
	section = (const Elf64_Shdr *)(at + ((const Elf64_Ehdr *)at)->e_shoff);
	for (unsigned s = 0; s < ((const Elf64_Ehdr *)at)->e_shnum; s++) {
		const Elf64_Sym *const symbol = (const Elf64_Sym *)(at + section[s].sh_offset);

		if (section[s].sh_type != SHT_DYNSYM)
			continue;
		for (size_t i = 0; i < section[s].sh_size / sizeof(*symbol); i++)
			if (!strcmp(at + section[section[s].sh_link].sh_offset + symbol[i].st_name,
				    name))
				return (void *)(map->l_addr + symbol[i].st_value);
	}
	FAIL("the driver has no %s", name);
}

int main(int argc, char **argv)
{
	__typeof__(&cuMemAlloc_v2) past_us;
	char trace[PATH_MAX];
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=2G", "SIMGPU_DEVICES=24G",
				   "SIMGPU_FAULT=cuMemFree_v2@2-3:999", trace, NULL};
	CUdeviceptr large, small, gone, mapped, unknown;
	size_t before;
	int host;

	snprintf(trace, sizeof(trace), "SIMGPU_TRACE=%s/trace",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	start_capped(argv, env);
	context_now(0);
	before = free_now();
	CHECK_EQ(CU(cuMemAlloc_v2)(&large, 64 * MIB), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAlloc_v2)(&small, 4096), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAlloc_v2)(&gone, 8 * MIB), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFree_v2)(gone), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAddressReserve)(&mapped, 2 * MIB, 0, 0, 0), CUDA_SUCCESS);

	*(void **)&past_us = of_the_driver("cuMemAlloc_v2");
	CHECK_NE((void *)past_us, (void *)CU(cuMemAlloc_v2));
	CHECK_EQ(past_us(&unknown, 32 * MIB), CUDA_SUCCESS);

	expect("a large block, and the driver fails", large, CUDA_ERROR_UNKNOWN);
	expect("a small block, and the driver fails", small, CUDA_ERROR_UNKNOWN);
	expect("allocated past us", unknown, CUDA_SUCCESS);
	expect("allocated past us, and freed already", unknown, CUDA_ERROR_INVALID_VALUE);
	expect("nothing", 0, CUDA_SUCCESS);
	expect("freed already", gone, CUDA_ERROR_INVALID_VALUE);
	expect("inside a large block", large + 4096, CUDA_ERROR_INVALID_VALUE);
	expect("inside a small block", small + 512, CUDA_ERROR_INVALID_VALUE);
	expect("the program's own memory", (CUdeviceptr)(uintptr_t)&host, CUDA_ERROR_INVALID_VALUE);
	expect("an address that holds nothing", mapped, CUDA_ERROR_INVALID_VALUE);
	expect("garbage", 0xdeadbeef123, CUDA_ERROR_INVALID_VALUE);

	CHECK_EQ(CU(cuMemFree_v2)(large), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFree_v2)(small), CUDA_SUCCESS);
	CHECK_EQ(free_now(), before);
	return 0;
}

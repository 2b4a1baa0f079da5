/*
 * A program closes every descriptor that is not its own and maps something over the page that tells
 * that it lives: for the ledger it is dead, and is forgotten. At the next look it joins anew with
 * all that it holds, and the limit holds on.
 */
#include "client.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define MIB (1ull << 20)

/* The pages that carry life: mapped from a life file. */
static unsigned unmap_life(void)
{
	FILE *const maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	unsigned count = 0;

	CHECK(maps != NULL);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long begin, end;

		if (!strstr(line, ".life.") || sscanf(line, "%lx-%lx", &begin, &end) != 2)
			continue;
		CHECK_SYS(munmap((void *)begin, end - begin));
		count++;
	}
	fclose(maps);
	return count;
}

int main(int argc, char **argv)
{
	const char *const env[] = {"SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=100M",
				   "CUQUOTA_MEMORY_LIMIT=2G", NULL};
	CUdeviceptr p;
	size_t used;
	unsigned more = 0;

	start_capped(argv, env);
	context_now(0);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 1024 * MIB), CUDA_SUCCESS);
	used = total_now() - free_now();
	CHECK_EQ(syscall(SYS_close_range, 3, ~0u, 0), 0l);
	CHECK_NE(unmap_life(), 0u);
	while (more < 64 && CU(cuMemAlloc_v2)(&p, 64 * MIB) == CUDA_SUCCESS)
		more++;
	CHECK_EQ(more, (unsigned)((2048 * MIB - used) / (64 * MIB)));
	CHECK_EQ(total_now() - free_now(), used + more * 64 * MIB);
	return 0;
}

/*
 * The programs that the kill-point sweep under the library starts: the victim, which does one
 * operation when told, and the survivors, which fill up what can be had, give it back, or make one
 * pair. Owns: the operations and their scenes.
 */
#ifndef TESTS_STEP_PROGRAMS_H
#define TESTS_STEP_PROGRAMS_H

#include "client.h"
#include "step/places.h"

#define MIB (1ull << 20)
#define LIMIT (1024 * MIB)
#define PIECE (8 * MIB) /* that the survivors take */

static __typeof__(&cuMemAlloc_v2) mem_alloc;
static __typeof__(&cuMemFree_v2) mem_free;
static __typeof__(&cuMemAllocManaged) mem_managed;
static __typeof__(&cuMemAllocPitch_v2) mem_pitch;
static __typeof__(&cuMemCreate) mem_create;
static __typeof__(&cuMemRelease) mem_release;
static __typeof__(&cuMemMap) mem_map;
static __typeof__(&cuMemUnmap) mem_unmap;
static CUdeviceptr big, little, reserved;
static CUmemGenericAllocationHandle handle;

static void look_up(void)
{
	mem_alloc = CU(cuMemAlloc_v2);
	mem_free = CU(cuMemFree_v2);
	mem_managed = CU(cuMemAllocManaged);
	mem_pitch = CU(cuMemAllocPitch_v2);
	mem_create = CU(cuMemCreate);
	mem_release = CU(cuMemRelease);
	mem_map = CU(cuMemMap);
	mem_unmap = CU(cuMemUnmap);
}

static CUresult make_handle(void)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};

	return mem_create(&handle, 32 * MIB, &prop, 0);
}

/* A context may be refused, to who was stopped meanwhile. */
static void op_start(void)
{
	CUcontext context;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	if (CU(cuDevicePrimaryCtxRetain)(&context, 0) == CUDA_SUCCESS)
		CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
}

static void op_alloc(void)
{
	CUdeviceptr p;

	mem_alloc(&p, 32 * MIB);
}

static void op_small(void)
{
	CUdeviceptr p;

	mem_alloc(&p, 3000);
	mem_alloc(&p, MIB + 4096);
}

static void op_free(void)
{
	mem_free(big);
}

static void op_free_small(void)
{
	mem_free(little);
}

static void op_managed(void)
{
	CUdeviceptr p;

	mem_managed(&p, 20 * MIB, CU_MEM_ATTACH_GLOBAL);
}

static void op_pitch(void)
{
	CUdeviceptr p;
	size_t pitch;

	mem_pitch(&p, &pitch, 1000, 20000, 4);
}

static void op_refused(void)
{
	CUdeviceptr p;

	mem_alloc(&p, 2 * LIMIT);
}

static void op_create(void)
{
	CUmemGenericAllocationHandle last = handle;

	if (make_handle() == CUDA_SUCCESS)
		mem_map(reserved + 32 * MIB, 32 * MIB, 0, handle, 0);
	mem_release(last);
}

static void op_unmap(void)
{
	mem_release(handle);
	mem_unmap(reserved, 32 * MIB);
}

static void op_context(void)
{
	CUcontext context;

	if (CU(cuCtxCreate_v2)(&context, 0, 0) == CUDA_SUCCESS)
		CU(cuCtxDestroy_v2)
	(context);
}

static const struct {
	const char *name;
	void (*op)(void);
	bool forked;
} ops[] = {
	{"a start", op_start, false},
	{"an allocation", op_alloc, false},
	{"small allocations", op_small, false},
	{"a free", op_free, false},
	{"a small free", op_free_small, false},
	{"a managed allocation", op_managed, false},
	{"a pitched allocation", op_pitch, false},
	{"a refusal", op_refused, false},
	{"making memory by handle", op_create, false},
	{"unmapping memory by handle", op_unmap, false},
	{"a context", op_context, false},
	{"an allocation with a child", op_alloc, true},
	{"a free with a child", op_free, true},
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

/* A child that touches nothing, and lives until it is killed or the test is gone. */
static int fork_child(void)
{
	const pid_t self = getpid(), test = getppid(), pid = fork();

	CHECK_SYS(pid);
	if (pid)
		return (int)pid;
	close(0);
	close(1);
	while (getppid() == self || getppid() == test)
		usleep(1000);
	_exit(0);
}

static int victim(unsigned op)
{
	char line[16];
	int child = 0;

	if (ops[op].op != op_start) {
		context_now(0);
		look_up();
		CHECK_EQ(mem_alloc(&big, 100 * MIB), CUDA_SUCCESS);
		CHECK_EQ(mem_alloc(&little, 5000), CUDA_SUCCESS);
		CHECK_EQ(make_handle(), CUDA_SUCCESS);
		CHECK_EQ(CU(cuMemAddressReserve)(&reserved, 64 * MIB, 0, 0, 0), CUDA_SUCCESS);
		CHECK_EQ(mem_map(reserved, 32 * MIB, 0, handle, 0), CUDA_SUCCESS);
		if (ops[op].forked)
			child = fork_child();
	}
	dprintf(1, "ready %d\n", child);
	CHECK_EQ(read(0, line, 1), 1);
	ops[op].op();
	dprintf(1, "done\n");
	pause();
	return 0;
}

/*
 * Each line that it reads is an order: to fill up what can be had, to give it back, or one pair of
 * both.
 */
static int survivor(void)
{
	static CUdeviceptr held[LIMIT / PIECE + 1];
	unsigned count = 0;
	char line[16];

	context_now(0);
	look_up();
	dprintf(1, "ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t worst = 0;
		CUresult rc = CUDA_SUCCESS;

		if (line[0] == 'g')
			while (count)
				CHECK_EQ(mem_free(held[--count]), CUDA_SUCCESS);
		while (line[0] != 'g' && rc == CUDA_SUCCESS) {
			const uint64_t begin = clock_ns();

			rc = mem_alloc(&held[count], PIECE);
			if (clock_ns() - begin > worst)
				worst = clock_ns() - begin;
			count += rc == CUDA_SUCCESS;
			if (line[0] == 'p' && rc == CUDA_SUCCESS) {
				CHECK_EQ(mem_free(held[--count]), CUDA_SUCCESS);
				break;
			}
		}
		dprintf(1, "%u %llu\n", count, (unsigned long long)worst);
	}
	return 0;
}

#endif

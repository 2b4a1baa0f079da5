/*
 * A signal handler may jump out of a call of the driver for good, as interpreters do, or allocate
 * in the middle of one. What a call that was left had charged stays charged, and all later calls of
 * the thread are counted as ever and wait for nothing, from however deep in the stack they come.
 */
#include "client.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#define MIB ((size_t)1 << 20)
#define EACH (64 * MIB)
#define GRAIN (2 * MIB)

static sigjmp_buf out;
static CUcontext other;
static CUmemGenericAllocationHandle handle;
static unsigned in_handler;

static unsigned fill(void)
{
	CUdeviceptr pointer;
	unsigned count = 0;

	while (count < 100 && CU(cuMemAlloc_v2)(&pointer, EACH) == CUDA_SUCCESS)
		count++;
	return count;
}

static void jump(int signal)
{
	siglongjmp(out, signal);
}

static void allocate(int signal)
{
	(void)signal;
	in_handler += fill();
}

static void managed(void)
{
	CUdeviceptr pointer;

	CU(cuMemAllocManaged)
	(&pointer, EACH, CU_MEM_ATTACH_GLOBAL);
}

static void pitched(void)
{
	CUdeviceptr pointer;
	size_t pitch;

	CU(cuMemAllocPitch_v2)
	(&pointer, &pitch, 100, 1, 4);
}

/* Looks and takes as much in the middle of a small request. */
static void look_and_take(int signal)
{
	CUdeviceptr pointer;

	(void)signal;
	in_handler = (unsigned)(free_now() / MIB);
	CHECK_EQ(CU(cuMemAlloc_v2)(&pointer, 4096), CUDA_SUCCESS);
	in_handler -= (unsigned)(free_now() / MIB);
}

static void release(void)
{
	CU(cuMemRelease)
	(handle);
}

static void destroy(void)
{
	CU(cuCtxDestroy_v2)
	(other);
}

static void interrupted(void (*call)(void), void (*handler)(int))
{
	const struct itimerval soon = {.it_value = {.tv_usec = 20000}};

	signal(SIGALRM, handler);
	CHECK_EQ(setitimer(ITIMER_REAL, &soon, NULL), 0);
	call();
}

static void left(void (*call)(void))
{
	if (sigsetjmp(out, 1))
		return;
	interrupted(call, jump);
	FAIL("the driver did not sleep");
}

static __attribute__((noinline)) unsigned deeper(unsigned frames)
{
	volatile char frame[4096];
	unsigned count;

	frame[0] = (char)frames;
	count = frames ? deeper(frames - 1) : fill();
	return count + (unsigned)(frame[0] & 0);
}

/* Frees what is there by the end of its context, and makes a new one. */
static size_t room_anew(CUcontext *context)
{
	if (*context)
		CHECK_EQ(CU(cuCtxDestroy_v2)(*context), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxCreate_v2)(context, 0, 0), CUDA_SUCCESS);
	return free_now();
}

int main(int argc, char **argv)
{
	const char *const env[] = {
		"CUQUOTA_MEMORY_LIMIT=2G", "SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=100M",
		"SIMGPU_DELAY=cuMemAllocManaged:100ms,cuMemAllocPitch_v2:100ms,"
		"cuMemRelease:100ms,cuCtxDestroy_v2>100ms",
		NULL};
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}}};
	CUcontext context = NULL;
	size_t room;

	start_capped(argv, env);
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);

	room = room_anew(&context);
	left(managed);
	CHECK_EQ(room - free_now(), EACH);
	CHECK_EQ(deeper(8), (unsigned)((room - EACH) / EACH));

	room = room_anew(&context);
	left(pitched);
	CHECK_EQ(room - free_now(), GRAIN);
	left(pitched);
	CHECK_EQ(deeper(8), (unsigned)((room - 2 * GRAIN) / EACH));

	room = room_anew(&context);
	interrupted(pitched, look_and_take);
	/* The one under way was shown at the first look. */
	CHECK_EQ(in_handler, 2u);
	CHECK_EQ(room - free_now(), GRAIN);

	room = room_anew(&context) / EACH;
	in_handler = 0;
	interrupted(managed, allocate);
	CHECK(in_handler <= room && in_handler + 1 >= room);
	CHECK_EQ(fill() + in_handler, (unsigned)room - 1);

	room_anew(&context);
	CHECK_EQ(CU(cuMemCreate)(&handle, EACH, &prop, 0), CUDA_SUCCESS);
	left(release);
	room = free_now();
	CHECK_EQ(CU(cuMemCreate)(&handle, EACH, &prop, 0), CUDA_SUCCESS);
	CHECK_EQ(room - free_now(), EACH);
	CHECK_EQ(CU(cuMemRelease)(handle), CUDA_SUCCESS);
	CHECK_EQ(deeper(8), (unsigned)(room / EACH));

	room_anew(&context);
	CHECK_EQ(CU(cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);
	left(destroy);
	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	room = free_now();
	CHECK_EQ(CU(cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);
	CHECK(free_now() < room);
	room = free_now();
	CHECK_EQ(deeper(8), (unsigned)(room / EACH));
	return 0;
}

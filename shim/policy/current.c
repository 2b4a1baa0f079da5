/*
 * The device of the current context: the driver is asked which context it is, and each thread
 * remembers whose that is.
 */
#include "policy/context.h"
#include "policy/process.h"
#include "policy/quiet.h"
#include "base/wiped.h"

#include <errno.h>

/* The last answer in this thread, right as long as nobody raised the generation. */
static __thread struct {
	CUcontext context;
	uint64_t generation;
	const struct device *device;
} current __attribute__((tls_model("initial-exec")));

__thread struct process_thread process_thread __attribute__((tls_model("initial-exec")));

static void *memory; /* the generation */

static uint64_t *generation_word(void)
{
	return memory;
}

void process_count_thread(void)
{
	process_thread.counted = true;
	__atomic_add_fetch(&quiet_threads, 1, __ATOMIC_SEQ_CST);
}

int current_start(void)
{
	if (!wiped_once(&memory, sizeof(uint64_t)))
		return -ENOMEM;
	driver_inside_start();
	/* What a thread remembers from before a fork must not hold in the child: generations of two
	 * processes differ. */
	if (!*generation_word())
		__atomic_store_n(generation_word(), segment_now_ns() | 1, __ATOMIC_RELEASE);
	return 0;
}

void current_forget(void)
{
	__atomic_add_fetch(generation_word(), 1, __ATOMIC_SEQ_CST);
}

static const struct device *resolve(CUcontext handle, uint64_t generation)
{
	const struct device *device;
	CUdevice ordinal;

	if (real.cuCtxGetDevice(&ordinal) != CUDA_SUCCESS)
		return NULL;
	device = device_at(ordinal);
	if (!device)
		return NULL;
	process_thread.serial = context_serial_of(handle, device);
	current.context = handle;
	current.device = device;
	current.generation = generation;
	return device;
}

const struct device *device_current(void)
{
	uint64_t generation;
	CUcontext handle;

	if (__builtin_expect(process_now() != PROCESS_READY, 0))
		return NULL;
	if (real.cuCtxGetCurrent(&handle) != CUDA_SUCCESS || !handle)
		return NULL;
	generation = __atomic_load_n(generation_word(), __ATOMIC_ACQUIRE);
	if (__builtin_expect(current.context == handle && current.generation == generation, 1))
		return current.device;
	return resolve(handle, generation);
}

uint32_t context_serial(void)
{
	return process_thread.serial;
}

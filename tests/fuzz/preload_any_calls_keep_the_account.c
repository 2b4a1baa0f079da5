/*
 * Whatever a program calls, in whatever order, with whatever arguments, and whichever of the
 * driver's functions fail: after each call what is charged is what the cards hold and the spare
 * grain, the cards hold no more than the limit, and what the program is shown agrees. When
 * everything is given back nothing is charged.
 *
 * An input is a program of the words below. Numbers of pointers, handles and contexts count the
 * newest first, also those that are gone: what is freed twice or after its context is as usual here
 * as anything.
 */
#define FUZZ_CORPUS "calls"
#include "calls_world.h"
#include "script.h"

#include "calls_odd.h"

enum {
	ALLOC,
	PITCH,
	MANAGED,
	ALLOC_OLD,
	FREE,
	FREE_OTHER,
	CREATE,
	RELEASE,
	RETAIN,
	MAP,
	UNMAP,
	EXPORT,
	CONTEXT,
	DESTROY,
	PRIMARY,
	PRIMARY_RELEASE,
	RESET,
	CURRENT,
	POP,
	ATTACH,
	DETACH,
	INFO,
	NOTHING,
	UNCHARGED,
	FAULT
};

const struct script_word script_words[] = {
	[ALLOC] = {"alloc", 1},			    /* bytes */
	[PITCH] = {"pitch", 3},			    /* width, height, element */
	[MANAGED] = {"managed", 2},		    /* bytes, flags */
	[ALLOC_OLD] = {"alloc_old", 1},		    /* bytes */
	[FREE] = {"free", 1},			    /* pointer */
	[FREE_OTHER] = {"free_other", 2},	    /* pointer, bytes beyond it */
	[CREATE] = {"create", 4},		    /* bytes, place, its kind, flags */
	[RELEASE] = {"release", 1},		    /* handle */
	[RETAIN] = {"retain", 1},		    /* page */
	[MAP] = {"map", 4},			    /* page, pages, handle, offset */
	[UNMAP] = {"unmap", 2},			    /* page, pages */
	[EXPORT] = {"export", 1},		    /* handle */
	[CONTEXT] = {"context", 3},		    /* device, flags, version */
	[DESTROY] = {"destroy", 1},		    /* context */
	[PRIMARY] = {"primary", 1},		    /* device: retained and current */
	[PRIMARY_RELEASE] = {"primary_release", 1}, /* device */
	[RESET] = {"reset", 1},			    /* device */
	[CURRENT] = {"current", 1},		    /* context; beyond them none */
	[POP] = {"pop", 0},
	[ATTACH] = {"attach", 1},	/* flags */
	[DETACH] = {"detach", 1},	/* context */
	[INFO] = {"info", 1},		/* device for the total */
	[NOTHING] = {"nothing", 1},	/* which call gets NULL to write to */
	[UNCHARGED] = {"uncharged", 2}, /* which, bytes */
	[FAULT] = {"fault", 3},		/* function, nth call from now, code */
	{NULL, 0},
};

#define KEPT 64u
#define PAGES 32u

/* The newest first; the oldest are forgotten only when there is no room, and then given back. */
struct list {
	uint64_t item[KEPT];
	unsigned count;
};
static struct list pointers, handles, contexts;
static CUdeviceptr reserved;
static bool mapped[PAGES]; /* a mapping began there, and may still */

static uint64_t nth(const struct list *list, uint64_t n)
{
	return list->count ? list->item[list->count - 1 - n % list->count] : 0;
}

/* False: there is no room, give it back. */
static bool keep(struct list *list, uint64_t item)
{
	if (list->count == KEPT)
		return false;
	list->item[list->count++] = item;
	return true;
}

static void keep_pointer(CUresult rc, CUdeviceptr pointer)
{
	if (rc == CUDA_SUCCESS && !keep(&pointers, pointer))
		cuMemFree_v2(pointer);
}

static void allocate(const struct script_line *line)
{
	const uint64_t *const a = line->arg;
	CUdeviceptr pointer = 0xdead0000;
	CUdeviceptr_v1 old = 0;
	size_t pitch = 0;

	switch (line->word) {
	case ALLOC:
		keep_pointer(cuMemAlloc_v2(&pointer, a[0]), pointer);
		break;
	case PITCH:
		keep_pointer(cuMemAllocPitch_v2(&pointer, &pitch, a[0], a[1], (unsigned)a[2]),
			     pointer);
		break;
	case MANAGED:
		keep_pointer(cuMemAllocManaged(&pointer, a[0], (unsigned)a[1]), pointer);
		break;
	default:
		keep_pointer(cuMemAlloc(&old, (unsigned)a[0]), old);
	}
}

static void create(const struct script_line *line)
{
	static const CUmemLocationType types[] = {CU_MEM_LOCATION_TYPE_DEVICE,
						  CU_MEM_LOCATION_TYPE_HOST,
						  CU_MEM_LOCATION_TYPE_HOST_NUMA,
						  CU_MEM_LOCATION_TYPE_INVALID,
						  CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
						  (CUmemLocationType)77};
	const uint64_t *const a = line->arg;
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = types[a[2] % 6], .id = (int)a[1]}};
	CUmemGenericAllocationHandle handle = 0xdead;

	if (cuMemCreate(&handle, a[0], &prop, a[3]) == CUDA_SUCCESS && !keep(&handles, handle))
		cuMemRelease(handle);
}

static CUdeviceptr page(uint64_t n)
{
	return reserved + n % PAGES * GRAIN;
}

static void by_handle(const struct script_line *line)
{
	const uint64_t *const a = line->arg;
	CUmemGenericAllocationHandle handle = 0;
	int descriptor = -1;

	switch (line->word) {
	case CREATE:
		create(line);
		break;
	case RELEASE:
		cuMemRelease(nth(&handles, a[0]));
		break;
	case RETAIN:
		if (cuMemRetainAllocationHandle(&handle, (void *)page(a[0])) == CUDA_SUCCESS &&
		    !keep(&handles, handle))
			cuMemRelease(handle);
		break;
	case MAP:
		if (cuMemMap(page(a[0]), a[1] % (PAGES + 1) * GRAIN, a[3], nth(&handles, a[2]),
			     0) == CUDA_SUCCESS)
			mapped[a[0] % PAGES] = true;
		break;
	case UNMAP:
		cuMemUnmap(page(a[0]), a[1] % (PAGES + 1) * GRAIN);
		break;
	case EXPORT:
		if (DRIVER(cuMemExportToShareableHandle)(&descriptor, nth(&handles, a[0]),
							 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
							 0) == CUDA_SUCCESS)
			close(descriptor);
	}
}

static void make_context(const struct script_line *line)
{
	const CUdevice device = (CUdevice)(line->arg[0] % (CARDS + 1));
	const unsigned flags = (unsigned)line->arg[1];
	CUcontext context = NULL;
	CUresult rc;

	switch (line->arg[2] % 4) {
	case 0:
		rc = cuCtxCreate_v2(&context, flags, device);
		break;
	case 1:
		rc = cuCtxCreate(&context, flags, device);
		break;
	case 2:
		rc = cuCtxCreate_v3(&context, NULL, 0, flags, device);
		break;
	default:
		rc = cuCtxCreate_v4(&context, NULL, flags, device);
	}
	if (rc == CUDA_SUCCESS && !keep(&contexts, (uintptr_t)context))
		cuCtxDestroy_v2(context);
}

static void of_contexts(const struct script_line *line)
{
	const CUdevice device = (CUdevice)(line->arg[0] % (CARDS + 1));
	const CUcontext context = (CUcontext)(uintptr_t)nth(&contexts, line->arg[0]);
	CUcontext got = NULL;

	switch (line->word) {
	case CONTEXT:
		make_context(line);
		break;
	case DESTROY:
		cuCtxDestroy_v2(context);
		break;
	case PRIMARY:
		if (cuDevicePrimaryCtxRetain(&got, device) == CUDA_SUCCESS)
			DRIVER(cuCtxSetCurrent)
		(got);
		break;
	case PRIMARY_RELEASE:
		cuDevicePrimaryCtxRelease_v2(device);
		break;
	case RESET:
		cuDevicePrimaryCtxReset_v2(device);
		break;
	case CURRENT:
		DRIVER(cuCtxSetCurrent)
		(line->arg[0] > contexts.count ? NULL : context);
		break;
	case POP:
		DRIVER(cuCtxPopCurrent_v2)
		(&got);
		break;
	case ATTACH:
		cuCtxAttach(&got, (unsigned)line->arg[0]);
		break;
	case DETACH:
		cuCtxDetach(context);
	}
}

static void info(const struct script_line *line)
{
	const CUdevice device = (CUdevice)(line->arg[0] % CARDS);
	size_t free_bytes = 0, total = 0, used;

	CHECK_EQ(cuDeviceTotalMem_v2(&total, device), CUDA_SUCCESS);
	CHECK_EQ(total, limits[card_of[device]]);
	if (cuMemGetInfo_v2(&free_bytes, &total) != CUDA_SUCCESS ||
	    DRIVER(cuCtxGetDevice)((CUdevice *)(uintptr_t)&device))
		return;
	CHECK_EQ(total, limits[card_of[device]]);
	used = charged(card_of[device]);
	/* More is had where undoing failed. */
	CHECK_EQ(free_bytes, used < total ? total - used : 0);
}

static void run(const struct script_line *line)
{
	begin("a call", 300);
	switch (line->word) {
	case ALLOC:
	case PITCH:
	case MANAGED:
	case ALLOC_OLD:
		allocate(line);
		break;
	case FREE:
		cuMemFree_v2(nth(&pointers, line->arg[0]));
		break;
	case FREE_OTHER:
		cuMemFree_v2(nth(&pointers, line->arg[0]) + line->arg[1]);
		break;
	case CREATE:
	case RELEASE:
	case RETAIN:
	case MAP:
	case UNMAP:
	case EXPORT:
		by_handle(line);
		break;
	case INFO:
		info(line);
		break;
	case NOTHING:
		with_nothing(line->arg[0], reserved);
		break;
	case UNCHARGED:
		uncharged(line->arg[0], line->arg[1]);
		break;
	case FAULT:
		fault_set(line->arg[0], line->arg[1], line->arg[2]);
		break;
	default:
		of_contexts(line);
	}
	world_until = UINT64_MAX;
}

static void check(const char *when, unsigned line)
{
	for (unsigned i = 0; i < CARDS; i++) {
		const uint64_t in_ledger = charged(i), on_card = held(i);

		if (on_card > limits[i])
			FAIL("card %u after %u %s: holds %llu of a limit of %llu", i, line, when,
			     (unsigned long long)on_card, (unsigned long long)limits[i]);
		if (in_ledger != on_card && in_ledger != on_card + GRAIN)
			FAIL("card %u after %u %s: charged %llu, held %llu", i, line, when,
			     (unsigned long long)in_ledger, (unsigned long long)on_card);
	}
}

/* Everything back, whatever there is. */
static void give_back(void)
{
	CUcontext context;

	fault.calls = 0;
	while (contexts.count)
		cuCtxDestroy_v2((CUcontext)(uintptr_t)contexts.item[--contexts.count]);
	for (unsigned i = 0; i < PAGES; mapped[i++] = false)
		for (unsigned pages = 1; mapped[i] && pages <= PAGES - i; pages++)
			if (cuMemUnmap(page(i), pages * GRAIN) == CUDA_SUCCESS)
				break;
	while (handles.count)
		cuMemRelease(handles.item[--handles.count]);
	/* Memory of a primary context; where there is none and none can be had, there is no such
	 * memory. */
	if (cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS ||
	    cuDevicePrimaryCtxRetain(&context, 1) == CUDA_SUCCESS)
		CHECK_EQ(DRIVER(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	while (pointers.count)
		cuMemFree_v2(pointers.item[--pointers.count]);
	while (DRIVER(cuCtxPopCurrent_v2)(&context) == CUDA_SUCCESS)
		;
	for (CUdevice device = 0; device < (CUdevice)CARDS; device++)
		for (unsigned i = 0; i < SCRIPT_LINES + 2; i++)
			if (cuDevicePrimaryCtxRelease_v2(device) != CUDA_SUCCESS)
				break;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	world_start();
	CHECK_EQ(DRIVER(cuMemAddressReserve)(&reserved, PAGES * GRAIN, 0, 0, 0), CUDA_SUCCESS);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct script_line lines[SCRIPT_LINES];
	unsigned count;

	if (size > INPUT_MOST)
		return 0;
	count = script_read(data, size, lines);
	for (unsigned i = 0; i < count; i++) {
		run(&lines[i]);
		check(script_words[lines[i].word].name, i);
	}
	give_back();
	for (unsigned i = 0; i < CARDS; i++) {
		CHECK_EQ(held(i), 0ull);
		CHECK_EQ(truth_held(NULL, i, TAG), (int64_t)0);
		CHECK_EQ(charged(i), 0ull);
	}
	CHECK_LE(truth_max(NULL, 0, TAG), (int64_t)limits[0]);
	CHECK_LE(truth_max(NULL, 1, TAG), (int64_t)limits[1]);
	return 0;
}

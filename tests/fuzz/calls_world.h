/*
 * The world of the calls' target: the library linked in, two simulated cards under limits, and
 * faults that an input puts into the driver's functions. What is charged is read from the ledgers,
 * what is held from the cards' own account.
 */
#ifndef TESTS_FUZZ_CALLS_WORLD_H
#define TESTS_FUZZ_CALLS_WORLD_H

#include "virtual_time.h"

#include "driver/driver.h"
#include "ledger/segment.h"
#include "simgpu/truth.h"

#include <dlfcn.h>
#pragma GCC diagnostic ignored "-Wsign-compare" /* codes are unsigned, their names are not */

#define MIB (UINT64_C(1) << 20)
#define GRAIN (2 * MIB)
#define CARDS 2u
#define TAG "fuzz"

UNGUIDED

static const uint64_t limits[CARDS] = {2048 * MIB, 1024 * MIB}; /* in NVML's order, as cards are */
static const unsigned card_of[CARDS] = {1, 0};			/* of CUDA's ordinals */

/* What the library leaves alone is called as a program finds it. */
static void *driver_symbol(const char *name)
{
	static void *handle;
	void *symbol;

	if (!handle)
		handle = dlopen("libcuda.so.1", RTLD_NOW);
	symbol = handle ? dlsym(handle, name) : NULL;
	if (!symbol)
		FAIL("%s: %s", name, dlerror());
	return symbol;
}
#define DRIVER(name) ((__typeof__(&name))driver_symbol(#name))

/* ---- faults: the nth call from now of one of the driver's functions fails, and nothing has
 * happened ---- */

static struct {
	unsigned function, calls;
	CUresult code;
} fault;

static bool fault_hits(unsigned function)
{
	return fault.calls && fault.function == function && !--fault.calls;
}

/* FAULTY(number, name, parameters, arguments) */
#define FAULTS(FAULTY)                                                                         \
	FAULTY(0, cuMemAlloc_v2, (CUdeviceptr * a, size_t b), (a, b))                          \
	FAULTY(1, cuMemAllocPitch_v2,                                                          \
	       (CUdeviceptr * a, size_t * b, size_t c, size_t d, unsigned e), (a, b, c, d, e)) \
	FAULTY(2, cuMemAllocManaged, (CUdeviceptr * a, size_t b, unsigned c), (a, b, c))       \
	FAULTY(3, cuMemFree_v2, (CUdeviceptr a), (a))                                          \
	FAULTY(4, cuMemCreate,                                                                 \
	       (CUmemGenericAllocationHandle * a, size_t b, const CUmemAllocationProp *c,      \
		unsigned long long d),                                                         \
	       (a, b, c, d))                                                                   \
	FAULTY(5, cuMemRelease, (CUmemGenericAllocationHandle a), (a))                         \
	FAULTY(6, cuMemMap,                                                                    \
	       (CUdeviceptr a, size_t b, size_t c, CUmemGenericAllocationHandle d,             \
		unsigned long long e),                                                         \
	       (a, b, c, d, e))                                                                \
	FAULTY(7, cuMemUnmap, (CUdeviceptr a, size_t b), (a, b))                               \
	FAULTY(8, cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * a, void *b),    \
	       (a, b))                                                                         \
	FAULTY(9, cuCtxCreate_v2, (CUcontext * a, unsigned b, CUdevice c), (a, b, c))          \
	FAULTY(10, cuCtxDestroy_v2, (CUcontext a), (a))                                        \
	FAULTY(11, cuDevicePrimaryCtxRetain, (CUcontext * a, CUdevice b), (a, b))              \
	FAULTY(12, cuDevicePrimaryCtxRelease_v2, (CUdevice a), (a))                            \
	FAULTY(13, cuDevicePrimaryCtxReset_v2, (CUdevice a), (a))                              \
	FAULTY(14, cuMemGetInfo_v2, (size_t * a, size_t * b), (a, b))
#define FAULT_FUNCTIONS 15u

#define FAULTY(number, name, parameters, arguments)                             \
	static __typeof__(&name) true_##name;                                   \
	static CUresult faulty_##name parameters                                \
	{                                                                       \
		return fault_hits(number) ? fault.code : true_##name arguments; \
	}
FAULTS(FAULTY)
#undef FAULTY

static void faults_install(void)
{
#define FAULTY(number, name, parameters, arguments) \
	true_##name = real.name;                    \
	real.name = faulty_##name;
	FAULTS(FAULTY)
#undef FAULTY
}

static void fault_set(uint64_t function, uint64_t calls, uint64_t code)
{
	static const CUresult codes[] = {CUDA_ERROR_OUT_OF_MEMORY,
					 CUDA_ERROR_INVALID_VALUE,
					 CUDA_ERROR_UNKNOWN,
					 CUDA_ERROR_NOT_INITIALIZED,
					 CUDA_ERROR_CONTEXT_IS_DESTROYED,
					 CUDA_ERROR_NOT_PERMITTED};

	fault.function = (unsigned)(function % FAULT_FUNCTIONS);
	fault.calls = (unsigned)(calls % 8);
	fault.code = codes[code % (sizeof(codes) / sizeof(*codes))];
}

/* ---- what is charged, and what is held ---- */

static struct segment ledgers[CARDS];

/* Bytes; 0 before anybody has used the card. */
static uint64_t charged(unsigned card)
{
	static struct truth truth;
	struct segment *const ledger = &ledgers[card];
	char why[SEGMENT_WHY];
	uint64_t units = 0;

	if (!truth.devices)
		CHECK_EQ(truth_read(NULL, &truth), 0);
	if (!ledger->header && segment_open(ledger, getenv("CUQUOTA_DIR"), truth.device[card].uuid,
					    0, SEGMENT_READER, why))
		return 0;
	for (uint32_t i = 0; i < segment_high(ledger); i++) {
		const struct cuquota_slot *const slot = segment_slot(ledger, i);

		if (slot->state != CUQUOTA_USED)
			continue;
		units += CUQUOTA_CHARGED(slot->word);
		/* Between calls others are shown all of it. */
		CHECK_EQ(slot->held, CUQUOTA_HELD(slot->tenant, CUQUOTA_CHARGED(slot->word)));
	}
	return units * CUQUOTA_UNIT;
}

/* Nobody else uses the cards. */
static uint64_t held(unsigned card)
{
	static nvmlDevice_t devices[CARDS];
	nvmlMemory_t memory;

	if (!devices[card]) {
		CHECK_EQ(real_nvml.nvmlInit_v2(), NVML_SUCCESS);
		CHECK_EQ(real_nvml.nvmlDeviceGetHandleByIndex_v2(card, &devices[card]),
			 NVML_SUCCESS);
	}
	CHECK_EQ(real_nvml.nvmlDeviceGetMemoryInfo(devices[card], &memory), NVML_SUCCESS);
	return memory.used;
}

static void world_start(void)
{
	setenv("CUQUOTA_MEMORY_LIMIT", "0=2G,1=1G", 1);
	setenv("CUQUOTA_LOG", "off", 1);
	setenv("CUQUOTA_TENANT", "fuzz", 1);
	setenv("SIMGPU_DEVICES", "24G,16G", 1);
	setenv("SIMGPU_CUDA_ORDER", "reverse", 1);
	setenv("SIMGPU_TAG", TAG, 1);
	world_now = 1000 * 1000 * MS;
	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	faults_install();
}

GUIDED

#endif

/*
 * Starting. See state.h.
 *
 * One word, in memory that fork wipes, says how this process stands. Settings alone can decide it
 * (aside, denied); else it is decided after the driver's own start, when the devices are known.
 */
#include "policy/seat.h"
#include "policy/block.h"
#include "policy/context.h"
#include "policy/orphan.h"
#include "policy/parent.h"
#include "policy/pool.h"
#include "policy/process.h"
#include "policy/quiet.h"
#include "policy/visible.h"
#include "policy/vmm.h"
#include "base/wiped.h"

#include "base/log.h"
#include "base/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define RESERVED 8
#define GRAIN_ELSE (2u << 20) /* what the driver takes memory in where it does not say */

struct start {
	pthread_mutex_t starting;
	int reserved[RESERVED]; /* descriptors + 1 */
	struct log_limit said;
};

static void *memory;
struct process *process_word; /* see process.h */
struct device device_table[DEVICES_MAX];
static unsigned device_count; /* that CUDA shows; behind them stand the divided GPUs */
static unsigned table_count;

static struct start *start(void)
{
	return memory;
}

static void set_mode(enum process_mode mode)
{
	__atomic_store_n(&process_word->mode, mode, __ATOMIC_RELEASE);
}

/* A cause was said already: what follows from it. */
static enum process_mode fail(void)
{
	const bool allow = settings_get()->on_error == ON_ERROR_ALLOW;
	unsigned left_out;

	if (allow && log_limited(&start()->said, segment_now_ns(), &left_out))
		log_warn("CUQUOTA_ON_ERROR=allow: this process runs without a limit");
	return allow ? PROCESS_ASIDE : PROCESS_DENIED;
}

/* What settings alone decide. Makes the memory of the process. */
enum process_mode process_decide(void)
{
	const int kept = errno;
	enum process_mode mode;

	if (!wiped_once(&memory, sizeof(struct start)) ||
	    !wiped_once((void **)&process_word, sizeof(struct process)))
		return PROCESS_DENIED;
	mode = __atomic_load_n(&process_word->mode, __ATOMIC_ACQUIRE);
	if (mode == PROCESS_IDLE) {
		if (driver_aside() || settings_get()->disable)
			mode = PROCESS_ASIDE;
		else if (settings_get()->refused)
			mode = fail();
		if (mode != PROCESS_IDLE)
			set_mode(mode);
	}
	errno = kept;
	return mode;
}

/* The hold locks get the lowest descriptors, so that they end after the driver's files (life.h):
 * they are kept free from the driver for them. Never 0 to 2, which programs take for granted. */
static void reserve(void)
{
	int file = open("/dev/null", O_PATH | O_CLOEXEC);

	for (unsigned i = 0; file >= 0 && i < RESERVED; i++) {
		const int other = fcntl(file, F_DUPFD_CLOEXEC, 3);

		if (other < 0)
			break;
		start()->reserved[i] = other + 1;
	}
	if (file >= 0)
		close(file);
}

static bool is_path(int file)
{
	const int flags = fcntl(file, F_GETFL);

	return flags >= 0 && flags & O_PATH;
}

static int take_reserved(void)
{
	for (unsigned i = 0; i < RESERVED; i++) {
		const int file = start()->reserved[i] - 1;

		start()->reserved[i] = 0;
		/* A program that closed all it does not know may have its own file there now,
		 * hardly one of O_PATH. */
		if (file >= 0 && is_path(file))
			return file;
	}
	return -1;
}

static void unreserve(void)
{
	for (int file = take_reserved(); file >= 0; file = take_reserved())
		close(file);
}

static int begin(void)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&start()->starting);
	return cancel;
}

static void end(int cancel)
{
	pthread_mutex_unlock(&start()->starting);
	pthread_setcancelstate(cancel, NULL);
}

CUresult state_starting(void)
{
	const int kept = errno;
	enum process_mode mode = process_decide();
	int cancel;

	if (mode == PROCESS_DENIED && !process_retry())
		return CUDA_ERROR_NOT_PERMITTED;
	if (mode != PROCESS_IDLE && mode != PROCESS_DENIED)
		return CUDA_SUCCESS;
	cancel = begin();
	if (!start()->reserved[0])
		reserve();
	end(cancel);
	errno = kept;
	return CUDA_SUCCESS;
}

static uint32_t grain_of(CUdevice ordinal)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal}};
	size_t bytes = 0;

	if (real.cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) !=
		    CUDA_SUCCESS ||
	    !bytes || bytes > 1u << 30)
		bytes = GRAIN_ELSE;
	return seat_units(bytes);
}

/* All that is known of the device with that number, and the GPU that it is or lies on. False: the
 * driver does not tell. */
static bool describe(struct device *device, unsigned index, struct uuid *gpu)
{
	CUuuid whole, instance;
	size_t bytes = 0;

	if (real.cuDeviceGet(&device->ordinal, (int)index) != CUDA_SUCCESS ||
	    real.cuDeviceTotalMem_v2(&bytes, device->ordinal) != CUDA_SUCCESS)
		return false;
	if (real.cuDeviceGetUuid(&whole, device->ordinal) != CUDA_SUCCESS)
		return false;
	/* Of a MIG instance the first version names the GPU, the second the instance. */
	if (real.cuDeviceGetUuid_v2(&instance, device->ordinal) != CUDA_SUCCESS)
		instance = whole;
	__builtin_memcpy(device->uuid.bytes, instance.bytes, sizeof(device->uuid.bytes));
	device->uuid.mig = __builtin_memcmp(whole.bytes, instance.bytes, sizeof(whole.bytes)) != 0;
	__builtin_memcpy(gpu->bytes, whole.bytes, sizeof(gpu->bytes));
	uuid_format(&device->uuid, device->name);
	device->bytes = bytes;
	device->grain = grain_of(device->ordinal);
	return true;
}

static bool join(unsigned index, const struct device *found)
{
	struct device *const device = &device_table[index];
	struct segment *const segment = device->segment;
	struct member *const member = device->member;
	/* In a forked child, or after a try that failed: the mapping is used again. */
	const bool same = uuid_equal(&device->uuid, &found->uuid);
	char why[SEGMENT_WHY] = "";

	*device = *found;
	device->index = (uint8_t)index;
	device->segment = same ? segment : NULL;
	device->member = same ? member : NULL;
	if (seat_is_joined(device))
		return true;
	if (seat_join(device, index, take_reserved(), why) == 0)
		return true;
	log_error("%s: %s", device->name, why);
	return false;
}

/* Joins the GPU above an instance first, once; its entries stand behind those of CUDA. */
static bool join_parent(const struct uuid *gpu, struct device *instance)
{
	struct device found;
	unsigned i;

	for (i = device_count; i < table_count && !instance->parent; i++)
		if (uuid_equal(&device_table[i].uuid, gpu))
			instance->parent = &device_table[i];
	if (instance->parent)
		return true;
	if (!parent_describe(gpu, &found))
		return !parent_is_named(gpu, found.place);
	if (i == DEVICES_MAX || !join(i, &found))
		return false;
	instance->parent = &device_table[i];
	table_count = i + 1;
	return true;
}

static bool join_device(unsigned index)
{
	struct device found = {0};
	struct uuid gpu = {.mig = 0};

	if (!describe(&found, index, &gpu)) {
		log_error("the driver does not tell what device %u is", index);
		return false;
	}
	if (visible_number(&found.uuid) || visible_place(&found.uuid, &found.place)) {
		log_error("%s: NVML does not tell its place or its number, and settings go by it; "
			  "name devices by UUID",
			  found.name);
		return false;
	}
	return (!found.uuid.mig || join_parent(&gpu, &found)) && join(index, &found);
}

/* A key may name a device that CUDA_VISIBLE_DEVICES keeps from this process alone: NVML knows, and
 * is asked only when a key names none of ours. */
static void warn_of_absent(void)
{
	const struct settings *const settings = settings_get();
	static struct uuid uuid[VISIBLE_MAX]; /* of several KiB; one thread at a time starts */
	const struct visible *list;

	for (unsigned i = 0; i < device_count; i++)
		uuid[i] = device_table[i].uuid;
	if (!settings_names_absent(settings, uuid, device_count, device_count, false))
		return;
	list = visible_get(true);
	for (unsigned i = 0; list && i < list->count + list->more; i++)
		uuid[i] = list->device[i].uuid;
	if (list)
		settings_names_absent(settings, uuid, list->count, list->count + list->more, true);
}

static enum process_mode join_all(bool own)
{
	size_t grain = 0;
	int count = 0;

	if (real.cuDeviceGetCount(&count) != CUDA_SUCCESS)
		return PROCESS_IDLE;
	/* Nothing is had from a driver that shows a hidden device, whatever CUQUOTA_ON_ERROR
	 * says. */
	if (visible_check() != CUDA_SUCCESS)
		return PROCESS_DENIED;
	if (count > DEVICES_MAX)
		count = DEVICES_MAX;
	if (seat_start() || both_start() || block_start() || orphan_start() || context_start() ||
	    current_start() || vmm_start() || quiet_start() ||
	    pool_start() || order_start()) {
		log_error("no memory that fork wipes can be had from this kernel (4.14 and later "
			  "have it)");
		return fail();
	}
	if (own)
		seat_disown(device_table, table_count);
	device_count = table_count = (unsigned)count;
	for (unsigned i = 0; i < (unsigned)count; i++) {
		if (!join_device(i))
			return fail();
		if (device_table[i].grain > grain)
			grain = device_table[i].grain;
	}
	warn_of_absent();
	if (claim_start((grain ? grain : 1) * CUQUOTA_UNIT))
		return fail();
	return PROCESS_READY;
}

/* `own`: this process itself called cuInit; else what it inherited may still be in use through its
 * parent's files. */
static CUresult started(CUresult rc, bool own)
{
	const int kept = errno;
	enum process_mode mode = process_decide();
	int cancel;

	if (mode == PROCESS_ASIDE)
		return rc;
	if (mode == PROCESS_DENIED && !process_retry())
		return CUDA_ERROR_NOT_PERMITTED;
	cancel = begin();
	mode = __atomic_load_n(&process_word->mode, __ATOMIC_ACQUIRE);
	if (rc == CUDA_SUCCESS && (mode == PROCESS_IDLE || mode == PROCESS_DENIED)) {
		mode = join_all(own);
		set_mode(mode);
	}
	unreserve();
	end(cancel);
	errno = kept;
	return rc == CUDA_SUCCESS && mode == PROCESS_DENIED ? CUDA_ERROR_NOT_PERMITTED : rc;
}

CUresult state_started(CUresult rc)
{
	return started(rc, true);
}

bool process_retry(void)
{
	return !settings_get()->refused && memory && process_word;
}

/*
 * The driver was started past the hook, or this is a forked child that never called cuInit. The
 * first answers, and we join; the second is told by the driver that it is not initialized.
 */
enum process_mode process_late(void)
{
	enum process_mode mode = process_decide();
	int count;

	if (mode == PROCESS_IDLE && real.cuDeviceGetCount(&count) == CUDA_SUCCESS) {
		started(CUDA_SUCCESS, false);
		mode = process_mode();
	}
	return mode;
}

bool state_aside(void)
{
	return process_now() == PROCESS_ASIDE;
}

CUresult state_permits(void)
{
	return process_now() == PROCESS_DENIED ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

const struct device *device_at(CUdevice ordinal)
{
	if (process_now() != PROCESS_READY || ordinal < 0 || (unsigned)ordinal >= device_count)
		return NULL;
	if (device_table[ordinal].ordinal == ordinal)
		return &device_table[ordinal];
	for (unsigned i = 0; i < device_count; i++)
		if (device_table[i].ordinal == ordinal)
			return &device_table[i];
	return NULL;
}

const struct device *device_named(const struct uuid *uuid)
{
	for (unsigned i = 0; process_mode() == PROCESS_READY && i < table_count; i++)
		if (uuid_equal(&device_table[i].uuid, uuid))
			return &device_table[i];
	return NULL;
}

const struct device *device_next(unsigned n)
{
	return process_mode() == PROCESS_READY && n < device_count ? &device_table[n] : NULL;
}

/*
 * The state of the process: cuInit, the fork check, the lock and the handles.
 */
#include "sim.h"
#include "visible.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { APART_NS = 5000, LOOKS = 10, NAP_NS = 50000 };

struct sim sim;

static uint32_t process_lock;
static struct handle *free_handle[KIND_COUNT];
static char *handles_begin, *handles_next;
static uint64_t next_id;

/* less where the address space is smaller, as under valgrind */
static size_t handles_size = 64ULL << 30;

/* Waits without looking at the lock. */
static void stand_back(void)
{
	struct timespec now;
	int64_t since;

	clock_gettime(CLOCK_MONOTONIC, &now);
	since = now.tv_sec * 1000000000LL + now.tv_nsec;
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec * 1000000000LL + now.tv_nsec < since + APART_NS);
}

/*
 * All that the lock guards is dear to a processor that did not have it last: dearer than several
 * pairs. So whoever finds it taken leaves it to the holder for some of them, instead of taking it
 * from him at his next unlock, and looking costs him nothing. Whoever waits long sleeps, so that a
 * holder of lower priority gets on; nobody needs to wake him.
 */
void sim_lock_shared(void)
{
	static const struct timespec nap = {.tv_nsec = NAP_NS};
	unsigned int looks = 0;
	uint32_t seen = 0;

	while (!__atomic_compare_exchange_n(&process_lock, &seen, 1, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		seen = 0;
		if (looks++ < LOOKS) {
			stand_back();
		} else {
			const int saved = errno;

			syscall(SYS_futex, &process_lock, FUTEX_WAIT_PRIVATE, 1, &nap, NULL, 0);
			errno = saved;
		}
	}
}

void sim_unlock_shared(void)
{
	__atomic_store_n(&process_lock, 0, __ATOMIC_RELEASE);
}

void *handle_new(const enum kind kind)
{
	const bool locked = sim_lock();
	struct handle *handle = free_handle[kind];

	if (!handles_begin) {
		char *area;

		do
			area = mmap(NULL, handles_size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		while (area == MAP_FAILED && (handles_size /= 2) >= 1U << 20);
		if (area != MAP_FAILED) {
			madvise(area, handles_size, MADV_DONTDUMP);
			handles_next = area;
			__atomic_store_n(&handles_begin, area, __ATOMIC_RELEASE);
		}
	}
	if (handle) {
		free_handle[kind] = handle->next_free;
	} else if (handles_begin && handles_next < handles_begin + handles_size) {
		handle = (struct handle *)handles_next;
		handles_next += HANDLE_BYTES;
	}
	if (handle) {
		/* Of a dropped one the first two words may still be looked at. */
		__builtin_memset(&handle->next_free, 0,
				 HANDLE_BYTES - offsetof(struct handle, next_free));
		__atomic_store_n(&handle->id, ++next_id, __ATOMIC_RELAXED);
		__atomic_store_n(&handle->kind, kind, __ATOMIC_RELEASE);
	}
	sim_unlock(locked);
	return handle;
}

void *handle_get(const void *value, const enum kind kind)
{
	const char *const at = value;
	const char *const begin = __atomic_load_n(&handles_begin, __ATOMIC_ACQUIRE);

	if (!begin || at < begin || at >= begin + handles_size || (at - begin) % HANDLE_BYTES)
		return NULL;
	if (__atomic_load_n(&((const struct handle *)value)->kind, __ATOMIC_ACQUIRE) != kind)
		return NULL;
	return (void *)(uintptr_t)value;
}

void handle_drop(void *dropped, const enum kind kind)
{
	struct handle *const handle = dropped;
	const bool locked = sim_lock();

	__atomic_store_n(&handle->kind, KIND_NONE, __ATOMIC_RELEASE);
	handle->next_free = free_handle[kind];
	free_handle[kind] = handle;
	sim_unlock(locked);
}

static CUresult start(void)
{
	const struct config *const config = config_get();
	struct sim_page *page;
	int rc;

	sim.devices = visible_resolve(config, sim.device);
	if (!sim.devices)
		return CUDA_ERROR_NO_DEVICE;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK))
		return CUDA_ERROR_UNKNOWN;
	rc = account_open(&sim.account, config->dir, config);
	if (!rc)
		rc = account_join(&sim.account, config->tag);
	if (rc) {
		fprintf(stderr, "simgpu: account in %s: %s\n", config->dir,
			rc == -EBUSY ? "in use with other SIMGPU_DEVICES" : strerror(-rc));
		munmap(page, 4096);
		return rc == -EBUSY ? CUDA_ERROR_SYSTEM_DRIVER_MISMATCH : CUDA_ERROR_UNKNOWN;
	}
	sim.page = page;
	__atomic_store_n(&sim.started, true, __ATOMIC_RELEASE);
	__atomic_store_n(&page->ready, 1, __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}

ANYTIME(cuInit, (unsigned int Flags), (Flags))
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const int saved = errno;
	CUresult rc;

	if (Flags)
		return CUDA_ERROR_INVALID_VALUE;
#ifdef SIMGPU_PLT
	/* Once more through the PLT, as a driver did whose hooks then recursed. */
	{
		static __thread int inside __attribute__((tls_model("initial-exec")));

		if (!inside) {
			inside = 1;
			rc = cuInit(Flags);
			inside = 0;
			return rc;
		}
	}
#endif
	if (__atomic_load_n(&sim.started, __ATOMIC_ACQUIRE)) /* here, or in the parent of a fork */
		return (CUresult)sim_ready();
	pthread_mutex_lock(&lock);
	rc = sim.started ? (CUresult)sim_ready() : start();
	pthread_mutex_unlock(&lock);
	errno = saved;
	return rc;
}

int sim_guard(void)
{
	return sim_ready();
}

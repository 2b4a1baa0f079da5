/*
 * Memory that fork wipes. See wiped.h.
 */
#include "base/wiped.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void *wiped_map(size_t bytes)
{
	const int kept = errno;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	if (memory == MAP_FAILED) {
		memory = NULL;
	} else if (madvise(memory, bytes, MADV_WIPEONFORK)) {
		munmap(memory, bytes);
		memory = NULL;
	}
	errno = kept;
	return memory;
}

void wiped_unmap(void *memory, size_t bytes)
{
	const int kept = errno;

	if (memory)
		munmap(memory, bytes);
	errno = kept;
}

static size_t in_large(size_t bytes)
{
	return (bytes + WIPED_LARGE - 1) & ~(WIPED_LARGE - 1);
}

/* Mapped one large page longer, and cut at both ends to where large pages begin. */
void *wiped_map_large(size_t bytes)
{
	const size_t whole = in_large(bytes);
	char *const mapped = wiped_map(whole + WIPED_LARGE);
	const size_t before = -(uintptr_t)mapped & (WIPED_LARGE - 1);
	const int kept = errno;

	if (!mapped)
		return NULL;
	if (before)
		munmap(mapped, before);
	munmap(mapped + before + whole, WIPED_LARGE - before);
	madvise(mapped + before, whole, MADV_HUGEPAGE);
	errno = kept;
	return mapped + before;
}

void wiped_unmap_large(void *memory, size_t bytes)
{
	wiped_unmap(memory, in_large(bytes));
}

void *wiped_once(void **place, size_t bytes)
{
	void *memory = __atomic_load_n(place, __ATOMIC_ACQUIRE), *none = NULL;

	if (memory)
		return memory;
	memory = wiped_map(bytes);
	if (!memory || __atomic_compare_exchange_n(place, &none, memory, false, __ATOMIC_ACQ_REL,
						   __ATOMIC_ACQUIRE))
		return memory;
	wiped_unmap(memory, bytes);
	return none;
}

void nap_ns(uint64_t ns)
{
	const struct timespec nap = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	const int kept = errno;

	syscall(SYS_nanosleep, &nap, NULL);
	errno = kept;
}

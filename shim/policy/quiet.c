/*
 * Measuring alone. See quiet.h.
 */
#include "policy/quiet.h"
#include "policy/extent.h"
#include "policy/seat.h"
#include "base/wiped.h"

#include "base/log.h"

#include <errno.h>

/* Asking the driver is not free: after a measurement that was disturbed, none for so long. */
#define GAP_NS 1000000ull

struct moves {
	uint64_t inside;  /* brackets that are open */
	uint64_t begun;	  /* that were ever opened */
	uint64_t next_ns; /* no measurement before */
};

static void *memory;
bool quiet_unknown;
uint32_t quiet_threads;

static struct moves *moves(void)
{
	return memory;
}

int quiet_start(void)
{
	return wiped_once(&memory, sizeof(struct moves)) ? 0 : -ENOMEM;
}

void quiet_want(bool unknown)
{
	const bool alone_yet = __atomic_load_n(&quiet_threads, __ATOMIC_SEQ_CST) < 2;

	__atomic_store_n(&moves()->next_ns, alone_yet ? 0 : segment_now_ns() + GAP_NS,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&quiet_unknown, unknown, __ATOMIC_SEQ_CST);
}

bool quiet_move_slow(void)
{
	if (!memory || __atomic_load_n(&quiet_threads, __ATOMIC_SEQ_CST) < 2)
		return false;
	__atomic_add_fetch(&moves()->begun, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&moves()->inside, 1, __ATOMIC_SEQ_CST);
	return true;
}

void quiet_moved_slow(void)
{
	__atomic_sub_fetch(&moves()->inside, 1, __ATOMIC_SEQ_CST);
}

/* Of the threads of this process only the caller has anything in flight. */
static bool alone(const struct quiet *quiet)
{
	if (__atomic_load_n(&quiet_threads, __ATOMIC_SEQ_CST) != quiet->threads)
		return false;
	return quiet->threads < 2 ||
	       (__atomic_load_n(&moves()->inside, __ATOMIC_SEQ_CST) == 1 &&
		__atomic_load_n(&moves()->begun, __ATOMIC_SEQ_CST) == quiet->moves);
}

uint32_t quiet_returns(const struct device *device)
{
	return __atomic_load_n(&seat_member(device)->segment->header->small_returns,
			       __ATOMIC_RELAXED);
}

static uint64_t own_word(const struct device *device)
{
	return CUQUOTA_CHARGED(
		__atomic_load_n(&member_slot(seat_member(device))->word, __ATOMIC_SEQ_CST));
}

bool quiet_begin(const struct device *device, bool moving, struct quiet *quiet)
{
	if (segment_now_ns() < __atomic_load_n(&moves()->next_ns, __ATOMIC_RELAXED))
		return false;
	quiet->threads = __atomic_load_n(&quiet_threads, __ATOMIC_SEQ_CST);
	quiet->moves = __atomic_load_n(&moves()->begun, __ATOMIC_SEQ_CST);
	if ((quiet->threads > 1 && !moving) || !alone(quiet))
		return false;
	account_watch(seat_member(device), &quiet->watch);
	quiet->word = own_word(device);
	return real.cuMemGetInfo_v2(&quiet->free, &quiet->total) == CUDA_SUCCESS;
}

bool quiet_end(const struct device *device, const struct quiet *quiet, size_t *now_free)
{
	size_t total;

	return real.cuMemGetInfo_v2(now_free, &total) == CUDA_SUCCESS && total == quiet->total &&
	       own_word(device) == quiet->word &&
	       account_undisturbed(seat_member(device), &quiet->watch) && alone(quiet);
}

void quiet_learn(const struct device *device, const struct quiet *quiet)
{
	size_t now_free = 0;
	const bool undisturbed = quiet_end(device, quiet, &now_free);
	uint32_t unknown = 0, returns;

	if (undisturbed && now_free == quiet->free + extent_bytes()) {
		returns = 1;
	} else if (undisturbed && now_free == quiet->free) {
		returns = 2;
	} else {
		__atomic_store_n(&moves()->next_ns, segment_now_ns() + GAP_NS, __ATOMIC_RELAXED);
		return;
	}
	if (__atomic_compare_exchange_n(&seat_member(device)->segment->header->small_returns,
					&unknown, returns, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		log_info("%s: the driver %s a grain that small blocks have left", device->name,
			 returns == 1 ? "gives back" : "keeps");
}

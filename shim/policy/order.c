/*
 * Linear memory that a stream frees. See pool.h: refunded at once where the stream is idle, else
 * when it, or its whole context, is waited for. Of more than there is room for the oldest is
 * refunded early; the card gives no memory twice.
 */
#include "policy/pool.h"
#include "policy/process.h"
#include "policy/turn.h"
#include "base/wiped.h"

#include <errno.h>

#define ROOM 1024u

struct order {
	struct turn turn;
	uint32_t count;
	struct {
		CUdeviceptr pointer;
		CUstream stream;
		const struct device *device;
	} free[ROOM];
};

static void *memory;

static struct order *order(void)
{
	return memory;
}

int order_start(void)
{
	if (!wiped_once(&memory, sizeof(struct order)))
		return -ENOMEM;
	turn_start(&order()->turn);
	return 0;
}

static void refund(uint32_t at)
{
	claim_release(order()->free[at].pointer);
	order()->count--;
	for (uint32_t i = at; i < order()->count; i++)
		order()->free[i] = order()->free[i + 1];
}

void order_freed(CUdeviceptr pointer, CUstream stream)
{
	const struct device *device;
	int cancel;

	if (process_mode() != PROCESS_READY || pool_makes_node(stream))
		return;
	device = device_current();
	if (!capturing() && real.cuStreamQuery(stream) == CUDA_SUCCESS) {
		claim_release(pointer);
		return;
	}
	cancel = turn_take(&order()->turn);
	if (order()->count == ROOM)
		refund(0);
	order()->free[order()->count].pointer = pointer;
	order()->free[order()->count].stream = stream;
	order()->free[order()->count].device = device;
	__atomic_store_n(&order()->count, order()->count + 1, __ATOMIC_RELAXED);
	turn_give(&order()->turn, cancel);
}

static void pass(CUstream stream, const struct device *device)
{
	int cancel;

	if (process_mode() != PROCESS_READY || !__atomic_load_n(&order()->count, __ATOMIC_RELAXED))
		return;
	cancel = turn_take(&order()->turn);
	for (uint32_t i = 0; i < order()->count;)
		if (device ? order()->free[i].device == device : order()->free[i].stream == stream)
			refund(i);
		else
			i++;
	turn_give(&order()->turn, cancel);
}

void order_passed(CUstream stream)
{
	pass(stream, NULL);
}

void order_passed_all(void)
{
	const struct device *const device = device_current();

	if (device)
		pass(NULL, device);
}

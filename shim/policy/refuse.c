/*
 * Saying no. See refuse.h.
 */
#include "policy/refuse.h"
#include "policy/process.h"
#include "policy/seat.h"

#include "base/log.h"
#include "base/size.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

#define LINE 512

/* One for each kind of line. */
static struct log_limit of_limit, of_guarantee, of_uncounted, of_uncharged;

static void say(struct log_limit *limit, const char *line)
{
	unsigned left_out;

	if (!log_wants(LOG_WARN) || !log_limited(limit, segment_now_ns(), &left_out))
		return;
	if (left_out)
		log_warn("%s (and %u more like it since the last line)", line, left_out);
	else
		log_warn("%s", line);
}

static void explain(const struct device *device, const char *what, uint64_t bytes,
		    const struct refusal *refusal, struct text *line)
{
	char asked[SIZE_TEXT], used[SIZE_TEXT], limit[SIZE_TEXT], room[SIZE_TEXT], top[SIZE_TEXT];

	size_format(bytes, asked);
	size_format(refusal->used, used);
	size_format(refusal->limit, limit);
	size_format(refusal->room, room);
	size_format(refusal->top_used, top);
	text_add(line, "%s on %s: asked %s%s%s, ",
		 refusal->cause == REFUSED_GUARANTEE ? "promised to other tenants"
						     : "limit reached",
		 device->name, asked, what[0] ? " for " : "", what);
	if (refusal->cause == REFUSED_GUARANTEE)
		text_add(line, "%s could be had; ", room);
	text_add(line, "used %s, limit %s", used, limit);
	if (refusal->top_pid && refusal->top_used) {
		text_add(line, "; pid %d (", refusal->top_pid);
		text_add_foreign(line, refusal->top_command,
				 strnlen(refusal->top_command, sizeof(refusal->top_command)),
				 sizeof(refusal->top_command));
		text_add(line, ") holds most of it, %s", top);
	}
}

CUresult refuse(const struct device *device, const char *what, uint64_t bytes,
		const struct refusal *refusal)
{
	const struct device *const refuser = refusal->above ? device->parent : device;
	const bool guarantee = refusal->cause == REFUSED_GUARANTEE;
	struct cuquota_detail *const detail = member_detail(seat_member(refuser));
	const int kept = errno;
	char buffer[LINE];
	struct text line;

	__atomic_add_fetch(guarantee ? &detail->refused_guarantee : &detail->refused_limit, 1,
			   __ATOMIC_RELAXED);
	if (log_wants(LOG_WARN)) {
		text_init(&line, buffer, sizeof(buffer));
		explain(refuser, what, bytes, refusal, &line);
		say(guarantee ? &of_guarantee : &of_limit, buffer);
	}
	errno = kept;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult refuse_excess(const struct device *device, const char *what, uint64_t bytes)
{
	const uint32_t units = seat_units(bytes);
	const struct member *member = seat_member(device);
	struct refusal refusal;
	struct sum sum;
	uint32_t lowest;
	bool above;

	above = device->parent && account_room(member) >= units;
	if (above)
		member = seat_member(device->parent);
	sum_take(member->segment, member->tenant, member->slot, NULL, &sum);
	account_explain(member, &sum, units, sum_judge(&sum, units, &lowest), &refusal);
	refusal.above = above;
	return refuse(device, what, bytes, &refusal);
}

CUresult refuse_uncounted(void)
{
	const int kept = errno;

	say(&of_uncounted, "the driver gave memory on a device that this process has not joined; "
			   "it was given back");
	errno = kept;
	return CUDA_ERROR_NOT_PERMITTED;
}

CUresult claim_uncharged(const char *name)
{
	const CUresult rc = state_permits();
	const int kept = errno;
	char buffer[LINE];
	struct text line;

	if (rc != CUDA_SUCCESS || !limited())
		return rc;
	text_init(&line, buffer, sizeof(buffer));
	text_add(&line,
		 "%s is refused: what it takes is not counted yet, and a limit or a request is in "
		 "force; allocate with cuMemAlloc, or cuMemCreate on a device",
		 name);
	say(&of_uncharged, buffer);
	errno = kept;
	return CUDA_ERROR_NOT_SUPPORTED;
}

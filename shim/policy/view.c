/*
 * See view.h.
 */
#include "policy/view.h"
#include "policy/process.h"
#include "policy/seat.h"

#include "base/identity.h"
#include "base/settings.h"
#include "ledger/glance.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* Not state_aside(): that may ask the driver, which a program that only uses NVML never loads. */
bool view_aside(void)
{
	return process_decide() == PROCESS_ASIDE;
}

void view_forget_dead(const struct segment *segment)
{
	const int kept = errno;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	member_sweep_now(segment);
	pthread_setcancelstate(cancel, NULL);
	errno = kept;
}

static int find_tenant(const struct segment *segment, const struct settings *settings)
{
	char name[SETTINGS_TENANT];

	if (settings->tenant[0])
		strcpy(name, settings->tenant);
	else
		identity_derive(&identity_proc, name);
	return tenant_find(segment, name);
}

static void open_file(struct view *view, const struct uuid *uuid)
{
	const struct settings *const settings = settings_get();
	char name[UUID_TEXT], why[SEGMENT_WHY];
	int tenant;

	uuid_format(uuid, name);
	/* Of a reader's device the size is not asked. */
	if (segment_open(&view->opened, settings_folder(settings), name, 0, SEGMENT_READER, why))
		return;
	tenant = find_tenant(&view->opened, settings);
	if (tenant >= 0) {
		view->segment = &view->opened;
		view->tenant = (uint32_t)tenant;
	}
}

void view_open(struct view *view, const struct uuid *uuid)
{
	const struct device *const device = device_named(uuid);

	memset(view, 0, sizeof(*view));
	view->error = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &view->cancel);
	if (!device) {
		open_file(view, uuid);
		return;
	}
	view->own = seat_member(device);
	view->segment = view->own->segment;
	view->tenant = view->own->tenant;
	if (!glance_swept(view->segment))
		view_forget_dead(view->segment);
}

void view_close(struct view *view)
{
	segment_close(&view->opened);
	pthread_setcancelstate(view->cancel, NULL);
	errno = view->error;
}

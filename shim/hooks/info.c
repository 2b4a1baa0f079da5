/* What is shown as free and total. Either output may be NULL; the driver alone says whether that is
 * an error. */
#include "policy/state.h"

#include <limits.h>

static unsigned int saturated(uint64_t bytes)
{
	return bytes < UINT_MAX ? (unsigned int)bytes : UINT_MAX;
}

CUresult cuMemGetInfo(unsigned int *free, unsigned int *total)
{
	const CUresult rc = real.cuMemGetInfo(free, total);
	const struct device *const device = rc == CUDA_SUCCESS && (free || total) ? device_current()
										  : NULL;
	size_t real_free, real_total;
	struct shown shown;

	if (!device)
		return rc;
	/* The 32-bit answer may have been cut. */
	if (real.cuMemGetInfo_v2(&real_free, &real_total) != CUDA_SUCCESS)
		real_free = UINT64_MAX;
	device_shown(device, real_free, &shown);
	if (free)
		*free = saturated(shown.free);
	if (total)
		*total = saturated(shown.total);
	return rc;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
	const CUresult rc = real.cuMemGetInfo_v2(free, total);
	const struct device *const device = rc == CUDA_SUCCESS ? device_current() : NULL;
	struct shown shown;

	if (!device)
		return rc;
	if (!free) {
		if (total)
			*total = device_total(device);
		return rc;
	}
	device_shown(device, *free, &shown);
	*free = shown.free;
	if (total)
		*total = shown.total;
	return rc;
}

/* Interim: the resolver's own wrappers. */
#include "driver/driver.h"

CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	return real.cuGetProcAddress(symbol, pfn, version, flags);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	return real.cuGetProcAddress_v2(symbol, pfn, version, flags, status);
}

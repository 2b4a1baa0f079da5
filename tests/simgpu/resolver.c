/*
 * cuGetProcAddress: by name, version and flags. With flag 2 a name that has per-thread variants is
 * looked up among those only; otherwise the newest version not above the one asked for.
 */
#include "resolver.h"
#include "sim.h"

#include <string.h>

static CUresult resolve(const char *symbol, void **pfn, const int version, const cuuint64_t flags,
			CUdriverProcAddressQueryResult *status)
{
	const struct config *const config = config_get();
	const bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	unsigned int low = 0, high = resolver_count, first;
	bool known = false, variants = false;

	while (low < high) {
		const unsigned int middle = (low + high) / 2;

		if (strcmp(resolver_rows[middle].name, symbol) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	first = low;
	for (; low < resolver_count && !strcmp(resolver_rows[low].name, symbol); low++)
		variants |= resolver_rows[low].per_thread &&
			    resolver_rows[low].version <= (int)config->version;
	*pfn = NULL;
	for (low = first; low < resolver_count && !strcmp(resolver_rows[low].name, symbol); low++) {
		const struct resolver_row *const row = &resolver_rows[low];

		if (row->version > (int)config->version || (row->graphics && !config->graphics))
			continue;
		known = true;
		if (row->per_thread == (per_thread && variants) && row->version <= version)
			*pfn = row->address;
	}
	if (status)
		*status = *pfn	? CU_GET_PROC_ADDRESS_SUCCESS :
			  known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT :
				  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

ANYTIME(cuGetProcAddress_v2,
	(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
	 CUdriverProcAddressQueryResult *symbolStatus),
	(symbol, pfn, cudaVersion, flags, symbolStatus))
{
	if (!symbol || !pfn || flags > 2 || cudaVersion > (int)config_get()->version)
		return CUDA_ERROR_INVALID_VALUE;
	return resolve(symbol, pfn, cudaVersion, flags, symbolStatus);
}

ANYTIME(cuGetProcAddress, (const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags),
	(symbol, pfn, cudaVersion, flags))
{
	const CUresult rc = INNER(cuGetProcAddress_v2)(symbol, pfn, cudaVersion, flags, NULL);

	return rc ? rc : *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

ANYTIME(cuGetExportTable, (const void **ppExportTable, const CUuuid *pExportTableId),
	(ppExportTable, pExportTableId))
{
	if (!ppExportTable || !pExportTableId)
		return CUDA_ERROR_INVALID_VALUE;
	*ppExportTable = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

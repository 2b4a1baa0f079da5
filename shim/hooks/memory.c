/* Plain device memory: linear, pitched, managed. */
#include "policy/pool.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytes)
{
	struct claim claim;
	CUresult rc = claim_open(&claim, FAMILY_LINEAR, device_current(), bytes);

	if (rc != CUDA_SUCCESS)
		return rc;
	do
		rc = real.cuMemAlloc_v2(dptr, bytes);
	while (claim_again(&claim, rc));
	return claim_close(&claim, rc, dptr);
}

CUresult cuMemAlloc(CUdeviceptr_v1 *dptr, unsigned int bytes)
{
	struct claim claim;
	CUresult rc = claim_open(&claim, FAMILY_LINEAR, device_current(), bytes);
	CUdeviceptr pointer = 0;

	if (rc != CUDA_SUCCESS)
		return rc;
	do
		rc = real.cuMemAlloc(dptr, bytes);
	while (claim_again(&claim, rc));
	if (rc == CUDA_SUCCESS)
		pointer = *dptr;
	return claim_close(&claim, rc, &pointer);
}

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytes, unsigned int flags)
{
	struct claim claim;
	CUresult rc = claim_open(&claim, FAMILY_MANAGED, device_current(), bytes);

	if (rc != CUDA_SUCCESS)
		return rc;
	do
		rc = real.cuMemAllocManaged(dptr, bytes, flags);
	while (claim_again(&claim, rc));
	return claim_close(&claim, rc, dptr);
}

/*
 * The driver rounds a row up to 512 bytes at most on every device known, whatever the element.
 * Charged before is that bound, which is what the driver takes for all but odd widths; the rest
 * goes back once the pitch is known.
 */
static size_t pitched_most(size_t width, size_t height)
{
	size_t bytes;

	if (__builtin_add_overflow(width, 511, &bytes) ||
	    __builtin_mul_overflow(bytes & ~(size_t)511, height, &bytes))
		return SIZE_MAX;
	return bytes;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pitch, size_t width, size_t height,
			    unsigned int element)
{
	struct claim claim;
	CUresult rc =
		claim_open(&claim, FAMILY_LINEAR, device_current(), pitched_most(width, height));

	if (rc != CUDA_SUCCESS)
		return rc;
	do
		rc = real.cuMemAllocPitch_v2(dptr, pitch, width, height, element);
	while (claim_again(&claim, rc));
	if (rc == CUDA_SUCCESS)
		claim_settle(&claim, *pitch * height);
	return claim_close(&claim, rc, dptr);
}

CUresult cuMemAllocPitch(CUdeviceptr_v1 *dptr, unsigned int *pitch, unsigned int width,
			 unsigned int height, unsigned int element)
{
	struct claim claim;
	CUresult rc =
		claim_open(&claim, FAMILY_LINEAR, device_current(), pitched_most(width, height));
	CUdeviceptr pointer = 0;

	if (rc != CUDA_SUCCESS)
		return rc;
	do
		rc = real.cuMemAllocPitch(dptr, pitch, width, height, element);
	while (claim_again(&claim, rc));
	if (rc == CUDA_SUCCESS) {
		pointer = *dptr;
		claim_settle(&claim, (size_t)*pitch * height);
	}
	return claim_close(&claim, rc, &pointer);
}

/* With pools about that have ended. */
static __attribute__((noinline)) CUresult free_block(const void *caller, CUdeviceptr dptr)
{
	struct release release;
	struct pool_block block;

	pool_free_open(&block, dptr);
	release_open_from(caller, &release, dptr);
	return pool_free_close(&block, release_close(&release, real.cuMemFree_v2(dptr)));
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
	struct release release;

	if (__builtin_expect(pool_ended, 0))
		return free_block(__builtin_return_address(0), dptr);
	release_open(&release, dptr);
	return release_close(&release, real.cuMemFree_v2(dptr));
}

CUresult cuMemFree(CUdeviceptr_v1 dptr)
{
	struct release release;

	release_open(&release, dptr);
	return release_close(&release, real.cuMemFree(dptr));
}

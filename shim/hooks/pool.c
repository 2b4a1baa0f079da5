/* Stream-ordered memory and its pools; policy/pool charges what a pool reserves. */
#include "policy/pool.h"

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	struct pool_claim claim;
	CUresult rc = pool_open(&claim, hStream, NULL, bytesize);

	if (rc != CUDA_SUCCESS)
		return rc;
	do
		rc = real.cuMemAllocAsync(dptr, bytesize, hStream);
	while (claim_again(&claim.claim, rc));
	return pool_close(&claim, rc, dptr);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	struct pool_claim claim;
	CUresult rc = pool_open(&claim, hStream, NULL, bytesize);

	if (rc != CUDA_SUCCESS)
		return rc;
	do
		rc = real.cuMemAllocAsync_ptsz(dptr, bytesize, hStream);
	while (claim_again(&claim.claim, rc));
	return pool_close(&claim, rc, dptr);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
				 CUstream hStream)
{
	struct pool_claim claim;
	CUresult rc = pool_open(&claim, hStream, pool, bytesize);

	if (rc != CUDA_SUCCESS)
		return rc;
	do
		rc = real.cuMemAllocFromPoolAsync(dptr, bytesize, pool, hStream);
	while (claim_again(&claim.claim, rc));
	return pool_close(&claim, rc, dptr);
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
				      CUstream hStream)
{
	struct pool_claim claim;
	CUresult rc = pool_open(&claim, hStream, pool, bytesize);

	if (rc != CUDA_SUCCESS)
		return rc;
	do
		rc = real.cuMemAllocFromPoolAsync_ptsz(dptr, bytesize, pool, hStream);
	while (claim_again(&claim.claim, rc));
	return pool_close(&claim, rc, dptr);
}

static CUresult freed(const struct pool_block *block, CUresult rc, CUdeviceptr dptr,
		      CUstream stream)
{
	if (rc == CUDA_SUCCESS && !block->pool)
		order_freed(dptr, stream);
	return pool_free_close(block, rc);
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	struct pool_block block;

	pool_free_open(&block, dptr);
	return freed(&block, real.cuMemFreeAsync(dptr, hStream), dptr, hStream);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
	struct pool_block block;

	pool_free_open(&block, dptr);
	return freed(&block, real.cuMemFreeAsync_ptsz(dptr, hStream), dptr, hStream);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
	const CUresult rc = real.cuMemPoolCreate(pool, poolProps);

	if (rc == CUDA_SUCCESS)
		pool_made(*pool, poolProps);
	return rc;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	return pool_end(pool);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
	const bool moving = pool_wait();

	return pool_waited(moving, real.cuMemPoolTrimTo(pool, minBytesToKeep));
}

CUresult cuStreamSynchronize(CUstream hStream)
{
	const bool moving = pool_wait();
	const CUresult rc = pool_waited(moving, real.cuStreamSynchronize(hStream));

	if (rc == CUDA_SUCCESS)
		order_passed(hStream);
	return rc;
}

CUresult cuStreamSynchronize_ptsz(CUstream hStream)
{
	const bool moving = pool_wait();
	const CUresult rc = pool_waited(moving, real.cuStreamSynchronize_ptsz(hStream));

	if (rc == CUDA_SUCCESS)
		order_passed(hStream);
	return rc;
}

CUresult cuEventSynchronize(CUevent hEvent)
{
	const bool moving = pool_wait();

	return pool_waited(moving, real.cuEventSynchronize(hEvent));
}

CUresult cuCtxSynchronize(void)
{
	const bool moving = pool_wait();
	const CUresult rc = pool_waited(moving, real.cuCtxSynchronize());

	if (rc == CUDA_SUCCESS)
		order_passed_all();
	return rc;
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	const bool moving = pool_wait();

	return pool_waited(moving, real.cuCtxSynchronize_v2(ctx));
}

/*
 * Copies: device memory is host memory, so they are memmove, done before the call returns, whatever
 * the stream.
 */
#include "heap.h"
#include "pool.h"
#include "range.h"

#include <string.h>

bool range_device(const CUdeviceptr at, const size_t bytes)
{
	struct host_block host;

	if (!bytes || heap_touch(at, bytes) || pool_touch(at, bytes))
		return true;
	if (heap_owns(at))
		return false;
	return vmm_covers(at, bytes) ||
	       (host_find((const void *)at, &host) &&
		bytes <= host.bytes - (size_t)((char *)at - host.base));
}

static CUresult check(void)
{
	CUresult rc = CUDA_SUCCESS;

	context_current(&rc);
	return rc;
}

static CUresult move(const CUdeviceptr to, const bool to_device, const CUdeviceptr from,
		     const bool from_device, const size_t bytes)
{
	const CUresult rc = check();

	if (rc)
		return rc;
	if (!bytes)
		return CUDA_SUCCESS;
	if (!to || !from || (to_device && !range_device(to, bytes)) ||
	    (from_device && !range_device(from, bytes)))
		return CUDA_ERROR_INVALID_VALUE;
	memmove((void *)to, (const void *)from, bytes);
	return CUDA_SUCCESS;
}

/* With unified addresses either side may be host memory, but an address of ours must be a live
 * one. */
static CUresult move_any(const CUdeviceptr to, const CUdeviceptr from, const size_t bytes)
{
	return move(to, heap_owns(to), from, heap_owns(from), bytes);
}

CUAPI(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), (dst, src, ByteCount))
{
	return move_any(dst, src, ByteCount);
}

CUAPI(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream),
      (dst, src, ByteCount, hStream))
{
	return move_any(dst, src, ByteCount);
}

CUAPI(cuMemcpyPeer,
      (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
       size_t ByteCount),
      (dstDevice, dstContext, srcDevice, srcContext, ByteCount))
{
	return move(dstDevice, true, srcDevice, true, ByteCount);
}

CUAPI(cuMemcpyPeerAsync,
      (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
       size_t ByteCount, CUstream hStream),
      (dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream))
{
	return move(dstDevice, true, srcDevice, true, ByteCount);
}

CUAPI(cuMemcpyHtoD_v2, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount),
      (dstDevice, srcHost, ByteCount))
{
	return move(dstDevice, true, (CUdeviceptr)srcHost, false, ByteCount);
}

CUAPI(cuMemcpyHtoDAsync_v2,
      (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream),
      (dstDevice, srcHost, ByteCount, hStream))
{
	return move(dstDevice, true, (CUdeviceptr)srcHost, false, ByteCount);
}

CUAPI(cuMemcpyHtoD, (CUdeviceptr_v1 dstDevice, const void *srcHost, unsigned int ByteCount),
      (dstDevice, srcHost, ByteCount))
{
	return move(dstDevice, true, (CUdeviceptr)srcHost, false, ByteCount);
}

CUAPI(cuMemcpyHtoDAsync,
      (CUdeviceptr_v1 dstDevice, const void *srcHost, unsigned int ByteCount, CUstream hStream),
      (dstDevice, srcHost, ByteCount, hStream))
{
	return move(dstDevice, true, (CUdeviceptr)srcHost, false, ByteCount);
}

CUAPI(cuMemcpyDtoH_v2, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount),
      (dstHost, srcDevice, ByteCount))
{
	return move((CUdeviceptr)dstHost, false, srcDevice, true, ByteCount);
}

CUAPI(cuMemcpyDtoHAsync_v2,
      (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
      (dstHost, srcDevice, ByteCount, hStream))
{
	return move((CUdeviceptr)dstHost, false, srcDevice, true, ByteCount);
}

CUAPI(cuMemcpyDtoH, (void *dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount),
      (dstHost, srcDevice, ByteCount))
{
	return move((CUdeviceptr)dstHost, false, srcDevice, true, ByteCount);
}

CUAPI(cuMemcpyDtoHAsync,
      (void *dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount, CUstream hStream),
      (dstHost, srcDevice, ByteCount, hStream))
{
	return move((CUdeviceptr)dstHost, false, srcDevice, true, ByteCount);
}

CUAPI(cuMemcpyDtoD_v2, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
      (dstDevice, srcDevice, ByteCount))
{
	return move(dstDevice, true, srcDevice, true, ByteCount);
}

CUAPI(cuMemcpyDtoDAsync_v2,
      (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
      (dstDevice, srcDevice, ByteCount, hStream))
{
	return move(dstDevice, true, srcDevice, true, ByteCount);
}

CUAPI(cuMemcpyDtoD, (CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice, unsigned int ByteCount),
      (dstDevice, srcDevice, ByteCount))
{
	return move(dstDevice, true, srcDevice, true, ByteCount);
}

CUAPI(cuMemcpyDtoDAsync,
      (CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice, unsigned int ByteCount,
       CUstream hStream),
      (dstDevice, srcDevice, ByteCount, hStream))
{
	return move(dstDevice, true, srcDevice, true, ByteCount);
}

/* One side of a 2D or 3D copy. */
struct side {
	CUmemorytype type;
	CUdeviceptr base;
	size_t x, y, z, pitch, height;
};

static CUresult move_box(const struct side *to, const struct side *from, const size_t width,
			 const size_t height, const size_t depth)
{
	CUresult rc = CUDA_SUCCESS;
	size_t y, z;

	if (to->type == CU_MEMORYTYPE_ARRAY || from->type == CU_MEMORYTYPE_ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	for (z = 0; z < depth; z++)
		for (y = 0; y < height && !rc; y++)
			rc = move(to->base + ((to->z + z) * to->height + to->y + y) * to->pitch +
					  to->x,
				  to->type == CU_MEMORYTYPE_DEVICE,
				  from->base +
					  ((from->z + z) * from->height + from->y + y) *
						  from->pitch +
					  from->x,
				  from->type == CU_MEMORYTYPE_DEVICE, width);
	return rc;
}

#define SIDE(c, which, depth_z, depth_h)                                                        \
	{ .type = (c)->which##MemoryType,                                                       \
	  .base = (c)->which##MemoryType == CU_MEMORYTYPE_HOST ?                                \
			  (CUdeviceptr)(c)->which##Host :                                       \
			  (CUdeviceptr)(c)->which##Device,                                      \
	  .x = (c)->which##XInBytes,                                                            \
	  .y = (c)->which##Y,                                                                   \
	  .z = depth_z,                                                                         \
	  .pitch = (c)->which##Pitch,                                                           \
	  .height = depth_h }

#define COPY2D(copy)                                                                            \
	const struct side to = SIDE(copy, dst, 0, 0), from = SIDE(copy, src, 0, 0);             \
	return move_box(&to, &from, (copy)->WidthInBytes, (copy)->Height, 1)

#define COPY3D(copy)                                                                            \
	const struct side to = SIDE(copy, dst, (copy)->dstZ, (copy)->dstHeight),                \
			  from = SIDE(copy, src, (copy)->srcZ, (copy)->srcHeight);              \
	return move_box(&to, &from, (copy)->WidthInBytes, (copy)->Height, (copy)->Depth)

CUAPI(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *pCopy), (pCopy))
{
	COPY2D(pCopy);
}

CUAPI(cuMemcpy2D, (const CUDA_MEMCPY2D_v1 *pCopy), (pCopy))
{
	COPY2D(pCopy);
}

CUAPI(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *pCopy), (pCopy))
{
	COPY2D(pCopy);
}

CUAPI(cuMemcpy2DUnaligned, (const CUDA_MEMCPY2D_v1 *pCopy), (pCopy))
{
	COPY2D(pCopy);
}

CUAPI(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *pCopy, CUstream hStream), (pCopy, hStream))
{
	COPY2D(pCopy);
}

CUAPI(cuMemcpy2DAsync, (const CUDA_MEMCPY2D_v1 *pCopy, CUstream hStream), (pCopy, hStream))
{
	COPY2D(pCopy);
}

CUAPI(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *pCopy), (pCopy))
{
	COPY3D(pCopy);
}

CUAPI(cuMemcpy3D, (const CUDA_MEMCPY3D_v1 *pCopy), (pCopy))
{
	COPY3D(pCopy);
}

CUAPI(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *pCopy, CUstream hStream), (pCopy, hStream))
{
	COPY3D(pCopy);
}

CUAPI(cuMemcpy3DAsync, (const CUDA_MEMCPY3D_v1 *pCopy, CUstream hStream), (pCopy, hStream))
{
	COPY3D(pCopy);
}

CUAPI(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *pCopy), (pCopy))
{
	COPY3D(pCopy);
}

CUAPI(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream), (pCopy, hStream))
{
	COPY3D(pCopy);
}

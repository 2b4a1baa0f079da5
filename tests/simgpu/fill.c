/*
 * Fills: memset on device memory, done before the call returns.
 */
#include "range.h"

#include <string.h>

static CUresult fill(const CUdeviceptr at, const size_t pitch, const uint32_t value,
		     const unsigned int size, const size_t width, const size_t height)
{
	CUresult rc = CUDA_SUCCESS;
	size_t x, y;

	if (!context_current(&rc))
		return rc;
	if (at % size || (height > 1 && pitch % size))
		return CUDA_ERROR_INVALID_VALUE;
	for (y = 0; y < height; y++) {
		char *const row = (char *)at + y * pitch;

		if (!range_device((CUdeviceptr)row, width * size))
			return CUDA_ERROR_INVALID_VALUE;
		if (size == 1)
			memset(row, (int)value, width);
		for (x = 0; size == 2 && x < width; x++)
			((uint16_t *)row)[x] = (uint16_t)value;
		for (x = 0; size == 4 && x < width; x++)
			((uint32_t *)row)[x] = value;
	}
	return CUDA_SUCCESS;
}

CUAPI(cuMemsetD8_v2, (CUdeviceptr dstDevice, unsigned char uc, size_t N), (dstDevice, uc, N))
{
	return fill(dstDevice, 0, uc, 1, N, 1);
}

CUAPI(cuMemsetD8, (CUdeviceptr_v1 dstDevice, unsigned char uc, unsigned int N),
      (dstDevice, uc, N))
{
	return fill(dstDevice, 0, uc, 1, N, 1);
}

CUAPI(cuMemsetD8Async, (CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream),
      (dstDevice, uc, N, hStream))
{
	return fill(dstDevice, 0, uc, 1, N, 1);
}

CUAPI(cuMemsetD2D8_v2,
      (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height),
      (dstDevice, dstPitch, uc, Width, Height))
{
	return fill(dstDevice, dstPitch, uc, 1, Width, Height);
}

CUAPI(cuMemsetD2D8,
      (CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned char uc, unsigned int Width,
       unsigned int Height),
      (dstDevice, dstPitch, uc, Width, Height))
{
	return fill(dstDevice, dstPitch, uc, 1, Width, Height);
}

CUAPI(cuMemsetD2D8Async,
      (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
       CUstream hStream),
      (dstDevice, dstPitch, uc, Width, Height, hStream))
{
	return fill(dstDevice, dstPitch, uc, 1, Width, Height);
}

CUAPI(cuMemsetD16_v2, (CUdeviceptr dstDevice, unsigned short us, size_t N), (dstDevice, us, N))
{
	return fill(dstDevice, 0, us, 2, N, 1);
}

CUAPI(cuMemsetD16, (CUdeviceptr_v1 dstDevice, unsigned short us, unsigned int N),
      (dstDevice, us, N))
{
	return fill(dstDevice, 0, us, 2, N, 1);
}

CUAPI(cuMemsetD16Async, (CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream),
      (dstDevice, us, N, hStream))
{
	return fill(dstDevice, 0, us, 2, N, 1);
}

CUAPI(cuMemsetD2D16_v2,
      (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height),
      (dstDevice, dstPitch, us, Width, Height))
{
	return fill(dstDevice, dstPitch, us, 2, Width, Height);
}

CUAPI(cuMemsetD2D16,
      (CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned short us, unsigned int Width,
       unsigned int Height),
      (dstDevice, dstPitch, us, Width, Height))
{
	return fill(dstDevice, dstPitch, us, 2, Width, Height);
}

CUAPI(cuMemsetD2D16Async,
      (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height,
       CUstream hStream),
      (dstDevice, dstPitch, us, Width, Height, hStream))
{
	return fill(dstDevice, dstPitch, us, 2, Width, Height);
}

CUAPI(cuMemsetD32_v2, (CUdeviceptr dstDevice, unsigned int ui, size_t N), (dstDevice, ui, N))
{
	return fill(dstDevice, 0, ui, 4, N, 1);
}

CUAPI(cuMemsetD32, (CUdeviceptr_v1 dstDevice, unsigned int ui, unsigned int N),
      (dstDevice, ui, N))
{
	return fill(dstDevice, 0, ui, 4, N, 1);
}

CUAPI(cuMemsetD32Async, (CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream),
      (dstDevice, ui, N, hStream))
{
	return fill(dstDevice, 0, ui, 4, N, 1);
}

CUAPI(cuMemsetD2D32_v2,
      (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height),
      (dstDevice, dstPitch, ui, Width, Height))
{
	return fill(dstDevice, dstPitch, ui, 4, Width, Height);
}

CUAPI(cuMemsetD2D32,
      (CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned int ui, unsigned int Width,
       unsigned int Height),
      (dstDevice, dstPitch, ui, Width, Height))
{
	return fill(dstDevice, dstPitch, ui, 4, Width, Height);
}

CUAPI(cuMemsetD2D32Async,
      (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height,
       CUstream hStream),
      (dstDevice, dstPitch, ui, Width, Height, hStream))
{
	return fill(dstDevice, dstPitch, ui, 4, Width, Height);
}

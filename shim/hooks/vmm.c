/* Physical memory with handles; policy/vmm counts the references. */
#include "policy/vmm.h"

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct vmm_call call;
	struct claim claim;
	CUresult rc = vmm_create(&claim, prop, size);

	if (rc != CUDA_SUCCESS)
		return rc;
	do {
		vmm_ask(&call, &claim);
		rc = real.cuMemCreate(handle, size, prop, flags);
	} while (vmm_again(&call, &claim, rc));
	return vmm_created(&call, &claim, rc, handle);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct vmm_call call;

	vmm_begin(&call);
	return vmm_released(&call, real.cuMemRelease(handle), handle);
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	struct vmm_call call;

	vmm_begin(&call);
	return vmm_mapped(&call, real.cuMemMap(ptr, size, offset, handle, flags), ptr, size,
			  handle);
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	struct vmm_call call;

	vmm_begin(&call);
	return vmm_unmapped(&call, real.cuMemUnmap(ptr, size), ptr, size);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	struct vmm_call call;

	vmm_begin(&call);
	return vmm_retained(&call, real.cuMemRetainAllocationHandle(handle, addr), handle, addr);
}

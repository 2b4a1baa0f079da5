/*
 * Physical memory with handles (cuMemCreate). Owns: for each handle of ours its device,
 * references and mappings.
 * Promise: charged to the device that the properties name, not to the current one; refunded when
 * the last of handle, retained handles and mappings is gone. Handles and addresses that we do not
 * know change nothing.
 *
 *	rc = vmm_create(&claim, prop, size);
 *	if (rc != CUDA_SUCCESS)
 *		return rc;
 *	do
 *		rc = real.cuMemCreate(handle, size, prop, flags);
 *	while (claim_again(&claim, rc));
 *	return vmm_created(&claim, rc, handle);
 */
#ifndef POLICY_VMM_H
#define POLICY_VMM_H

#include "policy/claim.h"

CUresult vmm_create(struct claim *claim, const CUmemAllocationProp *prop, size_t bytes);
CUresult vmm_created(struct claim *claim, CUresult rc, const CUmemGenericAllocationHandle *handle);

/*
 * Around each call that moves references; one of a process at a time, so that
 * the driver's order is ours.
 *
 *	vmm_begin(&call);
 *	return vmm_released(&call, real.cuMemRelease(handle), handle);
 */
struct vmm_call {
	bool alone;
	int cancel;
};
void vmm_begin(struct vmm_call *call);
CUresult vmm_released(struct vmm_call *call, CUresult rc, CUmemGenericAllocationHandle handle);
CUresult vmm_unmapped(struct vmm_call *call, CUresult rc, CUdeviceptr address, size_t bytes);
CUresult vmm_mapped(struct vmm_call *call, CUresult rc, CUdeviceptr address, size_t bytes,
		    CUmemGenericAllocationHandle handle);
CUresult vmm_retained(struct vmm_call *call, CUresult rc,
		      const CUmemGenericAllocationHandle *handle, const void *address);

#endif

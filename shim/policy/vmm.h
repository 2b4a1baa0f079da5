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
 *	do {
 *		vmm_ask(&call, &claim);
 *		rc = real.cuMemCreate(handle, size, prop, flags);
 *	} while (vmm_again(&call, &claim, rc));
 *	return vmm_created(&call, &claim, rc, handle);
 */
#ifndef POLICY_VMM_H
#define POLICY_VMM_H

#include "policy/claim.h"

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
CUresult vmm_create_from(const void *caller, struct claim *claim, const CUmemAllocationProp *prop,
			 size_t bytes);
static inline __attribute__((always_inline)) CUresult
vmm_create(struct claim *claim, const CUmemAllocationProp *prop, size_t bytes)
{
	return vmm_create_from(__builtin_return_address(0), claim, prop, bytes);
}
void vmm_ask(struct vmm_call *call, const struct claim *claim);
/* Whether to ask again; then others have had their turn. */
bool vmm_again(struct vmm_call *call, struct claim *claim, CUresult rc);
CUresult vmm_created(struct vmm_call *call, struct claim *claim, CUresult rc,
		     const CUmemGenericAllocationHandle *handle);

void vmm_begin_from(const void *caller, struct vmm_call *call);
static inline __attribute__((always_inline)) void vmm_begin(struct vmm_call *call)
{
	vmm_begin_from(__builtin_return_address(0), call);
}
CUresult vmm_released(struct vmm_call *call, CUresult rc, CUmemGenericAllocationHandle handle);
CUresult vmm_unmapped(struct vmm_call *call, CUresult rc, CUdeviceptr address, size_t bytes);
CUresult vmm_mapped(struct vmm_call *call, CUresult rc, CUdeviceptr address, size_t bytes,
		    CUmemGenericAllocationHandle handle);
CUresult vmm_retained(struct vmm_call *call, CUresult rc,
		      const CUmemGenericAllocationHandle *handle, const void *address);

#endif

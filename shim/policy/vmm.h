/*
 * Physical memory with handles (cuMemCreate). Owns: for each handle of ours its device, references and mappings.
 * Promise: charged to the device that the properties name, not to the current one; refunded when the last of handle,
 * retained handles and mappings is gone. Handles and addresses that we do not know change nothing.
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
 * Take the stamp before the driver is asked to release or unmap, and give it back with its code: what another thread
 * made at the same handle or address meanwhile is newer and stays.
 */
uint64_t vmm_stamp(void);
CUresult vmm_released(uint64_t stamp, CUresult rc, CUmemGenericAllocationHandle handle);
CUresult vmm_unmapped(uint64_t stamp, CUresult rc, CUdeviceptr address, size_t bytes);
/* After cuMemMap. */
CUresult vmm_mapped(CUresult rc, CUdeviceptr address, size_t bytes, CUmemGenericAllocationHandle handle);
/* After cuMemRetainAllocationHandle. */
CUresult vmm_retained(CUresult rc, const CUmemGenericAllocationHandle *handle, const void *address);

#endif

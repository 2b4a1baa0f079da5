/*
 * Saying no. Owns: the line that explains a refusal, at most one a second for each process, and its
 * code. Keeps errno.
 */
#ifndef POLICY_REFUSE_H
#define POLICY_REFUSE_H

#include "policy/claim.h"

/* By limit or guarantee. `what` is what was asked for, "" for plain memory.
 * CUDA_ERROR_OUT_OF_MEMORY. */
CUresult refuse(const struct device *device, const char *what, uint64_t bytes,
		const struct refusal *refusal);
/* What the driver took for it was more than was left, and was given back.
 * CUDA_ERROR_OUT_OF_MEMORY. */
CUresult refuse_excess(const struct device *device, const char *what, uint64_t bytes);
/* Memory that nobody would count was given back. CUDA_ERROR_NOT_PERMITTED. */
CUresult refuse_uncounted(void);

#endif

/*
 * What a context costs. Owns: the estimate, its charge, and the measurement that replaces it.
 * Promise: the ledger learns a cost only from a process that has nothing else on a device where
 * nobody else holds anything. Called with the device's contexts locked.
 */
#ifndef POLICY_COST_H
#define POLICY_COST_H

#include "policy/context.h"

/* Charge what a context is expected to take, and the spare grain if wanted and left. CUDA_SUCCESS
 * or the refusal, said. */
CUresult cost_charge(struct context_change *change);
/* After it was made. False: it took more than could be charged, undo it. */
bool cost_settle(struct context_change *change, const CUcontext *context);
/* Gives one back to the driver. */
void cost_undo(const struct context_change *change, const CUcontext *context);
/* The code and the line for one that is undone. */
CUresult cost_refuse(const struct context_change *change);
void cost_refund(struct context_change *change);
/* After all that: others that wait to learn the cost may go on. */
void cost_end(struct context_change *change);

#endif

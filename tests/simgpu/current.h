/*
 * The calling thread's stack of contexts.
 */
#ifndef SIMGPU_CURRENT_H
#define SIMGPU_CURRENT_H

#include "sim.h"

CUresult current_push(struct context *context);
void current_pop(void);
bool current_is(const struct context *context);

#endif

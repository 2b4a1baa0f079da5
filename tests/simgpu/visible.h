/*
 * CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER by the driver's rules.
 */
#ifndef SIMGPU_VISIBLE_H
#define SIMGPU_VISIBLE_H

#include "config.h"

/* Fills card[] for each visible ordinal; returns how many. */
unsigned int visible_resolve(const struct config *config, unsigned int card[CARDS_MAX]);

#endif

/*
 * Streams, for those who work in their order: which card one is of.
 */
#ifndef SIMGPU_STREAM_H
#define SIMGPU_STREAM_H

#include "sim.h"

CUresult stream_card(CUstream hStream, unsigned int *card);

#endif

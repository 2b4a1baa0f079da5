/* How many gates there are, for gate.c and gate_*.S, and the bytes of code of each. */
#ifndef DRIVER_GATE_COUNT_H
#define DRIVER_GATE_COUNT_H

#define GATES 64
#define GATE_BYTES 16

#endif

/*
 * What the file written by exports.py needs. It includes no header of NVIDIA, whose prototypes it
 * contradicts: a stub takes whatever it is given and shows the first six words in the trace.
 */
#ifndef SIMGPU_GENERATED_H
#define SIMGPU_GENERATED_H

#include "resolver.h"
#include "trace.h"

/* The code that a call gets before anything is looked at, else 0. */
int sim_guard(void);

#ifdef GENERATED_NVML
enum { NOT_SUPPORTED = 3 };
#else
enum { NOT_SUPPORTED = 801 };
#endif

static inline int stub(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	return NOT_SUPPORTED;
}

#define STUB(name)                                                                              \
	int name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);       \
	SIM_ENTRY(int, name, sim_guard(),                                                       \
		  (uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f),     \
		  (a, b, c, d, e, f), stub)

/* With one stream per process nothing differs; shown in the trace under the plain name. */
#ifdef __x86_64__
#define SIM_JUMP "jmp"
#else
#define SIM_JUMP "b"
#endif
#ifdef SIMGPU_PLT
#define SIM_JUMP_TO(name) #name "@PLT"
#else
#define SIM_JUMP_TO(name) #name
#endif
#define VARIANT(name, of)                                                                          \
	__asm__(".pushsection .text\n.globl " #name "\n.type " #name ", @function\n.p2align 4\n"  \
		#name ":\n\t" SIM_JUMP " " SIM_JUMP_TO(of) "\n.size " #name ", . - " #name       \
		"\n.popsection");

#endif

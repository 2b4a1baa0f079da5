/*
 * What the files of the simulated libcuda share: the entry macros, the state of the process,
 * handles, the lock.
 *
 * Promises: a forked child of an initialised process is told so by every call (one load); an entry
 * point that is not written with CUAPI or ANYTIME here becomes a stub (exports.py finds them by
 * these words). Must never: be included by the shim.
 */
#ifndef SIMGPU_SIM_H
#define SIMGPU_SIM_H

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include "account.h"
#include "config.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/single_threaded.h>

/* In a page that fork wipes: 0 in a process that has not initialised, and in the child of one that
 * has. */
struct sim_page {
	uint32_t ready;
};

struct sim {
	struct sim_page *page;
	bool started; /* cuInit has run here or in a parent */
	struct account account;
	unsigned int devices;		  /* visible */
	unsigned int device[CARDS_MAX];	  /* CUDA ordinal -> card */
};

extern struct sim sim;

int sim_guard(void);

static inline int sim_ready(void)
{
	return sim.page && sim.page->ready ? 0 : CUDA_ERROR_NOT_INITIALIZED;
}

/* An entry point that needs cuInit, and one that does not. Followed by its body. */
#define CUAPI(name, params, args)                                                               \
	static CUresult sim_##name params;                                                      \
	SIM_ENTRY(CUresult, name, sim_ready(), params, args, sim_##name)                        \
	static inline __attribute__((always_inline)) CUresult sim_##name params

#define ANYTIME(name, params, args)                                                             \
	static CUresult sim_##name params;                                                      \
	SIM_ENTRY(CUresult, name, 0, params, args, sim_##name)                                  \
	static inline CUresult sim_##name params

/* A second exported name of the same function, such as its per-thread variant. */
#define ALSO(name, of, params, args) SIM_ENTRY(CUresult, name, sim_ready(), params, args, sim_##of)

/* An inner call of one entry point by another: through the PLT in build/simgpu-plt, else direct. */
#ifdef SIMGPU_PLT
#define INNER(name) name
#else
#define INNER(name) sim_##name
#endif

/* The lock of the process. Free of charge while there is one thread. */
void sim_lock_shared(void);
void sim_unlock_shared(void);

static inline bool sim_lock(void)
{
	if (__builtin_expect(__libc_single_threaded, 1))
		return false;
	sim_lock_shared();
	return true;
}

static inline void sim_unlock(const bool locked)
{
	if (__builtin_expect(locked, 0))
		sim_unlock_shared();
}

/* Objects that the application names by pointer. Any value may be asked about; dead ones are never
 * unmapped. */
enum kind {
	KIND_NONE,
	KIND_CONTEXT,
	KIND_STREAM,
	KIND_EVENT,
	KIND_MODULE,
	KIND_FUNCTION,
	KIND_LIBRARY,
	KIND_KERNEL,
	KIND_MEMORY,
	KIND_LINK,
	KIND_GRAPH,
	KIND_NODE,
	KIND_EXEC,
	KIND_COUNT,
};

enum { HANDLE_BYTES = 512 };

struct handle {
	uint32_t kind;
	uint32_t pad;
	uint64_t id;
	struct handle *next_free;
};

void *handle_new(enum kind kind);
void *handle_get(const void *value, enum kind kind);
void handle_drop(void *handle, enum kind kind);

/* context.c */
struct heap;

struct context {
	struct handle handle;
	unsigned int card;
	unsigned int flags;
	unsigned int api_version;
	unsigned int users; /* attach count, or primary references */
	bool primary;
	uint32_t units; /* what it cost */
	size_t limit[CU_LIMIT_MAX + 1];
	int cache_config, shared_config;
	struct heap *heap;
};

/* An entry of a thread's stack of contexts, and the uppermost. The number tells a context that was
 * destroyed elsewhere from its successor in the same place. */
struct entry {
	struct context *context;
	uint64_t id;
};
extern __thread struct entry current_top
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Whether the calling thread's current context, `context`, has not ended. Binds under the lock. */
static inline bool context_lives(const struct context *context)
{
	return __atomic_load_n(&context->handle.kind, __ATOMIC_RELAXED) == KIND_CONTEXT &&
	       __atomic_load_n(&context->handle.id, __ATOMIC_RELAXED) == current_top.id;
}

/* The calling thread's context, or NULL with the code in *rc. */
static inline struct context *context_current(CUresult *rc)
{
	struct context *const context = current_top.context;

	if (!context) {
		*rc = CUDA_ERROR_INVALID_CONTEXT;
		return NULL;
	}
	if (!context_lives(context)) {
		*rc = CUDA_ERROR_CONTEXT_IS_DESTROYED;
		return NULL;
	}
	return context;
}
/* Any live context of the handle; NULL means the current one. */
struct context *context_of(CUcontext handle, CUresult *rc);
struct context *context_primary(unsigned int card);
CUresult device_card(CUdevice device, unsigned int *card);
CUdevice device_of_card(unsigned int card);

#endif

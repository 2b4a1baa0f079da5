/*
 * Faults, delays and the call trace at the entry of every exported function.
 *
 * Owns: SIMGPU_FAULT, SIMGPU_DELAY, SIMGPU_TRACE. Costs one load and a predicted branch when none
 * is set.
 */
#ifndef SIMGPU_TRACE_H
#define SIMGPU_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/* From least to most. */
struct probe_delay {
	uint64_t least_ns, most_ns;
};

struct probe {
	const char *probe_name;
	uint32_t known;	   /* 1 when the settings for this name have been looked up */
	uint32_t calls;
	struct probe_delay delay, delay_after;
	const char *faults; /* first of "name@which:code"; NULL when there is none */
};

extern bool probe_on;

/* Delays; true with the code in *rc when the call is to fail without being made. */
bool probe_enter(struct probe *probe, int *rc);
void probe_leave(struct probe *probe, int rc, unsigned int n, const uint64_t *args);

#define SIM_EXPORT __attribute__((visibility("default")))

/* The bytes of any argument, structures too. */
#define SIM_ARG(x)                                                                              \
	({                                                                                      \
		__typeof__(x) sim_v = (x);                                                      \
		uint64_t sim_u = 0;                                                             \
		__builtin_memcpy(&sim_u, &sim_v, sizeof(sim_v) < 8 ? sizeof(sim_v) : 8);        \
		sim_u;                                                                          \
	})
#define SIM_A0()
#define SIM_A1(a) SIM_ARG(a)
#define SIM_A2(a, ...) SIM_ARG(a), SIM_A1(__VA_ARGS__)
#define SIM_A3(a, ...) SIM_ARG(a), SIM_A2(__VA_ARGS__)
#define SIM_A4(a, ...) SIM_ARG(a), SIM_A3(__VA_ARGS__)
#define SIM_A5(a, ...) SIM_ARG(a), SIM_A4(__VA_ARGS__)
#define SIM_A6(a, ...) SIM_ARG(a), SIM_A5(__VA_ARGS__)
#define SIM_A7(a, ...) SIM_ARG(a), SIM_A6(__VA_ARGS__)
#define SIM_A8(a, ...) SIM_ARG(a), SIM_A7(__VA_ARGS__)
#define SIM_A9(a, ...) SIM_ARG(a), SIM_A8(__VA_ARGS__)
#define SIM_A10(a, ...) SIM_ARG(a), SIM_A9(__VA_ARGS__)
#define SIM_A11(a, ...) SIM_ARG(a), SIM_A10(__VA_ARGS__)
#define SIM_COUNT_(z, a, b, c, d, e, f, g, h, i, j, k, n, ...) n
#define SIM_COUNT(...) SIM_COUNT_(0, ##__VA_ARGS__, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SIM_CAT_(a, b) a##b
#define SIM_CAT(a, b) SIM_CAT_(a, b)
#define SIM_LIST(...) { SIM_CAT(SIM_A, SIM_COUNT(__VA_ARGS__))(__VA_ARGS__) }

/* The exported function: probe, then the precondition, then `call`. */
#define SIM_ENTRY(type, name, guard, params, args, call)                                        \
	SIM_EXPORT type name params                                                             \
	{                                                                                       \
		static struct probe sim_probe = { .probe_name = #name };                        \
		if (__builtin_expect(probe_on, 0)) {                                            \
			const uint64_t sim_args[] = SIM_LIST args;                              \
			int sim_rc;                                                             \
			if (!probe_enter(&sim_probe, &sim_rc)) {                                \
				sim_rc = (int)(guard);                                          \
				if (!sim_rc)                                                    \
					sim_rc = (int)call args;                                \
			}                                                                       \
			probe_leave(&sim_probe, sim_rc, sizeof(sim_args) / 8, sim_args);        \
			return (type)sim_rc;                                                    \
		}                                                                               \
		{                                                                               \
			const int sim_rc = (int)(guard);                                        \
			if (__builtin_expect(sim_rc, 0))                                        \
				return (type)sim_rc;                                            \
		}                                                                               \
		return call args;                                                               \
	}

#endif

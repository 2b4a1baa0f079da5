/*
 * How this process stands, in one word that fork wipes. Owns nothing else;
 * only this floor includes it.
 */
#ifndef POLICY_PROCESS_H
#define POLICY_PROCESS_H

#include "policy/state.h"

#include "driver/inside.h"

enum process_mode {
	PROCESS_IDLE,	/* not decided: cuInit has not succeeded, or this is a forked child */
	PROCESS_READY,	/* joined to every device */
	PROCESS_ASIDE,	/* not capped */
	PROCESS_DENIED, /* settings or ledger refused */
};

struct process {
	uint32_t mode;
};
extern struct process *process_word;

static inline enum process_mode process_mode(void)
{
	const struct process *const process = __atomic_load_n(&process_word, __ATOMIC_ACQUIRE);

	return process ? (enum process_mode)__atomic_load_n(&process->mode, __ATOMIC_ACQUIRE)
		       : PROCESS_IDLE;
}

/* What the settings decide; what a driver that runs already decides. */
enum process_mode process_decide(void);
enum process_mode process_late(void);
/* May a denied process try again at its next cuInit? Not when its settings are refused. */
bool process_retry(void);

static inline enum process_mode process_now(void)
{
	const enum process_mode mode = process_mode();

	return __builtin_expect(mode == PROCESS_READY, 1) ? mode : process_late();
}

/*
 * A hook that the driver reaches from inside a call of ours (one whose inner calls can be
 * interposed) passes: its memory is that of the outer call. True: this is the outer one. Each is
 * undone by process_left.
 *
 * Inside is only what returns into the driver's own code. A signal handler may jump out of a call
 * of ours for good, or allocate above it; a program may switch stacks; a tool may be called back:
 * all these return elsewhere and count. What a call that was left had begun ends with the next.
 */
struct process_thread {
	uint32_t inside;
	bool counted;	 /* in quiet_threads */
	uint32_t serial; /* of the context that device_current found last */
	/* A token of a small request under way: units, and where they are charged. */
	uint32_t token;
	uint8_t token_device, token_seat;
};
extern __thread struct process_thread process_thread __attribute__((tls_model("initial-exec")));
void process_count_thread(void);

/* `caller`: what the hook returns to. */
static inline __attribute__((always_inline)) bool process_entered(const void *caller)
{
	if (__builtin_expect(!process_thread.counted, 0))
		process_count_thread();
	if (__builtin_expect(process_thread.inside && driver_is_inside(caller), 0)) {
		process_thread.inside++;
		return false;
	}
	process_thread.inside = 1;
	return true;
}

static inline void process_left(void)
{
	process_thread.inside -= process_thread.inside != 0;
}

/* Place in the table of devices, which entries of the tables here carry. */
extern struct device device_table[];

static inline uint8_t device_index(const struct device *device)
{
	return device->index;
}

static inline const struct device *device_by_index(unsigned index)
{
	return &device_table[index];
}

/* The tables of this floor: each makes its memory, or finds it wiped. 0 or -ENOMEM. */
int context_start(void);
int vmm_start(void);
int current_start(void);

int claim_start(size_t grain_bytes);

/* Is the spare grain of a device paid for? */
bool context_has_spare(const struct device *device);

#endif

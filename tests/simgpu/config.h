/*
 * The settings of the simulated driver, read from SIMGPU_* once.
 *
 * Owns: what cards there are, in which orders, and how they behave.
 * Promises: config_get() gives the same answer for the life of the process; a value that cannot be
 * understood is said on stderr and leaves the default.
 * Must never: depend on anything of CUDA, NVML or the account.
 */
#ifndef SIMGPU_CONFIG_H
#define SIMGPU_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CARDS_MAX = 16 };

struct card {
	uint64_t bytes;
	unsigned char uuid[16];
	char uuid_text[64]; /* GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx; instances: below */
	char name[64];
	char serial[16];
	unsigned int domain, bus, device; /* PCI address; NVML order is its order */
	unsigned int pci_id, minor;
	unsigned int instances; /* that it is divided into: behind all cards, from `first` */
	unsigned int first;
	/* Of an instance only: its card, its numbers there, and its other name. `uuid_text` is the
	 * one that drivers of this version use: MIG-<uuid>, before 11.4 MIG-GPU-<uuid>/gi/ci. */
	unsigned int parent, gpu_instance, compute_instance;
	char other_text[64];
};

struct config {
	unsigned int cards;
	unsigned int devices;		    /* with the instances */
	struct card card[CARDS_MAX];	    /* in NVML (PCI) order, then instances */
	unsigned int cuda_order[CARDS_MAX]; /* CUDA ordinal -> index into card */
	uint64_t grain;			    /* bytes; a power of two */
	uint64_t pitch;			    /* a power of two: rows begin at multiples of it */
	bool exact;			    /* SIMGPU_GRAIN=none: charged to the 512 bytes */
	bool small_keep;		    /* an emptied grain of small requests stays taken */
	bool chassis;			    /* boards, NVLink, a unit, an excluded card */
	unsigned int event_card;	    /* SIMGPU_EVENT; CARDS_MAX: none */
	bool graphics;			    /* the resolver knows the GL, EGL and VDPAU names */
	bool accounting;		    /* NVML notes what each process takes */
	bool sessions;			    /* each process encodes and captures */
	uint64_t context_bytes;
	uint64_t pool_step; /* a pool grows by multiples of it */
	uint64_t reserved_bytes; /* NVML memory v2 */
	unsigned int version;	 /* 13050 = 13.5 */
	char tag[64];
	char dir[256];
};

extern const struct config *config_ready;
const struct config *config_load(void);

static inline const struct config *config_get(void)
{
	const struct config *const ready = __atomic_load_n(&config_ready, __ATOMIC_ACQUIRE);

	return __builtin_expect(ready != NULL, 1) ? ready : config_load();
}

/* "24G", "300M", "512": bytes, powers of 1024; false on anything else. */
bool config_size(const char *text, const char **end, uint64_t *bytes);

/* SIMGPU_MIG, after the cards are known; false: not understood, and no card is divided. */
bool config_divide(struct config *config, const char *text);
/* Some well spread number. */
uint64_t config_mix(uint64_t x);
/* Fills uuid and the text of it behind `prefix`. */
void config_name_uuid(unsigned char uuid[16], uint64_t seed, const char *prefix, char text[64]);

#endif

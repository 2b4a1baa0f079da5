/*
 * The ground truth of the simulated cards, read from the account by path: what is really held, by
 * whom, and the largest amount ever held. Link build/simgpu/libtruth.a; needs neither driver
 * library nor CUDA.
 *
 * Promises: the dead are given back before anything is read; a tag's maximum is exact: held at some
 * instant, and never exceeded at any other.
 */
#ifndef SIMGPU_TRUTH_H
#define SIMGPU_TRUTH_H

#include <stdint.h>

enum { TRUTH_DEVICES = 16, TRUTH_TAGS = 128, TRUTH_PROCESSES = 4096 };

struct truth_tag {
	char name[64];
	uint64_t held, max; /* bytes */
};

struct truth_device {
	char uuid[48];
	uint64_t bytes;
	uint64_t resident;  /* on the card now; what allocation and NVML go by */
	uint64_t committed; /* with oversubscribed managed memory */
	unsigned int tags;
	struct truth_tag tag[TRUTH_TAGS];
};

struct truth_process {
	uint32_t pid; /* as the process sees itself */
	char name[16];
	char tag[64];
	uint64_t held[TRUTH_DEVICES], max[TRUTH_DEVICES];
};

struct truth {
	unsigned int devices; /* in NVML order */
	struct truth_device device[TRUTH_DEVICES];
	unsigned int processes;
	struct truth_process *process; /* freed by truth_free */
};

/* `dir` NULL: as SIMGPU_DIR says. 0 or -errno; -ENOENT before any process has called cuInit. */
int truth_read(const char *dir, struct truth *truth);
void truth_free(struct truth *truth);
/* Forgets all maxima. Exact only while nobody allocates. */
int truth_reset(const char *dir);

/* Shorthands for one figure; -errno when it cannot be read, 0 for an unknown tag. */
int64_t truth_held(const char *dir, unsigned int device, const char *tag);
int64_t truth_max(const char *dir, unsigned int device, const char *tag);
int64_t truth_resident(const char *dir, unsigned int device);

#endif

/*
 * What the parts of `cuquota doctor` share: the report, the child processes that look, and what
 * they say.
 *
 * A child is this program again, as `cuquota doctor --look WHAT`, in the caller's environment but
 * for what is named at the call. It calls the driver only as any program could, makes no context
 * and allocates no memory of the device. It answers in lines that begin with "= ".
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <cuquota/cuquota.h>

#include "base/settings.h"

#define DOCTOR_DEVICES DEVICES_MAX
/* In whose name is looked where the caller's tenant is not to be touched. */
#define DOCTOR_TENANT "cuquota-doctor"

/* One line of the report. */
enum verdict {
	VERDICT_OK,
	VERDICT_NOTE,  /* right, but worth knowing */
	VERDICT_WRONG, /* a fault; the text ends in the way out */
	VERDICT_UNCHECKED,
};

void report_begin(bool json);
/* `check` is the name for machines, such as "door.dlsym". */
void report(enum verdict verdict, const char *check, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
unsigned report_count(enum verdict verdict);
/* The last line, and the status of the command. */
int report_end(bool no_device, const char *last);

/* What a child said. */
#define ANSWER_LINES 768

struct answer {
	char *line[ANSWER_LINES]; /* what it said, without "= " */
	unsigned count;
	char said[512]; /* the last line that is none of its own: a message of the loader or library
			 */
	char end[64];	/* "": it came to its end; else why not */
};

/* Runs a child; `changes` are NAME=VALUE put over the environment, NAME alone is taken out; NULL at
 * the end. `arguments` may be NULL. */
void child_ask(struct answer *answer, const char *what, const char *const *changes,
	       const char *const *arguments);
void child_forget(struct answer *answer);
/* The rest of the first line that begins with these words, NULL without. */
const char *answer_find(const struct answer *answer, const char *words);
/* The rest of a line after these words, NULL if it begins otherwise. */
const char *after(const char *line, const char *words);
/* Takes the next word off; "" when there is none. */
char *next_word(char **rest);

/* In the child: what is seen through a door, or found by a look-up. The status of the process. */
int look(int argc, char **argv);
int look_door(const char *name);
int look_cuda(char **hidden);
int look_nvml(char **hidden);
int look_real(void);
void *look_open(const char *file);
/* Does the pointer lead into a copy of libcuquota.so? `path` gets whose it is. */
bool look_is_ours(const void *pointer, const char **path);
void look_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A descriptor of the probe (probe/probe.c), as a file that can be opened; -1 where there can be
 * none. */
int probe_file(bool linked);

struct door {
	const char *name;     /* for machines */
	const char *sentence; /* what a program does that goes this way */
};
extern const struct door doors[];
extern const unsigned door_count;

/* A device as the driver has it when nobody stands before it. */
struct real_device {
	char uuid[UUID_TEXT];
	char gpu[UUID_TEXT]; /* of a MIG instance: the GPU that it lies on; else "" */
	char pci[32];	     /* "": not known */
	char serial[32];     /* the same */
	uint64_t bytes;
	bool cuda;    /* CUDA shows it */
	bool divided; /* a GPU, into MIG instances: CUDA shows one of those instead */
	bool visible;
	bool denied;	   /* no limit can hold here: said */
	uint64_t limit;	   /* by the settings, AMOUNT_UNLIMITED without */
	uint64_t expected; /* what is to be shown as its memory */
};

struct truth {
	struct settings settings;
	char tenant[SETTINGS_TENANT];
	struct real_device device[DOCTOR_DEVICES]; /* in NVML's order, where that is known */
	unsigned count, visible;
	bool ordered;  /* NVML told the order */
	bool settled;  /* which devices are visible is known */
	bool tightens; /* the settings are below what the tenant has now */
	bool kept;     /* nobody of the tenant is there, but what it requested is kept for it */
	char why[256]; /* no device: why */
};

/* Everything that the children's answers are held against. False: there is no device. */
bool truth_find(struct truth *truth);
/* What is expected now, by the settings and the ledgers. */
void truth_expect(struct truth *truth);
/* Reports devices, and what of the settings leaves a device open. */
void truth_report(struct truth *truth);
/* By its UUID, whatever stands before that; of an instance also its GPU's, as CUDA's older query
 * has it. */
const struct real_device *truth_device(const struct truth *truth, const char *uuid);
const struct real_device *truth_exactly(const struct truth *truth, const char *uuid);
/* How many devices NVML counts, or CUDA; of those that may be seen, or of all. */
unsigned truth_counted(const struct truth *truth, bool cuda, bool visible);

/* Is the library there? Reports; false: it is not. */
bool preload_check(const struct truth *truth);

void judge_doors(struct truth *truth);
void judge_hiding(struct truth *truth);

#endif

/*
 * Step by step against the ground truth: a client under the preload says what it is shown as used
 * on each device and waits; the test compares that with what the simulated devices really hold.
 * Link build/simgpu/libtruth.a.
 */
#ifndef TESTS_STEPS_H
#define TESTS_STEPS_H

#include "client.h"
#include "simgpu/truth.h"

#define STEPS_CARDS 2 /* in NVML's order */

/* In the client. `contexts`: how many it has on each device; the first of a device
 * brings a spare grain. */
TEST_USED static void step_say(const char *what, int contexts0, int contexts1)
{
	unsigned long long used[STEPS_CARDS];
	char line[64];

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	for (unsigned i = 0; i < STEPS_CARDS; i++) {
		nvmlDevice_t device;
		nvmlMemory_t memory;

		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(i, &device), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
		used[i] = memory.used;
	}
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
	printf("%llu %llu %d %d %s\n", used[0], used[1], contexts0, contexts1, what);
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
}

/* In the test, until the client ends: returns how many steps were compared. */
TEST_USED static unsigned steps_follow(struct client *client, unsigned long long spare)
{
	unsigned steps = 0;
	const char *line;

	while ((line = client_line(client, DEADLINE_MS))) {
		unsigned long long said[STEPS_CARDS];
		int contexts[STEPS_CARDS], at = 0;

		if (sscanf(line, "%llu %llu %d %d %n", &said[0], &said[1], &contexts[0],
			   &contexts[1], &at) != 4)
			FAIL("the client says \"%s\"", line);
		for (unsigned i = 0; i < STEPS_CARDS; i++) {
			const unsigned long long extra = contexts[i] ? spare : 0;
			const int64_t held = truth_resident(NULL, i);

			CHECK_GE(held, (int64_t)0);
			if (said[i] != (unsigned long long)held + extra)
				FAIL("step %u, %s: device %u holds %lld, charged %llu, of it spare "
				     "%llu",
				     steps, line + at, i, (long long)held, said[i], extra);
		}
		steps++;
		client_say(client, "go");
	}
	CHECK_EQ(client_wait(client, DEADLINE_MS), 0);
	return steps;
}

#endif

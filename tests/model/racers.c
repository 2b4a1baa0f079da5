/*
 * Processes of one tenant that charge and refund at random, for a trace: racers FOLDER PROCESSES
 * CALLS SEED. Linked with the ledger's objects of a build with -DCUQUOTA_TRACE. "asks" and
 * "refused" tell of a charge what no step of the ledger does.
 */
#include "base/point.h"
#include "ledger/account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT 64u /* units */
#define MOST 40u
#define DEVICE "GPU-7e570000-0000-4000-8000-000000000002"

static int race(const char *folder, uint32_t calls, uint64_t random, uint32_t *waiting)
{
	const struct tenant_wish wish = {.name = "racers",
					 .limit = (uint64_t)LIMIT * CUQUOTA_UNIT};
	struct tenant_outcome outcome;
	struct segment segment;
	struct member member;
	char why[SEGMENT_WHY];
	uint32_t held = 0;

	memset(&member, 0, sizeof(member));
	if (segment_open(&segment, folder, DEVICE, 1ull << 30, SEGMENT_MEMBER, why) ||
	    member_join(&member, &segment, &wish, -1, &outcome, why)) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	__atomic_sub_fetch(waiting, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(waiting, __ATOMIC_SEQ_CST))
		usleep(100);
	for (uint32_t i = 0; i < calls; i++) {
		uint32_t units;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		units = 1 + (uint32_t)(random >> 33) % 24;
		if (random >> 63 && held) {
			units = units < held ? units : held;
			held -= units;
			account_refund(&member, units);
		} else if (held + units <= MOST) {
			POINT("racer.asking");
			TRACE("asks", member.slot, units, 0);
			if (!account_charge(&member, units, NULL))
				held += units;
			else
				TRACE("refused", member.slot, units, 0);
		}
	}
	member_leave(&member);
	segment_close(&segment);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t *waiting, processes;
	int failed = 0, status;

	waiting = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc != 5 || waiting == MAP_FAILED)
		return 2;
	processes = *waiting = (uint32_t)atoi(argv[2]);
	for (uint32_t i = 0; i < processes; i++)
		if (!fork())
			_exit(race(argv[1], (uint32_t)atoi(argv[3]),
				   (uint64_t)atoll(argv[4]) * 1000 + i, waiting));
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}

/*
 * Programs with threads that hold memory by handle are killed at the same moment as children that
 * they have just forked, over and over: whatever of the two is the last to let go of the hold and
 * of the driver's files, nobody gets their memory before the card has it back, so no tenant ever
 * holds more than its limit.
 *
 * SEED=n repeats a run as far as the machine does. CHAOS_SECONDS=n takes so long.
 *
 * timeout: 60
 * long: yes
 */
#include "step/chaos.h"

int main(int argc, char **argv)
{
	return chaos(argc, argv, true);
}

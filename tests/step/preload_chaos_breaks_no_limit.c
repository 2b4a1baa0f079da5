/*
 * Eight tenants of four programs each, with threads and children, take and give memory of every
 * kind on two simulated cards; every 50 ms one of them is killed, alone or together with its
 * children, or stopped and later continued or killed. All the time the cards' own account says that
 * no tenant ever held more than its limit; a tenant with a guarantee has always had it; those who
 * were not hurt waited no longer than their budget beyond what the machine costs; and at the end
 * cards and ledgers are empty, no slot, file or process left.
 *
 * SEED=n repeats a run as far as the machine does. CHAOS_SECONDS=n takes so long.
 *
 * timeout: 60
 */
#include "step/chaos.h"

int main(int argc, char **argv)
{
	return chaos(argc, argv, false);
}

/*
 * Eight tenants of four programs each, with threads and children, take and give memory of every
 * kind on two simulated cards; every 50 ms one of them is killed, alone or together with its
 * children, or stopped and later continued or killed. All the time the cards' own account says that
 * no tenant ever held more than its limit; a tenant with a guarantee has always had it; of the
 * calls of those who were not hurt all but one, and one more in 10,000, took at most 60 ms beyond
 * what the machine cost a bystander, and none took more than 400 ms; and at the end cards and
 * ledgers are empty, no slot, file or process left.
 *
 * That a stop or a death costs the others 60 ms at most is for the sweeps to show, which know what
 * befell whom. Here many are hurt at once, the driver may be asked again for 100 ms, and the
 * machine is crowded in ways that a bystander does not see.
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

/*
 * Rules are settled anew while somebody joins without the settle byte. Stands for shim/ledger/tenant.c (tenant_settle with
 * its quick way, begins_anew, store, make_binding, end_settling, tenant_entered) and member.c (member_join, publish,
 * member_leave) beside account.c's charge by credit.
 *
 * Process 0 is a member of the tenant, with the limit of the first who came, and leaves at any time. Process 1 brings that
 * limit too, and joins by the quick way as long as the tenant has members. Process 2 brings NEW, looser or tighter, and may be
 * killed as long as it has no slot in use; the settle byte is free then, and CUQUOTA_SETTLING may be left behind. Who would wait
 * for the byte waits. A grow is one step here: it looks at the limit and takes one of what that leaves as credit.
 *
 * Leaves out: grows beside each other (grow.pml), credit that a refund keeps (tighten.pml), requests (guarantee.pml), reused
 * records, the end of a member (life.pml).
 *
 * Shown: who has joined never runs under a looser limit than it brought; once a join has returned no charge is granted that
 * leaves the tenant above what it brought; a few tries are enough for a join; no deadlock.
 */
#include "faults.pml"
#define FREE 0
#define USED 1
#ifndef OLD
#define OLD 2
#endif
#ifndef NEW
#define NEW 3
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef TRIES
#define TRIES 4 /* member.c JOIN_ATTEMPTS */
#endif
#define NOBODY 255
#define PROCS 3

byte limit = OLD;
bit settling;	 /* CUQUOTA_SETTLING */
byte settler = NOBODY; /* who has the settle byte */
byte epoch = 1;
bit state[PROCS];
byte charged[PROCS], credit[PROCS], own_epoch[PROCS];
byte brought[PROCS];
bit joined[PROCS]; /* its join has returned */
bit dead;

#define MEMBERS (state[0] || state[1] || state[2])
#define IN_USE (charged[0] + charged[1] + charged[2])
#define GRANTED_TO_ALL (IN_USE + credit[0] + credit[1] + credit[2])
#define TIGHTER(a, b) ((a) < (b) -> (a) : (b))
#define NOT_LOOSER(p) (!joined[p] || limit <= brought[p])
#define BOUND(p, sum) (!joined[p] || (sum) <= brought[p])

/* member.c member_leave: word, then state; what is left behind in a free slot is nobody's. */
inline leave()
{
	atomic { charged[me] = 0; credit[me] = 0; joined[me] = 0 };
	atomic { state[me] = FREE; own_epoch[me] = 0 }
}

/* tenant.c make_binding: epoch, then the credit of one after the other. */
inline bind()
{
	atomic { epoch++ };
	atomic { credit[0] = 0 };
	atomic { credit[1] = 0 };
	atomic { credit[2] = 0 }
}

/* tenant.c tenant_settle under the byte. */
inline settle_alone()
{
	atomic { settler == NOBODY -> settler = me };
	/* begins_anew */
	atomic { fresh = !MEMBERS };
	if
	:: fresh ->
		atomic { settling = 1 };
		atomic { fresh = (FAULT == LOOKED_ONCE -> 1 : !MEMBERS) }
	:: else
	fi;
	/* combine and store; none but the owner of the byte stores */
	before = limit;
	wanted = (fresh -> brought[me] : TIGHTER(before, brought[me]));
	if
	:: FAULT == MEMBERS_FIRST -> atomic { tighter = MEMBERS }
	:: else
	fi;
	atomic { limit = wanted; assert(NOT_LOOSER(0) && NOT_LOOSER(1) && NOT_LOOSER(2)) };
	if
	:: FAULT != MEMBERS_FIRST -> atomic { tighter = MEMBERS }
	:: else
	fi;
	if
	:: wanted < before && tighter -> bind()
	:: else
	fi;
	atomic { settling = 0 };
	alone = 1
}

proctype process(byte me)
{
	bit fresh, tighter, alone, in = (me == 0);
	byte before, wanted, tries, seen, rules;

	{ do
	/* member.c member_join */
	:: !in && tries == TRIES -> assert(false)
	:: !in && tries < TRIES ->
		tries++;
		alone = 0;
		/* tenant.c tenant_settle, the quick way */
		atomic { tighter = MEMBERS };
		if
		:: tighter -> atomic { fresh = settling; wanted = TIGHTER(limit, brought[me]) == limit };
			if
			:: !fresh && wanted -> skip
			:: else -> settle_alone()
			fi
		:: else -> settle_alone()
		fi;
		/* member.c publish */
		atomic { state[me] = USED };
		/* tenant.c tenant_entered */
		atomic { fresh = settling && FAULT != FLAG_IGNORED };
		atomic { wanted = (limit <= brought[me]);
			if
			:: wanted && (alone || !fresh) -> in = 1; joined[me] = 1
			:: else
			fi };
		if
		:: !in -> leave()
		:: else
		fi;
		/* The byte is let go last. */
		atomic { if :: settler == me -> settler = NOBODY :: else fi; fresh = 0; wanted = 0; before = 0; tighter = 0 }
	/* account.c charge_credit */
	:: in && charged[me] < OLD ->
		atomic { seen = credit[me] };
		rules = epoch;
		if
		:: seen && rules == own_epoch[me] ->
			atomic {
				if
				:: credit[me] == seen -> credit[me]--; charged[me]++;
					assert(BOUND(0, IN_USE) && BOUND(1, IN_USE) && BOUND(2, IN_USE))
				:: else
				fi }
		:: else ->
			/* adopt_epoch, then a grow */
			if
			:: rules != own_epoch[me] -> atomic { credit[me] = 0; own_epoch[me] = rules }
			:: else
			fi;
			atomic {
				if
				:: GRANTED_TO_ALL < limit -> credit[me]++
				:: else
				fi }
		fi;
		seen = 0; rules = 0
	/* account.c account_refund */
	:: in && charged[me] -> charged[me]--
	:: in -> leave(); break
	od } unless { me == 2 && dead }
}

init {
	atomic {
		brought[0] = OLD; brought[1] = OLD; brought[2] = NEW;
		state[0] = USED; joined[0] = 1;
		run process(0);
		run process(1);
		run process(2)
	};
#if DEATHS
end:	atomic { state[2] == FREE -> dead = 1;
		if
		:: settler == 2 -> settler = NOBODY
		:: else
		fi }
#endif
}

/*
 * The faults that can be planted: -DFAULT=NAME. Each row says where in the code it would lie. run.py sees that each is found.
 */
#ifndef FAULTS_PML
#define FAULTS_PML
#define NO_FAULT 0
#define WORD_FIRST 1	   /* sum.c read_slot: word is loaded before pending */
#define NO_ANNOUNCEMENT 2  /* account.c announce: nothing is stored */
#define LOWEST_BLIND 3	   /* account.c try_grow: the lowest keeps its announcement and looks for no lower one */
#define HOLD_IGNORED 4	   /* life.c life_test, life_claim: a slot is forgotten while its hold is taken */
#define DRIVER_FIRST 5	   /* claim.c claim_open: charged after the driver was called */
#define STRANGER_RAISES 6  /* account.c account_take_credit: a unit is put back into another's credit */
#define LIFE_IGNORED 7	   /* life.c life_claim: forgotten without the life byte */
#define CLEARS_FIRST 8	   /* account.c try_grow: the announcement is cleared, then word is raised */
#define EPOCH_IGNORED 9	   /* account.c charge_credit: credit of older rules is used */
#define TAKEN_BY_STORE 11  /* account.c take_credit: a load and a store, no compare-and-swap */
#define CREDIT_ADOPTED 12  /* account.c adopt_epoch: the old credit is kept */
#define STAMPED_LATE 14	   /* member.c empty: left_ns after the slot is free */
#define BOUND_ONCE 15	   /* tenant.c tenant_entered: a promise binds only when it is stored */
#define STOPPED_IGNORED 16 /* account.c try_grow: what a stopped one announced does not count after the waits */
#define NOT_ZEROED 17	   /* member.c empty, publish: word is left as it was */
#define REFUND_FIRST 19	   /* claim.c: refunded before the driver gave the memory back */
#define CREDIT_LEFT 20	   /* tenant.c make_binding: epoch is raised and the credit is not taken */
#define WAITS_UNBOUNDED 21 /* account.c try_grow: waits for another without end */
#define UNMAPPED_LATE 22   /* member.c empty: the map forgets the slot after its locks are let go */
#define TAG_KEPT 23	   /* account.c account_void_credit: word keeps its tag */
#define LOOKED_ONCE 24	   /* tenant.c begins_anew: members are not looked for again after the flag was set */
#define FLAG_IGNORED 25	   /* tenant.c tenant_entered: goes in while its tenant is settled anew */
#define MEMBERS_FIRST 26   /* tenant.c store: whom a lower limit binds is looked for before it is stored */
#define RISEN_FIRST 27	   /* account.c announce: risen is added to before pending is stored */
#define RISEN_LATE 28	   /* account.c announce, commit: risen is added to after the sum */
#define BASED_LATE 29	   /* sum.c sum_device: the bound's refresh begins after the slots were read */
#define FORCE_RISEN_FIRST 30 /* account.c account_force: risen is added to before word */

#ifndef FAULT
#define FAULT NO_FAULT
#endif
#endif

/*
 * exec ends a member: its address space is gone and with it the driver's state, so its slot is
 * forgotten by the next sweep although the process lives on under the same PID. An exec that fails
 * changes nothing.
 */
#include "proc_helper.h"

static void exec_nothing(struct self *self, const struct order *o, struct answer *a)
{
	execl("/nonexistent/program", "program", NULL);
	a->rc = errno;
}

static void exec_cat(struct self *self, const struct order *o, struct answer *a)
{
	/* cat on the socket: it lives until the test closes its end. SEQPACKET
	 * reads are fine for it. */
	dup2(self->socket, 0);
	execlp("cat", "cat", NULL);
	a->rc = errno;
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {exec_nothing, exec_cat};
	struct order o = {.op = OP_CALL, .units = 0};
	struct worker *w, *other;
	uint32_t slot;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	other = worker_joined("a", BYTES(GIB), 0);
	w = worker_joined("a", BYTES(GIB), 0);
	slot = w->slot;
	CHECK_EQ(worker_charge(w, GIB), 0);
	CHECK_EQ(worker_do(w, &o).rc, ENOENT);
	worker_units(other, OP_SWEEP, 0);
	ledger_is_true("after a failed exec");
	CHECK_EQ(worker_charge(other, MIB), -EDQUOT);
	worker_refund(w, GIB);
	CHECK_EQ(worker_charge(w, GIB), 0);

	o.units = 1;
	worker_tell(w, &o);
	/* The shared page goes with the old program, the life lock with it: wait for
	 * that, not for a time. */
	for (const int64_t until = now_ms() + DEADLINE_MS;;) {
		const enum life life = ledger_life(slot);

		if (life == LIFE_DEAD)
			break;
		if (now_ms() > until)
			FAIL("the slot is still %d after exec", life);
		sched_yield();
	}
	CHECK_SYS(kill(w->pid, 0));
	w->joined = false;
	CHECK_EQ(worker_charge(other, GIB), 0);
	CHECK_EQ(ledger_slot(slot).state, (uint32_t)CUQUOTA_FREE);
	CHECK_SYS(kill(w->pid, 0));
	ledger_is_true("after exec");
	return 0;
}

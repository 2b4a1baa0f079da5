/*
 * One process under ptrace, from outside: single steps, a run to the n-th passing of an
 * instruction, and its end there by SIGKILL or SIGSTOP. Owns: the tracing of one process at a time.
 * The process has one thread; it is a child of the caller. A process that is killed in a trap dies
 * like any other; one that is stopped there is let go of with the signal pending, and so stops
 * before its next instruction and answers to SIGCONT.
 */
#ifndef TESTS_STEP_STEP_H
#define TESTS_STEP_STEP_H

#include "step/code.h"

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#if defined(__x86_64__)
#define STEP_PC(regs) ((regs).rip)
#define STEP_TRAP 0xccul
#define STEP_TRAP_MASK 0xfful
#define STEP_TRAP_MOVES 1 /* what the trap instruction adds to the counter */
#elif defined(__aarch64__)
#define STEP_PC(regs) ((regs).pc)
#define STEP_TRAP 0xd4200000ul
#define STEP_TRAP_MASK 0xfffffffful
#define STEP_TRAP_MOVES 0
#endif

struct stepped {
	pid_t pid;
	uint64_t bias; /* added to an address as linked */
};

/* A tracee's stop, waited for; false: it is dead. */
static bool step_wait(const struct stepped *s)
{
	int status;

	CHECK_EQ(waitpid(s->pid, &status, __WALL), s->pid);
	return WIFSTOPPED(status);
}

/* Where `pid` has mapped the beginning of `path`. */
TEST_USED static uint64_t step_bias(pid_t pid, const char *path)
{
	char name[64], real[PATH_MAX], line[PATH_MAX + 128];
	uint64_t bias = 0;
	FILE *maps;

	CHECK(realpath(path, real));
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	CHECK(maps);
	while (!bias && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = 0;
		if (strchr(line, '/') && !strcmp(strchr(line, '/'), real))
			bias = strtoull(line, NULL, 16);
	}
	fclose(maps);
	if (!bias)
		FAIL("process %d has not mapped %s", (int)pid, real);
	return bias;
}

/*
 * Begins to trace; the process is stopped, in the system call that it waits in. `bias` 0: an
 * address is as it stands.
 */
TEST_USED static struct stepped step_begin(pid_t pid, uint64_t bias)
{
	const struct stepped s = {pid, bias};

	CHECK_SYS(ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL));
	CHECK_SYS(ptrace(PTRACE_INTERRUPT, pid, 0, 0));
	CHECK(step_wait(&s));
	return s;
}

/* The next instruction, as linked. */
TEST_USED static uint64_t step_pc(const struct stepped *s)
{
	struct user_regs_struct regs;
	struct iovec area = {&regs, sizeof(regs)};

	CHECK_SYS(ptrace(PTRACE_GETREGSET, s->pid, NT_PRSTATUS, &area));
	return STEP_PC(regs) - s->bias;
}

/* At the first instruction of a function: where it returns to, as linked. */
TEST_USED static uint64_t step_return(const struct stepped *s)
{
	struct user_regs_struct regs;
	struct iovec area = {&regs, sizeof(regs)};

	CHECK_SYS(ptrace(PTRACE_GETREGSET, s->pid, NT_PRSTATUS, &area));
#if defined(__x86_64__)
	return (uint64_t)ptrace(PTRACE_PEEKDATA, s->pid, regs.rsp, 0) - s->bias;
#else
	return regs.regs[30] - s->bias;
#endif
}

/* Has it a register whose lower half is `value`? */
TEST_USED static bool step_has_loaded(const struct stepped *s, uint32_t value)
{
	struct user_regs_struct regs;
	struct iovec area = {&regs, sizeof(regs)};
	const unsigned long *const word = (const unsigned long *)&regs;

	CHECK_SYS(ptrace(PTRACE_GETREGSET, s->pid, NT_PRSTATUS, &area));
	for (unsigned i = 0; i < sizeof(regs) / sizeof(*word); i++)
		if ((uint32_t)word[i] == value)
			return true;
	return false;
}

/* One instruction; false: it was the last. */
TEST_USED static bool step_once(const struct stepped *s)
{
	CHECK_SYS(ptrace(PTRACE_SINGLESTEP, s->pid, 0, 0));
	return step_wait(s);
}

static long step_peek(const struct stepped *s, uint64_t address)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, s->pid, address + s->bias, 0);
	CHECK_EQ(errno, 0);
	return word;
}

static void step_poke(const struct stepped *s, uint64_t address, long word)
{
	CHECK_SYS(ptrace(PTRACE_POKETEXT, s->pid, address + s->bias, word));
}

static void step_set_pc(const struct stepped *s, uint64_t address)
{
	struct user_regs_struct regs;
	struct iovec area = {&regs, sizeof(regs)};

	CHECK_SYS(ptrace(PTRACE_GETREGSET, s->pid, NT_PRSTATUS, &area));
	STEP_PC(regs) = address + s->bias;
	CHECK_SYS(ptrace(PTRACE_SETREGSET, s->pid, NT_PRSTATUS, &area));
}

/*
 * Runs until the process is about to execute the instruction at `address` for the nth time from
 * now, and leaves it stopped there. False when `given_up(arg)` says so first; then it runs on,
 * still traced.
 */
TEST_USED static bool step_to(const struct stepped *s, uint64_t address, unsigned nth,
			      bool (*given_up)(void *), void *arg)
{
	const long there = step_peek(s, address);
	const long trap = (long)(((unsigned long)there & ~STEP_TRAP_MASK) | STEP_TRAP);
	bool here = step_pc(s) == address;

	for (;;) {
		int status;

		if (here && !--nth)
			return true;
		if (here && !step_once(s))
			FAIL("process %d died on its way to %s", (int)s->pid, code_name(address));
		step_poke(s, address, trap);
		CHECK_SYS(ptrace(PTRACE_CONT, s->pid, 0, 0));
		for (unsigned turn = 0; waitpid(s->pid, &status, __WALL | WNOHANG) != s->pid;
		     turn++) {
			if (turn % 64 == 63 && given_up(arg))
				return false;
			if (turn > 64)
				usleep(20);
		}
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			FAIL("process %d, on its way to %s, has status %#x", (int)s->pid,
			     code_name(address), status);
		step_poke(s, address, there);
		step_set_pc(s, step_pc(s) - STEP_TRAP_MOVES);
		here = true;
		CHECK_EQ(step_pc(s), address);
	}
}

/* Stops it again after it ran on. */
TEST_USED static void step_interrupt(const struct stepped *s)
{
	CHECK_SYS(ptrace(PTRACE_INTERRUPT, s->pid, 0, 0));
	CHECK(step_wait(s));
}

/* Ends it where it stands. */
TEST_USED static void step_kill(const struct stepped *s)
{
	CHECK_SYS(kill(s->pid, SIGKILL));
	CHECK(!step_wait(s));
}

/* Stops it where it stands, no longer traced. */
TEST_USED static void step_stop(const struct stepped *s)
{
	int status;

	CHECK_SYS(kill(s->pid, SIGSTOP));
	CHECK_SYS(ptrace(PTRACE_DETACH, s->pid, 0, 0));
	CHECK_EQ(waitpid(s->pid, &status, WUNTRACED), s->pid);
	CHECK(WIFSTOPPED(status));
}

#endif

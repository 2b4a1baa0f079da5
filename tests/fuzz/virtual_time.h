/*
 * Time that only our calls move, and that a target may bound: the library's clock_gettime,
 * nanosleep and futex come here by the linker's --wrap. So nothing depends on how fast the machine
 * is, and what would wait for ever fails at once.
 */
#ifndef TESTS_FUZZ_VIRTUAL_TIME_H
#define TESTS_FUZZ_VIRTUAL_TIME_H

#include "fuzz.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#define MS UINT64_C(1000000)

UNGUIDED

static uint64_t world_now;
static uint64_t world_until = UINT64_MAX; /* the operation must have ended */
static const char *world_doing = "";

static void pass(uint64_t ns)
{
	world_now += ns;
	if (world_now > world_until)
		FAIL("%s does not end", world_doing);
}

TEST_USED static void begin(const char *doing, uint64_t ms)
{
	world_doing = doing;
	world_until = world_now + ms * MS;
}

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE)
		return __real_clock_gettime(clock, now);
	pass(1000);
	*now = (struct timespec){(time_t)(world_now / (1000 * MS)),
				 (long)(world_now % (1000 * MS))};
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	pass((uint64_t)time->tv_sec * 1000 * MS + (uint64_t)time->tv_nsec);
	return 0;
}

/* Of at most five arguments, as all that the library makes have. */
long __wrap_syscall(long number, ...)
{
	long arg[5];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 5; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_nanosleep)
		return __wrap_nanosleep((const struct timespec *)arg[0], NULL);
	if (number == SYS_clock_nanosleep)
		return __wrap_nanosleep((const struct timespec *)arg[2], NULL);
	if (number != SYS_futex)
		return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4]);
	if ((int)arg[1] == FUTEX_WAIT && *(const volatile uint32_t *)arg[0] == (uint32_t)arg[2])
		__wrap_nanosleep((const struct timespec *)arg[3], NULL);
	return (int)arg[1] == FUTEX_WAIT ? -1 : 0;
}

GUIDED

#endif

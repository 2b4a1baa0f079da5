/* Room for tables is zero, also where it was used before, lies apart from all other, and is fresh
 * in a forked child. */
#include "helper.h"
#include "policy/room.h"

#define PIECES 200

static const size_t sizes[] = {3072, 6144, 64, 16000, 1u << 20, (1u << 20) + 64, 5u << 20};

static void take_and_check(unsigned char *taken[], size_t n)
{
	const size_t bytes = sizes[n % (sizeof(sizes) / sizeof(*sizes))];

	taken[n] = room_take(bytes);
	CHECK(taken[n]);
	for (size_t i = 0; i < bytes; i++)
		CHECK_EQ(taken[n][i], 0);
	memset(taken[n], (int)(n + 1), bytes);
}

static void give(unsigned char *taken[], size_t n)
{
	const size_t bytes = sizes[n % (sizeof(sizes) / sizeof(*sizes))];

	for (size_t i = 0; i < bytes; i++)
		CHECK_EQ(taken[n][i], (unsigned char)(n + 1));
	room_give(taken[n], bytes);
}

static void rounds(void)
{
	unsigned char *taken[PIECES];

	for (int round = 0; round < 2; round++) {
		for (size_t n = 0; n < PIECES; n++)
			take_and_check(taken, n);
		for (size_t n = 0; n < PIECES; n++)
			give(taken, n);
	}
}

int main(void)
{
	pid_t pid;
	int status;

	CHECK_EQ(room_start(), 0);
	rounds();
	pid = fork();
	CHECK_SYS(pid);
	if (!pid) {
		alarm(20);
		CHECK_EQ(room_start(), 0);
		rounds();
		_exit(0);
	}
	CHECK_SYS(waitpid(pid, &status, 0));
	CHECK_EQ(status, 0);
	return 0;
}

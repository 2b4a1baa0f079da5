/* The first thread takes locks without an atomic operation; a second one still waits for it, and
 * from then on both exclude each other. What they add to a figure is all there, too. */
#include "helper.h"
#include "policy/lock.h"

#include <pthread.h>

#define CHILDREN 60
#define TURNS 20000

static struct lock lock;
static uint32_t begun, inside;
static volatile uint64_t count;
static uint32_t figure;
static bool adding;

static void *enter(void *unused)
{
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	lock_take(&lock);
	__atomic_store_n(&inside, 1, __ATOMIC_RELEASE);
	lock_give(&lock);
	return unused;
}

static void turn(void)
{
	if (adding) {
		lock_add(&lock, &figure, 1);
		return;
	}
	lock_take(&lock);
	count = count + 1;
	lock_give(&lock);
}

static void *turns(void *unused)
{
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < TURNS; i++)
		turn();
	return unused;
}

/* The owner is in its loop when the second thread comes. */
static void meet(void)
{
	uint64_t before = 1;
	pthread_t thread;

	turn();
	CHECK_EQ(pthread_create(&thread, NULL, turns, NULL), 0);
	for (; !__atomic_load_n(&begun, __ATOMIC_ACQUIRE); before++)
		turn();
	turns(NULL);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(adding ? figure : count, before + 2 * TURNS);
}

static void meet_adding(void)
{
	adding = true;
	meet();
}

static void held(void)
{
	pthread_t thread;

	lock_take(&lock);
	CHECK_EQ(pthread_create(&thread, NULL, enter, NULL), 0);
	while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		usleep(100);
	usleep(50000);
	CHECK_EQ(__atomic_load_n(&inside, __ATOMIC_ACQUIRE), 0u);
	lock_give(&lock);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(inside, 1u);
}

/* Each in a process of its own, since the privilege is lost for good. */
static void child(void (*what)(void))
{
	const pid_t pid = fork();
	int status;

	CHECK_SYS(pid);
	if (!pid) {
		alarm(20);
		what();
		_exit(0);
	}
	CHECK_SYS(waitpid(pid, &status, 0));
	if (status)
		FAIL("a child ended with %#x", status);
}

int main(void)
{
	child(held);
	for (int i = 0; i < CHILDREN; i++) {
		child(meet);
		child(meet_adding);
	}
	return 0;
}

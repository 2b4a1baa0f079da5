/*
 * Two threads look the same unknown allocator up at once, and one calls it while the other is still
 * noting its name: the refusal says the name. The first one's is so long that noting it takes long.
 */
#include "helper.h"
#include "base/log.h"
#include "driver/gate.h"
#include "driver/gate_count.h"

#include <pthread.h>
#include <stdbool.h>

#define LONG ((size_t)1 << 20)

bool limited(void);
void *gate_pass(unsigned index);

bool limited(void)
{
	return true;
}

static char functions[GATES], *name;
static void *gate[2];
static bool started;

static void *look_up(void *function)
{
	__atomic_store_n(&started, true, __ATOMIC_SEQ_CST);
	gate[0] = gate_before(function, name);
	return NULL;
}

int main(void)
{
	char path[PATH_MAX], line[256];
	void *first = NULL;
	unsigned lines = 0;
	FILE *log;

	snprintf(path, sizeof(path), "%s/log", getenv("TMPDIR"));
	log_setup(LOG_WARN, path);
	name = malloc(LONG + 1);
	CHECK(name);
	memset(name, 'x', LONG);
	name[LONG] = '\0';
	for (unsigned i = 0; i < GATES; i++) {
		pthread_t thread;
		char own[32];

		snprintf(own, sizeof(own), "cuMemNew%uAlloc", i);
		memcpy(name, own, strlen(own));
		started = false;
		CHECK_EQ(pthread_create(&thread, NULL, look_up, &functions[i]), 0);
		while (!__atomic_load_n(&started, __ATOMIC_SEQ_CST))
			sched_yield();
		usleep(i % 8 * 50);
		gate[1] = gate_before(&functions[i], own);
		first = first ? first : gate[1];
		CHECK(gate_is(gate[1]));
		gate_pass((unsigned)((char *)gate[1] - (char *)first) / GATE_BYTES);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		CHECK(gate[0] == gate[1]);
	}
	CHECK((log = fopen(path, "re")) != NULL);
	for (; fgets(line, sizeof(line), log); lines++)
		if (strncmp(line, "cuquota: cuMemNew", 17))
			FAIL("line %u begins with \"%.40s\"", lines, line);
	CHECK_GE(lines, 8u);
	fclose(log);
	free(name);
	return 0;
}

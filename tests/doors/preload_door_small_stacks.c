/* A thread with the smallest stack can open files as without the library: what it takes of the
 * stack beyond that is at most 2 KiB, and 4 KiB where the driver is opened. */
#include "doors/door.h"

#include <pthread.h>

#define STACK ((size_t)64 << 10)
#define PAINT 0xa5

static const struct {
	const char *file;
	int flags;
	long more;
} files[] = {
	{"libm.so.6", RTLD_NOW, 2048},
	{"libcuquota-is-not-there.so", RTLD_NOW, 2048},
	{"/nowhere/libcuquota-is-not-there.so", RTLD_NOW, 2048},
	{"libz.so.1", RTLD_NOW | RTLD_DEEPBIND, 2048},
	{"libcuda.so.1", RTLD_NOW, 4096},
	{"libnvidia-ml.so.1", RTLD_NOW, 4096},
};
#define FILES (sizeof(files) / sizeof(*files))

static void *opens(void *arg)
{
	const size_t i = (size_t)(uintptr_t)arg;

	dlopen(files[i].file, files[i].flags);
	return NULL;
}

/* Prints how many bytes of its stack a thread used that opened the file. */
static int client(size_t i)
{
	unsigned char *const stack = aligned_alloc(65536, STACK);
	pthread_attr_t attr;
	pthread_t thread;
	size_t free = 0;

	CHECK(stack != NULL);
	memset(stack, PAINT, STACK);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstack(&attr, stack, STACK), 0);
	CHECK_EQ(pthread_create(&thread, &attr, opens, (void *)(uintptr_t)i), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	while (free < STACK && stack[free] == PAINT)
		free++;
	printf("%zu\n", STACK - free);
	return 0;
}

static long used(struct client client)
{
	const char *const line = client_line(&client, DEADLINE_MS);
	long bytes;

	CHECK(line != NULL);
	bytes = strtol(line, NULL, 10);
	CHECK_EQ(client_wait(&client, DEADLINE_MS), 0);
	return bytes;
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=8G", "SIMGPU_DEVICES=24G", NULL};

	if (argc > 1)
		return client((size_t)strtol(argv[1], NULL, 10));
	for (size_t i = 0; i < FILES; i++) {
		const char number[] = {(char)('0' + i), '\0'};
		const char *const again[] = {argv[0], number, NULL};
		const long bare = used(client_start(again, env));
		const long with = used(client_capped(again, env));

		fprintf(stderr, "%s: %ld bytes of stack without, %ld with the library\n",
			files[i].file, bare, with);
		CHECK_LE(with, bare + files[i].more);
	}
	return 0;
}

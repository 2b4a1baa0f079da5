/*
 * A driver newer than we are. An unknown allocator or maker of contexts, and an unknown ABI of a
 * known allocator, are refused under a limit, also where they were looked up before anybody knew of
 * a limit; it is said once for each. What takes no memory passes, and without a limit everything
 * does. The driver gets its own functions when it looks itself up, and a stack can be walked
 * through our front ends.
 */
#include "doors/door.h"

static void client(bool limited)
{
	void *const driver = opened("libcuda.so.1", RTLD_NOW);
	const int *const found_itself = dlsym(driver, "future_found_itself");
	const int *const saw_program = dlsym(driver, "future_saw_program");
	CUdriverProcAddressQueryResult status = 7;
	__typeof__(&cuGetProcAddress_v2) ask;
	CUresult none;
	void (*look)(void);
	void *pointer, *early[4];

	CHECK(found_itself && saw_program);
	CHECK_EQ(*found_itself, 1);
	CHECK_GE(*saw_program, 2); /* who called dlopen, and who called him: not a chance hit */
	*(void **)&look = dlsym(driver, "future_look");
	look(); /* after its symbol table was rewritten */
	CHECK_EQ(*found_itself, 1);

	ask = (__typeof__(ask))dlsym(driver, "cuGetProcAddress_v2");
	CHECK(is_hook((void *)ask));
	early[0] = dlsym(driver, "cuMemAllocShiny");
	CHECK_RC(ask("cuMemAllocShiny", &early[1], 14000, 0, NULL), CUDA_SUCCESS);
	CHECK_RC(ask("cuMemAlloc", &early[2], 14000, 0, NULL), CUDA_SUCCESS);
	early[3] = dlsym(driver, "cuShinyCtxCreate");
	CHECK_RC(((__typeof__(&cuInit))dlsym(driver, "cuInit"))(0), CUDA_SUCCESS);

	for (int i = 0; i < 4; i++) {
		CHECK(early[i] != NULL);
		CHECK_EQ(((int (*)(void))early[i])(), limited ? CUDA_ERROR_NOT_SUPPORTED : 14);
	}
	CHECK_EQ(((int (*)(void))dlsym(driver, "cuMemAllocShiny"))(),
		 limited ? CUDA_ERROR_NOT_SUPPORTED : 14);
	CHECK_EQ(((int (*)(void))dlsym(driver, "cuFrobnicate"))(), 14);

	none = ask("cuNoSuchThing", &pointer, 14000, 0, NULL);
	CHECK_RC(ask("cuMemAlloc", &pointer, 13000, 0, &status), CUDA_SUCCESS);
	CHECK_EQ(pointer, dlsym(driver, "cuMemAlloc_v2"));
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = {"cuMemAlloc", "cuMemAllocShiny",
						    "cuShinyCtxCreate"};

		CHECK_RC(ask(names[i], &pointer, 14000, 0, &status), CUDA_SUCCESS);
		CHECK_EQ(!pointer, limited);
		CHECK_RC(status, limited ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
					 : CU_GET_PROC_ADDRESS_SUCCESS);
		CHECK_RC(ask(names[i], &pointer, 14000, 0, NULL), limited ? none : CUDA_SUCCESS);
		CHECK_EQ(!pointer, limited);
	}
	CHECK_RC(ask("cuMemGetInfo", &pointer, 14000, 0, &status), CUDA_SUCCESS);
	CHECK(pointer && !is_hook(pointer));
	CHECK_RC(ask("cuFrobnicate", &pointer, 14000, 0, &status), CUDA_SUCCESS);
	CHECK(pointer && !is_hook(pointer));
}

/* The lines that a client writes to stderr. */
static int lines(const char *self, const char *limit)
{
	const char *const again[] = {"sh", "-c", "exec \"$0\" client 2>&1", self, NULL};
	char path[PATH_MAX + 32];
	const char *line;
	int count = 0;
	struct client c;

	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s", built("tests/doors/future"));
	c = client_capped(again, (const char *[]){limit, path, "SIMGPU_DEVICES=24G", NULL});
	for (; (line = client_line(&c, DEADLINE_MS)); count++)
		if (!strstr(line, "cuMemAllocShiny is refused") &&
		    !strstr(line, "cuMemAlloc is refused") &&
		    !strstr(line, "cuShinyCtxCreate is refused"))
			FAIL("said: %s", line);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return count;
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		client(getenv("CUQUOTA_MEMORY_LIMIT") != NULL);
		return 0;
	}
	CHECK_EQ(lines(argv[0], "CUQUOTA_MEMORY_LIMIT=8G"), 3);
	/* The same tenant, at once after: its limit went with its last member. */
	CHECK_EQ(lines(argv[0], "CUQUOTA_LOG=warn"), 0);
	return 0;
}

/*
 * report: CR-06
 * cuMemGetInfo with one or both outputs NULL, with and without a context: the bare driver's code,
 * no crash, and what is filled is the tenant's figure.
 */
#include "client.h"

#define MIB (1ull << 20)

static void query(const char *when)
{
	static const size_t none = 77;
	size_t free2, total2;
	unsigned free1, total1;

	for (int which = 0; which < 4; which++) {
		free2 = total2 = none;
		free1 = total1 = (unsigned)none;
		printf("%s %d: %d", when, which,
		       CU(cuMemGetInfo_v2)(which & 1 ? &free2 : NULL, which & 2 ? &total2 : NULL));
		printf(" %d",
		       CU(cuMemGetInfo)(which & 1 ? &free1 : NULL, which & 2 ? &total1 : NULL));
		printf(" %s%s%s%s\n", free2 == none ? "-" : "f", total2 == none ? "-" : "t",
		       free1 == none ? "-" : "f", total1 == none ? "-" : "t");
		if (!getenv("CAPPED"))
			continue;
		if (total2 != none)
			CHECK_EQ(total2, 2048 * MIB);
		if (free2 != none)
			CHECK_LE(free2, 2048 * MIB);
		if (total1 != none)
			CHECK_EQ(total1, 2048u << 20);
		if (free1 != none)
			CHECK_LE(free1, 2048u << 20);
	}
	fflush(stdout);
}

static int child(void)
{
	query("before");
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	query("without");
	context_now(0);
	query("with");
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=2G", "CAPPED=1", NULL};
	struct client bare, capped;

	if (argc > 1)
		return child();
	bare = client_start(self, NULL);
	capped = client_capped(self, env);
	clients_agree(&bare, &capped);
	return 0;
}

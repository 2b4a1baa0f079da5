/*
 * report: WN-02
 * A limit of more than the card has: each total is the card's, and what is free is never more than
 * the card really has free, also while another tenant holds most of it.
 */
#include "surfaces.h"
#include "simgpu/truth.h"

#define MIB (1ull << 20)
#define CARD (14916 * MIB) /* the simulated card is one of whole grains */

static int hold(void)
{
	char line[16];
	CUdeviceptr p;

	context_now(0);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 10000 * MIB), CUDA_SUCCESS);
	printf("ready\n");
	fflush(stdout);
	CHECK(!fgets(line, sizeof(line), stdin));
	return 0;
}

static int look(void)
{
	const nvmlDevice_t handle = surface_handle(0);
	struct surface shown = surface_nvml(handle);
	unsigned long long left;
	CUdeviceptr p;

	CHECK_EQ(shown.total, CARD);
	CHECK_LE(shown.free, CARD - (uint64_t)truth_resident(NULL, 0));
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	surface_total(0, CARD);
	context_now(0);
	for (int i = 0; i < 3; i++) {
		shown = surface_all(0, handle);
		CHECK_EQ(shown.total, CARD);
		left = CARD - (uint64_t)truth_resident(NULL, 0);
		CHECK_LE(shown.free, left);
		CHECK_GE(shown.free, left - 2 * MIB); /* the spare grain is not taken yet */
		CHECK_EQ(CU(cuMemAlloc_v2)(&p, 256 * MIB), CUDA_SUCCESS);
	}
	return 0;
}

/* Each program is its own tenant: what one has left counts until the dead are forgotten. */
static void look_as(const char *tenant, const char *limit)
{
	const char *const self[] = {"/proc/self/exe", "look", NULL};
	const char *const env[] = {tenant, limit, NULL};
	struct client c = client_capped(self, env);

	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "hold", NULL};
	const char *const env[] = {"CUQUOTA_TENANT=b", "CUQUOTA_MEMORY_LIMIT=15360M", NULL};
	struct client b;

	setenv("SIMGPU_DEVICES", "14917M", 1);
	if (argc > 1)
		return strcmp(argv[1], "look") ? hold() : look();
	look_as("CUQUOTA_TENANT=a1", "CUQUOTA_MEMORY_LIMIT=15360M");
	look_as("CUQUOTA_TENANT=a2", "CUQUOTA_MEMORY_LIMIT=999G");
	b = client_capped(self, env);
	CLIENT_SAYS(&b, "ready");
	look_as("CUQUOTA_TENANT=a3", "CUQUOTA_MEMORY_LIMIT=15360M");
	look_as("CUQUOTA_TENANT=a4", "CUQUOTA_MEMORY_LIMIT=999G");
	CHECK_EQ(client_wait(&b, DEADLINE_MS), 0);
	return 0;
}

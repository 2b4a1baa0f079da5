/*
 * Eight processes of one tenant race and churn under 1 GiB, in each charged family in turn: what
 * the simulated card really held at its most is never above the limit, and comes near it. The
 * longer form: make test-long.
 *
 * timeout: 120
 */
#include "client.h"
#include "simgpu/truth.h"

#define MIB (1ull << 20)
#define LIMIT (1024 * MIB)
#define PROCESSES 8
#define ITEMS 2048

struct item {
	CUdeviceptr pointer; /* or handle, or context */
	size_t bytes;
};

struct family {
	const char *name;
	CUresult (*take)(struct item *item);
	void (*give)(const struct item *item);
};

static uint64_t state;

static uint64_t below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static CUresult take_linear(struct item *item)
{
	return CU(cuMemAlloc_v2)(&item->pointer, 2 * MIB + below(62 * MIB));
}

static CUresult take_small(struct item *item)
{
	return CU(cuMemAlloc_v2)(&item->pointer, 1 + below(2 * MIB - 1));
}

static CUresult take_pitched(struct item *item)
{
	size_t pitch;

	return CU(cuMemAllocPitch_v2)(&item->pointer, &pitch, 1 + below(3000), 1 + below(20000), 4);
}

static CUresult take_managed(struct item *item)
{
	return CU(cuMemAllocManaged)(&item->pointer, 1 + below(48 * MIB), CU_MEM_ATTACH_GLOBAL);
}

static void give_memory(const struct item *item)
{
	CHECK_EQ(CU(cuMemFree_v2)(item->pointer), CUDA_SUCCESS);
}

static CUresult take_vmm(struct item *item)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
						       .id = 0}};
	CUmemGenericAllocationHandle handle;
	CUresult rc;

	item->bytes = (1 + below(24)) * 2 * MIB;
	rc = CU(cuMemCreate)(&handle, item->bytes, &prop, 0);
	if (rc != CUDA_SUCCESS)
		return rc;
	CHECK_EQ(CU(cuMemAddressReserve)(&item->pointer, item->bytes, 0, 0, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemMap)(item->pointer, item->bytes, 0, handle, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemRelease)(handle), CUDA_SUCCESS);
	return rc;
}

static void give_vmm(const struct item *item)
{
	CHECK_EQ(CU(cuMemUnmap)(item->pointer, item->bytes), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAddressFree)(item->pointer, item->bytes), CUDA_SUCCESS);
}

static CUresult take_context(struct item *item)
{
	CUcontext context, popped;
	const CUresult rc = CU(cuCtxCreate_v2)(&context, 0, 0);

	if (rc != CUDA_SUCCESS)
		return rc;
	CHECK_EQ(CU(cuCtxPopCurrent_v2)(&popped), CUDA_SUCCESS);
	item->pointer = (CUdeviceptr)(uintptr_t)context;
	return rc;
}

static void give_context(const struct item *item)
{
	CHECK_EQ(CU(cuCtxDestroy_v2)((CUcontext)(uintptr_t)item->pointer), CUDA_SUCCESS);
}

static const struct family families[] = {
	{"linear", take_linear, give_memory},
	{"small", take_small, give_memory},
	{"pitched", take_pitched, give_memory},
	{"managed", take_managed, give_memory},
	{"vmm", take_vmm, give_vmm},
	{"context", take_context, give_context},
};

static int churn(const struct family *family, int ms, int seed)
{
	static struct item items[ITEMS];
	unsigned count = 0, refused = 0;
	int64_t until;
	char line[16];

	state = 88172645463325252ull + (uint64_t)seed * 7919;
	context_now(0);
	puts("ready");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
	for (until = now_ms() + ms; now_ms() < until;) {
		unsigned drop = 1;

		if (count < ITEMS && below(4)) {
			const CUresult rc = family->take(&items[count]);

			drop = 0;
			if (rc == CUDA_SUCCESS) {
				count++;
			} else if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
				/* At once, so that the others can race for it. */
				drop = 1 + count / 3;
				refused++;
			} else {
				FAIL("%s: %d", family->name, rc);
			}
		}
		for (; drop && count; drop--) {
			const unsigned i = (unsigned)below(count);

			family->give(&items[i]);
			items[i] = items[--count];
		}
	}
	printf("%u\n", refused);
	fflush(stdout);
	/* Nobody ends while others race: how soon after a death the card is free again is another
	 * test's question. */
	CHECK(fgets(line, sizeof(line), stdin));
	return 0;
}

static void race(const char *self, const struct family *family, int ms)
{
	struct client clients[PROCESSES];
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=1G",
				   "CUQUOTA_TENANT=racers",
				   "CUQUOTA_LOG=error",
				   "SIMGPU_TAG=racers",
				   "SIMGPU_CONTEXT=16M",
				   "SIMGPU_DEVICES=8G",
				   NULL};
	unsigned refused = 0;
	int64_t most;

	for (int i = 0; i < PROCESSES; i++) {
		char length[16], seed[16];
		const char *const argv[] = {self, family->name, length, seed, NULL};

		snprintf(length, sizeof(length), "%d", ms);
		snprintf(seed, sizeof(seed), "%d", i + 1);
		clients[i] = client_capped(argv, env);
		CLIENT_SAYS(&clients[i], "ready");
	}
	for (int i = 0; i < PROCESSES; i++)
		client_say(&clients[i], "go");
	for (int i = 0; i < PROCESSES; i++) {
		const char *const line = client_line(&clients[i], DEADLINE_MS + ms);

		if (!line)
			FAIL("%s: client %d ended early", family->name, i);
		refused += (unsigned)atoi(line);
	}
	for (int i = 0; i < PROCESSES; i++) {
		client_say(&clients[i], "end");
		CHECK_EQ(client_wait(&clients[i], DEADLINE_MS), 0);
	}
	most = truth_max(NULL, 0, "racers");
	if (most > (int64_t)LIMIT)
		FAIL("%s: at most %lld bytes were held, %lld above the limit", family->name,
		     (long long)most, (long long)(most - (int64_t)LIMIT));
	if (most < (int64_t)(LIMIT * 9 / 10) || !refused)
		FAIL("%s: at most %lld bytes were held and %u calls refused: no race", family->name,
		     (long long)most, refused);
	CHECK_EQ(truth_held(NULL, 0, "racers"), (int64_t)0);
	CHECK_EQ(truth_reset(NULL), 0);
	printf("%s: at most %lld of %lld bytes, %u refusals\n", family->name, (long long)most,
	       (long long)LIMIT, refused);
}

int main(int argc, char **argv)
{
	char self[PATH_MAX] = {0};

	CHECK_SYS(readlink("/proc/self/exe", self, sizeof(self) - 1));
	if (argc == 4)
		for (unsigned i = 0; i < sizeof(families) / sizeof(*families); i++)
			if (!strcmp(argv[1], families[i].name))
				return churn(&families[i], atoi(argv[2]), atoi(argv[3]));
	for (unsigned i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (argc == 1 || !strcmp(argv[1], families[i].name))
			race(self, &families[i], test_long() ? 60000 : 1500);
	return 0;
}

/*
 * CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER: ordinals count in CUDA's order, UUID prefixes must be
 * unique, the list ends at the first bad entry, a device named twice or an empty list leaves none.
 */
#include "sim_driver.h"

/* Sizes of the cards in NVML order: 24, 16, 8; CUDA's order is the reverse. */
struct row {
	const char *visible, *order;
	const char *sizes; /* GiB, in ordinals */
};

static char uuid[3][48];

static int body(void *arg)
{
	const struct row *const row = arg;
	char seen[64] = "";
	int count = 0, i;

	if (row->visible)
		setenv("CUDA_VISIBLE_DEVICES", row->visible, 1);
	if (row->order)
		setenv("CUDA_DEVICE_ORDER", row->order, 1);
	driver_load();
	if (cu.cuInit(0)) {
		CHECK_EQ(cu.cuInit(0), CUDA_ERROR_NO_DEVICE);
		CHECK_EQ(cu.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
	} else {
		CHECK_EQ(cu.cuDeviceGetCount(&count), CUDA_SUCCESS);
		CHECK_GE(count, 1);
	}
	for (i = 0; i < count; i++) {
		char bus[32];
		CUdevice d;
		size_t bytes;

		CHECK_EQ(cu.cuDeviceTotalMem_v2(&bytes, i), CUDA_SUCCESS);
		sprintf(seen + strlen(seen), "%s%lld", i ? "," : "", (long long)(bytes / GIB));
		CHECK_EQ(cu.cuDeviceGetPCIBusId(bus, sizeof(bus), i), CUDA_SUCCESS);
		CHECK_EQ(cu.cuDeviceGetByPCIBusId(&d, bus), CUDA_SUCCESS);
		CHECK_EQ(d, i);
	}
	CHECK_EQ(cu.cuDeviceTotalMem_v2(&(size_t){0}, count),
		 count ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_NOT_INITIALIZED);
	CHECK_STR(seen, row->sizes);
	return 0;
}

static int ask(void *arg)
{
	int i, k;

	driver_load();
	CHECK_EQ(cu.cuInit(0), CUDA_SUCCESS);
	for (i = 0; i < 3; i++) {
		CUuuid u;
		const unsigned char *b = (const unsigned char *)u.bytes;

		CHECK_EQ(cu.cuDeviceGetUuid(&u, i), CUDA_SUCCESS);
		printf("GPU-");
		for (k = 0; k < 16; k++)
			printf("%s%02x", k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "", b[k]);
		printf("\n");
	}
	fflush(stdout);
	return 0;
}

int main(void)
{
	char two[128], prefix[64], mixed[128], twice[128];
	struct client c;
	unsigned int i;

	one_card("24G,16G,8G");
	c = client_fork(ask, NULL);
	for (i = 0; i < 3; i++)
		strcpy(uuid[i], client_line(&c, DEADLINE_MS));
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	snprintf(two, sizeof(two), "%s,%s", uuid[2], uuid[0]);
	snprintf(prefix, sizeof(prefix), "%.8s", uuid[1]);
	snprintf(mixed, sizeof(mixed), "%s,0", uuid[1]);
	snprintf(twice, sizeof(twice), "%s,%.10s", uuid[1], uuid[1]);
	const struct row rows[] = {
		{NULL, NULL, "8,16,24"},
		{NULL, "PCI_BUS_ID", "24,16,8"},
		{NULL, "FASTEST_FIRST", "8,16,24"},
		{"0", NULL, "8"},
		{"0", "PCI_BUS_ID", "24"},
		{"2,0", NULL, "24,8"},
		{"1,3,0", NULL, "16"},
		{"1,-1,0", NULL, "16"},
		{"", NULL, ""},
		{"-1", NULL, ""},
		{"7", NULL, ""},
		{"none", NULL, ""},
		{"0,0", NULL, ""},
		{"1gpu,2", NULL, "16,24"},
		{two, NULL, "24,8"},
		{prefix, NULL, "16"},
		{mixed, NULL, "16"},
		{twice, NULL, ""},
		{"GPU-", NULL, ""},
		{"GPU-00000000", NULL, ""},
		{"0,GPU-", NULL, "8"},
	};
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		c = client_fork(body, (void *)(uintptr_t)&rows[i]);
		if (client_wait(&c, DEADLINE_MS))
			FAIL("CUDA_VISIBLE_DEVICES=%s, CUDA_DEVICE_ORDER=%s",
			     rows[i].visible ? rows[i].visible : "(unset)",
			     rows[i].order ? rows[i].order : "(unset)");
	}
	return 0;
}

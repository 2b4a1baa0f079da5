/*
 * NVML's lists of processes, of sessions, of samples and accounts, called before NVML is started,
 * with a bad handle, without a count, without room, with other versions and modes: what the bare
 * library answers, on a card that nobody uses.
 */
#include "client.h"

#define EACH(call)                          \
	do {                                \
		unsigned n = count;         \
                                            \
		printf("%d %u\n", call, n); \
	} while (0)

static void lists(nvmlDevice_t d, unsigned count, void *room)
{
	EACH(ML(nvmlDeviceGetComputeRunningProcesses)(d, &n, room));
	EACH(ML(nvmlDeviceGetComputeRunningProcesses_v2)(d, &n, room));
	EACH(ML(nvmlDeviceGetComputeRunningProcesses_v3)(d, &n, room));
	EACH(ML(nvmlDeviceGetGraphicsRunningProcesses)(d, &n, room));
	EACH(ML(nvmlDeviceGetGraphicsRunningProcesses_v2)(d, &n, room));
	EACH(ML(nvmlDeviceGetGraphicsRunningProcesses_v3)(d, &n, room));
	EACH(ML(nvmlDeviceGetMPSComputeRunningProcesses)(d, &n, room));
	EACH(ML(nvmlDeviceGetMPSComputeRunningProcesses_v2)(d, &n, room));
	EACH(ML(nvmlDeviceGetMPSComputeRunningProcesses_v3)(d, &n, room));
	EACH(ML(nvmlDeviceGetAccountingPids)(d, &n, room));
	EACH(ML(nvmlDeviceGetEncoderSessions)(d, &n, room));
	EACH(ML(nvmlDeviceGetFBCSessions)(d, &n, room));
	EACH(ML(nvmlDeviceGetProcessUtilization)(d, room, &n, 0));
	EACH(ML(nvmlDeviceGetAccountingStats)(d, 1, room));
	EACH(ML(nvmlDeviceGetAccountingStats_v2)(d, room));
}

static void structures(nvmlDevice_t d, void *room)
{
	for (unsigned version = 0; version < 4; version++)
		for (unsigned mode = 0; mode < 6; mode++) {
			nvmlProcessDetailList_t list = {.version = version << 24 | sizeof(list),
							.mode = mode,
							.numProcArrayEntries = 2,
							.procArray = room};

			printf("%d ", ML(nvmlDeviceGetRunningProcessDetailList)(d, &list));
			printf("%u\n", list.numProcArrayEntries);
		}
	for (unsigned version = 0; version < 4; version++) {
		nvmlProcessesUtilizationInfo_t info = {.version = version << 24 | sizeof(info),
						       .processSamplesCount = 2,
						       .procUtilArray = room};

		printf("%d ", ML(nvmlDeviceGetProcessesUtilizationInfo)(d, &info));
		printf("%u\n", info.processSamplesCount);
	}
}

static void without(nvmlDevice_t d)
{
	printf("%d\n", ML(nvmlDeviceGetComputeRunningProcesses)(d, NULL, NULL));
	printf("%d\n", ML(nvmlDeviceGetComputeRunningProcesses_v2)(d, NULL, NULL));
	printf("%d\n", ML(nvmlDeviceGetComputeRunningProcesses_v3)(d, NULL, NULL));
	printf("%d\n", ML(nvmlDeviceGetGraphicsRunningProcesses_v3)(d, NULL, NULL));
	printf("%d\n", ML(nvmlDeviceGetMPSComputeRunningProcesses_v3)(d, NULL, NULL));
	printf("%d\n", ML(nvmlDeviceGetRunningProcessDetailList)(d, NULL));
	printf("%d\n", ML(nvmlDeviceGetAccountingPids)(d, NULL, NULL));
	printf("%d\n", ML(nvmlDeviceGetAccountingStats)(d, 1, NULL));
	printf("%d\n", ML(nvmlDeviceGetAccountingStats_v2)(d, NULL));
	printf("%d\n", ML(nvmlDeviceGetEncoderSessions)(d, NULL, NULL));
	printf("%d\n", ML(nvmlDeviceGetFBCSessions)(d, NULL, NULL));
	printf("%d\n", ML(nvmlDeviceGetProcessUtilization)(d, NULL, NULL, 0));
	printf("%d\n", ML(nvmlDeviceGetProcessesUtilizationInfo)(d, NULL));
}

static int child(void)
{
	unsigned char room[4096] = {0};
	nvmlDevice_t device = NULL;

	for (int step = 0; step < 3; step++) {
		lists(device, 0, NULL);
		lists(device, 3, NULL);
		lists(device, 3, room);
		structures(device, room);
		structures(device, NULL);
		without(device);
		if (!step)
			CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
		else
			CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	}
	for (size_t i = 0; i < sizeof(room); i++)
		CHECK_EQ(room[i], 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	const char *const accounting[] = {"SIMGPU_ACCOUNTING=off", "SIMGPU_ACCOUNTING=on"};

	if (argc > 1)
		return child();
	for (int on = 0; on < 2; on++) {
		const char *const env[] = {accounting[on], "CUQUOTA_MEMORY_LIMIT=2G", NULL};
		struct client bare = client_start(self, env), capped = client_capped(self, env);

		clients_agree(&bare, &capped);
	}
	return 0;
}

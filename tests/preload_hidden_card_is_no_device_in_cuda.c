/*
 * A hidden card is to the driver what a device is that does not exist: no ordinal leads to it, no
 * PCI address in any form, and as a peer it is answered as the next number behind the last is.
 */
#include "client.h"

#define CARDS 4

static int child(void)
{
	int count = 0, value;
	CUdevice device = 77;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGetCount)(&count), CUDA_SUCCESS);
	CHECK_EQ(count, 2);
	for (int i = 0; i < CARDS; i++) {
		static const char *const forms[] = {"%04x:%02x:00.0", "%08X:%02X:00.0",
						    "%04X:%02x:00"};
		unsigned bus;

		CHECK_EQ(scanf("%x", &bus), 1);
		for (int form = 0; form < 4; form++) {
			char text[32];

			if (form < 3)
				snprintf(text, sizeof(text), forms[form], 0, bus);
			else
				snprintf(text, sizeof(text), "%02x:00.0", bus);
			device = 77;
			if (i % 2) {
				CHECK_EQ(CU(cuDeviceGetByPCIBusId)(&device, text), CUDA_SUCCESS);
				CHECK_EQ(device, i / 2);
			} else {
				CHECK_EQ(CU(cuDeviceGetByPCIBusId)(&device, text),
					 CUDA_ERROR_INVALID_DEVICE);
				CHECK_EQ(device, 77);
			}
		}
	}
	for (int hidden = count; hidden < CARDS + 1; hidden++) {
		char text[64];
		CUcontext context;
		CUuuid uuid;
		unsigned old;
		size_t bytes;

		CHECK_EQ(CU(cuDeviceGet)(&device, hidden), CUDA_ERROR_INVALID_DEVICE);
		CHECK_EQ(CU(cuDeviceGetName)(text, sizeof(text), hidden),
			 CUDA_ERROR_INVALID_DEVICE);
		CHECK_EQ(CU(cuDeviceGetUuid)(&uuid, hidden), CUDA_ERROR_INVALID_DEVICE);
		CHECK_EQ(CU(cuDeviceGetUuid_v2)(&uuid, hidden), CUDA_ERROR_INVALID_DEVICE);
		CHECK_EQ(CU(cuDeviceGetPCIBusId)(text, sizeof(text), hidden),
			 CUDA_ERROR_INVALID_DEVICE);
		CHECK_EQ(CU(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, hidden),
			 CUDA_ERROR_INVALID_DEVICE);
		CHECK_EQ(CU(cuDeviceTotalMem)(&old, hidden), CUDA_ERROR_INVALID_DEVICE);
		CHECK_EQ(CU(cuDeviceTotalMem_v2)(&bytes, hidden), CUDA_ERROR_INVALID_DEVICE);
		CHECK_EQ(CU(cuDeviceCanAccessPeer)(&value, 0, hidden), CUDA_ERROR_INVALID_DEVICE);
		CHECK_EQ(CU(cuDeviceCanAccessPeer)(&value, hidden, 1), CUDA_ERROR_INVALID_DEVICE);
		CHECK_EQ(CU(cuDeviceGetP2PAttribute)(&value,
						     CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0,
						     hidden),
			 CUDA_ERROR_INVALID_DEVICE);
		CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, hidden),
			 CUDA_ERROR_INVALID_DEVICE);
	}
	CHECK_EQ(CU(cuDeviceCanAccessPeer)(&value, 0, 1), CUDA_SUCCESS);
	CHECK_EQ(value, 1);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	const char *const env[] = {"CUQUOTA_VISIBLE_DEVICES=1,3", "CUDA_VISIBLE_DEVICES", NULL};
	struct client c;

	setenv("SIMGPU_DEVICES", "24G,16G,8G,4G", 1);
	if (argc > 1)
		return child();
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	c = client_capped(self, env);
	for (unsigned i = 0; i < CARDS; i++) {
		nvmlDevice_t device;
		nvmlPciInfo_t pci;

		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(i, &device), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetPciInfo_v3)(device, &pci), NVML_SUCCESS);
		client_say(&c, "%x", pci.bus);
	}
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return 0;
}

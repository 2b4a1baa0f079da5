/*
 * cuGetProcAddress, both versions: every look-up of the CUDA runtime 13.0 gets the exported symbol
 * that a real driver answered; status values and refusals by the header. The look-ups were recorded
 * without the GL, EGL and VDPAU names (SIMGPU_GRAPHICS=off); with them, those names resolve too and
 * nothing else changes.
 */
#include "sim_driver.h"

static void *driver;

static void look_up(const char *name, const int version, const unsigned long flags,
		    const char *want, const int graphics)
{
	void *const symbol = strcmp(want, "NOTFOUND") ? dlsym(driver, want) : NULL;
	CUdriverProcAddressQueryResult status = 9;
	void *found = (void *)1, *old = (void *)1;
	CUresult rc;

	if (strcmp(want, "NOTFOUND") && !symbol)
		FAIL("%s is not exported", want);
	CHECK_EQ(cu.cuGetProcAddress_v2(name, &found, version, flags, &status), CUDA_SUCCESS);
	rc = cu.cuGetProcAddress(name, &old, version, flags);
	if (!symbol && *name && graphics) {
		CHECK(found && found == old);
		return;
	}
	if (found != symbol || old != symbol)
		FAIL("%s,%d,%lu is %p by v2 and %p by v1, want %s at %p", name, version, flags,
		     found, old, want, symbol);
	CHECK_EQ((int)status,
		 symbol ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CHECK_EQ(rc, symbol ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

static void replay(const int graphics)
{
	char line[256], name[128], want[128], path[PATH_MAX];
	unsigned long flags;
	int version, lines = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/data/cudart-lookups.txt",
		 getenv("SOURCE") ? getenv("SOURCE") : ".");
	file = fopen(path, "re");
	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#')
			continue;
		name[0] = 0;
		if (sscanf(line, "%127[^,],%d,%lu -> %127s", name, &version, &flags, want) != 4)
			CHECK_EQ(sscanf(line, ",%d,%lu -> %127s", &version, &flags, want), 3);
		look_up(name, version, flags, want, graphics);
		lines++;
	}
	fclose(file);
	CHECK_EQ(lines, 441);
}

static int recorded(void *arg)
{
	setenv("SIMGPU_GRAPHICS", "off", 1);
	driver = driver_load();
	replay(0);
	return 0;
}

static int old_generation(void *arg)
{
	CUdriverProcAddressQueryResult status;
	void *p;
	int version;

	setenv("SIMGPU_VERSION", "12020", 1);
	driver_load();
	CHECK_EQ(cu.cuDriverGetVersion(&version), CUDA_SUCCESS);
	CHECK_EQ(version, 12020);
	CHECK_EQ(cu.cuGetProcAddress_v2("cuCtxSynchronize", &p, 13000, 0, &status),
		 CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuGetProcAddress_v2("cuMemGetMemPool", &p, 12020, 0, &status), CUDA_SUCCESS);
	CHECK_EQ((int)status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CHECK(!p);
	return 0;
}

int main(void)
{
	struct client c = client_fork(recorded, NULL);
	CUdriverProcAddressQueryResult status;
	void *p;

	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	c = client_fork(old_generation, NULL);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	driver = driver_load();
	replay(1);
	/* Newest version not above the one asked for; too old a one; per-thread
	 * variants with fallback. */
	look_up("cuMemAlloc", 2000, 0, "cuMemAlloc", 0);
	look_up("cuMemAlloc", 3010, 0, "cuMemAlloc", 0);
	look_up("cuMemAlloc", 13050, 0, "cuMemAlloc_v2", 0);
	look_up("cuMemAlloc", 13050, 1, "cuMemAlloc_v2", 0);
	look_up("cuMemAlloc", 13050, 2, "cuMemAlloc_v2", 0);
	look_up("cuCtxCreate", 11040, 0, "cuCtxCreate_v3", 0);
	look_up("cuCtxCreate", 12050, 0, "cuCtxCreate_v4", 0);
	look_up("cuStreamGetCaptureInfo", 11030, 2, "cuStreamGetCaptureInfo_v2_ptsz", 0);
	look_up("cuMemcpyHtoD", 13050, 2, "cuMemcpyHtoD_v2_ptds", 0);
	look_up("cuGLGetDevices", 6050, 0, "cuGLGetDevices_v2", 0);
	look_up("cuEGLStreamProducerConnect", 7000, 0, "cuEGLStreamProducerConnect", 0);
	CHECK_EQ(cu.cuGetProcAddress_v2("cuMemAllocAsync", &p, 11010, 0, &status), CUDA_SUCCESS);
	CHECK(!p);
	CHECK_EQ((int)status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	CHECK_EQ(cu.cuGetProcAddress_v2("cuMemAlloc_v2", &p, 13000, 0, &status), CUDA_SUCCESS);
	CHECK_EQ((int)status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CHECK_EQ(cu.cuGetProcAddress_v2("cuInit", &p, 13000, 4, &status), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuGetProcAddress_v2("cuInit", &p, 99000, 0, &status), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuGetProcAddress_v2(NULL, &p, 13000, 0, &status), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuGetProcAddress_v2("cuInit", NULL, 13000, 0, &status),
		 CUDA_ERROR_INVALID_VALUE);
	return 0;
}

/*
 * A program whose ledger cannot be had is denied, and may try again as often as it likes: no
 * descriptor stays open.
 */
#include "client.h"

int main(int argc, char **argv)
{
	const char *const env[] = {"SIMGPU_DEVICES=24G,16G", "CUQUOTA_MEMORY_LIMIT=2G",
				   "CUQUOTA_DIR=/nowhere/at/all", "CUQUOTA_LOG=off", NULL};
	unsigned before;

	start_capped(argv, env);
	CHECK_EQ(CU(cuInit)(0), CUDA_ERROR_NOT_PERMITTED);
	before = open_descriptors();
	for (int i = 0; i < 8; i++)
		CHECK_EQ(CU(cuInit)(0), CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(open_descriptors(), before);
	return 0;
}

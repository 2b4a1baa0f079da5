/* One program linked with -lcuda, with dlopen and dlsym, and with dlopen and dlvsym: the same
 * codes, devices, figures and traces of the ledger.
 * report: HE-04 HE-03 */
#include "helper.h"

int main(void)
{
	char path[2 * PATH_MAX + 32], tenant[32];
	/* A tenant of its own for each: the one before may still be counted for a moment. */
	const char *const env[] = {path,
				   tenant,
				   "CUQUOTA_MEMORY_LIMIT=8G",
				   "CUQUOTA_VISIBLE_DEVICES=1",
				   "SIMGPU_DEVICES=4G,24G,2G",
				   "SIMGPU_CONTEXT=300M",
				   NULL};
	static const char *const builds[] = {"tests/doors/sequence_linked",
					     "tests/doors/sequence_dlsym",
					     "tests/doors/sequence_dlvsym"};
	static const char *const want[] =
		{"init 0; count 0 1; device 1 101; device 0 0; uuid 0 ",
		 "; bytes 0 8589934592; retain 0, ",
		 "alloc 0, info 0 5052039168 of 8589934592, ledger 3537895424; alloc 0, info 0 "
		 "1830813696 of 8589934592, ledger 6759120896; alloc 2, info 0 1830813696 of "
		 "8589934592, ledger 6759120896; alloc 2, info 0 1830813696 of 8589934592, ledger "
		 "6759120896; free 0, info 0 5052039168 of 8589934592, ledger 3537895424; "};
	char *said[3];

	/* Of a driver whose symbols have a version: dlvsym finds nothing in one without. */
	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s:%s", built("tests/doors/versioned"),
		 built("simgpu"));
	for (int i = 0; i < 3; i++) {
		const char *const argv[] = {built(builds[i]), NULL};
		struct client c;

		snprintf(tenant, sizeof(tenant), "CUQUOTA_TENANT=build%d", i);
		c = client_capped(argv, env);
		said[i] = strdup(client_line(&c, DEADLINE_MS) ?: "");
		CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	}
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		if (!strstr(said[0], want[i]))
			FAIL("the linked one says \"%s\", want in it \"%s\"", said[0], want[i]);
	CHECK_STR(said[1], said[0]);
	CHECK_STR(said[2], said[0]);
	return 0;
}

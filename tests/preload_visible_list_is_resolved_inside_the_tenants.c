/*
 * report: UV-01
 * CUDA shows the visible list in NVML's order whatever the order written, and the caller's
 * CUDA_VISIBLE_DEVICES counts and names inside it, by the driver's own rules.
 */
#include "client.h"

#include <ctype.h>

#define CARDS 4

static char name[CARDS][48]; /* in NVML's order, bare */

static int show(void)
{
	int count = 0;
	const CUresult rc = CU(cuInit)(0);

	if (rc != CUDA_SUCCESS) {
		printf("error %d\n", rc);
		return 0;
	}
	CHECK_EQ(CU(cuDeviceGetCount)(&count), CUDA_SUCCESS);
	for (int i = 0; i < count; i++) {
		CUdevice device;
		CUuuid uuid;

		CHECK_EQ(CU(cuDeviceGet)(&device, i), CUDA_SUCCESS);
		CHECK_EQ(CU(cuDeviceGetUuid)(&uuid, device), CUDA_SUCCESS);
		printf("%s%02hhx%02hhx", i ? " " : "", uuid.bytes[0], uuid.bytes[1]);
	}
	printf("\n");
	return 0;
}

static void learn_names(void)
{
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	for (unsigned i = 0; i < CARDS; i++) {
		nvmlDevice_t device;

		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(i, &device), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetUUID)(device, name[i], sizeof(name[i])), NVML_SUCCESS);
	}
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
}

/* "%0" to "%3" in a value stand for the whole name of that card, "~0" to "~3" for
 * its first 8 characters, "^0" to "^3" for the whole with every second digit in capitals, "!0" to
 * "!3" for it without "GPU-". */
static const char *in_mixed_case(unsigned card)
{
	static char mixed[48];

	for (unsigned i = 0; i < sizeof(mixed); i++)
		mixed[i] = (char)(i % 2 ? toupper(name[card][i]) : name[card][i]);
	return mixed;
}

static const char *expand(const char *variable, const char *value, char out[512])
{
	size_t n = (size_t)snprintf(out, 512, "%s=", variable);

	if (!value)
		return variable;
	for (; *value; value++)
		if (*value == '%')
			n += (size_t)snprintf(out + n, 512 - n, "%s", name[*++value - '0']);
		else if (*value == '~')
			n += (size_t)snprintf(out + n, 512 - n, "%.8s", name[*++value - '0']);
		else if (*value == '^')
			n += (size_t)snprintf(out + n, 512 - n, "%s",
					      in_mixed_case((unsigned)(*++value - '0')));
		else if (*value == '!')
			n += (size_t)snprintf(out + n, 512 - n, "%s", name[*++value - '0'] + 4);
		else
			out[n++] = *value;
	out[n] = 0;
	return out;
}

/* `want`: indices in NVML's order as digits, or what the client prints. */
static void expect(const char *visible, const char *callers, const char *want)
{
	char a[512], b[512], line[128] = "";
	const char *const env[] = {expand("CUQUOTA_VISIBLE_DEVICES", visible, a),
				   expand("CUDA_VISIBLE_DEVICES", callers, b), NULL};
	const char *const argv[] = {"/proc/self/exe", "show", NULL};
	struct client c = client_capped(argv, env);
	const char *got = client_line(&c, DEADLINE_MS);

	if (*want == 'e')
		strcpy(line, want);
	else
		for (const char *w = want; *w; w++)
			sprintf(line + strlen(line), "%s%.4s", w == want ? "" : " ",
				name[*w - '0'] + 4);
	if (!got || strcmp(got, line))
		FAIL("visible %s, caller's %s: \"%s\", want \"%s\"", visible, callers, got, line);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
}

int main(int argc, char **argv)
{
	setenv("SIMGPU_DEVICES", "24G,16G,8G,4G", 1);
	if (argc > 1)
		return show();
	unsetenv("CUDA_VISIBLE_DEVICES");
	learn_names();

	expect("all", NULL, "3210"); /* CUDA's own order is left alone */
	expect("all", "1,0", "23");
	expect("2", NULL, "2");
	expect("2,0", NULL, "02");
	expect("%2,%0", NULL, "02");
	expect("%3", NULL, "3");
	expect("~1,3", NULL, "13");
	expect("0,%0", NULL, "0");
	expect("1,7", NULL, "1");

	expect("1,3", "0", "1");
	expect("1,3", "1", "3");
	expect("1,3", "1,0", "31");
	expect("1,3", "2", "error 100");
	expect("1,3", "0,2,1", "1");
	expect("1,3", "0,-1,1", "1");
	expect("1,3", "", "error 100");
	expect("1,3", "%3", "3");
	expect("1,3", "~3,~1", "31");
	expect("1,3", "%0", "error 100");
	expect("1,3", "%3,%0,%1", "3");
	expect("1,3", "0,%3", "1");
	expect("1,3", "0,0", "error 100");
	expect("1,3", " 1", "3");
	expect("%2", "0", "2");

	expect("^2,^0", NULL, "02");
	expect("!2", NULL, "error 800");
	expect("1,3", "^3,^1", "31");
	expect("1,2", "!2", "error 100");
	expect("0,1,3", "!3", "1"); /* begins with 01 and a letter: an ordinal */
	expect("1,3", "gpu-", "error 100");
	expect("1,3", "~3, ~1", "3");
	expect("1,3", "+1, 0 ", "31");

	expect("none", NULL, "error 100");
	expect("9", NULL, "error 100");
	expect("GPU-ffffffff-ffff-ffff-ffff-ffffffffffff", NULL, "error 100");
	expect("nonsense", NULL, "error 800");
	return 0;
}

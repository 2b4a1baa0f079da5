/*
 * MIG instances by their names and by those that drivers before R470 gave them, in the tenant's
 * list, in the caller's inside it and as keys of limits: the same instance is meant. A GPU that is
 * named brings its instances along; of one that is not, only those that are. A driver that knows
 * the old names only is handed these.
 */
#include "instances.h"

static const struct shown_by rows[] = {
	/* visible, caller's, limit, what is shown */
	{NULL, NULL, NULL, "a10"},
	{NULL, "%b", NULL, "b5"},
	{NULL, "/c", NULL, "c4"},
	{NULL, "%C", NULL, "C12"},

	{"%b", NULL, NULL, "b5"},
	{"/b", NULL, NULL, "b5"},
	{"^b", NULL, NULL, "b5"},
	{"~e", NULL, NULL, "e3"},
	{"/e,%d", NULL, NULL, "d7"}, /* in NVML's order; CUDA sees one */
	{"%e,2", NULL, NULL, "e3"},
	{"%A", NULL, NULL, "a10"},
	{"%a,%A", NULL, NULL, "a10"}, /* lies on it: no more than the GPU */
	{"%A,/c,2", "1", NULL, "C12"},
	{"0", NULL, NULL, "a10"},
	{"MIG-00000000-0000-4000-8000-000000000000", NULL, NULL, "error 100"},

	{"/b,/c", "0", NULL, "b5"},
	{"/b,/c", "1", NULL, "c4"},
	{"/b,/c", "2", NULL, "error 100"},
	{"/b,/c", "%c", NULL, "c4"},
	{"%b,%c", "/c", NULL, "c4"},
	{"%b,%c", "^c", NULL, "c4"},
	{"%b,%c", "~c", NULL, "c4"},
	{"%b,%c", "MIG-", NULL, "error 100"},
	{"%b,%c", "%c,%b", NULL, "c4"},
	{"%b,%c", "%c,%c", NULL, "error 100"},
	{"%b,%c", "%a", NULL, "error 100"},
	{"%b,%c", "/a", NULL, "error 100"},
	{"%b,%c", "%c,%a,%b", NULL, "c4"},
	{"%b,%c", "%A", NULL, "b5"}, /* a divided card stands for the first of it */
	{"%b,%c", "%B", NULL, "error 100"},
	{"%b,%C", "%C", NULL, "C12"},
	{"%A", "%c", NULL, "c4"},
	{"%A", "/c", NULL, "c4"},
	{"%A", "%A", NULL, "a10"},
	{"%A", "%d", NULL, "error 100"},
	{"0,2", "~b", NULL, "b5"},
	{"0,2", "%C,~b", NULL, "b5"},
	{"0,2", "1", NULL, "C12"},

	{NULL, "%b", "%b=2G", "b2"},
	{NULL, "%b", "/b=2G", "b2"},
	{NULL, "/b", "^b=2G", "b2"},
	{NULL, "%b", "~b=2G", "b2"},
	{NULL, "%b", "/c=2G,*=3G", "b3"},
	{NULL, "%b", "/b=9G", "b5"},
	{NULL, "%b", "4=1G,*=2G", "b2"}, /* what only lies on one has no place */
	{"%A", "%b", "2=1G,*=2G", "b2"},
	{"/b", NULL, "/b=2G,0=1G", "b2"},
	{"/b,/c", "1", "1=2G,0=1G", "c2"},
	{"/c,%C", "%C", "0=1G,1=2G", "C2"},
	{"0,2", "%b", "/a=1G,/b=2G", "b2"},
};

/* NVML does not start: what it alone knows denies. */
static const struct shown_by rows_alone[] = {
	{"%A", NULL, NULL, "a10"},
	{"%A", "0", NULL, "a10"},
	{"%A", "%c", NULL, "error 800"},
	{"%b", NULL, NULL, "error 800"},
	{NULL, "%c", "%c=2G", "c2"},
	{NULL, "%c", "/c=2G", "error 800"},
	{NULL, "%C", "/c=2G", "C12"},
};

static const struct shown_by rows_before[] = {
	{NULL, NULL, NULL, "A10"},
	{NULL, "/c", NULL, "A4"},
	{"/b", NULL, NULL, "A5"},
	{"^b", NULL, NULL, "A5"},
	{"/b,/c", "1", NULL, "A4"},
	{"/b,/c", "/c", NULL, "A4"},
	{"/b,/c", "/a", NULL, "error 100"},
	{"/b,/c", "/c", "%A=2G", "A2"},
	{"%A", "/c", NULL, "A4"},
};

static void expect_all(const struct shown_by *row, size_t count)
{
	for (size_t i = 0; i < count; i++)
		instances_expect(&row[i]);
}

int main(int argc, char **argv)
{
	if (argc > 2) {
		instances_check_nvml(strtoull(argv[2], NULL, 10) << 30, false);
		return 0;
	}
	if (argc > 1)
		return instances_show();
	instances_setup();
	instances_learn();
	expect_all(rows, sizeof(rows) / sizeof(*rows));
	setenv("SIMGPU_FAULT", "nvmlInit_v2@*:9", 1);
	expect_all(rows_alone, sizeof(rows_alone) / sizeof(*rows_alone));
	unsetenv("SIMGPU_FAULT");
	setenv("SIMGPU_VERSION", "11030", 1);
	expect_all(rows_before, sizeof(rows_before) / sizeof(*rows_before));
	return 0;
}

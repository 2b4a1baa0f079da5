/*
 * The command: `truth` prints the ground truth as JSON, `truth reset` forgets the maxima.
 * SIMGPU_DIR says where.
 */
#include "truth.h"

#include <stdio.h>
#include <string.h>

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\' || (unsigned char)*text < 0x20)
			printf("\\u%04x", (unsigned char)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void print_device(const struct truth_device *device)
{
	unsigned int i;

	printf("    {\"uuid\": \"%s\", \"bytes\": %llu, \"resident\": %llu, \"committed\": %llu, "
	       "\"tags\": {",
	       device->uuid, (unsigned long long)device->bytes,
	       (unsigned long long)device->resident, (unsigned long long)device->committed);
	for (i = 0; i < device->tags; i++) {
		if (i)
			printf(", ");
		print_text(device->tag[i].name);
		printf(": {\"held\": %llu, \"max\": %llu}",
		       (unsigned long long)device->tag[i].held,
		       (unsigned long long)device->tag[i].max);
	}
	printf("}}");
}

static void print_process(const struct truth_process *process, const unsigned int devices)
{
	unsigned int i;

	printf("    {\"pid\": %u, \"name\": ", process->pid);
	print_text(process->name);
	printf(", \"tag\": ");
	print_text(process->tag);
	printf(", \"held\": [");
	for (i = 0; i < devices; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)process->held[i]);
	printf("], \"max\": [");
	for (i = 0; i < devices; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)process->max[i]);
	printf("]}");
}

int main(int argc, char **argv)
{
	static struct truth truth;
	unsigned int i;
	int rc;

	if (argc > 2 || (argc == 2 && strcmp(argv[1], "reset"))) {
		fprintf(stderr, "usage: truth [reset]\n");
		return 2;
	}
	rc = argc == 2 ? truth_reset(NULL) : truth_read(NULL, &truth);
	if (rc) {
		fprintf(stderr, "truth: %s\n", strerror(-rc));
		return 1;
	}
	if (argc == 2)
		return 0;
	printf("{\n  \"devices\": [\n");
	for (i = 0; i < truth.devices; i++) {
		print_device(&truth.device[i]);
		printf("%s\n", i + 1 < truth.devices ? "," : "");
	}
	printf("  ],\n  \"processes\": [\n");
	for (i = 0; i < truth.processes; i++) {
		print_process(&truth.process[i], truth.devices);
		printf("%s\n", i + 1 < truth.processes ? "," : "");
	}
	printf("  ]\n}\n");
	truth_free(&truth);
	return 0;
}

/*
 * Prints who holds how much, by the reading API.
 *
 *   cc -Iinclude -o read_ledger examples/read_ledger.c build/libcuquota_reader.a -pthread
 */
#include <cuquota/cuquota.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	const struct cuquota_snapshot *now;
	struct cuquota *ledgers;
	int rc = cuquota_open(argc > 1 ? argv[1] : NULL, &ledgers);

	if (rc) {
		fprintf(stderr, "no ledgers: %s\n", cuquota_strerror(rc));
		return 1;
	}
	rc = cuquota_snapshot(ledgers, &now);
	for (uint32_t i = 0; !rc && i < now->device_count; i++) {
		const struct cuquota_device_info *const device = &now->device[i];

		printf("%s %llu of %llu MiB\n", device->uuid,
		       (unsigned long long)device->used >> 20,
		       (unsigned long long)device->bytes >> 20);
		for (uint32_t j = 0; j < device->tenant_count; j++)
			printf("  %s: %llu MiB in %u processes\n", device->tenant[j].name,
			       (unsigned long long)device->tenant[j].used >> 20,
			       device->tenant[j].member_count);
	}
	cuquota_close(ledgers);
	return rc != 0;
}

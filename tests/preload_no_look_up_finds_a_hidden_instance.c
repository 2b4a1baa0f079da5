/*
 * Every look-up is called with everything that names a hidden MIG instance, of a GPU of which
 * another is shown or of a hidden one: its handle, both names, UUID as bytes, its place and number
 * on the GPU. None gives back anything of it or of its parts, and each that is a hook answers to
 * the byte as for an instance that there never was. Beside a tenant who sees all the sweep finds
 * them.
 */
#include "instances.h"
#include "sweep.h"

enum { INSTANCES = sizeof(INSTANCE_LETTERS) - 1 };

static struct subject subject_of(char letter, const char *visible)
{
	const struct called *const d = called(letter);
	const char card = strchr(visible, card_under(letter)) ? card_under(letter) : *visible;
	struct subject subject = {
		.uuid = d->name,
		.string = {d->name, d->old},
		.mark = {d->old, d->model},
		.pci = "",
		.pci_legacy = "",
		.index = (unsigned)(letter - (letter < 'd' ? 'a' : 'd')),
		.minor = d->instance,
		.handle = instances_handle(letter),
		.shown_handle = instances_handle(card),
		.ordinal = 1 + letter - 'a',
	};

	instances_bytes(letter, subject.bytes);
	return subject;
}

/* The simulated handles of GPU instances lie as those of devices do. */
static uintptr_t part_of(const struct subject *shown)
{
	nvmlGpuInstance_t part;

	CHECK_EQ(ML(nvmlDeviceGetGpuInstanceById)((nvmlDevice_t)shown->shown_handle, shown->minor,
						  &part),
		 NVML_SUCCESS);
	return (uintptr_t)part;
}

/* `visible`: cards, of which any may be seen, then instances. */
static int child(const char *visible)
{
	static const char nobody;
	const bool all = !strcmp(visible, LETTERS);
	struct subject subjects[INSTANCES], none;
	unsigned count = 0;
	int ordinals;

	instances_hear();
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	sweep_setup((nvmlDevice_t)instances_handle(*visible));
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGetCount)(&ordinals), CUDA_SUCCESS);
	CHECK_EQ(ordinals, 1);
	for (const char *at = INSTANCE_LETTERS; *at; at++) {
		const struct subject subject = subject_of(*at, visible);

		if (all || !strchr(visible, *at))
			subjects[count++] = subject;
		else
			shown_part = part_of(&subject);
		if (all)
			shown_part = subjects[count - 1].part = part_of(&subject);
	}
	for (unsigned i = 0; i < count && shown_part && !all; i++)
		subjects[i].part = shown_part - instances_handle(visible[strlen(visible) - 1]) +
				   subjects[i].handle;
	none = subjects[0];
	none.uuid = none.string[0] = "MIG-00000000-0000-4000-8000-000000000001";
	none.string[1] = "MIG-GPU-00000000-0000-4000-8000-000000000001/1/0";
	none.index = none.minor = 55;
	none.handle = none.part = (uintptr_t)&nobody;
	memset(none.bytes, 0, sizeof(none.bytes));
	printf("%u\n", sweep(subjects, count, all ? NULL : &none));
	return 0;
}

static int sweep_of(const char *setting, const char *visible)
{
	struct client c = instances_client(setting, visible);
	const char *const line = client_line(&c, DEADLINE_MS);
	int finders = -1;

	CHECK(line && sscanf(line, "%d", &finders) == 1);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return finders;
}

int main(int argc, char **argv)
{
	setenv("SIMGPU_CHASSIS", "on", 1);
	setenv("SIMGPU_EVENT", "2", 1);
	instances_setup();
	if (argc > 1)
		return child(argv[1]);
	instances_learn();
	CHECK_GE(sweep_of(NULL, LETTERS), 9);
	CHECK_EQ(sweep_of("%b", "Ab"), 0);
	CHECK_EQ(sweep_of("/b,/d", "ABbd"), 0);
	CHECK_EQ(sweep_of("2", "C"), 0);
	return 0;
}

/*
 * Every entry point of nvml.h and every cuDevice* of cuda.h is called with everything that names a
 * hidden card: its handle, UUID as text and as bytes, serial number, PCI address in each form,
 * index, minor number. None gives back anything of it, and each that is a hook answers to the byte
 * as it does for a card that there never was. The same sweep beside a tenant who sees all finds the
 * cards by each of those.
 */
#include "cards.h"
#include "sweep.h"

static struct card absent = {
	.uuid = "GPU-00000000-0000-4000-8000-000000000001",
	.serial = "0000000000000",
	.name = "none",
	.pci = "00000000:FE:00.0",
	.pci_legacy = "0000:FE:00.0",
	.pci_short = "FE:00.0",
	.bus = 0xfe,
	.minor = 99,
};

/* CUDA's numbers of the shown ones come first; without hidden ones they are NVML's. */
static struct subject subject_of(const struct card *c, int ordinals)
{
	const unsigned index = c == &absent ? 0 : (unsigned)(c - card);
	struct subject subject = {
		.uuid = c->uuid,
		.string = {c->uuid, c->serial, c->pci, c->pci_legacy, c->pci_short},
		.mark = {c->serial, c->name, c->pci_short},
		.pci = c->pci,
		.pci_legacy = c->pci_legacy,
		.bus = c->bus,
		.index = index,
		.minor = c->minor,
		.handle = c->handle,
		.shown_handle = (uintptr_t)device_at(0),
		.ordinal = (int)index,
	};

	if (ordinals < CARDS)
		subject.ordinal = ordinals + (c == &absent ? 100 : (int)index);
	memcpy(subject.bytes, c->bytes, sizeof(subject.bytes));
	return subject;
}

static int child(const char *visible)
{
	const bool all = strlen(visible) == CARDS;
	static const char nobody;
	struct subject subjects[CARDS], none;
	unsigned count = 0;
	int ordinals;

	cards_hear();
	cards_forge(visible);
	absent.handle = (uintptr_t)&nobody;
	sweep_setup(device_at(0));
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGetCount)(&ordinals), CUDA_SUCCESS);
	CHECK_EQ(ordinals, (int)strlen(visible));
	for (unsigned i = 0; i < CARDS; i++)
		if (all ? i % 2 : !is_visible(visible, i))
			subjects[count++] = subject_of(&card[i], ordinals);
	none = subject_of(&absent, ordinals);
	printf("%u\n", sweep(subjects, count, all ? NULL : &none));
	return 0;
}

/* How many functions find a card that is hidden there; where all is seen: one of 1, 3 and 5. */
static int sweep_of(const char *setting, const char *visible)
{
	struct client c = cards_client(setting, visible);
	const char *const line = client_line(&c, DEADLINE_MS);
	int finders = -1;

	CHECK(line && sscanf(line, "%d", &finders) == 1);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return finders;
}

int main(int argc, char **argv)
{
	cards_setup("3");
	if (argc > 1)
		return child(argv[1]);
	cards_learn();
	CHECK_GE(sweep_of("all", "012345"), 27);
	CHECK_EQ(sweep_of("0,2,5", "025"), 0);
	CHECK_EQ(sweep_of(card[0].uuid, "0"), 0);
	return 0;
}

/*
 * Holds what the children of `cuquota doctor` saw against the truth.
 *
 * A check that could not be made is never "ok".
 */
#include "cli/doctor.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define WHOLE "install a whole libcuquota.so of this release, and if it stays so, report it"

/* What those who look have changed in their environment. */
struct changes {
	const char *of[8];
	char visible[UUID_TEXT + 32];
};

/* `visible`: what CUDA_VISIBLE_DEVICES becomes, "" to leave it, NULL to take it out. */
static const char *const *change(struct changes *changes, const struct truth *truth,
				 const char *visible)
{
	unsigned n = 0;

	/* A promise would outlive the one who looks. */
	changes->of[n++] = "CUQUOTA_MEMORY_REQUEST";
	changes->of[n++] = "NVIDIA_GPU_MEMORY_REQUEST";
	if (truth->tightens && !truth->kept) {
		changes->of[n++] = "CUQUOTA_MEMORY_LIMIT";
		changes->of[n++] = "CUDA_DEVICE_MEMORY_LIMIT";
		changes->of[n++] = "NVIDIA_GPU_MEMORY_LIMIT";
	}
	if (truth->kept)
		changes->of[n++] = "CUQUOTA_TENANT=" DOCTOR_TENANT;
	snprintf(changes->visible, sizeof(changes->visible), "CUDA_VISIBLE_DEVICES%s%s",
		 visible ? "=" : "", visible ? visible : "");
	if (!visible || *visible)
		changes->of[n++] = changes->visible;
	changes->of[n] = NULL;
	return changes->of;
}

/* A list for people: what has been added, and how many more there were. */
struct listing {
	char buffer[256];
	struct text text;
	unsigned count;
};

static void list_begin(struct listing *list)
{
	text_init(&list->text, list->buffer, sizeof(list->buffer));
	list->count = 0;
	list->buffer[0] = '\0';
}

static void list_add(struct listing *list, const char *word)
{
	if (list->count++ < 3)
		text_add(&list->text, "%s%s", list->count > 1 ? ", " : "", word);
}

static const char *list_end(struct listing *list)
{
	if (list->count > 3)
		text_add(&list->text, " and %u more", list->count - 3);
	return list->buffer;
}

/* Was the answer whole? Else the check could not be made, which is said. */
static bool whole(const struct answer *answer, const char *check, const char *what)
{
	const char *const error = answer_find(answer, "error ");

	if (answer_find(answer, "end") && !error && !*answer->end)
		return true;
	report(VERDICT_UNCHECKED, check, "%s: not checked: %s%s%s", what,
	       error	      ? error
	       : *answer->end ? answer->end
			      : "it broke off",
	       *answer->said ? "; " : "", answer->said);
	return false;
}

struct seen {
	struct listing theirs, others, uncapped, right;
	unsigned names;
};

static void see_device(const struct truth *truth, const char *line, struct seen *seen)
{
	char copy[128], entry[128], shown[SIZE_TEXT], expected[SIZE_TEXT];
	const struct real_device *device;
	uint64_t bytes = 0;
	char *rest = copy, *uuid;

	snprintf(copy, sizeof(copy), "%s", line);
	uuid = next_word(&rest);
	parse_number(next_word(&rest), 10, &bytes);
	device = truth_device(truth, uuid);
	if (truth->settled && (!device || !device->visible)) {
		list_add(&seen->others, uuid);
		return;
	}
	if (!device)
		return;
	size_format(bytes, shown);
	if (bytes == device->expected)
		snprintf(entry, sizeof(entry), "%.12s... %s", device->uuid, shown);
	else
		snprintf(entry, sizeof(entry), "%.12s... %s, not %s", device->uuid, shown,
			 size_format(device->expected, expected));
	list_add(bytes == device->expected ? &seen->right : &seen->uncapped, entry);
}

static void see(const struct truth *truth, const struct answer *answer, struct seen *seen)
{
	seen->names = 0;
	list_begin(&seen->theirs);
	list_begin(&seen->others);
	list_begin(&seen->uncapped);
	list_begin(&seen->right);
	for (unsigned i = 0; i < answer->count; i++) {
		const char *rest = after(answer->line[i], "theirs ");

		if (rest)
			list_add(&seen->theirs, rest);
		seen->names += rest || after(answer->line[i], "ours ");
		rest = after(answer->line[i], "device ");
		if (rest)
			see_device(truth, rest, seen);
	}
}

static void judge_seen(const struct answer *answer, struct seen *seen, const char *check,
		       const char *door)
{
	const char *const init = answer_find(answer, "init ");

	if (seen->theirs.count)
		report(VERDICT_WRONG, check,
		       "%s leads past the library to the driver's own %s; " WHOLE, door,
		       list_end(&seen->theirs));
	else if (seen->others.count)
		report(VERDICT_WRONG, check, "%s shows what is hidden: %s; " WHOLE, door,
		       list_end(&seen->others));
	else if (seen->uncapped.count)
		report(VERDICT_WRONG, check, "%s shows another limit: %s; " WHOLE, door,
		       list_end(&seen->uncapped));
	else if (!seen->right.count)
		report(VERDICT_UNCHECKED, check,
		       "%s: not checked: no device is shown (cuInit: %s)%s%s", door,
		       init ? init : "not called", *answer->said ? "; " : "", answer->said);
	else
		report(VERDICT_OK, check, "%s sees the limit: %s", door, list_end(&seen->right));
}

static void judge_door(struct truth *truth, const struct door *door)
{
	static struct answer answer;
	struct changes changes;
	struct seen seen;
	char check[64];
	const char *closed;

	snprintf(check, sizeof(check), "door.%s", door->name);
	for (int turn = 0; turn < 2; turn++) {
		child_ask(&answer, door->name, change(&changes, truth, ""), NULL);
		see(truth, &answer, &seen);
		if (!seen.uncapped.count || turn)
			break;
		/* Somebody of the tenant may have come or gone meanwhile. */
		truth_expect(truth);
		child_forget(&answer);
	}
	closed = answer_find(&answer, "closed ");
	if (closed && !*answer.end)
		report(VERDICT_OK, check, "%s: nothing to reach this way, %s", door->sentence,
		       closed);
	else if (seen.theirs.count || whole(&answer, check, door->sentence))
		judge_seen(&answer, &seen, check, door->sentence);
	child_forget(&answer);
}

void judge_doors(struct truth *truth)
{
	for (unsigned i = 0; i < door_count; i++)
		judge_door(truth, &doors[i]);
}

/* "cuda UUID ..." or "nvml UUID ...": those shown that are none of the list, and how many are
 * shown. */
static unsigned shown_by(const struct truth *truth, const struct answer *answer, const char *words,
			 struct listing *others)
{
	unsigned count = 0;

	list_begin(others);
	for (unsigned i = 0; i < answer->count; i++) {
		const char *const rest = after(answer->line[i], words);
		const struct real_device *device;
		char uuid[UUID_TEXT];

		if (!rest)
			continue;
		snprintf(uuid, sizeof(uuid), "%.*s", (int)strcspn(rest, " "), rest);
		device = truth_device(truth, uuid);
		if (!device || !device->visible)
			list_add(others, uuid);
		count++;
	}
	return count;
}

/* How one kind of look-up went: each line "found KIND UUID" or "absent KIND UUID". */
static void judge_kind(const struct truth *truth, const struct answer *answer, const char *kind,
		       const char *sentence)
{
	char check[64], found_words[64], absent_words[64];
	struct listing found;
	unsigned absent = 0;

	snprintf(check, sizeof(check), "hidden.%s", kind);
	snprintf(found_words, sizeof(found_words), "found %s ", kind);
	snprintf(absent_words, sizeof(absent_words), "absent %s ", kind);
	list_begin(&found);
	for (unsigned i = 0; i < answer->count; i++) {
		const char *const rest = after(answer->line[i], found_words);

		if (rest)
			list_add(&found, *rest == '-' ? "an index beyond those shown" : rest);
		absent += after(answer->line[i], absent_words) != NULL;
	}
	if (found.count)
		report(VERDICT_WRONG, check, "a hidden device is found %s: %s; " WHOLE, sentence,
		       list_end(&found));
	else if (absent)
		report(VERDICT_OK, check, "%u hidden %s not found %s",
		       truth->count - truth->visible,
		       truth->count - truth->visible == 1 ? "device is" : "devices are", sentence);
	else
		report(VERDICT_UNCHECKED, check,
		       "look-up %s: not checked, the hidden devices have no such name", sentence);
}

static void judge_list(const struct truth *truth, const struct answer *answer, const char *words,
		       const char *check, const char *whose)
{
	struct listing others;
	const unsigned count = shown_by(truth, answer, words, &others);
	const bool cuda = !strcmp(words, "cuda ");
	const unsigned may = truth_counted(truth, cuda, true);

	if (others.count)
		report(VERDICT_WRONG, check, "%s lists a hidden device: %s; " WHOLE, whose,
		       list_end(&others));
	else if (count != may)
		report(VERDICT_WRONG, check,
		       "%s counts %u devices, not the %u that may be seen; " WHOLE, whose, count,
		       may);
	else
		report(VERDICT_OK, check, "%s counts %u of %u devices, those that may be seen",
		       whose, count, truth_counted(truth, cuda, false));
}

/* NVML's figures are CUDA's. */
static void judge_nvml_memory(const struct truth *truth, const struct answer *answer)
{
	struct listing wrong, right;

	list_begin(&wrong);
	list_begin(&right);
	for (unsigned i = 0; i < answer->count; i++) {
		char copy[160], entry[128], shown[SIZE_TEXT];
		const struct real_device *device;
		uint64_t bytes = 0;
		char *rest = copy, *uuid;

		snprintf(copy, sizeof(copy), "%s", answer->line[i]);
		uuid = next_word(&rest);
		if (strcmp(uuid, "nvml") != 0 && strcmp(uuid, "instance") != 0)
			continue;
		uuid = next_word(&rest);
		next_word(&rest);
		next_word(&rest);
		parse_number(next_word(&rest), 10, &bytes);
		device = truth_exactly(truth, uuid);
		if (!device || !device->visible || device->expected == device->bytes)
			continue; /* the whole card NVML shows with what the driver reserves */
		snprintf(entry, sizeof(entry), "%.12s... %s", uuid, size_format(bytes, shown));
		list_add(bytes == device->expected ? &right : &wrong, entry);
	}
	if (wrong.count)
		report(VERDICT_WRONG, "nvml.memory",
		       "NVML, and so nvidia-smi, shows another limit: %s; " WHOLE,
		       list_end(&wrong));
	else if (right.count)
		report(VERDICT_OK, "nvml.memory", "NVML, and so nvidia-smi, shows the limit: %s",
		       list_end(&right));
}

static void judge_nvml(const struct truth *truth, const char *const *hidden)
{
	static struct answer answer;
	struct changes changes;
	const char *start;

	child_ask(&answer, "nvml", change(&changes, truth, NULL), hidden);
	start = answer_find(&answer, "start ");
	if (!truth->ordered) {
		report(VERDICT_NOTE, "nvml", "NVML is not here, so nobody finds a device by it");
	} else if (start && strcmp(start, "0") != 0) {
		report(VERDICT_UNCHECKED, "nvml", "NVML: not checked: it does not start (error %s)",
		       start);
	} else if (whole(&answer, "nvml", "NVML")) {
		judge_nvml_memory(truth, &answer);
		if (truth->settled)
			judge_list(truth, &answer, "nvml ", "nvml.count", "NVML");
		if (*hidden) {
			judge_kind(truth, &answer, "nvml.index", "by NVML index");
			judge_kind(truth, &answer, "nvml.uuid", "by UUID in NVML");
			judge_kind(truth, &answer, "nvml.serial", "by serial number in NVML");
			judge_kind(truth, &answer, "nvml.pci", "by PCI address in NVML");
		}
	}
	child_forget(&answer);
}

/* CUDA has one look-up by UUID: the variable that a program starts with. */
static void judge_cuda_uuid(const struct truth *truth)
{
	static struct answer answer, all;
	struct changes changes;

	memset(&all, 0, sizeof(all));
	for (unsigned i = 0; i < truth->count; i++) {
		char *line;

		if (truth->device[i].visible)
			continue;
		child_ask(&answer, "cuda", change(&changes, truth, truth->device[i].uuid), NULL);
		if (!whole(&answer, "hidden.cuda.uuid",
			   "CUDA_VISIBLE_DEVICES with a hidden UUID")) {
			child_forget(&answer);
			child_forget(&all);
			return;
		}
		if (asprintf(&line, "%s cuda.uuid %s",
			     answer_find(&answer, "cuda ") ? "found" : "absent",
			     truth->device[i].uuid) > 0)
			all.line[all.count++] = line;
		child_forget(&answer);
	}
	judge_kind(truth, &all, "cuda.uuid", "by UUID in CUDA_VISIBLE_DEVICES");
	child_forget(&all);
}

static void judge_cuda(const struct truth *truth, const char *const *hidden)
{
	static struct answer answer;
	struct changes changes;

	child_ask(&answer, "cuda", change(&changes, truth, NULL), hidden);
	if (whole(&answer, "cuda", "CUDA's look-ups") && truth->settled) {
		judge_list(truth, &answer, "cuda ", "cuda.count", "CUDA");
		if (*hidden) {
			judge_kind(truth, &answer, "cuda.index", "by CUDA index");
			judge_cuda_uuid(truth);
			judge_kind(truth, &answer, "cuda.pci", "by PCI address in CUDA");
		}
	}
	child_forget(&answer);
}

void judge_hiding(struct truth *truth)
{
	static char text[DOCTOR_DEVICES][UUID_TEXT + 72];
	const char *hidden[DOCTOR_DEVICES + 1];
	unsigned count = 0;

	for (unsigned i = 0; truth->settled && i < truth->count; i++) {
		const struct real_device *const device = &truth->device[i];

		if (device->visible)
			continue;
		snprintf(text[count], sizeof(text[count]), "%s,%s,%s", device->uuid, device->pci,
			 device->serial);
		hidden[count] = text[count];
		count++;
	}
	hidden[count] = NULL;
	judge_cuda(truth, hidden);
	judge_nvml(truth, hidden);
	if (truth->settled && !count)
		report(VERDICT_NOTE, "hidden",
		       "every device may be seen here: no hidden one to look for");
}

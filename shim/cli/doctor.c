/*
 * `cuquota doctor`: does the limit hold for a program that is started from here?
 *
 * Promises: whatever it says is ok was seen in a child process that went that way; what could not
 * be looked at is not ok. It makes no context, allocates no memory of a device and lowers nobody's
 * limit.
 */
#include "cli/cli.h"
#include "cli/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int take(const struct flag *flag, const char *value, void *json)
{
	*(bool *)json = true;
	return 0;
}

/* A refused value, in the words of the library itself. */
static bool settings_check(const struct settings *settings)
{
	bool right = true;

	for (unsigned i = 0; i < settings->notes; i++) {
		const struct settings_note *const note = &settings->note[i];
		const int told = (int)(note->told ? note->told : strlen(note->text));
		const bool refused = note->level == LOG_ERROR;

		report(refused ? VERDICT_WRONG : VERDICT_NOTE, "settings", "%.*s", told,
		       note->text);
		right &= !refused;
	}
	return right;
}

static const char *conclude(const struct truth *truth, bool device, bool looked)
{
	static char text[512];
	const unsigned wrong = report_count(VERDICT_WRONG),
		       unchecked = report_count(VERDICT_UNCHECKED);

	if (!device && !wrong)
		snprintf(text, sizeof(text),
			 "there is no GPU here, so the limit could not be proved: %s; run it where "
			 "the card is",
			 truth->why);
	else if (wrong || unchecked)
		snprintf(text, sizeof(text),
			 "the limit is NOT proved: %u %s wrong, %u not checked%s", wrong,
			 wrong == 1 ? "line is" : "lines are", unchecked,
			 looked ? "" : "; the doors were not looked at");
	else
		snprintf(text, sizeof(text),
			 "all is well: the limit is seen through each of %u doors, and what is "
			 "hidden is not found",
			 door_count);
	return text;
}

int command_doctor(int argc, char **argv)
{
	static struct truth truth;
	bool json = false, device, there, looked = false;
	int first;

	if (argc > 2 && !strcmp(argv[1], "--look"))
		return look(argc - 2, argv + 2);
	first = flags_parse(argc, argv, take, &json);
	if (first < 0)
		return first == -2 ? 0 : STATUS_USAGE;
	if (first < argc) {
		complain("doctor takes no operand such as %s; see `cuquota doctor --help`",
			 argv[first]);
		return STATUS_USAGE;
	}
	report_begin(json);
	device = truth_find(&truth);
	there = preload_check(&truth);
	if (settings_check(&truth.settings) && !truth.settings.disable && device) {
		truth_report(&truth);
		looked = there;
	}
	if (!device)
		report(VERDICT_UNCHECKED, "device",
		       "no GPU is found: %s; to see it all without one: `cuquota run --simulate "
		       "2x24G -m 8G -- cuquota doctor`",
		       truth.why);
	if (looked) {
		judge_doors(&truth);
		judge_hiding(&truth);
	} else {
		report(VERDICT_UNCHECKED, "doors",
		       "the doors to the driver and the look-ups: not checked%s",
		       device ? ", as what is wrong above comes first" : "");
	}
	return report_end(!device, conclude(&truth, device, looked));
}

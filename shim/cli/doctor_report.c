/*
 * The report of `cuquota doctor`: a line for each check, or one JSON object, and the status.
 */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/show.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
	const char *people, *machines;
} words[] = {
	[VERDICT_OK] = {"ok    ", "ok"},
	[VERDICT_NOTE] = {"note  ", "note"},
	[VERDICT_WRONG] = {"WRONG ", "wrong"},
	[VERDICT_UNCHECKED] = {"MISS  ", "unchecked"},
};

static bool as_json;
static unsigned counted[4];

void report_begin(bool json)
{
	as_json = json;
	if (json)
		printf("{\"checks\":[");
}

void report(enum verdict verdict, const char *check, const char *format, ...)
{
	char text[1280];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (as_json) {
		printf("%s{\"check\":",
		       counted[0] + counted[1] + counted[2] + counted[3] ? "," : "");
		show_string(check);
		printf(",\"verdict\":\"%s\",\"text\":", words[verdict].machines);
		show_string(text);
		putchar('}');
	} else {
		printf("%s %s\n", words[verdict].people, text);
	}
	fflush(stdout);
	counted[verdict]++;
}

unsigned report_count(enum verdict verdict)
{
	return counted[verdict];
}

int report_end(bool no_device, const char *last)
{
	const bool wrong = counted[VERDICT_WRONG] || (counted[VERDICT_UNCHECKED] && !no_device);
	const int status = wrong ? STATUS_ERROR : no_device ? STATUS_NO_DEVICE
							    : 0;

	if (as_json) {
		printf("],\"ok\":%s,\"device\":%s,\"status\":%d,\"text\":",
		       status ? "false" : "true", no_device ? "false" : "true", status);
		show_string(last);
		puts("}");
	} else {
		puts(last);
	}
	return fflush(stdout) || ferror(stdout) ? STATUS_ERROR : status;
}

/*
 * Whatever stands in the settings: a limit that is written holds or is refused, never silently
 * absent; a refusal names variable, value, position, reason and way out; what is accepted means
 * what it says, by arithmetic of our own. And whatever stands in CUDA_VISIBLE_DEVICES: the driver
 * is handed whole names of the tenant's devices alone, and finds the environment as it was.
 *
 * An input is lines NAME=value; a first line `# text` says where they come from. A line
 * CUDA_VISIBLE_DEVICES= is what the program has in its environment.
 */
#define FUZZ_CORPUS "settings"
#include "fuzz.h"

#include "settings_oracle.h"
#include "visible_oracle.h"

#define PAIRS 160

struct input {
	char *text[PAIRS + 1]; /* each in an allocation of its own size */
	unsigned count;
	char origin[64];
	const char *shown; /* CUDA_VISIBLE_DEVICES=..., NULL without */
};

static void read_input(const uint8_t *data, size_t size, struct input *input)
{
	const char *at = (const char *)data, *const end = at + size;

	*input = (struct input){.count = 0};
	while (at < end && input->count < PAIRS) {
		const char *const newline = memchr(at, '\n', (size_t)(end - at));
		const size_t length = (size_t)((newline ? newline : end) - at);

		if (at == (const char *)data && length > 1 && at[0] == '#') {
			snprintf(input->origin, sizeof(input->origin), "%.*s",
				 (int)(length < 50 ? length : 50) - 1, at + 1);
			for (char *c = input->origin; *c; c++) /* never a stranger's text */
				if ((unsigned char)*c < ' ' || *c == 0x7f)
					*c = '_';
		} else {
			char *const text = strndup(at, length);

			CHECK(text);
			input->text[input->count++] = text;
			if (!input->shown && !strncmp(text, "CUDA_VISIBLE_DEVICES=", 21))
				input->shown = text;
		}
		at += length + 1;
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	log_setup(LOG_OFF, NULL);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct settings settings, again;
	struct settings_source source;
	struct input input;

	if (size > INPUT_MOST)
		return 0;
	read_input(data, size, &input);
	source = (struct settings_source){(const char *const *)input.text, input.origin};
	settings_parse(&source, &settings);
	settings_parse(&source, &again);
	check_notes(&source, &settings, &again);
	check_limit(&source, &settings);
	check_names(&settings);
	check_devices(&settings);
	check_visible(&settings, input.shown);
	for (unsigned i = 0; i < input.count; i++)
		free(input.text[i]);
	return 0;
}

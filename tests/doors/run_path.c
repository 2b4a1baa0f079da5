/* A library with a run path of its own; what it opens by name is searched there. */
#include <dlfcn.h>

__attribute__((visibility("default"))) void *run_path_open(const char *file, int flags);

void *run_path_open(const char *file, int flags)
{
	void *volatile handle = dlopen(file, flags);

	return handle;
}

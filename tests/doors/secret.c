/* A plugin that opens a library by a name that its file does not hold. */
#include <dlfcn.h>

__attribute__((visibility("default"))) void *secret_finds(const char *file, const char *symbol);

void *secret_finds(const char *file, const char *symbol)
{
	void *const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	return handle ? dlsym(handle, symbol) : (void *)0;
}

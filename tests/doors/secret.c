/* A plugin that opens a library by a name that its file does not hold; OLD: bound to the
 * versions that glibc had before 2.34. */
#if defined(OLD) && defined(__x86_64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#endif

#include <dlfcn.h>

__attribute__((visibility("default"))) void *secret_finds(const char *file, const char *symbol);

void *secret_finds(const char *file, const char *symbol)
{
	void *const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	return handle ? dlsym(handle, symbol) : (void *)0;
}

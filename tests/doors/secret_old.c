/* The same, bound to the versions that glibc had before 2.34, where this machine has them. */
#if defined(__x86_64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#endif
#include "secret.c"

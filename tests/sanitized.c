/*
 * What the sanitized build of libcuquota.so has besides: the few functions of libc that its front
 * end of dlsym needs, defined here and seen by nobody else. A sanitizer's runtime answers those
 * names itself and looks up the real ones through dlsym, which is ours: at that moment its own have
 * nothing to call yet.
 */
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	char *t = to;
	const char *f = from;

	while (n--)
		*t++ = *f++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	if (t <= f)
		return memcpy(to, from, n);
	while (n--)
		t[n] = f[n];
	return to;
}

void *memset(void *to, int c, size_t n)
{
	char *t = to;

	while (n--)
		*t++ = (char)c;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

void *memchr(const void *s, int c, size_t n)
{
	const unsigned char *p = s;

	for (; n; n--, p++)
		if (*p == (unsigned char)c)
			return (void *)(uintptr_t)p;
	return NULL;
}

void *memmem(const void *s, size_t n, const void *what, size_t length)
{
	const char *p = s;

	for (; n >= length; n--, p++)
		if (!memcmp(p, what, length))
			return (void *)(uintptr_t)p;
	return NULL;
}

size_t strlen(const char *s)
{
	const char *p = s;

	while (*p)
		p++;
	return p - s;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++)
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, (size_t)-1);
}

char *strchr(const char *s, int c)
{
	return memchr(s, c, strlen(s) + 1);
}

char *strrchr(const char *s, int c)
{
	const char *p = s + strlen(s);

	do
		if (*p == (char)c)
			return (char *)(uintptr_t)p;
	while (p-- != s);
	return NULL;
}

char *strstr(const char *s, const char *what)
{
	return memmem(s, strlen(s), what, strlen(what));
}

size_t strcspn(const char *s, const char *stop)
{
	const char *p = s;

	while (*p && !strchr(stop, *p))
		p++;
	return p - s;
}

/* Does nothing: the tests of cancellation are not run under a sanitizer. */
int pthread_setcancelstate(int state, int *old)
{
	if (old)
		*old = state;
	return 0;
}

/* By the loader's own list, whose lock nobody can take from here: the tests open no
 * library while others walk. */
int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	int rc = 0;

	for (const struct link_map *map = _r_debug.r_map; map && !rc; map = map->l_next) {
		struct dl_phdr_info info = {.dlpi_addr = map->l_addr, .dlpi_name = map->l_name};

		if (map == _r_debug.r_map) {
			info.dlpi_phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR);
			info.dlpi_phnum = getauxval(AT_PHNUM);
		} else {
			const ElfW(Ehdr) *const header = (const void *)map->l_addr;

			info.dlpi_phdr = (const void *)(map->l_addr + header->e_phoff);
			info.dlpi_phnum = header->e_phnum;
		}
		rc = visit(&info, sizeof(info), arg);
	}
	return rc;
}

/* A tracer that wraps malloc, dlopen and pthread_create, and finds the next ones by RTLD_NEXT at
 * the first call. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#define SHOWN __attribute__((visibility("default")))

static long count;

static void *next(void **slot, const char *name)
{
	void *found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

	if (!found) {
		found = dlsym(RTLD_NEXT, name);
		__atomic_store_n(slot, found, __ATOMIC_RELEASE);
	}
	__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	return found;
}

SHOWN void *malloc(size_t bytes);
SHOWN void *malloc(size_t bytes)
{
	static void *real_malloc;

	return ((void *(*)(size_t))next(&real_malloc, "malloc"))(bytes);
}

SHOWN void *dlopen(const char *file, int flags)
{
	static void *real_dlopen;
	void *volatile handle = ((void *(*)(const char *, int))next(&real_dlopen, "dlopen"))(file,
											     flags);

	return handle;
}

SHOWN int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
			 void *arg)
{
	static void *real_create;
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	*(void **)&create = next(&real_create, "pthread_create");
	return create(thread, attr, body, arg);
}

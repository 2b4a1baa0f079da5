/*
 * What happens before dlopen and dlmopen go on; see door.h.
 *
 * A driver that the call would load is loaded first, by us, along the caller's own search path, so
 * that it is adopted (library.h) before the caller can look into it; the caller's call then finds
 * it loaded. Only then comes the jump.
 */
#include "base/log.h"
#include "base/parse.h"
#include "driver/copies.h"
#include "driver/cover.h"
#include "driver/door.h"
#include "driver/library.h"
#include "driver/loader.h"
#include "driver/search.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#endif
#ifndef LM_ID_NEWLM
#define LM_ID_NEWLM (-1)
#endif

static void *int_to_arg(long value)
{
	return (void *)value;
}

/* Opens a driver in our namespace and adopts it. `flags` are the caller's: what is not to be loaded
 * is not loaded. */
static void open_here(struct library *library, const char *path, int flags)
{
	struct elf_image image;
	struct link_map *map;
	Dl_info info;
	void *handle;

	handle = loader_get()->open(path, RTLD_NOW | RTLD_LOCAL | (flags & RTLD_NOLOAD));
	if (!handle)
		return;
	if (!dlinfo(handle, RTLD_DI_LINKMAP, &map) && dladdr(map->l_ld, &info) &&
	    elf_image_mapped(&image, info.dli_fbase, map->l_name) &&
	    library_of(&image) == library && library_adopt(library, &image))
		/* it is pinned; any other copy stays for the caller's own call to find */
		dlclose(handle);
}

/* The driver that `file` is, in any spelling; room->path is where it will be found. */
static struct library *target(struct search_room *room, const char *file)
{
	if (strchr(file, '/')) {
		if (snprintf(room->path, PATH_MAX, "%s", file) >= PATH_MAX)
			return NULL;
		return search_is_driver(room->path);
	}
	if (library_named(file) && !search_caller(room, file))
		snprintf(room->path, PATH_MAX, "%s", file);
	return library_named(file);
}

static void prepare_in(struct search_room *room, const char *file, void **flags)
{
	struct library *const library = target(room, file);
	const int mode = (int)(long)*flags;
	unsigned needs;

	if (library) {
		open_here(library, room->path, mode);
		*flags = int_to_arg(mode & ~RTLD_DEEPBIND);
		return;
	}
	/* What opens the driver by a name that no file holds binds past us too. */
	if (mode & RTLD_DEEPBIND && (!cover_libc() || search_reach(room, file) == REACH_NAMED)) {
		log_debug("%s is opened without RTLD_DEEPBIND, which may lead past the cap", file);
		*flags = int_to_arg(mode & ~RTLD_DEEPBIND);
	}
	if (!strchr(file, '/'))
		return;
	needs = search_needs_driver(room, file);
	for (int i = 0; i < LIBRARIES; i++)
		if (needs & 1u << i)
			open_here(&libraries[i],
				  *room->needed[i] ? room->needed[i] : libraries[i].file, mode);
}

static void prepare(struct door_call *call, const char *file, void **flags)
{
	struct search_room *room;

	if (loader_is_libc_name(file))
		cover_libc(); /* for who goes on to look into it himself */
	if (!strchr(file, '/') && !library_named(file) && !((long)*flags & RTLD_DEEPBIND))
		return; /* the usual case */
	room = search_begin(call->caller);
	if (room) {
		prepare_in(room, file, flags);
		search_end(room);
	} else {
		*flags = int_to_arg((long)*flags & ~RTLD_DEEPBIND);
	}
}

/* Where this very file is; the name that it was preloaded by may be relative to another folder. */
static bool own_path(struct search_room *room)
{
	const uint64_t self = (uintptr_t)own_path;
	char *const line = room->line;
	size_t held = 0;
	ssize_t got;
	const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	bool found = false;

	while (fd >= 0 && !found &&
	       (got = read(fd, line + held, sizeof(room->line) - 1 - held)) > 0) {
		char *begin = line, *end;

		line[held + (size_t)got] = '\0';
		for (; !found && (end = strchr(begin, '\n')); begin = end + 1) {
			const char *slash, *dash;
			uint64_t low, high;

			*end = '\0';
			slash = strchr(begin, '/');
			dash = parse_number(begin, 16, &low);
			found = slash && dash && *dash == '-' &&
				parse_number(dash + 1, 16, &high) && low <= self && self < high &&
				snprintf(room->own, PATH_MAX, "%s", slash) < PATH_MAX;
		}
		held = strlen(begin);
		memmove(line, begin, held);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

/* Puts a copy of this library into the namespace, a new one at its head, and gives its number.
 * NULL: it cannot be done. */
static const struct link_map *copy_into(struct search_room *room, long *number)
{
	static bool said;
	struct link_map *map = NULL;
	Dl_info info;
	Lmid_t id;
	void *handle = NULL;

	if (own_path(room))
		handle = loader_get()->mopen(*number, room->own, RTLD_NOW | RTLD_LOCAL);
	if (!handle && dladdr((void *)copy_into, &info))
		handle = loader_get()->mopen(*number, info.dli_fname, RTLD_NOW | RTLD_LOCAL);
	if (!handle || dlinfo(handle, RTLD_DI_LMID, &id) ||
	    dlinfo(handle, RTLD_DI_LINKMAP, &map) || (!copy_cover(map) && map->l_prev)) {
		if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
			log_warn("cannot load this library into another namespace, and what "
				 "names the driver is refused there: %s",
				 handle ? "it is not whole there" : dlerror());
		return NULL;
	}
	*number = id;
	return map;
}

/* False: refused. */
static bool prepare_namespace(struct search_room *room, struct door_call *call, const char *file)
{
	const int mode = (int)(long)call->arg[2];
	struct library *library;
	const struct link_map *copy;
	struct link_map *map;
	enum reach reach;
	Dl_info info;
	void *handle;
	long id = (long)call->arg[0];

	/* There are only 16 namespaces: none for a file that is not there. */
	if (strchr(file, '/') && access(file, R_OK))
		return true;
	library = target(room, file);
	reach = library ? REACH_NAMED : search_reach(room, file);
	if (reach == REACH_NOT)
		return true; /* a copy would take static TLS, and never leave */
	copy = copy_into(room, &id);
	if (!copy)
		return reach != REACH_NAMED;
	call->arg[0] = int_to_arg(id);
	/* Where others were first, what is linked with the driver would be bound past the copy. */
	if (!library && reach == REACH_NAMED && copy->l_prev)
		return false;
	if (mode & RTLD_DEEPBIND && reach == REACH_NAMED)
		call->arg[2] = int_to_arg(mode & ~RTLD_DEEPBIND);

	handle = library ? loader_get()->mopen(id, room->path,
					       RTLD_NOW | RTLD_LOCAL | (mode & RTLD_NOLOAD))
			 : NULL;
	if (handle && !dlinfo(handle, RTLD_DI_LINKMAP, &map) && dladdr(map->l_ld, &info))
		copy_lookup(map->l_ld, info.dli_fbase, row_name(library, &library->rows[0]));
	return true;
}

static bool skip(const struct door_call *call, const char *file)
{
	return !file || !*file || library_holds(call->caller) || copy_aside();
}

bool door_dlopen(struct door_call *call)
{
	const char *const file = call->arg[0];
	int cancel, keep;

	call->result = (void *)loader_get()->open;
	if (skip(call, file))
		return false;
	keep = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	prepare(call, file, &call->arg[1]);
	dlerror();
	pthread_setcancelstate(cancel, &cancel);
	errno = keep;
	return false;
}

bool door_dlmopen(struct door_call *call)
{
	const char *const file = call->arg[1];
	struct search_room *room;
	bool refused = false;
	int cancel, keep;

	call->result = (void *)loader_get()->mopen;
	if (skip(call, file))
		return false;
	keep = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if ((long)call->arg[0] == LM_ID_BASE) {
		prepare(call, file, &call->arg[2]);
	} else {
		room = search_begin(call->caller);
		refused = !room || !prepare_namespace(room, call, file);
		if (room)
			search_end(room);
	}
	dlerror();
	if (refused) {
		call->result = NULL;
		loader_get()->sym(RTLD_NEXT, "(refused by cuquota)"); /* for dlerror */
	}
	pthread_setcancelstate(cancel, &cancel);
	errno = keep;
	return refused;
}

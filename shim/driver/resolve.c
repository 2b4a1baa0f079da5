/*
 * What dlsym and dlvsym answer; see door.h.
 *
 * Owns: the rule for each name of the .def files, for the four doors' own names, and for allocators
 * that nobody here knows. Every other name goes straight to the real function.
 * Promises: a name is answered only if the real look-up, in that handle, would have found it in a
 * driver; what another library defines under such a name is that library's. A caller inside the
 * driver gets the driver's own functions.
 */
#include "driver/resolve.h"

#include "base/log.h"
#include "driver/copies.h"
#include "driver/door.h"
#include "driver/driver.h"
#include "driver/gate.h"
#include "driver/library.h"
#include "driver/loader.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

struct query {
	void *handle;
	const char *name;
	const char *version; /* NULL: dlsym */
	const void *caller;
	struct library *library; /* NULL: one of the doors' names */
	const struct row *row;	 /* NULL: an unknown allocator, or one of the doors' names */
};

static void *hook_of(const struct query *query)
{
	return row_hook(query->library, query->row);
}

/* The real look-up, with us as the caller. Never by a jump: RTLD_NEXT would be
 * after whoever called us. */
static __attribute__((noinline)) void *ask(const struct query *query, void *handle)
{
	void *volatile answer;

	if (query->version)
		answer = loader_get()->vsym(handle, query->name, query->version);
	else
		answer = loader_get()->sym(handle, query->name);
	return answer;
}

bool resolve_is_allocator(const char *name)
{
	static const char *const kinds[] = {"cuMem", "cuArray", "cuMipmapped", "cuGraph",
					    "cuMulticast"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i])))
			return strstr(name, "Alloc") || strstr(name, "Create");
	/* A context takes hundreds of MiB: cuGLCtxCreate, and whatever kind comes. */
	return !strncmp(name, "cu", 2) && strstr(name, "CtxCreate");
}

bool resolve_takes_memory(const char *name)
{
	return strstr(name, "Alloc") || strstr(name, "Create") || strstr(name, "Retain");
}

/* NULL, and something for dlerror. */
static void *refuse(void)
{
	loader_get()->sym(RTLD_NEXT, "(refused by cuquota)");
	return NULL;
}

/* Whose object an address found by the real look-up lies in decides. */
static void *judge(const struct query *query, void *found)
{
	struct elf_image image, own;
	struct library *library;
	Dl_info info;

	if (elf_holds(elf_self(), found) || !dladdr(found, &info) ||
	    !elf_image_mapped(&image, info.dli_fbase, info.dli_fname))
		return found; /* the driver's symbol table, as we rewrote it */
	library = library_of(&image);
	if (!library || library != query->library)
		return found;
	if (!elf_find(found, &own)) {
		void *const answer = copy_lookup(found, info.dli_fbase, query->name);

		if (answer || !query->row || !query->row->hook)
			return answer ? answer : found;
		log_warn("%s is refused from %s: its namespace was made without this library",
			 query->name, image.path);
		return refuse();
	}
	if (!library_adopt(library, &own))
		return refuse(); /* a copy that is not the process's own */
	if (query->row)
		return query->row->hook ? hook_of(query) : found;
	return gate_before(found, query->name);
}

/* What the program's own scope has behind us: a definition of ours is real only if there is one of
 * a driver's too. */
static void *ask_global(const struct query *query)
{
	struct elf_image image;
	Dl_info info;
	void *found = ask(query, RTLD_NEXT);

	/* A copy that stands aside exports the same names. */
	if (found && !elf_holds(elf_self(), found) && dladdr(found, &info) &&
	    elf_image_mapped(&image, info.dli_fbase, info.dli_fname) && copy_is(&image))
		return query->row && library_loaded(query->library, &image) ? hook_of(query)
									    : NULL;
	return found ? judge(query, found) : NULL;
}

/* What the object that calls has in its own scope: itself and what it needs. */
static void *ask_caller(const struct query *query)
{
	void *found = NULL, *handle;
	Dl_info info;

	if (!dladdr(query->caller, &info) || !info.dli_fname || !*info.dli_fname)
		return NULL;
	handle = loader_get()->open(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		found = ask(query, handle);
		dlclose(handle);
	}
	if (!found)
		ask(query, RTLD_NEXT); /* for dlerror, which dlclose has emptied */
	return found ? judge(query, found) : NULL;
}

struct next {
	const struct query *query;
	bool caller_seen, self_seen; /* self_seen: after the caller */
	bool before_self;	     /* a definition between the caller and us */
	struct elf_image found;	     /* the first definition after the caller, not ours */
	bool any;
};

static bool next_step(const struct elf_image *image, void *arg)
{
	struct next *const next = arg;

	if (!next->caller_seen) {
		next->caller_seen = elf_holds(image, next->query->caller);
	} else if (image->base == elf_self()->base) {
		next->self_seen = true;
		next->before_self = next->any;
	} else if (!next->any && !copy_is(image) && elf_symbol(image, next->query->name)) {
		next->any = true;
		next->found = *image;
	}
	return false;
}

/* RTLD_NEXT. True: *answer; false: the real function finds the right one. */
static bool ask_next(const struct query *query, void **answer)
{
	struct next next = {.query = query};

	elf_each(next_step, &next);
	if (!next.caller_seen || next.before_self || (!next.self_seen && !next.any))
		return false;
	if (next.self_seen) {
		*answer = ask_global(query);
		return true;
	}
	if (library_of(&next.found) != query->library)
		return false;
	*answer = judge(query, elf_address(&next.found, elf_symbol(&next.found, query->name)));
	return true;
}

static bool is_program(const struct link_map *map)
{
	return map && !map->l_prev && (!map->l_name || !*map->l_name);
}

static bool decide(const struct query *query, void **answer)
{
	struct link_map *map = NULL;
	void *found;

	if (query->handle == RTLD_NEXT)
		return ask_next(query, answer);
	found = ask(query, query->handle);
	if (!found || !elf_holds(elf_self(), found)) {
		*answer = found ? judge(query, found) : NULL;
		if (query->handle == RTLD_DEFAULT && !found)
			*answer = ask_caller(query);
		return true;
	}
	if (query->handle == RTLD_DEFAULT) {
		*answer = ask_global(query);
		if (!*answer)
			*answer = ask_caller(query);
	} else if (!dlinfo(query->handle, RTLD_DI_LINKMAP, &map) && is_program(map)) {
		*answer = ask_global(query);
	} else {
		*answer = found;
	}
	return true;
}

static bool is_driver(const void *address, const struct library *library)
{
	struct elf_image image;
	Dl_info info;

	/* Before it is adopted too: its constructors run while we open it. */
	return library_holds(address) ||
	       (dladdr(address, &info) &&
		elf_image_mapped(&image, info.dli_fbase, info.dli_fname) &&
		library_of(&image) == library);
}

/* For a caller inside the driver: never a hook. */
static bool decide_for_driver(const struct query *query, void **answer)
{
	void *found;

	if (!query->row || !query->row->hook || query->handle == RTLD_NEXT)
		return false;
	found = ask(query, query->handle);
	*answer = found == hook_of(query) ? library_real(query->library, query->row) : found;
	return true;
}

/* NULL: what was found is not the C library's. */
static void *front_end(const char *name, void *found)
{
	struct elf_image image;
	Dl_info info;

	if (!found || !dladdr(found, &info) ||
	    !elf_image_mapped(&image, info.dli_fbase, info.dli_fname) || !loader_is_libc(&image))
		return NULL;
	return loader_front_end(name);
}

/* The doors' own names, taken from libc by hand. */
static bool decide_door(const struct query *query, void **answer)
{
	void *found;

	if (query->handle == RTLD_NEXT) {
		struct next next = {.query = query};

		elf_each(next_step, &next);
		found = next.any && !next.before_self ? elf_symbol(&next.found, query->name) : NULL;
		if (found)
			found = elf_address(&next.found, found);
	} else {
		found = ask(query, query->handle);
	}
	*answer = front_end(query->name, found);
	return *answer != NULL;
}

static bool door_name(const char *name)
{
	return loader_front_end(name) != NULL;
}

static bool resolve(struct door_call *call, const char *version)
{
	struct query query = {call->arg[0], call->arg[1], version, call->caller, NULL, NULL};
	const char *const name = query.name;
	bool (*rule)(const struct query *query, void **answer) = decide;
	void *answer = NULL;
	int cancel, keep;
	bool answered;

	/* One or two loads for a name that is none of ours. */
	if (!name)
		return false;
	if (name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z')
		query.library = &libraries[LIBRARY_CUDA];
	else if (name[0] == 'n' && !strncmp(name, "nvml", 4))
		query.library = &libraries[LIBRARY_NVML];
	else if (name[0] == 'd' && name[1] == 'l' && door_name(name))
		rule = decide_door;
	else
		return false;
	if (query.library) {
		query.row = library_row(query.library, name);
		if (!query.row && !resolve_is_allocator(name))
			return false;
		if (is_driver(query.caller, query.library))
			rule = decide_for_driver;
	}
	if (copy_aside())
		return false;

	keep = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	answered = rule(&query, &answer);
	if (answered) {
		call->result = answer;
		if (answer)
			dlerror(); /* what we asked on the way is not the caller's error */
	}
	pthread_setcancelstate(cancel, &cancel);
	errno = keep;
	return answered;
}

bool door_dlsym(struct door_call *call)
{
	call->result = (void *)loader_get()->sym;
	return resolve(call, NULL);
}

bool door_dlvsym(struct door_call *call)
{
	call->result = (void *)loader_get()->vsym;
	return call->arg[2] && resolve(call, call->arg[2]);
}

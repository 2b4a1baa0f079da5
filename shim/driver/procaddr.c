/*
 * The driver's own resolver, cuGetProcAddress in both versions.
 *
 * Rule: the driver is asked first and says whether there is anything. What it answered is then
 * known by name, version and flags (a table out of NVIDIA's header) and, where that fails, by its
 * address. Unknown ABIs of a newer driver are refused if they allocate, else passed.
 */
#include "driver/driver.h"

#include "base/log.h"
#include "driver/gate.h"
#include "driver/library.h"
#include "driver/resolve.h"

#include <string.h>

/* Without pointers, as the rows (library.h). */
struct version {
	uint16_t name, symbol; /* where in version_names */
	uint16_t version;
	bool per_thread;
};

static const struct version_names {
#define VERSION(name, version, symbol, per_thread)           \
	char name##_##version##_##per_thread[sizeof(#name)]; \
	char name##_##version##_##per_thread##_symbol[sizeof(#symbol)];
#include "versions.h"
#undef VERSION
} version_names = {
#define VERSION(name, version, symbol, per_thread)  \
	.name##_##version##_##per_thread = (#name), \
	.name##_##version##_##per_thread##_symbol = (#symbol),
#include "versions.h"
#undef VERSION
};
_Static_assert(sizeof(version_names) <= UINT16_MAX, "offsets of 16 bits");

/* A symbol that cuda.h does not declare has no type, and fails here. */
#define VERSION(name, version, symbol, per_thread) \
	_Static_assert(sizeof(__typeof__(&symbol)), #symbol);
#include "versions.h"
#undef VERSION

static const struct version versions[] = {
#define NAME(member) __builtin_offsetof(struct version_names, member)
#define VERSION(name, version, symbol, per_thread) \
	{NAME(name##_##version##_##per_thread),    \
	 NAME(name##_##version##_##per_thread##_symbol), version, per_thread},
#include "versions.h"
#undef VERSION
};

static const char *name_at(uint16_t offset)
{
	return (const char *)&version_names + offset;
}

/* The symbol that answers: of the per-thread variants if these are asked for and there are any,
 * else of the plain versions, the newest that is not newer than asked. NULL: a name, or a time,
 * that the header does not know. */
static const struct version *version_find(const char *name, int asked, cuuint64_t flags)
{
	const struct version *plain = NULL, *per_thread = NULL;
	size_t low = 0, high = sizeof(versions) / sizeof(*versions);
	bool any = false;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (strcmp(name_at(versions[middle].name), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < sizeof(versions) / sizeof(*versions); low++) {
		const struct version *const v = &versions[low];

		if (strcmp(name_at(v->name), name) != 0)
			break;
		any |= v->per_thread;
		if (v->version <= asked)
			*(v->per_thread ? &per_thread : &plain) = v;
	}
	return flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && any ? per_thread : plain;
}

/* One query in either form; v1 has no status. */
struct question {
	bool v1;
	cuuint64_t flags;
	CUdriverProcAddressQueryResult *status;
};

static CUresult ask(const struct question *question, const char *name, void **pfn, int version)
{
	if (question->v1)
		return real.cuGetProcAddress(name, pfn, version, question->flags);
	return real.cuGetProcAddress_v2(name, pfn, version, question->flags, question->status);
}

/* An unknown allocator. Under a limit: as the driver itself says that there is no such thing. */
static CUresult unknown(const struct question *question, const char *name, void **pfn, int version)
{
	CUresult rc;

	if (!limited()) {
		*pfn = gate_before(*pfn, name);
		return CUDA_SUCCESS;
	}
	gate_refused(name);
	*pfn = NULL;
	rc = ask(question, "cuquotaDenied", pfn, version);
	*pfn = NULL;
	return rc;
}

static CUresult substitute(const struct question *question, const char *name, void **pfn,
			   int version)
{
	struct library *const library = &libraries[LIBRARY_CUDA];
	CUresult rc = ask(question, name, pfn, version);
	const struct version *known;
	const struct row *row;
	void *again = NULL;

	if (rc != CUDA_SUCCESS || !name || !pfn || !*pfn)
		return rc;

	known = version_find(name, version, question->flags);
	row = known ? library_row(library, name_at(known->symbol)) : NULL;
	if (row && row->hook && library_real(library, row) == *pfn) {
		*pfn = row_hook(library, row);
		return rc;
	}
	if (library_row_at(library, *pfn)) {
		*pfn = row_hook(library, library_row_at(library, *pfn));
		return rc;
	}
	if (row && row->hook) {
		CUdriverProcAddressQueryResult ignored = 0;
		struct question at_ours = *question;

		/* Not the exported function. The same ABI behind another
		 * address, or a later one? */
		at_ours.status = question->status ? &ignored : NULL;
		if (ask(&at_ours, name, &again, known->version) == CUDA_SUCCESS && again == *pfn) {
			*pfn = row_hook(library, row);
			return rc;
		}
		if (resolve_takes_memory(name_at(known->symbol)))
			return unknown(question, name, pfn, version);
		log_debug("%s of CUDA %d is newer than this release and passes", name, version);
		return rc;
	}
	if (!row && resolve_is_allocator(name))
		return unknown(question, name, pfn, version);
	return rc;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	const struct question question = {.v1 = true, .flags = flags};

	return substitute(&question, symbol, pfn, version);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	const struct question question = {.flags = flags, .status = status};

	return substitute(&question, symbol, pfn, version);
}

/* Until the policy floor says. */
__attribute__((weak, visibility("hidden"))) bool limited(void)
{
	return true;
}

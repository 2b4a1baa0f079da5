/* The process's own copy of each real library; see library.h. */
#include "driver/library.h"

#include "base/log.h"
#include "base/text.h"
#include "base/wiped.h"
#include "driver/copies.h"
#include "driver/loader.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATIENCE 10000 /* turns of waiting for another thread that patches */

const struct row *library_row(const struct library *library, const char *name)
{
	size_t low = 0, high = library->count;

	while (low < high) {
		const size_t middle = (low + high) / 2;
		const int order = strcmp(name, row_name(library, &library->rows[middle]));

		if (!order)
			return &library->rows[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

struct library *library_of(const struct elf_image *image)
{
	for (int i = 0; i < LIBRARIES; i++)
		if (elf_named(image->soname, libraries[i].stem))
			return &libraries[i];
	return NULL;
}

struct library *library_named(const char *path)
{
	const char *const slash = strrchr(path, '/');

	for (int i = 0; i < LIBRARIES; i++)
		if (elf_named(slash ? slash + 1 : path, libraries[i].stem))
			return &libraries[i];
	return NULL;
}

void *library_real(const struct library *library, const struct row *row)
{
	void *const address = __atomic_load_n(&library->table[row->slot], __ATOMIC_RELAXED);

	return address == library->lacking || address == library->absent ? NULL : address;
}

const struct row *library_row_at(const struct library *library, const void *address)
{
	for (size_t i = 0; i < library->count; i++)
		if (library->rows[i].hook && library_real(library, &library->rows[i]) == address)
			return &library->rows[i];
	return NULL;
}

bool library_holds(const void *address)
{
	for (int i = 0; i < LIBRARIES; i++) {
		const ElfW(Addr) base = __atomic_load_n(&libraries[i].base, __ATOMIC_ACQUIRE);

		if (base && (ElfW(Addr))address - base < libraries[i].bytes)
			return true;
	}
	return false;
}

/*
 * Fills the table from the symbol table as the file has it. Of threads that come at once
 * each stores the same values; one that finds a wrapper of ours there comes after the
 * patching, and the table is full.
 */
static void fill(const struct library *library, const struct elf_image *image)
{
	for (size_t i = 0; i < library->count; i++) {
		const struct row *const row = &library->rows[i];
		const ElfW(Sym) *sym;
		void *address;

		if (row->slot == ROW_NO_SLOT)
			continue;
		sym = elf_symbol(image, row_name(library, row));
		address = sym ? elf_address(image, sym) : library->lacking;
		if (sym && elf_holds(elf_self(), address)) {
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			return;
		}
		__atomic_store_n(&library->table[row->slot], address, __ATOMIC_RELAXED);
	}
	__atomic_store_n(library->ready, true, __ATOMIC_RELEASE);
}

/* Makes the symbols of the hooked names lead to the hooks, or (own false) nowhere. */
static void rewrite(const struct library *library, const struct elf_image *image, bool own)
{
	const ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
	ElfW(Addr) low = ~(ElfW(Addr))0, high = 0;
	int protection;

	for (size_t i = 0; i < library->count; i++) {
		const struct row *const row = &library->rows[i];
		const ElfW(Sym) *const sym = row->hook ? elf_symbol(image, row_name(library, row))
						       : NULL;

		if (sym && (ElfW(Addr))sym < low)
			low = (ElfW(Addr))sym;
		if (sym && (ElfW(Addr))(sym + 1) > high)
			high = (ElfW(Addr))(sym + 1);
	}
	if (low > high)
		return;

	/* An old link has code in the same segment, which others may be running. */
	protection = elf_protection(image, (const void *)low);
	low &= -page;
	if (mprotect((void *)low, high - low, protection | PROT_WRITE)) {
		log_warn("cannot rewrite the symbol table of %s: %s; programs that read it "
			 "themselves are not covered",
			 image->path, text_errno(errno));
		return;
	}
	for (size_t i = 0; i < library->count; i++) {
		const struct row *const row = &library->rows[i];
		ElfW(Sym) *const sym = row->hook ? elf_symbol(image, row_name(library, row)) : NULL;

		if (sym)
			__atomic_store_n(&sym->st_value,
					 own ? (ElfW(Addr))row_hook(library, row) - image->base : 0,
					 __ATOMIC_RELEASE);
	}
	mprotect((void *)low, high - low, protection);
}

/* One thread at a time, since the pages are made read-only again; the others wait for it, though
 * not for long. False: it is done already, or will be. */
static bool take_patch(uint32_t *patching, const bool *patched)
{
	for (int turn = 0; turn < PATIENCE; turn++) {
		if (__atomic_load_n(patched, __ATOMIC_ACQUIRE))
			return false;
		if (!__atomic_exchange_n(patching, 1, __ATOMIC_ACQUIRE)) {
			if (!__atomic_load_n(patched, __ATOMIC_ACQUIRE))
				return true;
			__atomic_store_n(patching, 0, __ATOMIC_RELEASE);
			return false;
		}
		sched_yield();
	}
	return false;
}

/* Wiped by fork: nobody in the child patches, whatever a thread of the parent was at. */
static uint32_t *patching(void)
{
	static uint32_t without;
	static void *page;
	uint32_t *const taken = wiped_once(&page, sizeof(*taken));

	return taken ? taken : &without;
}

static void rewrite_own(struct library *library, const struct elf_image *image)
{
	uint32_t *const taken = patching();

	if (!take_patch(taken, &library->patched))
		return;
	rewrite(library, image, true);
	__atomic_store_n(&library->patched, true, __ATOMIC_RELEASE);
	__atomic_store_n(taken, 0, __ATOMIC_RELEASE);
}

static void rewrite_other(const struct library *library, const struct elf_image *image)
{
	static const bool never;
	uint32_t *const taken = patching();

	if (!take_patch(taken, &never))
		return;
	rewrite(library, image, false);
	__atomic_store_n(taken, 0, __ATOMIC_RELEASE);
}

struct first {
	const char *stem;
	struct elf_image *image;
};

static bool first_step(const struct elf_image *image, void *arg)
{
	const struct first *const first = arg;

	if (!elf_named(image->soname, first->stem))
		return false;
	*first->image = *image;
	return true;
}

bool library_loaded(const struct library *library, struct elf_image *image)
{
	struct first first = {library->stem, image};

	return elf_each(first_step, &first);
}

static size_t span(const struct elf_image *image)
{
	size_t end = 0;

	for (unsigned i = 0; i < image->phnum; i++)
		if (image->phdr[i].p_type == PT_LOAD &&
		    image->phdr[i].p_vaddr + image->phdr[i].p_memsz > end)
			end = image->phdr[i].p_vaddr + image->phdr[i].p_memsz;
	return end;
}

bool library_adopt(struct library *library, const struct elf_image *image)
{
	const int keep = errno;
	ElfW(Addr) own = __atomic_load_n(&library->base, __ATOMIC_ACQUIRE);
	struct elf_image first;

	if (!own && library_loaded(library, &first)) {
		__atomic_store_n(&library->bytes, span(&first), __ATOMIC_RELAXED);
		if (__atomic_compare_exchange_n(&library->base, &own, first.base, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			own = first.base;
		loader_get()->open(first.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
		fill(library, &first);
		if (!copy_aside())
			rewrite_own(library, &first);
		log_debug("%s is the process's own %s", first.path, library->stem);
	} else if (image->base == own &&
		   !__atomic_load_n(&library->patched, __ATOMIC_ACQUIRE)) {
		fill(library, image);
		if (!copy_aside())
			rewrite_own(library, image);
	}
	if (image->base != own && !copy_aside()) {
		rewrite_other(library, image);
		if (!__atomic_exchange_n(&library->said, true, __ATOMIC_RELAXED))
			log_warn("%s is refused: another copy of %s is in use in this process",
				 image->path, library->file);
	}
	errno = keep;
	return image->base == own;
}

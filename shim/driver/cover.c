/* The C library's doors, covered; see cover.h. */
#include "driver/cover.h"

#include "base/log.h"
#include "base/text.h"
#include "driver/elf.h"
#include "driver/loader.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* By name and version: dlsym@@GLIBC_2.34 and dlsym@GLIBC_2.2.5 are two. */
#define MOST 16

static bool lead(const struct elf_image *image, ElfW(Sym) *sym, void *to)
{
	const ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
	const ElfW(Addr) low = (ElfW(Addr))sym & -page;
	const size_t bytes = (ElfW(Addr))(sym + 1) - low;
	const int protection = elf_protection(image, sym);

	if (mprotect((void *)low, bytes, protection | PROT_WRITE))
		return false;
	__atomic_store_n(&sym->st_value, (ElfW(Addr))to - image->base, __ATOMIC_RELEASE);
	mprotect((void *)low, bytes, protection);
	return true;
}

/* The dynamic linker lets one thread at a time walk its objects, so nobody else is here. */
static bool step(const struct elf_image *image, void *arg)
{
	static const char *const names[] = {"dlsym", "dlvsym", "dlopen", "dlmopen"};
	ElfW(Sym) *found[MOST];

	if (!loader_is_libc(image))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const unsigned count = elf_versions(image, names[i], found, MOST);

		for (unsigned k = 0; k < count; k++)
			if (!lead(image, found[k], loader_front_end(names[i])))
				*(int *)arg = errno;
	}
	return false;
}

bool cover_libc(void)
{
	static int covered; /* 1: it is; -1: it cannot be */
	const int keep = errno;
	int known = __atomic_load_n(&covered, __ATOMIC_ACQUIRE), error = 0;

	if (known)
		return known > 0;
	loader_get(); /* the real ones, while they can be found */
	elf_each(step, &error);
	if (error)
		log_warn("cannot rewrite the symbol table of the C library: %s; RTLD_DEEPBIND is "
			 "not kept, and programs that read the table themselves are not covered",
			 text_errno(error));
	known = error ? -1 : 1;
	__atomic_store_n(&covered, known, __ATOMIC_RELEASE);
	errno = keep;
	return known > 0;
}

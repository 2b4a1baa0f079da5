/* Copies of this library; see copies.h. */
#include "driver/copies.h"

#include "driver/cover.h"
#include "driver/driver.h"
#include "driver/library.h"

#include <dlfcn.h>

#define NOTE_OWNER "cuquota"
#define NOTE_COPY 1

/* What a copy in another namespace is asked; the note holds its distance, so
 * that it needs no export. */
__attribute__((visibility("hidden"), used)) bool copy_adopt(const void *header, const char *path);

__asm__(".pushsection .note.cuquota, \"a\", %note\n"
	"	.p2align 2\n"
	"	.long 8, 4, 1\n"
	"	.asciz \"" NOTE_OWNER "\"\n"
	"	.long copy_adopt - .\n"
	".popsection\n");

bool copy_is(const struct elf_image *image)
{
	return elf_note(image, NOTE_OWNER, NOTE_COPY) != NULL;
}

bool copy_adopt(const void *header, const char *path)
{
	struct elf_image image;
	struct library *library;

	if (!header)
		return cover_libc();
	if (!elf_image_mapped(&image, header, path))
		return false;
	library = library_of(&image);
	return library && library_adopt(library, &image);
}

bool copy_cover(const struct link_map *map)
{
	struct elf_image image;
	const int32_t *note;
	Dl_info info;

	if (!dladdr(map->l_ld, &info) || !elf_image_mapped(&image, info.dli_fbase, map->l_name))
		return false;
	note = elf_note(&image, NOTE_OWNER, NOTE_COPY);
	return note &&
	       ((__typeof__(&copy_adopt))((uintptr_t)note + (uintptr_t)*note))(NULL, NULL);
}

static bool first_step(const struct elf_image *image, void *arg)
{
	if (!copy_is(image))
		return false;
	*(ElfW(Addr) *)arg = image->base;
	return true;
}

bool copy_aside(void)
{
	enum { UNKNOWN,
	       FIRST,
	       ASIDE };
	static int place;
	int known = __atomic_load_n(&place, __ATOMIC_RELAXED);

	if (__builtin_expect(known == UNKNOWN, 0)) {
		ElfW(Addr) base = 0;

		known = elf_each(first_step, &base) && base != elf_self()->base ? ASIDE : FIRST;
		__atomic_store_n(&place, known, __ATOMIC_RELAXED);
	}
	return known == ASIDE;
}

bool driver_aside(void)
{
	return copy_aside();
}

void *copy_lookup(const void *address, const void *header, const char *name)
{
	struct link_map *map = NULL;
	struct elf_image image;
	Dl_info info;

	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return NULL;
	const char *const path = info.dli_fname;

	while (map->l_prev)
		map = map->l_prev;
	for (; map; map = map->l_next) {
		const int32_t *note;
		ElfW(Sym) *sym;

		if (!dladdr(map->l_ld, &info) ||
		    !elf_image_mapped(&image, info.dli_fbase, map->l_name))
			continue;
		note = elf_note(&image, NOTE_OWNER, NOTE_COPY);
		if (!note)
			continue;
		if (!((__typeof__(&copy_adopt))((uintptr_t)note + (uintptr_t)*note))(header, path))
			return NULL;
		sym = elf_symbol(&image, name);
		return sym ? elf_address(&image, sym) : NULL;
	}
	return NULL;
}

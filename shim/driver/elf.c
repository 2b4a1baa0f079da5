/* ELF objects as they lie in memory; see elf.h. */
#include "driver/elf.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>

/* glibc adds the base to the dynamic section's pointers in place, musl leaves them as
 * they are in the file. */
static const void *pointer(ElfW(Addr) base, ElfW(Addr) value)
{
	return (const void *)(value < base ? base + value : value);
}

bool elf_image_make(struct elf_image *image, ElfW(Addr) base, const ElfW(Phdr) *phdr,
		    unsigned phnum, const char *path)
{
	const ElfW(Dyn) *dynamic = NULL;
	ElfW(Xword) soname = 0, rpath = 0, runpath = 0;

	*image = (struct elf_image){.base = base,
				    .phdr = phdr,
				    .phnum = phnum,
				    .path = path ? path : ""};
	for (unsigned i = 0; i < phnum; i++)
		if (phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(base + phdr[i].p_vaddr);
	if (!dynamic)
		return false;

	for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			image->symtab = (ElfW(Sym) *)(uintptr_t)pointer(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			image->strtab = pointer(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_VERSYM)
			image->versym = pointer(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_GNU_HASH)
			image->gnu_hash = pointer(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_HASH)
			image->sysv_hash = pointer(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_SONAME)
			soname = d->d_un.d_val;
		else if (d->d_tag == DT_RPATH)
			rpath = d->d_un.d_val;
		else if (d->d_tag == DT_RUNPATH)
			runpath = d->d_un.d_val;
	}
	if (!image->symtab || !image->strtab)
		return false;

	image->soname = soname ? image->strtab + soname : NULL;
	image->rpath = rpath ? image->strtab + rpath : NULL;
	image->runpath = runpath ? image->strtab + runpath : NULL;
	return true;
}

bool elf_image_mapped(struct elf_image *image, const void *header, const char *path)
{
	const ElfW(Ehdr) *elf = header;
	const ElfW(Phdr) *phdr;

	if (!header || memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_phentsize != sizeof(*phdr))
		return false;
	phdr = (const void *)((const char *)header + elf->e_phoff);
	for (unsigned i = 0; i < elf->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD && phdr[i].p_offset == 0)
			return elf_image_make(image, (ElfW(Addr))header - phdr[i].p_vaddr, phdr,
					      elf->e_phnum, path);
	return false;
}

struct each {
	bool (*visit)(const struct elf_image *image, void *arg);
	void *arg;
};

static int each_step(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct each *const each = arg;
	struct elf_image image;

	return elf_image_make(&image, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum,
			      info->dlpi_name) &&
	       each->visit(&image, each->arg);
}

bool elf_each(bool (*visit)(const struct elf_image *image, void *arg), void *arg)
{
	struct each each = {visit, arg};

	return dl_iterate_phdr(each_step, &each) != 0;
}

struct find {
	const void *address;
	struct elf_image *image;
};

static bool find_step(const struct elf_image *image, void *arg)
{
	const struct find *const find = arg;

	if (!elf_holds(image, find->address))
		return false;
	*find->image = *image;
	return true;
}

bool elf_find(const void *address, struct elf_image *image)
{
	struct find find = {address, image};

	return elf_each(find_step, &find);
}

/* The linker's own name. NOLINTNEXTLINE(bugprone-reserved-identifier,cert-*) */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

const struct elf_image *elf_self(void)
{
	static struct elf_image self;
	static bool known;
	struct elf_image image;

	/* Threads that come at once store the same values. */
	if (!__atomic_load_n(&known, __ATOMIC_ACQUIRE) &&
	    elf_image_mapped(&image, &__ehdr_start, "")) {
		self = image;
		__atomic_store_n(&known, true, __ATOMIC_RELEASE);
	}
	return &self;
}

bool elf_holds(const struct elf_image *image, const void *address)
{
	const ElfW(Addr) offset = (ElfW(Addr))address - image->base;

	for (unsigned i = 0; i < image->phnum; i++)
		if (image->phdr[i].p_type == PT_LOAD &&
		    offset - image->phdr[i].p_vaddr < image->phdr[i].p_memsz)
			return true;
	return false;
}

int elf_protection(const struct elf_image *image, const void *address)
{
	const ElfW(Addr) offset = (ElfW(Addr))address - image->base;

	for (unsigned i = 0; i < image->phnum; i++) {
		const ElfW(Phdr) *const phdr = &image->phdr[i];

		if (phdr->p_type == PT_LOAD && offset - phdr->p_vaddr < phdr->p_memsz)
			return (phdr->p_flags & PF_R ? PROT_READ : 0) |
			       (phdr->p_flags & PF_W ? PROT_WRITE : 0) |
			       (phdr->p_flags & PF_X ? PROT_EXEC : 0);
	}
	return PROT_READ;
}

/* 2: defined, the default version; 1: defined, an older version; 0: not this one. */
static int match(const struct elf_image *image, uint32_t index, const char *name)
{
	const ElfW(Sym) *const sym = &image->symtab[index];

	if (sym->st_shndx == SHN_UNDEF || !__atomic_load_n(&sym->st_value, __ATOMIC_RELAXED) ||
	    strcmp(image->strtab + sym->st_name, name))
		return 0;
	return image->versym && image->versym[index] & 0x8000 ? 1 : 2;
}

static uint32_t lookup_gnu(const struct elf_image *image, const char *name)
{
	const uint32_t *const table = image->gnu_hash;
	const uint32_t buckets = table[0], first = table[1], words = table[2], shift = table[3];
	const ElfW(Addr) *const bloom = (const void *)(table + 4);
	const uint32_t *const bucket = (const uint32_t *)(bloom + words);
	const uint32_t *const chain = bucket + buckets;
	const unsigned bits = 8 * sizeof(*bloom);
	uint32_t hash = 5381, older = 0;
	ElfW(Addr) word;

	for (const unsigned char *c = (const void *)name; *c; c++)
		hash = hash * 33 + *c;
	word = bloom[hash / bits & (words - 1)];
	if (!buckets || !(word >> hash % bits & word >> (hash >> shift) % bits & 1))
		return 0;

	for (uint32_t i = bucket[hash % buckets]; i >= first && i; i++) {
		if ((chain[i - first] | 1) == (hash | 1)) {
			const int found = match(image, i, name);

			if (found == 2)
				return i;
			if (found)
				older = i;
		}
		if (chain[i - first] & 1)
			break;
	}
	return older;
}

static uint32_t lookup_sysv(const struct elf_image *image, const char *name)
{
	const uint32_t *const table = image->sysv_hash;
	const uint32_t *const bucket = table + 2;
	const uint32_t *const chain = bucket + table[0];
	uint32_t hash = 0, older = 0;

	for (const unsigned char *c = (const void *)name; *c; c++) {
		hash = (hash << 4) + *c;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	for (uint32_t i = table[0] ? bucket[hash % table[0]] : 0; i; i = chain[i]) {
		const int found = match(image, i, name);

		if (found == 2)
			return i;
		if (found)
			older = i;
	}
	return older;
}

ElfW(Sym) *elf_symbol(const struct elf_image *image, const char *name)
{
	uint32_t index = 0;

	if (image->gnu_hash)
		index = lookup_gnu(image, name);
	else if (image->sysv_hash)
		index = lookup_sysv(image, name);
	return index ? &image->symtab[index] : NULL;
}

unsigned elf_versions(const struct elf_image *image, const char *name, ElfW(Sym) *found[],
		      unsigned most)
{
	const uint32_t *const gnu = image->gnu_hash;
	const uint32_t *const table = gnu ? gnu : image->sysv_hash;
	const uint32_t buckets = table ? table[0] : 0;
	const uint32_t *bucket = table + 2, *chain;
	unsigned count = 0;

	if (gnu)
		bucket = gnu + 4 + gnu[2] * (sizeof(ElfW(Addr)) / sizeof(*gnu));
	chain = bucket + buckets;
	for (uint32_t b = 0; b < buckets; b++)
		for (uint32_t i = bucket[b]; i; i = gnu ? i + 1 : chain[i]) {
			if (count < most && match(image, i, name))
				found[count++] = &image->symtab[i];
			if (gnu && chain[i - gnu[1]] & 1)
				break;
		}
	return count;
}

void *elf_address(const struct elf_image *image, const ElfW(Sym) *symbol)
{
	void *const address = (void *)(image->base +
				       __atomic_load_n(&symbol->st_value, __ATOMIC_ACQUIRE));

	if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		return ((void *(*)(void))address)();
	return address;
}

bool elf_named(const char *name, const char *stem)
{
	const size_t length = strlen(stem);

	return name && !strncmp(name, stem, length) &&
	       (name[length] == '\0' || name[length] == '.');
}

const void *elf_note(const struct elf_image *image, const char *owner, uint32_t type)
{
	for (unsigned i = 0; i < image->phnum; i++) {
		const ElfW(Phdr) *const phdr = &image->phdr[i];
		const char *at = (const char *)image->base + phdr->p_vaddr;
		const char *const end = at + phdr->p_memsz;

		if (phdr->p_type != PT_NOTE)
			continue;
		while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *const note = (const void *)at;
			const char *const name = at + sizeof(*note);
			const char *const desc = name + ((note->n_namesz + 3u) & ~3u);

			if (note->n_type == type && note->n_namesz == strlen(owner) + 1 &&
			    !strcmp(name, owner))
				return desc;
			at = desc + ((note->n_descsz + 3u) & ~3u);
		}
	}
	return NULL;
}

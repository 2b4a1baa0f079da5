/*
 * ELF objects as they lie in memory.
 *
 * Owns: reading of program headers, dynamic sections, hash tables and notes of loaded objects.
 * Promises: no allocation, no lock but the dynamic linker's own, no call of dlsym or dlopen; may be
 * used before the real dlsym is known. An image stays valid as long as its object is loaded.
 * Must never: call back into the dynamic linker from inside elf_each (its lock order is load lock,
 * then list lock).
 */
#ifndef DRIVER_ELF_H
#define DRIVER_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image {
	ElfW(Addr) base; /* what is added to addresses in the file */
	const ElfW(Phdr) *phdr;
	unsigned phnum;
	const char *path; /* as the dynamic linker names it; "" for the program */
	ElfW(Sym) *symtab;
	const char *strtab;
	const ElfW(Half) *versym;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const char *soname; /* NULL: none. So the next two */
	const char *rpath;
	const char *runpath;
};

/* From what the dynamic linker told. False: not an image that can be looked into. */
bool elf_image_make(struct elf_image *image, ElfW(Addr) base, const ElfW(Phdr) *phdr,
		    unsigned phnum, const char *path);

/* From the address of an ELF header in memory. */
bool elf_image_mapped(struct elf_image *image, const void *header, const char *path);

/* Each object of our own namespace in load order until `visit` returns true;
 * that is then the result. */
bool elf_each(bool (*visit)(const struct elf_image *image, void *arg), void *arg);

/* The object of our own namespace that holds the address. */
bool elf_find(const void *address, struct elf_image *image);

/* This library itself. */
const struct elf_image *elf_self(void);

/* Does it lie in a loaded segment? */
bool elf_holds(const struct elf_image *image, const void *address);

/* PROT_ bits of the segment that holds the address. */
int elf_protection(const struct elf_image *image, const void *address);

/* The definition that dlsym would find in this very object, the default
 * version first; NULL: none. */
ElfW(Sym) *elf_symbol(const struct elf_image *image, const char *name);
/* The same in every version, at most `most` of them. Gives their number. */
unsigned elf_versions(const struct elf_image *image, const char *name, ElfW(Sym) *found[],
		      unsigned most);
void *elf_address(const struct elf_image *image, const ElfW(Sym) *symbol);

/* Is `name` (a SONAME or file name without folder) the one that `stem` begins, as "libcuda.so" does
 * "libcuda.so.1"? */
bool elf_named(const char *name, const char *stem);

/* The descriptor of the note of this owner and type, NULL: none. */
const void *elf_note(const struct elf_image *image, const char *owner, uint32_t type);

#endif

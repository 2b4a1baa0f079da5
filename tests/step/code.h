/*
 * Whose code an address is: the functions of some source files in one ELF file, from its symbol
 * table. Owns: the list, and the names by which an instruction is printed. A place is an offset
 * from the first of these functions, so that it does not change when other code does. Reads the
 * file only; where it is loaded is the caller's to know.
 */
#ifndef TESTS_STEP_CODE_H
#define TESTS_STEP_CODE_H

#include "context.h"

#include <link.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define CODE_FUNCTIONS 4096

struct code_function {
	uint64_t begin, end; /* as linked */
	char name[48];
};

static struct code {
	struct code_function function[CODE_FUNCTIONS]; /* in order of their addresses */
	unsigned count;
	uint64_t begin, end;
} code;

static int code_order(const void *a, const void *b)
{
	const struct code_function *const one = a, *const other = b;

	return one->begin < other->begin ? -1 : one->begin > other->begin;
}

/*
 * Reads the functions of `path` that pass `wanted(file, name)`: the source file of a local symbol
 * (the symbol table names it before them) or "" of a global one.
 */
TEST_USED static void code_read(const char *path,
				bool (*wanted)(const char *file, const char *name))
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *image, *file = "";
	const ElfW(Ehdr) *header;
	const ElfW(Shdr) *section;
	struct stat size;

	CHECK_SYS(fd);
	CHECK_SYS(fstat(fd, &size));
	image = mmap(NULL, (size_t)size.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(image != MAP_FAILED);
	close(fd);
	header = (const ElfW(Ehdr) *)image;
	section = (const ElfW(Shdr) *)(image + header->e_shoff);
	code.count = 0;
	for (unsigned i = 0; i < header->e_shnum; i++) {
		const ElfW(Sym) *const symbol = (const ElfW(Sym) *)(image + section[i].sh_offset);
		const char *const names = image + section[section[i].sh_link].sh_offset;

		if (section[i].sh_type != SHT_SYMTAB)
			continue;
		for (size_t k = 0; k < section[i].sh_size / sizeof(*symbol); k++) {
			const char *const name = names + symbol[k].st_name;
			struct code_function *const f = &code.function[code.count];

			if (ELF64_ST_TYPE(symbol[k].st_info) == STT_FILE)
				file = name;
			if (ELF64_ST_TYPE(symbol[k].st_info) != STT_FUNC || !symbol[k].st_size ||
			    !wanted(ELF64_ST_BIND(symbol[k].st_info) == STB_LOCAL ? file : "",
				    name))
				continue;
			CHECK_LE(code.count, (unsigned)CODE_FUNCTIONS - 1);
			f->begin = symbol[k].st_value;
			f->end = f->begin + symbol[k].st_size;
			snprintf(f->name, sizeof(f->name), "%s", name);
			code.count++;
		}
	}
	munmap((void *)(uintptr_t)image, (size_t)size.st_size);
	if (!code.count)
		FAIL("%s has no symbol table, or none of the functions", path);
	qsort(code.function, code.count, sizeof(code.function[0]), code_order);
	code.begin = code.function[0].begin;
	code.end = code.function[code.count - 1].end;
}

/* The function that `address`, as linked, lies in, or NULL. */
TEST_USED static const struct code_function *code_at(uint64_t address)
{
	unsigned low = 0, high = code.count;

	if (address < code.begin || address >= code.end)
		return NULL;
	while (high - low > 1) {
		const unsigned middle = (low + high) / 2;

		if (code.function[middle].begin <= address)
			low = middle;
		else
			high = middle;
	}
	return address < code.function[low].end ? &code.function[low] : NULL;
}

/* "account_charge+0x1c". In a buffer. */
TEST_USED static const char *code_name(uint64_t address)
{
	const struct code_function *const f = code_at(address);
	static char text[80];

	snprintf(text, sizeof(text), "%s+%#llx", f ? f->name : "?",
		 (unsigned long long)(f ? address - f->begin : address));
	return text;
}

#endif

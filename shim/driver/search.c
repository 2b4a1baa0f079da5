/* Files that are not loaded yet; see search.h. */
#include "driver/search.h"

#include "driver/elf.h"
#include "driver/library.h"
#include "driver/loader.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEEPEST 8     /* dependencies of dependencies of ... */
#define FILES_MOST 64 /* that are read for one answer */

struct search {
	struct search_room room; /* first */
	const void *caller;
	int files;
	char folder[PATH_MAX];
	char paths[DEEPEST + 1][PATH_MAX];
#ifdef __GLIBC__
	union {
		Dl_serinfo info;
		char space[16384];
	} linker;
#endif
};

struct search_room *search_begin(const void *caller)
{
	struct search *const search = mmap(NULL, sizeof(*search), PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (search == MAP_FAILED)
		return NULL;
	search->caller = caller;
	return &search->room;
}

void search_end(struct search_room *room)
{
	munmap(room, sizeof(struct search));
}

/* A file mapped to be read, and the parts of its dynamic section. Offsets are
 * checked against its size. */
struct file {
	const char *path;
	char *map;
	size_t bytes;
	const ElfW(Dyn) *dynamic;
	size_t entries;
	const char *strings;
	size_t string_bytes;
};

static const void *part(const struct file *file, size_t offset, size_t bytes)
{
	return offset <= file->bytes && bytes <= file->bytes - offset ? file->map + offset : NULL;
}

static const void *at(const struct file *file, ElfW(Addr) address, size_t bytes)
{
	const ElfW(Ehdr) *const elf = (const void *)file->map;
	const ElfW(Phdr) *const phdr = part(file, elf->e_phoff, elf->e_phnum * sizeof(*phdr));

	for (unsigned i = 0; phdr && i < elf->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD && address - phdr[i].p_vaddr < phdr[i].p_filesz)
			return part(file, address - phdr[i].p_vaddr + phdr[i].p_offset, bytes);
	return NULL;
}

static const char *string(const struct file *file, size_t offset)
{
	const char *const text = offset < file->string_bytes ? file->strings + offset : NULL;

	return text && memchr(text, 0, file->string_bytes - offset) ? text : NULL;
}

static const char *value(const struct file *file, ElfW(Sxword) tag)
{
	for (size_t i = 0; i < file->entries && file->dynamic[i].d_tag != DT_NULL; i++)
		if (file->dynamic[i].d_tag == tag)
			return string(file, file->dynamic[i].d_un.d_val);
	return NULL;
}

static bool parse(struct file *file)
{
	const ElfW(Ehdr) *const elf = part(file, 0, sizeof(*elf));
	const ElfW(Phdr) *phdr;
	ElfW(Addr) strings = 0;

	if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_phentsize != sizeof(*phdr))
		return false;
	phdr = part(file, elf->e_phoff, elf->e_phnum * sizeof(*phdr));
	for (unsigned i = 0; phdr && i < elf->e_phnum; i++)
		if (phdr[i].p_type == PT_DYNAMIC) {
			file->dynamic = part(file, phdr[i].p_offset, phdr[i].p_filesz);
			file->entries = phdr[i].p_filesz / sizeof(*file->dynamic);
		}
	if (!file->dynamic)
		return false;
	for (size_t i = 0; i < file->entries && file->dynamic[i].d_tag != DT_NULL; i++) {
		if (file->dynamic[i].d_tag == DT_STRTAB)
			strings = file->dynamic[i].d_un.d_ptr;
		else if (file->dynamic[i].d_tag == DT_STRSZ)
			file->string_bytes = file->dynamic[i].d_un.d_val;
	}
	file->strings = at(file, strings, file->string_bytes);
	return file->strings != NULL;
}

static bool file_open(struct file *file, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*file = (struct file){.path = path};
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		file->bytes = (size_t)st.st_size;
		file->map = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	if (!file->map || file->map == MAP_FAILED)
		return false;
	if (parse(file))
		return true;
	munmap(file->map, file->bytes);
	return false;
}

static void file_close(const struct file *file)
{
	munmap(file->map, file->bytes);
}

static bool join(char path[PATH_MAX], const char *folder, size_t length, const char *file)
{
	const int n = snprintf(path, PATH_MAX, "%.*s/%s", (int)length, folder, file);

	return n > 0 && n < PATH_MAX && !access(path, R_OK);
}

/* A run path as the file has it: folders apart by ':', $ORIGIN the folder of
 * `origin`. Others are left out. */
static bool search_run_path(struct search *search, const char *folders, const char *origin,
			    const char *file, char path[PATH_MAX])
{
	const char *const slash = strrchr(origin, '/');
	char *const folder = search->folder;

	while (folders && *folders) {
		const size_t length = strcspn(folders, ":");
		size_t skip = 0;
		int n;

		if (!strncmp(folders, "$ORIGIN", 7))
			skip = 7;
		else if (!strncmp(folders, "${ORIGIN}", 9))
			skip = 9;
		n = snprintf(folder, PATH_MAX, "%.*s%.*s",
			     skip ? (int)(slash ? slash - origin : 1) : 0, slash ? origin : ".",
			     (int)(length - skip), folders + skip);
		if (n > 0 && n < PATH_MAX && !strchr(folder, '$') &&
		    join(path, folder, (size_t)n, file))
			return true;
		folders += length + (folders[length] == ':');
	}
	return false;
}

/* The linker's own default folders come after its cache. It does not say which they
 * are (dls_flags is 0). */
static bool is_default(const char *folder)
{
	return !strncmp(folder, "/lib", 4) || !strncmp(folder, "/usr/lib", 8);
}

/* The search path that the dynamic linker itself gives for the caller; `defaults`:
 * its default folders too. */
static bool search_linker(struct search *search, const char *file, bool defaults,
			  char path[PATH_MAX])
{
#ifdef __GLIBC__
	Dl_serinfo *const folders = &search->linker.info;
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1(search->caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map ||
	    dlinfo(map, RTLD_DI_SERINFOSIZE, folders) ||
	    folders->dls_size > sizeof(search->linker) || dlinfo(map, RTLD_DI_SERINFO, folders))
		return false;
	for (unsigned i = 0; i < folders->dls_cnt; i++) {
		const Dl_serpath *const folder = &folders->dls_serpath[i];

		if ((defaults || !is_default(folder->dls_name)) &&
		    join(path, folder->dls_name, strlen(folder->dls_name), file))
			return true;
	}
#endif
	return false;
}

bool search_caller(struct search_room *room, const char *file)
{
	return search_linker((struct search *)room, file, false, room->path);
}

/* The linker's cache, the format that glibc has written since 2.2. */
static bool search_cache(const char *name, char path[PATH_MAX])
{
	struct head {
		char magic[20];
		uint32_t count, string_bytes, unused[5];
	};
	struct entry {
		int32_t flags;
		uint32_t key, value, version;
		uint64_t capabilities;
	};
	const int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
	const struct head *head;
	const struct entry *entry;
	bool found = false;
	struct stat st;
	char *map = MAP_FAILED;
	size_t size = 0;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_size > (off_t)sizeof(*head)) {
		size = (size_t)st.st_size;
		map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	if (map == MAP_FAILED)
		return false;
	head = memmem(map, size, "glibc-ld.so.cache1.1", 20);
	if (head && (size_t)(map + size - (const char *)head) >= sizeof(*head)) {
		const char *const base = (const char *)head;
		const size_t bytes = (size_t)(map + size - base);

		entry = (const void *)(head + 1);
		for (uint32_t i = 0;
		     i < head->count && (const char *)(entry + i + 1) <= base + bytes && !found;
		     i++)
			if (entry[i].key < bytes && entry[i].value < bytes &&
			    !strncmp(base + entry[i].key, name, bytes - entry[i].key))
				found = snprintf(path, PATH_MAX, "%s", base + entry[i].value) <
					PATH_MAX;
	}
	munmap(map, size);
	return found;
}

static const char *needed(const struct file *file, size_t index)
{
	return file->dynamic[index].d_tag == DT_NEEDED
		       ? string(file, file->dynamic[index].d_un.d_val)
		       : NULL;
}

struct library *search_is_driver(const char *path)
{
	struct library *library = NULL;
	const char *soname;
	struct file file;

	if (!file_open(&file, path))
		return NULL;
	soname = value(&file, DT_SONAME);
	for (int i = 0; i < LIBRARIES && soname; i++)
		if (elf_named(soname, libraries[i].stem))
			library = &libraries[i];
	file_close(&file);
	return library;
}

unsigned search_needs_driver(struct search_room *room, const char *path)
{
	unsigned needs = 0;
	struct file file;

	if (!file_open(&file, path))
		return 0;
	for (size_t i = 0; i < file.entries && file.dynamic[i].d_tag != DT_NULL; i++) {
		const char *const name = needed(&file, i);
		struct library *const library = name ? library_named(name) : NULL;
		const char *folders;

		if (!library)
			continue;
		folders = value(&file, DT_RUNPATH);
		if (!search_run_path((struct search *)room,
				     folders ? folders : value(&file, DT_RPATH), path, name,
				     room->needed[library - libraries]))
			room->needed[library - libraries][0] = '\0';
		needs |= 1u << (library - libraries);
	}
	file_close(&file);
	return needs;
}

/* As the linker searches: run path of who needs it, the caller's path, the
 * cache, the default folders. */
static bool find(struct search *search, const char *name, const struct file *parent,
		 char path[PATH_MAX])
{
	const char *folders = parent ? value(parent, DT_RUNPATH) : NULL;

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	if (!folders && parent)
		folders = value(parent, DT_RPATH);
	return (folders && search_run_path(search, folders, parent->path, name, path)) ||
	       search_linker(search, name, false, path) || search_cache(name, path) ||
	       search_linker(search, name, true, path);
}

/* By what the file itself holds. */
static enum reach holds(const struct file *file)
{
	for (int i = 0; i < LIBRARIES; i++)
		if (memmem(file->map, file->bytes, libraries[i].stem, strlen(libraries[i].stem)))
			return REACH_NAMED;
	/* the ends of names may be shared: "x_dlopen" is one for "dlopen" too */
	if (memmem(file->strings, file->string_bytes, "dlopen", sizeof("dlopen")) ||
	    memmem(file->strings, file->string_bytes, "dlmopen", sizeof("dlmopen")))
		return REACH_PERHAPS;
	return REACH_NOT;
}

static enum reach reaches(struct search *search, const char *name, const struct file *parent,
			  int depth)
{
	char *const path = search->paths[depth];
	enum reach answer;
	struct file file;

	if (library_named(name))
		return REACH_NAMED;
	if (loader_is_libc_name(name))
		return REACH_NOT;
	if (depth == DEEPEST || ++search->files > FILES_MOST ||
	    !find(search, name, parent, path) || !file_open(&file, path))
		return REACH_PERHAPS;

	answer = holds(&file);
	for (size_t i = 0; i < file.entries && file.dynamic[i].d_tag != DT_NULL &&
			   answer != REACH_NAMED;
	     i++) {
		const char *const need = needed(&file, i);
		const enum reach other = need ? reaches(search, need, &file, depth + 1) : REACH_NOT;

		if (other > answer)
			answer = other;
	}
	file_close(&file);
	return answer;
}

enum reach search_reach(struct search_room *room, const char *file)
{
	struct search *const search = (struct search *)room;

	search->files = 0;
	return reaches(search, file, NULL, 0);
}

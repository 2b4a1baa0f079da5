/*
 * Opening the account, taking a slot, and finding the dead.
 *
 * A process holds its slot by a lock on one byte of <dir>/life.<k>, on an open file of its own that
 * fork inherits and exec closes; the file is also mapped, so that the process itself keeps it
 * through closefrom(). The lock is free exactly when the last of these is gone. No PID is ever
 * judged.
 */
#include "account.h"
#include "account_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a reaper stands by for another one, who may be stopped. */
enum { REAP_TRIES = 400, REAP_WAIT_US = 50 };

static int open_in(const struct account *account, const char *name)
{
	char path[320];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", account->dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	(void)!fchmod(fd, 0666);
	return fd;
}

static int lock_byte(const int fd, const unsigned int byte, const int how)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	while (fcntl(fd, how, &lock)) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int account_lock(const struct account *account, const char *name)
{
	const int fd = open_in(account, name);

	if (fd >= 0 && lock_byte(fd, 0, F_OFD_SETLKW)) {
		close(fd);
		return -EIO;
	}
	return fd;
}

void account_unlock(const int lock)
{
	struct flock none = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	/* Not by close alone: a fork in another thread may have copied the descriptor. */
	fcntl(lock, F_OFD_SETLK, &none);
	close(lock);
}

static int open_life(const struct account *account, const unsigned int slot)
{
	char name[24];

	snprintf(name, sizeof(name), "life.%u", slot / ACCOUNT_LIFE_SLOTS);
	return open_in(account, name);
}

static bool looks_dead(const struct account_slot *slot)
{
	/* The robust futex word: an owner and no death bit while its thread lives. */
	const uint32_t word = __atomic_load_n((const uint32_t *)&slot->life, __ATOMIC_RELAXED);

	return !(word & 0x3fffffffU) || (word & 0x40000000U);
}

void account_reap(struct account *account, const bool thorough)
{
	struct account_file *const file = account->file;
	const unsigned int slots = __atomic_load_n(&file->slots, __ATOMIC_ACQUIRE);
	unsigned int slot, device, tries;

	for (slot = 0; slot < slots && slot < ACCOUNT_SLOTS; slot++) {
		struct account_slot *const other = &file->slot[slot];
		int fd;

		if (!__atomic_load_n(&other->state, __ATOMIC_ACQUIRE) || (int)slot == account->slot)
			continue;
		if (!thorough && !looks_dead(other))
			continue;
		fd = open_life(account, slot);
		if (fd < 0)
			return;
		/* One reaper at a time: to another the first one's lock would look like the owner's
		 * life. */
		for (tries = 0; lock_byte(fd, ACCOUNT_LIFE_SLOTS + slot % ACCOUNT_LIFE_SLOTS,
					  F_OFD_SETLK) &&
				tries < REAP_TRIES;
		     tries++)
			usleep(REAP_WAIT_US);
		if (!lock_byte(fd, slot % ACCOUNT_LIFE_SLOTS, F_OFD_SETLK)) {
			if (__atomic_load_n(&other->state, __ATOMIC_ACQUIRE)) {
				account_settle(file, slot);
				for (device = 0; device < file->devices; device++)
					account_shrink(account, device, other->tag % ACCOUNT_TAGS);
				__atomic_store_n(&other->state, 0, __ATOMIC_RELEASE);
			}
		}
		account_unlock(fd);
	}
}

static bool same_cards(const struct account_file *file, const struct config *config)
{
	unsigned int i;

	if (file->devices != config->devices)
		return false;
	for (i = 0; i < config->devices; i++)
		if (file->device[i].units != config->card[i].bytes / ACCOUNT_UNIT ||
		    memcmp(file->device[i].uuid, config->card[i].uuid, 16))
			return false;
	return true;
}

static void lay_out(struct account_file *file, const struct config *config)
{
	unsigned int i;

	file->devices = config->devices;
	for (i = 0; i < config->devices; i++) {
		memcpy(file->device[i].uuid, config->card[i].uuid, 16);
		file->device[i].units = (uint32_t)(config->card[i].bytes / ACCOUNT_UNIT);
	}
	__atomic_store_n(&file->magic, ACCOUNT_MAGIC, __ATOMIC_RELEASE);
}

static bool in_use(struct account *account)
{
	unsigned int slot;

	account_reap(account, true);
	for (slot = 0; slot < account->file->slots && slot < ACCOUNT_SLOTS; slot++)
		if (account->file->slot[slot].state)
			return true;
	return false;
}

static int map_file(struct account *account, const int fd)
{
	void *const file =
		mmap(NULL, sizeof(struct account_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (file == MAP_FAILED)
		return -errno;
	account->file = file;
	return 0;
}

int account_open(struct account *account, const char *dir, const struct config *config)
{
	struct stat status;
	int lock, fd, rc;

	account->slot = account->life = -1;
	account->file = NULL;
	snprintf(account->dir, sizeof(account->dir), "%s", dir);
	if (config && !mkdir(dir, 0777))
		(void)!chmod(dir, 01777);
	lock = account_lock(account, "join.lock");
	if (lock < 0)
		return lock;
	fd = open_in(account, "account");
	rc = fd < 0 ? fd : fstat(fd, &status) ? -errno : 0;
	if (!rc && status.st_size < (off_t)sizeof(struct account_file))
		rc = !config ? -ENOENT : ftruncate(fd, sizeof(struct account_file)) ? -errno : 0;
	if (!rc)
		rc = map_file(account, fd);
	if (!rc && config) {
		struct account_file *const file = account->file;

		if (file->magic == ACCOUNT_MAGIC && !same_cards(file, config)) {
			if (in_use(account)) {
				rc = -EBUSY;
			} else {
				/* Cleared in place: whoever has it mapped has no slot in it. */
				file->magic = 0;
				memset(file, 0, offsetof(struct account_file, slot));
			}
		}
		if (!rc && file->magic != ACCOUNT_MAGIC)
			lay_out(file, config);
	} else if (!rc && account->file->magic != ACCOUNT_MAGIC) {
		rc = -ENOENT;
	}
	if (fd >= 0)
		close(fd);
	account_unlock(lock);
	if (rc)
		account_close(account);
	return rc;
}

void account_close(struct account *account)
{
	if (account->file)
		munmap(account->file, sizeof(struct account_file));
	account->file = NULL;
}

static int find_tag(struct account_file *file, const char *tag)
{
	unsigned int i;

	for (i = 0; i < file->tags && i < ACCOUNT_TAGS; i++)
		if (!strncmp(file->tag[i], tag, sizeof(file->tag[i])))
			return (int)i;
	if (i == ACCOUNT_TAGS)
		return -ENOSPC;
	memset(file->tag[i], 0, sizeof(file->tag[i]));
	memcpy(file->tag[i], tag, strnlen(tag, sizeof(file->tag[i]) - 1));
	__atomic_store_n(&file->tags, i + 1, __ATOMIC_RELEASE);
	return (int)i;
}

/* The driver names processes as the host does, whatever namespace they are in. What can be seen of
 * that from inside is the first number of NSpid: that of the namespace of /proc. */
static uint32_t outer_pid(void)
{
	FILE *const status = fopen("/proc/self/status", "re");
	unsigned int pid = 0;
	char line[256];

	while (status && !pid && fgets(line, sizeof(line), status))
		sscanf(line, "NSpid: %u", &pid);
	if (status)
		fclose(status);
	return pid ? pid : (uint32_t)getpid();
}

static void start_slot(struct account_slot *slot, const unsigned int tag)
{
	pthread_mutexattr_t attributes;
	FILE *comm;

	slot->pid = (uint32_t)getpid();
	slot->outer_pid = outer_pid();
	slot->tag = tag;
	slot->intent = 0;
	memset(slot->held, 0, sizeof(slot->held));
	memset(slot->held_max, 0, sizeof(slot->held_max));
	memset(slot->name, 0, sizeof(slot->name));
	comm = fopen("/proc/self/comm", "re");
	if (comm) {
		if (fgets(slot->name, sizeof(slot->name), comm))
			slot->name[strcspn(slot->name, "\n")] = 0;
		fclose(comm);
	}
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&slot->life, &attributes);
	pthread_mutexattr_destroy(&attributes);
	pthread_mutex_lock(&slot->life);
	__atomic_store_n(&slot->state, 1, __ATOMIC_RELEASE);
}

int account_join(struct account *account, const char *tag)
{
	struct account_file *const file = account->file;
	const int lock = account_lock(account, "join.lock");
	unsigned int slot;
	int number, rc = -ENOSPC;

	if (lock < 0)
		return lock;
	account_reap(account, false);
	number = find_tag(file, tag);
	if (number < 0)
		rc = number;
	for (slot = 0; number >= 0 && slot < ACCOUNT_SLOTS - 1; slot++) {
		void *page;
		int fd;

		if (__atomic_load_n(&file->slot[slot].state, __ATOMIC_ACQUIRE))
			continue;
		fd = open_life(account, slot);
		if (fd < 0) {
			rc = fd;
			break;
		}
		if (lock_byte(fd, slot % ACCOUNT_LIFE_SLOTS, F_OFD_SETLK)) {
			close(fd);
			continue;
		}
		if (slot >= file->slots)
			__atomic_store_n(&file->slots, slot + 1, __ATOMIC_RELEASE);
		(void)!ftruncate(fd, 4096);
		page = mmap(NULL, 4096, PROT_NONE, MAP_SHARED, fd, 0);
		if (page == MAP_FAILED || madvise(page, 4096, MADV_DONTFORK)) {
			rc = -errno;
			close(fd);
			break;
		}
		account->life = fd;
		account->slot = (int)slot;
		start_slot(&file->slot[slot], (unsigned int)number);
		rc = 0;
		break;
	}
	account_unlock(lock);
	return rc;
}

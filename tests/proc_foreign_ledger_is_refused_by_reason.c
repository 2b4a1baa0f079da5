/*
 * What lies under the ledger's name and is no ledger that we understand is refused with path,
 * reason and way out, is left as it was, and never brings a process down: other magic,
 * layout, unit or device, truncated at any length, parts that do not fit, a folder, a FIFO, a
 * symbolic link, a device.
 */
#include "proc_files.h"

#include <sys/sysmacros.h>

static struct worker *w;
static struct shape shape = SHAPE_SMALL(8, 4);

static int refused(const char *what, int want, const char *reason)
{
	const struct order o = {.op = OP_OPEN};
	const struct answer a = worker_do(w, &o);
	char why[SEGMENT_WHY];
	struct segment reader;
	int rc;

	if (a.rc >= 0 || (want && a.rc != want))
		FAIL("%s: opened with %d, want %d (%s)", what, a.rc, want, a.why);
	if (!strstr(a.why, ".ledger") || (reason && !strstr(a.why, reason)))
		FAIL("%s: the reason names no path or not \"%s\": \"%s\"", what,
		     reason ? reason : "", a.why);
	rc = segment_open(&reader, world.dir, world.uuid, world.device_bytes, SEGMENT_READER, why);
	if (rc >= 0)
		FAIL("%s: a reader opened it (%d)", what, rc);
	return a.rc;
}

static void with(const char *what, const struct cuquota_header *h, const char *reason)
{
	struct stat before, after;

	shape_write(&shape, h);
	CHECK_SYS(stat(ledger_path(), &before));
	refused(what, -EPROTO, reason);
	CHECK_SYS(stat(ledger_path(), &after));
	CHECK_EQ(before.st_ino, after.st_ino);
	CHECK_EQ(before.st_size, after.st_size);
	CHECK_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

/* One field of the header set to `value`. */
#define WITH(field, value, reason)                                            \
	do {                                                                  \
		struct cuquota_header h = good;                               \
		int file;                                                     \
                                                                              \
		shape_write(&shape, &good);                                   \
		h.field = (value);                                            \
		file = open(ledger_path(), O_WRONLY | O_CLOEXEC);             \
		CHECK_EQ(pwrite(file, &h, sizeof(h), 0), (ssize_t)sizeof(h)); \
		close(file);                                                  \
		refused(#field " = " #value, -EPROTO, reason);                \
	} while (0)

int main(int argc, char **argv)
{
	struct cuquota_header good;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(4 * GIB), 30);
	w = worker_start();
	good = shape_header(&shape, world.device_bytes);
	{
		struct cuquota_header h = good;

		memcpy(h.magic, "SHRREG1", 8);
		with("another program's file", &h, "not a ledger");
		h = good;
		h.layout = CUQUOTA_LAYOUT + 1;
		with("a later layout", &h, "layout");
		h = good;
		h.unit = 4096;
		with("another unit", &h, "unit");
		h = good;
		h.uuid[8] ^= 1;
		with("another device's", &h, "another device");
	}
	WITH(file_bytes, good.file_bytes + 1, "shorter than it says");
	WITH(file_bytes, UINT64_MAX, "shorter than it says");
	WITH(header_bytes, 100, "fit");
	WITH(header_bytes, 0xffffffffu, "fit");
	WITH(member_count, 0, "fit");
	WITH(member_count, 9, "fit");
	WITH(member_count, 0xffffffffu, "fit");
	WITH(member_stride, 56, "fit");
	WITH(member_stride, 0, "fit");
	WITH(member_stride, 65, "fit");
	WITH(member_stride, 0x80000000u, "fit");
	WITH(member_offset, good.file_bytes, "fit");
	WITH(member_offset, UINT64_MAX - 63, "fit");
	WITH(member_offset, good.member_offset + 4, "fit");
	WITH(tenant_count, 0, "fit");
	WITH(tenant_count, 0x7fffffffu, "fit");
	WITH(tenant_stride, 64, "fit");
	WITH(tenant_offset, good.file_bytes - 8, "fit");
	WITH(tenant_offset, 0, "fit");
	WITH(member_offset, 0, "fit");
	WITH(features, CUQUOTA_MAPS, "fit"); /* no room behind a record */
	WITH(detail_stride, 8, "fit");
	WITH(detail_offset, good.file_bytes - 8, "fit");
	WITH(detail_offset, 0, "fit");

	for (size_t bytes = 0; bytes < good.file_bytes; bytes = bytes ? bytes * 3 - 1 : 1) {
		shape_write(&shape, &good);
		CHECK_SYS(truncate(ledger_path(), (off_t)bytes));
		refused("truncated", -EPROTO, "short");
	}
	shape_write(&shape, &good);
	CHECK_SYS(truncate(ledger_path(), 2ll << 30));
	refused("far too long", -EPROTO, "long");

	unlink(ledger_path());
	CHECK_SYS(mkdir(ledger_path(), 0777));
	refused("a folder", 0, NULL);
	CHECK_SYS(rmdir(ledger_path()));
	CHECK_SYS(mkfifo(ledger_path(), 0666));
	refused("a FIFO", 0, NULL);
	CHECK_SYS(unlink(ledger_path()));
	CHECK_SYS(symlink("/dev/null", ledger_path()));
	refused("a symbolic link", 0, NULL);
	CHECK_SYS(unlink(ledger_path()));
	CHECK_SYS(symlink("nowhere", ledger_path()));
	refused("a dangling symbolic link", 0, NULL);
	CHECK_SYS(unlink(ledger_path()));
	if (geteuid() == 0 && mknod(ledger_path(), S_IFCHR | 0666, makedev(1, 5)) == 0) {
		refused("a device", 0, NULL);
		CHECK_SYS(unlink(ledger_path()));
	}

	/* And a good one is taken, by the same process. */
	shape_write(&shape, &good);
	CHECK_EQ(worker_join(w, "a", BYTES(GIB), 0), 0);
	CHECK_EQ(worker_charge(w, GIB), 0);
	ledger_is_true("in the good one");
	return 0;
}

/*
 * The two probes (probe/probe.c), carried inside the command, so that it needs no other file where
 * it is copied to.
 */
#include "cli/doctor.h"

#include "probes.h"

#include <sys/mman.h>
#include <unistd.h>

int probe_file(bool linked)
{
	const unsigned char *from = linked ? probe_linked : probe_opens;
	size_t left = linked ? sizeof(probe_linked) : sizeof(probe_opens);
	const int fd = memfd_create(linked ? "probe_linked.so" : "probe_opens.so", MFD_CLOEXEC);

	while (fd >= 0 && left) {
		const ssize_t written = write(fd, from, left);

		if (written <= 0) {
			close(fd);
			return -1;
		}
		from += written;
		left -= (size_t)written;
	}
	return fd;
}

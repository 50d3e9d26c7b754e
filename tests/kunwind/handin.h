/* SPDX-License-Identifier: BSD-2-Clause */
/* Handing in tables that are sound, and of no use. */
#ifndef KT_HANDIN_H
#define KT_HANDIN_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <outwind/kunwind.h>

#include "madetable.h"

static inline int hand_in(int dev, int fd, const void *bytes, size_t size)
{
	struct ow_kunwind_segment seg = { 0, 4096, 0 };
	struct ow_kunwind_table t = {
		.fd = fd,
		.bytes = (uintptr_t)bytes,
		.size = (uint32_t)size,
		.nr_segments = 1,
		.segments = (uintptr_t)&seg,
	};

	return ioctl(dev, OW_KUNWIND_TABLE, &t) ? errno : 0;
}

/* An empty file, which is an object of its own. */
static inline int some_file(void)
{
	char path[] = "/dev/shm/kunwind-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	unlink(path);
	return fd;
}

/* Map the file's code; return how often the session is told that it lacks a table. */
static inline int map_and_read(int dev, int fd)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	struct ow_kunwind_event e;
	int told = 0;

	while (read(dev, &e, sizeof(e)) == sizeof(e))
		told += e.kind == OW_KUNWIND_EV_LACKS &&
			e.start == (uintptr_t)p;
	munmap(p, 4096);
	return told;
}

static inline bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool well = fd >= 0 &&
		    write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return well;
}

#endif /* KT_HANDIN_H */

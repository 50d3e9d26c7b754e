/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading another process's memory, in the way that the user chose. */
#ifndef OW_PROCESSMEM_H
#define OW_PROCESSMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <outwind/outwind.h>

struct ow_processmem {
	pid_t pid;
	enum ow_reading how;
	int fd;        /* of /proc/PID/mem, or -1 */
	pid_t stopped; /* a thread that the caller has stopped, for
			  OW_READING_PTRACE */
	size_t peeked; /* bytes that were read so */
};

/*
 * Get ready to read a process's memory; all that can be done before it is
 * stopped.  No failure shows before a read.
 */
void ow_processmem_open(struct ow_processmem *mem, pid_t pid,
			enum ow_reading how);
void ow_processmem_close(struct ow_processmem *mem);

/* Read size bytes at addr.  Return how many of the first could be read. */
size_t ow_processmem_read(struct ow_processmem *mem, uint64_t addr, void *buf,
			  size_t size);

/*
 * As ow_processmem_read(), of pages that the process itself may not read either
 * (PROT_NONE, or PROT_WRITE alone): by /proc/PID/mem, as debuggers read them.
 */
size_t ow_processmem_read_hidden(struct ow_processmem *mem, uint64_t addr,
				 void *buf, size_t size);

/*
 * How many of the size bytes at addr lie in pages that are there, up to the first one
 * that isn't (/proc/PID/pagemap).  A page of a guard was never written, and isn't
 * there before it is read.
 */
uint64_t ow_processmem_present(pid_t pid, uint64_t addr, uint64_t size);

/*
 * Return true if all pages that the size bytes at addr lie in are in memory, and none of
 * them is the process' own copy of what is mapped (/proc/PID/pagemap).  For few pages.
 */
bool ow_processmem_is_uncopied(pid_t pid, uint64_t addr, size_t size);

/* What reads of several running processes' memory may wait for; all zero at first. */
struct ow_patience {
	unsigned int nr_given_up;
	pid_t pid; /* the last one that had us wait in vain; it isn't read again */
};

/*
 * Read by a delegate from a process that runs and may never serve what is read.
 * After several processes that did not, nothing more is read.
 */
size_t ow_processmem_read_patiently(struct ow_processmem *mem,
				    struct ow_patience *patience, uint64_t addr,
				    void *buf, size_t size);

/*
 * Fill nr pieces, IOV_MAX at most and 2 GiB together, by one call where there
 * is one, in their order.  Return how many are done with; the last of them is
 * cut to what could be read of it, by its iov_len in local.
 */
size_t ow_processmem_readv(struct ow_processmem *mem, struct iovec *local,
			   const struct iovec *remote, size_t nr);

#endif /* OW_PROCESSMEM_H */

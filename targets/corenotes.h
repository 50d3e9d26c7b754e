/* SPDX-License-Identifier: BSD-2-Clause */
/* What the notes of a core file tell (Linux, fs/binfmt_elf.c). */
#ifndef OW_CORENOTES_H
#define OW_CORENOTES_H

#include "capture.h"
#include "intern.h"
#include "vmcoreinfo.h"

#define OW_CORE_NAME 16 /* bytes of a program's name */

/* A file that was mapped. */
struct ow_core_file {
	uint64_t start, end, off;
	const char *path; /* of the capture's; equal ones are one */
};

struct ow_corenotes {
	const struct ow_arch *arch;
	struct ow_capture *c;    /* whose memory it takes */
	struct ow_intern *paths; /* which stay */
	const char *path;        /* of the core, for messages; borrowed */
	const struct ow_corenotes_layout *layout;
	pid_t pid; /* of the process */
	bool has_psinfo;
	struct ow_capture_thread *threads;
	size_t nr_threads, room;
	uint32_t nr_seen; /* notes that were looked at, of any type */
	uint64_t size_seen;
	struct ow_core_file *files; /* NT_FILE */
	size_t nr_files;
	/* Addrs, from the auxiliary vector; or 0. */
	uint64_t entry, vdso, execfn;
	uint64_t pc_mask; /* bits of a code address, or 0: not told */
	char name[OW_CORE_NAME + 1];
	/* Only of a machine's dump. */
	const uint8_t *qemu; /* of the first CPU's registers; borrowed */
	size_t qemu_size;
	struct ow_vmcoreinfo vmcoreinfo;
};

/* Begin with what is set of c, paths and path. */
void ow_corenotes_begin(struct ow_corenotes *n, const struct ow_arch *arch);

/*
 * Take the notes of a PT_NOTE segment's bytes.  Those that are too many, or take too
 * many bytes with what was taken before, are left out (leftout.h).
 */
void ow_corenotes_take(struct ow_corenotes *n, struct ow_cursor c);

/* Put the files in address order, once all notes are taken. */
void ow_corenotes_sort(struct ow_corenotes *n);

/* Free threads and files; set what was handed on to NULL before. */
void ow_corenotes_free(struct ow_corenotes *n);

#endif /* OW_CORENOTES_H */

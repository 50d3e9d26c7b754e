/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was taken of a target: threads' registers, memory, and what is mapped
 * where.  A target fills one; walking and naming need nothing else, and the
 * process may run or be gone meanwhile.
 */
#ifndef OW_CAPTURE_H
#define OW_CAPTURE_H

#include <outwind/outwind.h>

#include "object.h"
#include "walk.h"

/* A run of bytes copied, or borrowed from a mapped core file. */
struct ow_region {
	uint64_t start, size;
	const uint8_t *bytes;
};

/* A module, its object and what is needed to open that on first use. */
struct ow_capture_module {
	struct ow_module base;
	char *path;       /* "/usr/lib/x.so", "[vdso]" */
	uint64_t start;   /* addr of the lowest piece that is mapped */
	uint64_t map_off; /* file offset that is mapped there */
	uint64_t text_start, text_end; /* its first executable range */
	uint64_t text_off; /* file offset mapped at text_start */
	uint64_t dev, inode;
	bool deleted;
	struct ow_object *object; /* NULL until base.state is READY, and
				     after that if it could not be opened */
	struct ow_error why;      /* in which case this says why */
	char build_id[2 * OW_BUILD_ID_MAX + 1];
};

struct ow_capture_thread {
	struct ow_thread info;
	struct ow_regs regs;
	struct ow_window stack;
};

struct ow_capture {
	struct ow_target target; /* first: reads find the capture by it */
	pid_t pid;
	char *program;
	bool use_tables;
	/* Opens the object of a module; the target's own.  May be NULL. */
	struct ow_object *(*open)(struct ow_capture *c,
				  struct ow_capture_module *m,
				  struct ow_error *err);
	void *priv; /* the target's own; freed by priv_free */
	void (*priv_free)(void *priv);

	struct ow_capture_thread *threads;
	size_t nr_threads;
	struct ow_capture_module *modules; /* ranges point into it */
	size_t nr_modules;
	struct ow_range *ranges; /* what target.map has; owned */
	struct ow_region *regions; /* sorted by start, none overlapping */
	size_t nr_regions;
	uint8_t *buffer;      /* what regions point into, or NULL */
	size_t buffer_size;   /* mmapped */
	struct ow_capture_stats stats;

	struct ow_cache cache;
	struct ow_walk walk; /* scratch of ow_capture_walk() */
};

/* An empty capture, whose reads look at regions, then at objects. */
struct ow_capture *ow_capture_create(struct ow_error *err);

/* Sort the regions and ranges that a target has filled in. */
void ow_capture_finish(struct ow_capture *c);

/*
 * Open the object of a module, if that has not been tried, and with it its
 * CFI and table.  Afterwards its state is OW_MODULE_READY in any case.
 */
void ow_capture_ready(struct ow_capture *c, struct ow_capture_module *m);

/* The module whose executable range holds addr, made ready, or NULL. */
struct ow_capture_module *ow_capture_module_at(struct ow_capture *c,
					       uint64_t addr);

#endif /* OW_CAPTURE_H */

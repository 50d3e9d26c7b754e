/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was taken of a target: threads' registers, memory, and what is mapped
 * where.  A target fills one; walking and naming need nothing else, and the
 * process may run or be gone meanwhile.
 */
#ifndef OW_CAPTURE_H
#define OW_CAPTURE_H

#include <outwind/outwind.h>

#include "effort.h"
#include "intern.h"
#include "object.h"
#include "tablefile.h"
#include "walk.h"
#include "walktime.h"

/* A run of bytes copied, or borrowed from a mapped core file. */
struct ow_region {
	uint64_t start, size;
	const uint8_t *bytes;
	bool is_hidden; /* in pages that the process itself may not read */
};

#define OW_MOST_UNSERVED 16

/* Memory that was not read, as a read of it would have waited too long. */
struct ow_unserved {
	struct {
		uint64_t start, end;
	} list[OW_MOST_UNSERVED];

	size_t nr;
	unsigned int ms; /* how long all of a stop was waited for */
	int start_errno; /* why no process could be started to read it; or 0 */
};

/* One executable mapping of a file, and what is needed to open that. */
struct ow_capture_module {
	struct ow_module base; /* first: ranges point to it */
	char *path;            /* "/usr/lib/x.so", "[vdso]" */
	bool is_path_lent;     /* by paths of the capture, or by priv */
	uint64_t start, end;   /* addrs of the mapping */
	uint64_t off;          /* file offset at start */
	uint64_t head;         /* of a core's: addr where its file begins */
	uint64_t dev, inode;   /* dev as makedev() has it */
	bool deleted;
	bool is_cut;   /* its file was, and nothing of object counts */
	bool is_given; /* path is the user's own, not the target's */
	bool is_other; /* its file isn't what the process has mapped */
	struct ow_object *object; /* NULL until base.state is READY, and after
				     that if it could not be opened */
	bool owns_object; /* is a user of it, as modules of one file need not be */
	struct ow_tablefile *table; /* the object's, of its owner; or NULL */
	struct ow_error why;        /* if object is NULL when READY */
	char build_id[2 * OW_BUILD_ID_MAX + 1];
};

struct ow_capture_thread {
	struct ow_thread info;
	struct ow_regs regs;
	struct ow_window stack;
	/* Where its stack's copy ends, as code that it leads to has been replaced
	   since it was taken; or 0. */
	uint64_t replaced;
	bool are_texts_lent; /* those of info, by priv */
	bool is_user;        /* of a machine's CPU: it was in user mode */
};

struct ow_capture {
	struct ow_target target; /* first: reads find the capture by it */
	pid_t pid;
	pid_t live; /* a thread that has not exited: its /proc has the memory */
	char *program;
	bool use_tables;
	/* How the target opens the object of a module; never NULL. */
	struct ow_object *(*open)(struct ow_capture *c,
				  struct ow_capture_module *m,
				  struct ow_error *err);
	/* Take a sample more, or NULL: ow_capture_again(). */
	int (*again)(struct ow_capture *c, struct ow_error *err);
	bool by_fp_only; /* leave CFI alone */
	/* Its modules stay, and files may be written to before they are named. */
	bool is_lasting;
	struct ow_nametable *names; /* where no object has; or NULL */
	void *priv; /* the target's own, for priv_free, which may be NULL */
	void (*priv_free)(void *priv);

	struct ow_capture_thread *threads;
	size_t nr_threads;
	struct ow_capture_module *modules; /* in address order */
	size_t nr_modules;
	struct ow_range *ranges;   /* what target.map has */
	struct ow_region *regions; /* in address order, none overlapping */
	size_t nr_regions;
	/* What regions are borrowed from, of the name program or path, or NULL. */
	const struct ow_filemap *file;
	unsigned int nr_cut; /* ow_filemap_nr_cut() when it was looked at last */
	struct ow_unserved unserved; /* what reads could not wait for, */
	struct ow_unserved over;     /* and what there was no memory for */
	uint64_t local_dev; /* of a process's files, that is no server's; or 0 */
	size_t nr_listed;   /* mappings, to copy objects from memory */
	size_t budget;      /* bytes taken for lists, of a file (budget.h) */
	struct ow_intern paths; /* that modules are lent */
	void *opened;     /* tree (tsearch(3)) of modules, one of each file */
	size_t nr_opened; /* calls of open() */
	void *tabled;     /* tree of modules whose tables were made, likewise */
	struct ow_capture_stats stats;
	char warning[1024]; /* what ow_capture_warning() tells, or "" */
	/* A snapshot's own part of a JIT's map for perf, and where that was;
	   NULL: there is none.  Borrowed from priv. */
	const char *jit_names, *jit_path;
	size_t jit_names_size;

	struct ow_cache cache;
	struct ow_walk walk;       /* scratch of ow_capture_walk() */
	uint64_t cfi_left;         /* and what CFI may still run in it, */
	struct ow_effort cfi_work; /* and in all walks: cfiwork.h */
	struct ow_walktime walk_time;
};

/*
 * Order modules by their files, for tsearch(3).  Files of two subvolumes can have one
 * number and, in the list of mappings, one device: they differ by their paths.
 */
int ow_capture_file_order(const void *a, const void *b);

/* An empty capture; all that it points to comes from malloc() and is its own. */
struct ow_capture *ow_capture_create(struct ow_error *err);

/*
 * Take memory for nr elements of size bytes of the capture's lists from the budget:
 * a file may ask for any number.  Return false, and take none, if that is too much.
 */
bool ow_capture_take_memory(struct ow_capture *c, size_t nr, size_t size);

/* Free what is there of threads: they are taken anew. */
void ow_capture_drop_threads(struct ow_capture *c);

/* Have tables looked for if that is asked for, and there is a cache of them. */
void ow_capture_use_tables(struct ow_capture *c,
			   const struct ow_capture_options *options);

/*
 * Read what no process can have changed from the objects that have been opened:
 * 0, or -OW_EFAULT.
 */
int ow_capture_read_files(const struct ow_capture *c, uint64_t addr, void *buf,
			  size_t size);

/* target.mem.read: of the regions, or else of files. */
int ow_capture_read_memory(const struct ow_memory *mem, uint64_t addr,
			   void *buf, size_t size);

/* Sort the regions, and let each byte be in one. */
void ow_capture_sort_regions(struct ow_capture *c);

/* Make all arrays' order what is promised above, once they are filled. */
void ow_capture_sort(struct ow_capture *c);

/*
 * Open the object of a module, if that has not been tried, and with it its
 * CFI and table.  Afterwards its state is OW_MODULE_READY in any case.
 */
void ow_capture_ready(struct ow_capture *c, struct ow_capture_module *m);

/*
 * Give up the objects and tables whose files were cut off since the last call:
 * each module's why says so.  Return true if there were such: what was read
 * meanwhile is to be read anew.
 */
bool ow_capture_lose_cut(struct ow_capture *c);

/*
 * From now on names are asked for on behalf of a user (-1: not known), whose share of what
 * names take they count in (nameshares.h): at first, of root, who has all.
 */
void ow_symbolizer_ask_for(struct ow_symbolizer *s, uid_t uid);

/* A module's object is about to be closed: names that came from it stay. */
void ow_symbolizer_forget(struct ow_symbolizer *s, const struct ow_object *obj);

/*
 * Name each pc anew for which is_gone() returns true: another object may be there.
 * Names of functions stay valid.
 */
void ow_symbolizer_forget_names(struct ow_symbolizer *s,
				bool (*is_gone)(void *arg, uint64_t pc),
				void *arg);

/* Return true if a name had no room since names were dropped last. */
bool ow_symbolizer_lacks_names(const struct ow_symbolizer *s);

/* Forget all names, which are not valid any more: what is named from now on has room. */
void ow_symbolizer_drop_names(struct ow_symbolizer *s);

/* The region that holds addr, or NULL. */
const struct ow_region *ow_capture_region_at(const struct ow_capture *c,
					     uint64_t addr);

/* The module whose executable range holds addr, made ready, or NULL. */
struct ow_capture_module *ow_capture_module_at(struct ow_capture *c,
					       uint64_t addr);

#endif /* OW_CAPTURE_H */

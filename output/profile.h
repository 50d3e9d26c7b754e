/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile: named stacks and how often each came.  Every target fills one, and
 * every format is written from one.
 */
#ifndef OW_PROFILE_H
#define OW_PROFILE_H

#include <stdio.h>
#include <time.h>

#include <outwind/outwind.h>

#define PROFILE_NONE 0 /* the string "" */

/* Bytes of a string that are kept; "..." stands for the rest. */
#define PROFILE_LONGEST 16384

/* Frames of a stack that is read; one of a guest may have a million. */
#define PROFILE_DEEPEST (1 << 20)

/*
 * What a process had mapped, or the kernel: a pc less start, plus offset, is
 * where it is in the file.
 */
struct profile_mapping {
	uint32_t module; /* string, also "[jit]", "[kernel.kallsyms]" */
	uint32_t build_id;
	uint64_t start, end, offset;
};

/* One name of one place; equal ones are one. */
struct profile_frame {
	uint32_t function; /* string; 0: not known, here and below */
	uint32_t module;
	uint32_t build_id;
	uint32_t file;
	uint32_t line;
	uint8_t is_inline; /* into the next one of the stack */
	uint8_t is_kernel;
	uint8_t has_start; /* offset is known, though function is not */
	uint8_t reserved;
	uint32_t mapping; /* from 1; 0: not known */
	uint32_t reserved_too;
	uint64_t pc;
	uint64_t offset;        /* of pc in the function */
	uint64_t module_offset; /* vaddr */
};

struct profile_stack {
	uint32_t comm; /* string: of the thread */
	int32_t pid, tid;
	uint8_t end;    /* enum ow_end */
	uint8_t kind;   /* enum profile_kind */
	uint16_t owner; /* whose process it is: profile_owner(); 0: not known */
	uint32_t first, nr; /* frame numbers in ids[], innermost first */
	uint64_t count, value;
};

enum profile_kind {
	PROFILE_CPU,
	PROFILE_OFF_CPU, /* value is in nanoseconds */
	PROFILE_FAULTS,
	PROFILE_SYSCALLS,
	PROFILE_NR_KINDS
};

struct profile_strings {
	char *text;       /* one after another, each with its NUL */
	uint32_t *starts; /* of each */
	uint32_t nr, room;
	size_t size, text_room;
	uint32_t *hash; /* 1 + number; 0 is free */
	uint32_t hash_room;
};

/* All zero is empty. */
struct profile {
	struct profile_strings strings;
	struct profile_mapping *mappings;
	uint32_t nr_mappings, room_mappings;
	uint32_t *mapping_hash, mapping_hash_room;
	struct profile_frame *frames;
	uint32_t nr_frames, room_frames;
	uint32_t *frame_hash, frame_hash_room;
	struct profile_stack *stacks;
	uint32_t nr_stacks, room_stacks;
	uint32_t *stack_hash, stack_hash_room;
	uint32_t *ids;
	uint32_t nr_ids, room_ids;
	uint32_t *left_out; /* strings: lines that tell what is missing, and why */
	uint32_t nr_left_out, room_left_out;
	uint32_t *owners; /* uids */
	uint32_t nr_owners, room_owners;
	bool failed; /* out of memory, some time: something is missing */
	/* Addresses, mappings and numbers of processes are left out: a user's stacks
	   that differ in nothing else are one, and a long recording grows no more. */
	bool is_placeless;
	/* Nothing is added, only what there is already is found and counted.
	   profile_add() returns false, and numbers are 0, where that fails;
	   has_refused is set then. */
	bool is_closed, has_refused;

	uint64_t begin_ns; /* since 1970 */
	uint64_t duration_ns;
	uint32_t frequency; /* a second; 0: not by time */
	uint64_t samples, missed, lost;
};

/* Counts and what they weigh: no sum is larger than formats have room for. */
static inline uint64_t profile_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ?
		       INT64_MAX :
		       sum;
}

/* The number of a string; NULL is "". */
uint32_t profile_string(struct profile *p, const char *text);
const char *profile_text(const struct profile *p, uint32_t string);

/* Add a line that tells what is missing, also where the profile is closed. */
void profile_leave_out(struct profile *p, const char *line);

/*
 * The number of a user, from 1; 0 where there are too many, or no memory.  Stacks of
 * several users are several, so that nobody's text is counted as another one's.
 */
uint16_t profile_owner(struct profile *p, uint32_t uid);

/* The number of a mapping, from 1; 0 when out of memory. */
uint32_t profile_mapping(struct profile *p, const struct profile_mapping *m);

/* The number of a frame. */
uint32_t profile_frame(struct profile *p, const struct profile_frame *f);

/*
 * The number of what a name says of a pc; mapping is a number, or 0.  A function's
 * name that begins as marks do gets a backslash.
 */
uint32_t profile_name(struct profile *p, const struct ow_name *name,
		      uint64_t pc, bool is_kernel, uint32_t mapping);

/* The number of a pc without names: by its module, a string, and vaddr or offset there. */
uint32_t profile_place(struct profile *p, uint32_t module, uint64_t pc,
		       uint64_t module_offset);

/* The number of what a frame, by its number, says of another pc at the same place. */
uint32_t profile_move(struct profile *p, uint32_t id, uint64_t pc);

/* The number of a frame that stands for what is missing, "[uncertain]". */
uint32_t profile_mark(struct profile *p, const char *text);

/*
 * Count a stack: s, but for first and nr, and its frames' numbers.  False if it
 * could not be added.
 */
bool profile_add(struct profile *p, const struct profile_stack *s,
		 const uint32_t *ids, uint32_t nr);

/* The bytes of memory that its items take, about. */
size_t profile_size(const struct profile *p);

/* All counts, or all values where the kind has those, of one kind. */
uint64_t profile_total(const struct profile *p, enum profile_kind kind);

/* What a stack weighs: its count, or its value in microseconds. */
uint64_t profile_weight(const struct profile_stack *s);

/* The unit of that: "samples", "microseconds"... */
const char *profile_unit(enum profile_kind kind);

/* The kind of most stacks, which formats that have but one show. */
enum profile_kind profile_kind(const struct profile *p);

/*
 * What a frame is called where only text will do: its function, or what
 * ow_view_unnamed() says.  buf holds OW_VIEW_LABEL bytes, and may be what is returned.
 */
const char *profile_label(const struct profile *p,
			  const struct profile_frame *f, char *buf);

/* The numbers of a stack's frames, while they are collected. */
struct profile_ids {
	uint32_t *list; /* to be freed */
	size_t nr, room;
};

/*
 * Make room for the names of another frame of a stack, OW_VIEW_NAMES, and one number more.
 * Return false if a stack may have no more: then it is cut, and is->end says so; or if there
 * is no memory: p has failed then.
 */
bool profile_make_ids(struct profile *p, struct profile_ids *ids,
		      struct profile_stack *is);

/* Bytes that a string takes, with its NUL; 0 if it is PROFILE_NONE. */
uint64_t profile_text_size(const struct profile *p, uint32_t string);

void profile_deinit(struct profile *p);

/*
 * Formats.  write() leaves errors in ferror(out), and returns false when out of
 * memory: what was written is of no use then.  other is what the profile is
 * compared with, or NULL.
 */
struct profile_options {
	const char *title;
	const struct profile *other; /* an earlier one, to show what changed */
	bool icicle;                 /* outermost frames on top */
	bool inverted;               /* by innermost frames first */
	uint64_t most_text;          /* bytes; 0: PROFILE_MOST_TEXT */
	uint64_t *nr_cut_ret;        /* what is beyond these, or NULL */
	/* Those of each owner, from 0 on, that formats know of; or NULL. */
	uint64_t *nr_cut_of_ret;
	/* Functions without a name whose labels are beyond PROFILE_MOST_LABELS, or NULL. */
	uint64_t *nr_coarse_ret;
};

/*
 * Bytes that a format may take that writes a name more than once: a profile of
 * megabytes can have names of gigabytes.  What doesn't fit in is left out.
 */
#define PROFILE_MOST_TEXT ((uint64_t)1 << 30)

/*
 * Bytes of the labels of functions without names, "object+0xVADDR", that a format keeps in
 * memory: they are not in the profile, and don't count where its memory is limited.  The
 * owners of stacks share them.
 */
#define PROFILE_MOST_LABELS ((uint64_t)32 << 20)

/* What o says of that. */
uint64_t profile_most_text(const struct profile_options *o);

struct profile_writer {
	const char *name;
	const char *suffix; /* of files that are meant to be so, or NULL */
	const char *what;   /* in a few words */
	const char *cut;    /* what nr_cut_ret counts, or NULL */
	bool binary;        /* not to be written to a terminal */
	bool is_placeless; /* it shows none of what such a profile leaves out */
	bool (*write)(FILE *out, const struct profile *p,
		      const struct profile_options *o);
};

extern const struct profile_writer profile_folded;
extern const struct profile_writer profile_pprof;
extern const struct profile_writer profile_speedscope;
extern const struct profile_writer profile_perf;
extern const struct profile_writer profile_json;
extern const struct profile_writer profile_html;
extern const struct profile_writer profile_svg;
extern const struct profile_writer profile_own;
extern const struct profile_writer profile_table;

/* The writer of a name; or of a file's suffix, the longest; or NULL. */
const struct profile_writer *profile_writer_find(const char *name);
const struct profile_writer *profile_writer_of(const char *path);

/* "folded, pprof, ...": all names, to buf. */
void profile_writer_list(char *buf, size_t size);

/*
 * Read what profile_own wrote, of at most that many bytes of memory.  Return 0, or -1
 * with a line in why, of size bytes: nothing in p is to be used then, but it is to
 * be freed.
 */
int profile_read(struct profile *p, FILE *in, size_t most, char *why,
		 size_t size);

#endif /* OW_PROFILE_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread's stack with names, as all writers take it. */
#ifndef OW_STACKVIEW_H
#define OW_STACKVIEW_H

#include <stdio.h>
#include <time.h>

#include <outwind/outwind.h>

#define OW_VIEW_NAMES 64 /* of one frame, with what is inlined */

struct ow_view_frame {
	struct ow_frame frame;
	const struct ow_name *names; /* innermost inlined function first */
	size_t nr_names;             /* 0: none were asked for */
};

struct ow_view {
	pid_t pid;
	const char *program;
	bool is_core;
	const struct ow_thread *thread;
	size_t number;       /* of the thread, from 1 */
	const char *syscall; /* the name of the one that it is in, or NULL */
	const struct ow_view_frame *frames;
	size_t nr;
	enum ow_end end;
	const struct ow_error *why; /* where end is not OW_END_OUTERMOST */
};

/* What a writer may say beyond the default. */
enum ow_view_flags {
	OW_VIEW_MODULES = 1,
	OW_VIEW_BUILD_IDS = 2,
	OW_VIEW_LINES = 4,
	OW_VIEW_HOW = 8,          /* how each frame was found */
	OW_VIEW_ACTIVATIONS = 16, /* which addresses are return addresses */
	OW_VIEW_SYSCALL = 32,
	OW_VIEW_WCHAN = 64,
	OW_VIEW_KERNEL = 128,
	OW_VIEW_CERTAIN = 256,     /* whether it is, and the thread stopped */
	OW_VIEW_SP = 512,          /* the stack pointer */
	OW_VIEW_STATES = 1024,     /* of the threads, where that is a choice */
	OW_VIEW_ONE = 2048,        /* one thread was asked for */
	OW_VIEW_ALWAYS_ONE = 4096, /* uniprof's count, whatever the end */
};

/*
 * One format.  begin() once, thread() for each thread, end() once.  Errors show
 * in ferror(out).
 */
struct ow_view_writer {
	const char *name;    /* as -f takes it */
	unsigned int naming; /* enum ow_symbolizer_flags that it needs */
	bool backwards;      /* the last thread comes first */
	bool stacks_only;    /* why one ends has to be said elsewhere */
	size_t longest;      /* bytes of a function that it shows, or 0: all */
	void (*begin)(FILE *out, pid_t pid, const char *program);
	void (*thread)(FILE *out, const struct ow_view *view, bool first,
		       unsigned int flags);
	void (*end)(FILE *out);
};

extern const struct ow_view_writer ow_text_writer;
extern const struct ow_view_writer ow_json_writer;
extern const struct ow_view_writer ow_folded_writer;
extern const struct ow_view_writer ow_tbtext_writer;

/* What tbstack ends with: how long threads were stopped, and what was copied. */
void ow_tbtext_put_summary(FILE *out, const struct ow_capture_stats *stats);
extern const struct ow_view_writer ow_eu_writer;
extern const struct ow_view_writer ow_gdb_writer;
extern const struct ow_view_writer ow_uniprof_writer;

/* What a trace of uniprof begins with; now is local time. */
void ow_uniprof_put_header(FILE *out, const char *backend, unsigned int domid,
			   const struct tm *now);

/*
 * Digits of an address: 8 where the whole stack, with all that it returns to,
 * is in the lower 4 GiB, as in a 32-bit process, and else 16.
 */
int ow_view_digits(const struct ow_view *view);

/*
 * Whether the frame's pc is what a call returns to, so that the call before it
 * is meant.  The kernel has never called its trampoline.
 */
bool ow_view_is_return(const struct ow_frame *frame);

/* Bytes of the UTF-8 sequence at s, or 0 if it is none (RFC 3629). */
size_t ow_view_utf8_size(const unsigned char *s);

/* Print the UTF-8 sequence at s, of n bytes, as JSON escapes it (RFC 8259, 7). */
void ow_view_put_escaped(FILE *out, const unsigned char *s, size_t n);

/*
 * Is what s begins with a control character, also of ISO 6429's C1 set, or no UTF-8?
 * It has *size bytes, whatever it is.
 */
bool ow_view_is_control(const unsigned char *s, size_t *size);

/*
 * Is it not to be shown: one of those, one that changes the order in which others
 * are shown (UAX #9), a separator of lines, or one that nobody sees (UAX #44,
 * Default_Ignorable_Code_Point)?
 */
bool ow_view_is_odd(const unsigned char *s, size_t *size);

/* The name of what a system call is of; NULL for the target's own architecture. */
const char *ow_view_abi(enum ow_call_abi abi);

/*
 * What a frame is called whose function has no name: "object+0xVADDR", with where the
 * function begins; "[object]" or "[jit]", as start is 0: not known; or its address,
 * as module is NULL or empty.  buf holds OW_VIEW_LABEL bytes, and is returned.
 */
#define OW_VIEW_LABEL 300
const char *ow_view_unnamed(const char *module, uint64_t start, uint64_t pc,
			    char *buf);

/*
 * Text of the target: nothing in it may steer a terminal, so that what is odd
 * becomes '?'.
 */
void ow_view_put_clean(FILE *out, const char *text);

/*
 * Print size bytes of such text, after which there is a zero.  Tabs stay; a
 * character that is not whole becomes '?'.
 */
void ow_view_put_clean_part(FILE *out, const char *text, size_t size);

/*
 * The first of some lines, whose last one may lack its newline, cut to size with
 * its zero; return where the next one begins.
 */
const char *ow_view_line(const char *lines, char *buf, size_t size);

/* value in hexadecimal, as printf() has it by "%#llx". */
void ow_view_put_hex(FILE *out, uint64_t value);

/* value in all its 16 digits, as printf() has it by "%016llx". */
void ow_view_put_digits(FILE *out, uint64_t value);

/* A frame's number and pc, as printf() has them by "#%-3zu %#018llx". */
void ow_view_put_place(FILE *out, size_t n, uint64_t pc);

/* The writer of that name, "outwind" being text, or NULL. */
const struct ow_view_writer *ow_view_writer_find(const char *name);

#endif /* OW_STACKVIEW_H */

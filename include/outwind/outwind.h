/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outwind: call stacks from outside.
 *
 * Capture a target (ow_capture_process(), ow_capture_file()), walk its threads
 * (ow_capture_walk()), name the frames (ow_symbolizer_name()).  Nothing here is
 * safe to use from two threads at once on the same object; different objects
 * are independent.  Files are mapped, so the library handles SIGBUS: see "Files
 * that are cut off" below.  Link with -loutwind.
 */
#ifndef OUTWIND_H
#define OUTWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ow_frame.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OUTWIND_VERSION "0.1.0"

/* The version of the library that is running. */
const char *ow_version(void);

/*
 * Why a call failed.  The caller owns it, on its stack as a rule; nothing in it
 * is allocated, so nothing has to be freed.
 */
enum ow_code {
	OW_CODE_OK,
	OW_CODE_FORMAT,      /* bytes of a file or target make no sense */
	OW_CODE_UNSUPPORTED, /* they make sense, but not to outwind */
	OW_CODE_FAULT,       /* memory of the target could not be read */
	OW_CODE_ABSENT,      /* no such file, process, thread or section */
	OW_CODE_SYSTEM = 16, /* a system call failed; see os_errno */
	OW_CODE_MEMORY,      /* out of memory */
	OW_CODE_PERMISSION,  /* not allowed to look at the target */
	OW_CODE_ARGUMENT,    /* the caller asked for nonsense */
	OW_CODE_TIMEOUT,     /* a thread did not stop in time */
	OW_CODE_NO_STACK,    /* a kernel worker has none: no failure */
};

struct ow_error {
	int code;      /* enum ow_code */
	int os_errno;  /* errno behind it, or 0 */
	char msg[256]; /* one line, without a newline */
};

/*
 * Set how many bytes of memory this process may take for what is in objects'
 * files, decompressed sections, indexes of symbols and of unwind data, DWARF, and
 * for copies of stacks (536870912 by default).  One object, and the stacks of one
 * process, get no more than a quarter of what the others leave over; they go without
 * what takes more.
 */
void ow_memory_limit(uint64_t bytes);

/* Return what ow_memory_limit() set, in bytes: for memory that others take. */
uint64_t ow_get_memory_limit(void);

/*
 * What an object had to go without, or why what was had of it may be false, in one
 * line that names it; NULL if there were no more than i of them.  Objects to which only
 * root and the caller's user may write come first.  The first 64 of these are kept, and
 * the first 64 of the others; the text stays for good.
 */
const char *ow_left_out(size_t i);

/*
 * How many such lines there were, also those that were not kept.  Counting ends at
 * OW_MOST_COUNTED.
 */
#define OW_MOST_COUNTED 4096
size_t ow_nr_left_out(void);

/* What a frame, and what an end of a walk, is called in one line. */
const char *ow_how_text(enum ow_how how);
const char *ow_end_text(enum ow_end end);

/*
 * Files that are cut off.
 *
 * The library maps files, which others may cut off while they are read; or their
 * medium fails.  An access to what is lost raises SIGBUS.  Whenever it maps a
 * file, the library therefore unblocks SIGBUS in the calling thread, and puts a
 * handler of its own in place of the one that it finds.  The library's handler
 * reads on as zeros what a file of the library has lost, and passes each other
 * SIGBUS on to the handler that was there before; or the process ends as it
 * would have.  What was made of a file that was cut is given up: no frame and no
 * name is from it, and the calls that need it fail or say so in their reasons.
 */

/*
 * "NAME: WHY" of the i-th file, from 0, that was needed since the process began and
 * could not be read: it was cut off, or another process holds a lease of it
 * (fcntl(2), F_SETLEASE), which the library doesn't wait for.  NULL if there are no
 * more.  The first 64 are kept; the text stays for good.
 */
const char *ow_file_lost(size_t i);

/* How many such files there were, as ow_nr_left_out() counts. */
size_t ow_nr_files_lost(void);

/*
 * Leave SIGBUS alone from now on: the program handles it.  To be called before
 * any other function.  The program's handler is to call ow_sigbus_mend() with
 * the fault's address (si_addr), also with the threads that use the library, and
 * to return if that returns true.
 */
void ow_sigbus_leave(void);

/*
 * Return true if addr was in a file that the library has mapped: what was lost
 * of it reads as zeros from now on, and the access can be made again.
 * Async-signal-safe.
 */
bool ow_sigbus_mend(const void *addr);

/*
 * Capturing: threads' registers, copies of their stacks, and what is mapped
 * where.
 */

struct ow_capture;

/* How a process's threads are held still while they are copied. */
enum ow_stopping {
	OW_STOPPING_ALL,    /* all together: one moment of the process */
	OW_STOPPING_EACH,   /* one after another, each only for its own copy */
	OW_STOPPING_GENTLE, /* only those that aren't certain else */
	OW_STOPPING_NEVER,  /* none; not every stack is certain */
};

/* How a process's memory is read. */
enum ow_reading {
	OW_READING_VM,     /* process_vm_readv(2), or else the file */
	OW_READING_FILE,   /* /proc/PID/mem */
	OW_READING_PTRACE, /* PTRACE_PEEKDATA, a word at a time */
};

/* What else is to be known of each thread, as it was before the stop. */
enum ow_extras {
	OW_EXTRA_SYSCALL = 1,      /* the system call it is in */
	OW_EXTRA_WCHAN = 2,        /* where in the kernel it waits */
	OW_EXTRA_KERNEL_STACK = 4, /* needs to be root */
};

/* All zero is a good default. */
struct ow_capture_options {
	size_t stack_size; /* most bytes copied of a stack; 0: no limit but
			       the stack's own, 256 KiB where that isn't known */
	const pid_t *tids; /* only these threads, or NULL for all; in a core,
			      0 is the first one, which crashed */
	size_t nr_tids;
	const char *states; /* only threads in a state of these letters, as
			       /proc/PID/status has them, or NULL */
	bool use_tables;    /* take compact tables from the cache on disk */
	enum ow_stopping stopping;
	enum ow_reading reading;
	unsigned int extras;          /* enum ow_extras */
	unsigned int stop_timeout_ms; /* that all threads together are waited for
					 that don't stop; 0: 1000 and 1 a
					 thread, up to 2000, and no longer than
					 freeze_limit_ms in a moment, and 5000
					 more for those that get no CPU, if one
					 is stopped at a time;
					 UINT_MAX: any */
	const char *sysroot; /* where a file's objects are below, or NULL */
	/* Called now and then while a file is decompressed, or NULL. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
	unsigned int read_timeout_ms; /* that a process's threads may stay stopped
					 for reads of memory that some server
					 or the process itself has to serve;
					 0: 1000 */
	unsigned int freeze_limit_ms; /* about how long a thread may stay stopped
					 for others to be stopped, too: with
					 more, threads are taken in several
					 moments; 0: 1000 */
};

/*
 * Stop all threads of a process together, copy what unwinding needs, and let
 * them go; what was stopped stays stopped.  No signal is sent.  options may be
 * NULL.  A thread that could not be captured is in the list with the reason.
 * Return NULL and fill err if there is nothing.
 */
struct ow_capture *ow_capture_process(pid_t pid,
				      const struct ow_capture_options *options,
				      struct ow_error *err);

/*
 * Open a core file, which zstd, lz4, xz or gzip may have compressed.  exe
 * overrides the path of the main program, or is NULL.  What a truncated file
 * has is used; ow_capture_warning() tells that it is.
 */
struct ow_capture *ow_capture_core(const char *path, const char *exe,
				   const struct ow_capture_options *options,
				   struct ow_error *err);

/*
 * Open a snapshot, which ow_capture_save() wrote.  exe overrides the path of
 * the main program, or is NULL.  An object that is another build than the one
 * that was running is not used.
 */
struct ow_capture *ow_capture_snapshot(const char *path, const char *exe,
				       const struct ow_capture_options *options,
				       struct ow_error *err);

/* Open a core file or a snapshot, whichever it is. */
struct ow_capture *ow_capture_file(const char *path, const char *exe,
				   const struct ow_capture_options *options,
				   struct ow_error *err);

void ow_capture_destroy(struct ow_capture *c);

/*
 * Take the registers and stacks of the same target anew, for the next sample;
 * what is mapped where stays as it was.  Threads keep their places.  Return 0
 * or fill err: OW_CODE_ABSENT if the target is gone, OW_CODE_UNSUPPORTED if it
 * is of a kind that can't be taken twice.
 */
int ow_capture_again(struct ow_capture *c, struct ow_error *err);

enum ow_save_flags {
	/* Only the memory and registers that the stacks are found by, which
	   takes a walk of every thread, and no arguments of system calls. */
	OW_SAVE_REDACT = 1,
};

/*
 * Write a snapshot of the capture to a file, to be unwound later and elsewhere;
 * flags are enum ow_save_flags.  Only the owner may read the file, as stacks
 * hold secrets.  An older regular file is replaced at once, when all is
 * written.  Everything of objects that can't be found later is included.  No other
 * user's link on the way is followed, where anybody may put one.
 */
int ow_capture_save(struct ow_capture *c, const char *path, unsigned int flags,
		    struct ow_error *err);

/* The same to where fd is; name is for messages. */
int ow_capture_save_fd(struct ow_capture *c, int fd, const char *name,
		       unsigned int flags, struct ow_error *err);

/* Whose numbers and registers a system call has. */
enum ow_call_abi {
	OW_CALL_OWN, /* those of the target's architecture */
	OW_CALL_I386,
	OW_CALL_X86_64,
	OW_CALL_X32,     /* the number has a bit for it, 0x40000000 */
	OW_CALL_UNKNOWN, /* i386's or x86-64's: nothing shows which */
};

struct ow_thread {
	pid_t tid;
	char state; /* as /proc/PID/status has it, before the stop */
	char name[32];
	bool captured;       /* registers are there */
	struct ow_error why; /* if they aren't, the reason; OW_CODE_NO_STACK
				of one that has no stack in its program,
				which is thus complete without frames */
	bool stopped;        /* it was, while it was copied */
	bool certain; /* it did not move meanwhile, and pc is its address:
				the stack is that of one moment */
	/* As asked for by enum ow_extras; borrowed from the capture. */
	int syscall_nr; /* or OW_SYSCALL_... */
	enum ow_call_abi syscall_abi;
	uint64_t syscall_args[6]; /* if syscall_nr is one */
	const char *wchan;        /* a symbol, "": nowhere, NULL: not known */
	const char *kernel_stack; /* a line "symbol+offset/size" a frame,
				     innermost first, or NULL: not known */
	int extras_errno;         /* why one of them isn't known, or 0 */
};

/* In place of a number of a system call. */
enum ow_syscall {
	OW_SYSCALL_NONE = -1, /* the thread is in none */
	OW_SYSCALL_UNKNOWN = -2,
};

struct ow_capture_stats {
	uint64_t freeze_ns;      /* first thread stopped to last one running;
				    of a guest: all pauses together */
	uint64_t longest_ns;     /* that any one thread was stopped */
	uint64_t median_ns;      /* of the times that each was stopped */
	uint64_t bytes_copied;   /* of stacks */
	unsigned int stopped;    /* threads */
	unsigned int sleeps;     /* of the capturing thread meanwhile */
	unsigned int hypercalls; /* of the last sample of a guest */
	unsigned int mappings;   /* of its memory, by one call each */
	uint64_t taking_ns;      /* freeze_ns, and all else that it takes to
				    stop a process's threads and let them go */
	unsigned int moments;    /* that a process's threads were taken in, with
				    OW_STOPPING_ALL and OW_STOPPING_GENTLE */
};

pid_t ow_capture_pid(const struct ow_capture *c);
/* The name of the program, a path if it is known; borrowed. */
const char *ow_capture_program(const struct ow_capture *c);
size_t ow_capture_nr_threads(const struct ow_capture *c);
const struct ow_thread *ow_capture_thread(const struct ow_capture *c, size_t i);
/*
 * The name of the system call that a thread of the capture is in; NULL if there is none
 * of that number, or if it isn't known whose number it is.
 */
const char *ow_capture_syscall_name(const struct ow_capture *c,
				    const struct ow_thread *t);
/* What is wrong with all of it, in one line, or NULL; borrowed. */
const char *ow_capture_warning(const struct ow_capture *c);
void ow_capture_stats(const struct ow_capture *c, struct ow_capture_stats *ret);

/*
 * The pieces of memory that were copied, in address order, none overlapping.
 * ow_capture_region() returns false if there is no piece i.
 */
size_t ow_capture_nr_regions(const struct ow_capture *c);
bool ow_capture_region(const struct ow_capture *c, size_t i,
		       uint64_t *start_ret, uint64_t *size_ret);

/*
 * Walk thread i: fill up to max frames, innermost first, and return how many.
 * *end_ret says why the walk ended and err, if that is not OW_END_OUTERMOST,
 * what is wrong in words, with the address.
 */
size_t ow_capture_walk(struct ow_capture *c, size_t i, struct ow_frame *frames,
		       size_t max, enum ow_end *end_ret, struct ow_error *err);

/*
 * Names.
 */

struct ow_symbolizer;

enum ow_symbolizer_flags {
	OW_SYMBOLIZER_RAW = 1,     /* names as the object has them */
	OW_SYMBOLIZER_INLINES = 2, /* inlined functions too */
	OW_SYMBOLIZER_LINES = 4,   /* source file and line */
	/* Ask debuginfod's servers for what is missing, by a process that ends with
	   the symbolizer; that is a child which SIGCHLD and wait(2) tell of. */
	OW_SYMBOLIZER_DEBUGINFOD = 8,
};

/*
 * One name of a frame.  Strings are borrowed from the symbolizer and live as
 * long as it does; NULL where nothing is known.
 */
struct ow_name {
	const char *function;
	uint64_t offset;        /* of the frame's pc in the function */
	bool is_inline;         /* inlined into the next name */
	const char *module;     /* path of the object, "[vdso]", a JIT's map */
	bool deleted;           /* no file has that path any more */
	const char *build_id;   /* in hexadecimal */
	uint64_t module_offset; /* pc - load bias: the vaddr */
	const char *file;       /* with OW_SYMBOLIZER_LINES */
	unsigned int line;      /* 0: unknown */
	unsigned int column;
	uint64_t start; /* without a function's name: the vaddr where the
			   function begins, by its CFI; 0: unknown */
};

struct ow_symbolizer *ow_symbolizer_create(struct ow_capture *c,
					   unsigned int flags,
					   struct ow_error *err);
void ow_symbolizer_destroy(struct ow_symbolizer *s);

/*
 * Call progress now and then while debuginfod's servers are asked, once that takes a
 * second in all: with how many files were asked for, and the bytes that came; with
 * 0 files when a wait, of which it was called, is over.
 */
void ow_symbolizer_set_progress(struct ow_symbolizer *s,
				void (*progress)(void *arg, uint64_t files,
						 uint64_t bytes),
				void *arg);

/*
 * Name a frame: fill names, innermost inlined function first, and return how
 * many there are, at least 1 and at most max (max at least 1).
 */
size_t ow_symbolizer_name(struct ow_symbolizer *s, const struct ow_frame *frame,
			  struct ow_name *names, size_t max);

/*
 * These frames are going to be named: look them all up together, in one pass
 * over the symbols of each object.  ow_symbolizer_name() gives the same names
 * without, but has to put all symbols of an object in order if it is asked for
 * more than a few, which takes longer for a large one than all the rest.
 */
void ow_symbolizer_prepare(struct ow_symbolizer *s,
			   const struct ow_frame *frames, size_t nr);

/*
 * Names by address alone, of what is no capture.
 */

struct ow_nametable;

/* Of the symbols that a text has at one address, the one that names it. */
enum ow_aliases {
	OW_ALIASES_PLAIN, /* fewest underscores in front; of these the first */
	OW_ALIASES_LAST,  /* the last one of the text */
};

/*
 * Open a table: the output of nm(1) or a copy of /proc/kallsyms, in any order,
 * or an ELF file, whose functions it then has, at the addresses in the file.
 * Text may come from a pipe.  A kernel, too, names by the plain ones of its
 * aliases (scripts/kallsyms.c), not by the labels that its linker script sets.
 */
struct ow_nametable *ow_nametable_open(const char *path,
				       enum ow_aliases aliases,
				       struct ow_error *err);

/* Is it a text without symbols, or one that has their addresses hidden? */
bool ow_nametable_is_empty(const struct ow_nametable *t);

/*
 * The function of an ELF file that covers addr, or the last symbol of a text at
 * or before it.  Return false if there is none.  *name_ret is borrowed from the
 * table.
 */
bool ow_nametable_find(struct ow_nametable *t, uint64_t addr,
		       const char **name_ret, uint64_t *offset_ret);

/* Where a text has a symbol of that name, also one that names no address. */
bool ow_nametable_address(const struct ow_nametable *t, const char *name,
			  uint64_t *ret);

void ow_nametable_close(struct ow_nametable *t);

/*
 * Names by place in a file: of what processes elsewhere, or long ago, had mapped.
 */

struct ow_places;

/*
 * Objects are looked for below sysroot, if it isn't NULL, and by their build-id;
 * naming is enum ow_symbolizer_flags.
 */
struct ow_places *ow_places_create(const char *sysroot, unsigned int naming,
				   struct ow_error *err);
void ow_places_destroy(struct ow_places *p);

/*
 * The number of an object, by the path that the process had it by and its
 * build-id, whose size is 0 if that isn't known: another build's names aren't
 * given.  Equal ones have equal numbers, from 1; 0: no room.
 *
 * Any process can have objects without end.  added, if it isn't NULL, counts those that
 * were new by one of several users: it may add a quarter of what the others leave over.
 */
unsigned int ow_places_object(struct ow_places *p, const char *path,
			      const uint8_t *build_id, size_t build_id_size,
			      unsigned int *added);

/* How many there are: numbers go from 1 to that. */
unsigned int ow_places_nr(const struct ow_places *p);

/* The path that object number n was told of by, or NULL; it stays until the end. */
const char *ow_places_path(const struct ow_places *p, unsigned int number);

/*
 * Name the code at that offset in the object's file, as ow_symbolizer_name() does:
 * flags are enum ow_frame_flags, module_offset is the vaddr, or the offset if
 * the object could not be opened.  Number 0 has no name.
 */
size_t ow_places_name(struct ow_places *p, unsigned int number, uint64_t off,
		      unsigned int flags, struct ow_name *names, size_t max);

/*
 * Is the code at that offset what a signal's handler returns to?  It and the frame
 * behind it, which was interrupted, are at their pcs, not behind calls.
 */
bool ow_places_is_trampoline(struct ow_places *p, unsigned int number,
			     uint64_t off);

/* Did naming need an object that could not be opened?  Then why says so. */
bool ow_places_lacks(const struct ow_places *p, unsigned int number,
		     struct ow_error *why);

/*
 * The modules of a capture, in address order, for listings.
 */
struct ow_module_info {
	uint64_t start, end; /* of its executable range */
	uint64_t bias;
	const char *path;     /* borrowed from the capture */
	const char *build_id; /* in hexadecimal; "" if it has none */
	uint64_t offset;      /* of start, in the file */
};

size_t ow_capture_nr_modules(const struct ow_capture *c);
int ow_capture_module(struct ow_capture *c, size_t i,
		      struct ow_module_info *ret, struct ow_error *err);

/*
 * Did a walk or a name, so far, need module i in vain: could its object not be
 * had?  Then why says what is wrong, and ret is filled.
 */
bool ow_capture_lacks(const struct ow_capture *c, size_t i,
		      struct ow_module_info *ret, struct ow_error *why);

/*
 * Compact tables on disk.
 */

struct ow_table_stats {
	uint64_t rows;     /* in the table */
	uint64_t cfi_rows; /* in the object's CFI */
	uint64_t rules, sets;
	uint64_t escapes;  /* rows that only the full CFI can express */
	uint64_t size;     /* of the table, in bytes */
	uint64_t cfi_size; /* of .eh_frame and .eh_frame_hdr */
	bool was_there;    /* a good table was in the cache already */
	bool too_large;    /* over OW_TABLE_MAX_PERCENT of cfi_size: not kept */
};

/*
 * A table in the cache is at most this many percent of the CFI that it stands
 * for.  Only objects of a few functions have larger ones; they are unwound by
 * their CFI, whose few rows a walk's cache of rows soon holds.
 */
#define OW_TABLE_MAX_PERCENT 60

/*
 * Make the table of an ELF file, if the cache has no good one, and put it
 * there, unless it is too large to be of use: that is no error, and too_large
 * says so.  Fail with OW_CODE_UNSUPPORTED if nothing tells the file apart from
 * others later: it has no build-id, or lies on a file system that could tell
 * false times.  Return 0 or fill err.  stats may be NULL; where was_there is set,
 * cfi_rows and escapes are 0.
 */
int ow_table_make(const char *path, struct ow_table_stats *stats,
		  struct ow_error *err);

/*
 * As ow_table_make(), of the file that a process has mapped as the capture's i-th
 * module, whatever its path leads to by now.  Return 1, and do nothing, if an earlier
 * call was for another module of this file.  Fail with OW_CODE_PERMISSION if that file
 * can't be opened.
 */
int ow_capture_make_table(struct ow_capture *c, size_t i,
			  struct ow_table_stats *stats, struct ow_error *err);

/*
 * Where tables are kept: $XDG_CACHE_HOME/outwind, or ~/.cache/outwind.  Where $HOME
 * is another user's, as it may be for root by sudo(8), ~ is the folder that the
 * password file has, or for root without one /var/cache is used.  Tables are taken
 * and put there only if no other user can do so.
 */
int ow_table_dir(char *buf, size_t size, struct ow_error *err);

/*
 * List every row of an ELF file's CFI, or of its compact table, in the way
 * that outwind-rows(1) prints it, to out.  Return 1, with err, if not all are listed,
 * as they would take more than 1 GiB of text.
 */
int ow_rows_print(const char *path, bool by_table, void *out,
		  struct ow_error *err);

#ifdef __cplusplus
}
#endif

#endif /* OUTWIND_H */

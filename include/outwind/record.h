/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outwind: sampling programs on a stock kernel.
 *
 * Open a recorder (ow_recorder_open()), start it, give it time
 * (ow_recorder_wait()), and take what was counted (ow_recorder_drain()), as
 * often as is wanted.  Frames are named by ow_recorder_name(), also when their
 * process is gone.
 */
#ifndef OUTWIND_RECORD_H
#define OUTWIND_RECORD_H

#include "outwind.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ow_recorder;

/* What walks the stacks. */
enum ow_engine {
	OW_ENGINE_BPF,    /* programs in the kernel, by compact tables */
	OW_ENGINE_PERF,   /* the kernel copies registers and stacks */
	OW_ENGINE_PTRACE, /* each sample stops the process and copies them */
	/* The kunwind module, while its hook is on: processes that are followed
	   (outwind/kunwind.h), or by frame pointers. */
	OW_ENGINE_KUNWIND,
};

enum ow_record_events {
	OW_RECORD_CPU = 1,     /* who runs, at a frequency */
	OW_RECORD_OFF_CPU = 2, /* who waits, for how long */
	OW_RECORD_FAULTS = 4,  /* page faults */
	OW_RECORD_SYSCALLS = 8,
};

struct ow_recorded_syscall;

struct ow_recorder_options {
	enum ow_engine engine;
	unsigned int events;
	const pid_t *pids; /* processes; ow_recorder_add() has more */
	size_t nr_pids;
	bool everyone;          /* all that there are, instead */
	bool children;          /* of those, too, once they are forked */
	bool by_thread;         /* tell threads of equal names apart */
	bool kernel;            /* frames of the kernel, too */
	unsigned int frequency; /* of OW_RECORD_CPU, a second; 0: 99 */
	unsigned int max_frames;
	size_t table_memory; /* most bytes of tables; 0: 256 MiB */
	size_t stack_size;   /* copied of a stack; 0: 32 KiB (engine perf) */
	unsigned int naming; /* enum ow_symbolizer_flags */
	/* Of OW_RECORD_SYSCALLS: numbers that are wanted, -1 for those that no
	   call has; or NULL for all. */
	const int *syscalls;
	size_t nr_syscalls;
	bool no_stacks; /* of system calls */
	/* Each one as it happens, or NULL: they are only counted. */
	void (*on_syscall)(void *arg, const struct ow_recorded_syscall *s);
	void *arg;
	/* Nothing is recorded after so many nanoseconds; 0: until the recorder is
	   stopped. */
	uint64_t duration_ns;
	/* How often the end was asked for, as a handler of signals may count it;
	   or NULL.  After once, ow_recorder_start() looks at no more processes;
	   after twice, nothing does, and no names are read any more. */
	const volatile int *asked;
};

/* Equal stacks of equal threads, and how often there were such. */
struct ow_recorded {
	pid_t pid, tid; /* the first one's, if threads aren't told apart */
	/* The real one of the process; in a user namespace that a user has made,
	   that user.  -1: not known. */
	uid_t uid;
	char comm[16];
	uint8_t kind; /* enum ow_record_events, one of them */
	enum ow_end end;
	uint64_t count;       /* since the last ow_recorder_drain() */
	uint64_t value;       /* nanoseconds of OW_RECORD_OFF_CPU, else count */
	size_t nr_kernel, nr; /* frames of the kernel, which are first, and of
				 the program; innermost first */
	const uint64_t *packed; /* borrowed from the recorder */
	uint32_t image;         /* what the process had mapped */
	uint64_t since; /* CLOCK_MONOTONIC, ns: the first came about then */
	/* Stands for stacks of the process that there was no room for: it has no
	   frames. */
	bool is_folded;
};

/*
 * The ABI of a system call is told by its number: that of x86-64 is as it is,
 * with one of these bits it is another one's, and with both one that i386 hasn't.  One
 * that x86-64 hasn't, with i386's bit, has bit 31, too.
 */
#define OW_SYSCALL_I386    0x20000000
#define OW_SYSCALL_X32     0x40000000
#define OW_SYSCALL_NUMBERS 1024 /* of each, at most */

enum ow_syscall_event {
	OW_SYSCALL_BEGINS,
	OW_SYSCALL_ENDS,
	OW_SYSCALL_TEXT, /* of the one that the thread is in: now it is known */
	OW_SYSCALL_GONE, /* none: the thread has ended */
};

/* A system call, when it begins, and again when it ends. */
struct ow_recorded_syscall {
	enum ow_syscall_event event;
	pid_t pid, tid;
	int nr;
	uint64_t args[6];
	int64_t result;                  /* at its end */
	uint64_t time;                   /* CLOCK_MONOTONIC, nanoseconds */
	const char *text;                /* that an argument points to, or NULL;
					    some come only at the end */
	const struct ow_recorded *stack; /* at its begin; NULL: not known */
	uint32_t text_size;              /* bytes; there is a NUL behind them */
};

/* What a system call takes, as strace(1) shows it. */
struct ow_syscall_shape {
	/* A letter for each argument: d and l signed of 32 bits and of all; u
	   unsigned; x hexadecimal; o octal; f a directory's descriptor; s text;
	   a an address of a socket, whose size follows; any other one what has
	   names. */
	char args[7];
	/* A letter for each of strace's sets: desc, file, ipc, memory, network,
	   process, signal. */
	char sets[5];
	char result[2]; /* "x" for an address, "?" where it doesn't return */
};

/* Limits of what is known at a time, so that one process leaves others room. */
#define OW_RECORD_MAPPINGS   16383U /* of code, of a process */
/* Opened for a process, of which 2 count no more after a second, */
#define OW_RECORD_FILES      1024U
/* and for a user other than root, of which 4 count no more then. */
#define OW_RECORD_FILES_USER 2048U
#define OW_RECORD_FILES_ALL  8191U
/* That the kernel knows (engine BPF), at least: as many as there may be threads. */
#define OW_RECORD_PROCESSES  32768U

struct ow_recorder_stats {
	uint64_t samples;
	/* Of processes whose tables were not there yet; by ptrace, when it was
	   late. */
	uint64_t missed;
	uint64_t copied; /* of the former, but walked by a copy of the stack */
	uint64_t lost;   /* no room was left for them */
	uint64_t frames, cold; /* cold: looked up in a table */
	uint64_t ends[OW_NR_ENDS];
	uint64_t stacks;      /* different ones */
	uint64_t bytes_out;   /* that left the kernel */
	uint64_t table_bytes; /* in the kernel now */
	uint64_t evictions;
	unsigned int objects, images;
	unsigned int renewals; /* so often all of the former were forgotten */
	/* What there was no room for: processes with more mappings of code than
	   one may have, and mappings of files beyond what one process, one user,
	   or all may have.  Stacks end there: OW_END_NO_ROOM. */
	unsigned int crowded_processes, crowded_mappings;
	unsigned int crowded_maps; /* for perf, of JITs: names are missing */
	unsigned int crowded_out;  /* processes beyond most_processes */
	uint64_t slowest_ns; /* from a mapping to the last table it needs */
	uint64_t program_ns, program_runs; /* of BPF, if the kernel counts */
	uint64_t verified; /* instructions that its verifier went through */
	bool unwatched;    /* code that replaces other is noticed late */
	bool unlisted;     /* waits that had begun before are not known */
	uint64_t begun_ns; /* no sample, and no wait, is of before: CLOCK_MONOTONIC */
	const char *clock;      /* what samples come by; borrowed for ever */
	unsigned int frequency; /* as high as the kernel takes, once started */
	/* Threads that waited before, of whose stacks only the innermost frame is
	   known: to walk them all would have taken too long. */
	uint64_t unwalked;
	bool is_listing_cut; /* not all were found before recording ended */
	/* Children of a command beyond most_processes, which aren't recorded. */
	uint64_t unfollowed;
	/* Processes of the options' pids that are not recorded, as they ended before
	   that, or the kernel did not answer: ow_left_out(), ow_file_lost(). */
	uint64_t unrecorded;
	unsigned int
		most_processes; /* that the kernel knows (engine BPF), or 0 */
	/* Forks, execs, mappings and ends that the kernel had no room to tell of: of
	   processes that did so, and were not looked at soon enough, stacks end in
	   the first frame (OW_END_NO_ROOM), or have none. */
	uint64_t lost_lives;
	/* There was no room here for all different stacks. */
	bool is_short;
};

/*
 * Get ready to sample.  Return NULL and fill err: OW_CODE_PERMISSION if it isn't
 * allowed, OW_CODE_UNSUPPORTED if the kernel or this build can't, OW_CODE_ABSENT if
 * none of the processes can be sampled.
 *
 * Engines perf and kunwind take a file descriptor for each thread and CPU.  They raise
 * the soft limit of files (RLIMIT_NOFILE) to the hard one where it is too low, and
 * leave out threads for which that is too few: ow_left_out().
 */
struct ow_recorder *ow_recorder_open(const struct ow_recorder_options *options,
				     struct ow_error *err);
void ow_recorder_close(struct ow_recorder *r);

/* Begin and end to sample. */
int ow_recorder_start(struct ow_recorder *r, struct ow_error *err);
void ow_recorder_stop(struct ow_recorder *r);

/* One process more. */
int ow_recorder_add(struct ow_recorder *r, pid_t pid, struct ow_error *err);

/*
 * Handle what comes for so long; to be called again and again, as here it is
 * learnt what processes map.  Returns early if a signal came.
 */
int ow_recorder_wait(struct ow_recorder *r, unsigned int ms,
		     struct ow_error *err);

/*
 * What was counted since the last time, each stack once.  What take() learns of it, names
 * as well, is valid until the drain returns.
 */
int ow_recorder_drain(struct ow_recorder *r,
		      void (*take)(void *arg, const struct ow_recorded *s),
		      void *arg, struct ow_error *err);

/*
 * Drain as ow_recorder_drain() does, but keep stacks of JITs: their processes may
 * still write names for them.
 */
int ow_recorder_drain_some(struct ow_recorder *r,
			   void (*take)(void *arg, const struct ow_recorded *s),
			   void *arg, struct ow_error *err);

/*
 * Return true if so many stacks are stored, or for so long, that some had better be
 * drained: what doesn't come again takes no more room then, and the last time is
 * soon over.
 */
bool ow_recorder_is_full(const struct ow_recorder *r);

/* Frame i of a stack, the kernel's first. */
struct ow_frame ow_recorded_frame(const struct ow_recorded *s, size_t i);

/*
 * Its names, as ow_symbolizer_name() gives them; module_offset of the kernel's
 * is the address.
 */
size_t ow_recorder_name(struct ow_recorder *r, const struct ow_recorded *s,
			size_t i, struct ow_name *names, size_t max);

/*
 * What is mapped at a frame, or of the kernel's, "[kernel.kallsyms]", its code;
 * false if no object is.
 */
bool ow_recorder_module(struct ow_recorder *r, const struct ow_recorded *s,
			size_t i, struct ow_module_info *ret);

/*
 * The same where no object is, too: then path and build_id are "".  False if
 * nothing is.
 */
bool ow_recorder_mapping(struct ow_recorder *r, const struct ow_recorded *s,
			 size_t i, struct ow_module_info *ret);

void ow_recorder_stats(struct ow_recorder *r, struct ow_recorder_stats *ret);

/* How many system calls, and results of them, were lost of a process. */
struct ow_recorded_loss {
	pid_t pid;
	uint64_t lost;
};

/*
 * Of whom system calls were lost: at most max processes, those first that have lost
 * the most; return how many.  Of others as well, if all of theirs are fewer than the
 * recorder's stats say.
 */
size_t ow_recorder_losses(struct ow_recorder *r, struct ow_recorded_loss *ret,
			  size_t max);

/* The number of a system call of this machine, or -1. */
int ow_syscall_number(const char *name);

/* The name of a system call of any ABI, and what it takes; or NULL. */
const char *ow_syscall_text(int nr);
const struct ow_syscall_shape *ow_syscall_shape(int nr);

/*
 * The letter of argument i as a call has it with these; '\0' if it takes no more:
 * a file's mode is there only where one is made.
 */
char ow_syscall_arg_kind(const struct ow_syscall_shape *shape,
			 const uint64_t args[6], unsigned int i);

/* What has names, by its letter, as strace(1) writes it; false if none is known. */
bool ow_syscall_arg_text(char kind, uint64_t value, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* OUTWIND_RECORD_H */

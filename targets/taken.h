/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A capture of a process while it is being taken.  What a target's threads are
 * held and copied by (freeze.h, blocked.h) works on this.
 */
#ifndef OW_TAKEN_H
#define OW_TAKEN_H

#include "capture.h"
#include "mappings.h"
#include "processmem.h"
#include "replaced.h"
#include "sharers.h"
#include "stackcopy.h"
#include "stackplan.h"
#include "stopper.h"

/* The system call that a thread was in before it was stopped (callabi.h). */
struct ow_taken_call {
	uint64_t pc;                /* where it returns to */
	const struct ow_arch *arch; /* that it is a call of, if known */
	ssize_t code;               /* the region of what stands at pc, or -1 */
};

/* Beside each thread of the capture. */
struct ow_taken_thread {
	struct ow_stop stop;
	const struct ow_arch *arch; /* what it runs, or NULL: no registers */
	uint64_t tp;                /* thread pointer, or 0 */
	ssize_t region;             /* the first one of its stack, or -1 */
	uint32_t list; /* number of the list of mappings that it was taken by */
	/* Which regions of the copy are its: its stack's, and its home's. */
	size_t first, end, first_home, end_home;
	bool has_shared; /* its stack, or a part, is where others may write */
	bool is_unsearched; /* there was no time to find all that its stack leads to */
	bool stands; /* its registers are taken, its stack isn't yet (standing.h) */
	struct ow_taken_call call;
	uint64_t stopped_ns; /* for how long, if it was by itself */
};

struct ow_taken {
	struct ow_capture *c;
	const struct ow_capture_options *options; /* never NULL */
	int dir;                                  /* /proc/PID/task */
	uint32_t worker_flags;                    /* ow_task_worker_flags() */
	struct ow_mappings maps;
	uint32_t list; /* number of that list, which counts the renewals */
	struct ow_replaced replaced;
	/* How long it took to compare that with what is mapped: last, and in all. */
	uint64_t comparison_ns, compared_ns;
	/* Likewise of copies of one thread after another that waited. */
	uint64_t slow_stop_ns, slow_stops_ns;
	uint64_t planned_ns; /* when it was compared last, of CLOCK_MONOTONIC */
	bool sharers_asked;
	enum ow_sharing sharing; /* of its memory, with another process */
	size_t most_together; /* threads that one comparison was for, of each */
	struct ow_taken_thread *threads; /* as many as c->threads */
	size_t room;                     /* of both */
	uint32_t *by_id; /* room_by_id buckets: a thread's number + 1, or 0 */
	size_t room_by_id;
	struct ow_processmem mem;
	struct ow_stackcopy copy;
	struct ow_stackplan plan;
	const struct ow_arch
		*program; /* if program_asked: what it is built for */
	bool program_asked;
	/* For how long it was searched what stacks lead to, of threads that aren't stopped. */
	uint64_t searched_ns;
	unsigned int listings; /* of threads, while some were stopped */
	bool is_lacking; /* threads are missing, or were started too late to be stopped */
	uint64_t waited_ns;  /* in all, for threads that did not stop, */
	uint64_t starved_ns; /* and for those that had no CPU to stop on */
};

/* Empty, for ow_taken_free(). */
void ow_taken_init(struct ow_taken *t);

/*
 * Open the process's list of threads, or take another file descriptor of what tasks
 * has open of it, which is not negative then.  Free with ow_taken_free(), also after
 * failure; what the capture is to keep has to be taken out before.
 */
int ow_taken_begin(struct ow_taken *t, struct ow_capture *c, int tasks,
		   const struct ow_capture_options *options,
		   struct ow_error *err);
void ow_taken_free(struct ow_taken *t);

/* How long a stop may last for reads of memory, in ns. */
uint64_t ow_taken_read_limit(const struct ow_capture_options *options);

/* How long a thread may stand still in a moment, about, in ns. */
#define OW_TAKEN_MOMENT_MS 1000
uint64_t ow_taken_moment_ns(const struct ow_capture_options *options);

/* All is taken: close what was open for that. */
void ow_taken_end(struct ow_taken *t);

/* The process is gone that has opened what was open. */
void ow_taken_forget_files(struct ow_taken *t);

/*
 * Add threads that are new since the last time and wanted; *nr_ret says how
 * many.
 */
int ow_taken_list(struct ow_taken *t, size_t *nr_ret, struct ow_error *err);

/*
 * Could there be threads that aren't listed?  By their number, which costs much
 * less than listing.
 */
bool ow_taken_may_lack(const struct ow_taken *t);

/*
 * Set is_lacking if the kernel counts threads that no list had: a list leaves out threads
 * while others end.  stand: all that are listed stand still, so that the count is exact.
 */
void ow_taken_count(struct ow_taken *t, bool stand);

/*
 * Read the name of a thread that is ours by now, and keeps its id, if it has none yet: the one
 * that was listed had ended before its name was read, and a new one has its id.
 */
void ow_taken_name(struct ow_taken *t, size_t i);

/*
 * Let go of what is ours and nobody waits for: processes and threads that were started
 * so (clone(2), CLONE_PTRACE), and threads that were late.
 */
void ow_taken_let_go_others(struct ow_taken *t);

/*
 * Threads that were asked for by their ids and aren't there get an entry with
 * that reason.  Such an id may be another process's, which must not be touched.
 */
int ow_taken_list_absent(struct ow_taken *t, struct ow_error *err);

/* What is mapped, as far as stacks may be there or code that they lead to. */
int ow_taken_list_mappings(struct ow_taken *t, struct ow_error *err);

/*
 * The same again, of threads that stand still: another program may be there by now.
 * If it can't be had, as with OW_CODE_ABSENT of a process that has exited, the old list
 * stays.
 */
int ow_taken_renew_mappings(struct ow_taken *t, struct ow_error *err);

/*
 * Have what threads that were taken earlier were copied by be told apart from what is
 * listed now: a stack that leads to code that was replaced since ends there.
 */
void ow_taken_cut_replaced(struct ow_taken *t);

/* The name of the program's file. */
void ow_taken_name_program(struct ow_taken *t);

/* Room for all that is needed while threads are stopped. */
int ow_taken_reserve(struct ow_taken *t, struct ow_error *err);

/*
 * What the program was built for, which is looked up when first asked for; NULL if
 * it can't be read.  Its threads may tell otherwise.
 */
const struct ow_arch *ow_taken_program_arch(struct ow_taken *t);

/* The thread's registers are these; size bytes of the kernel's register set. */
void ow_taken_regs(struct ow_taken *t, size_t i, const void *bytes,
		   size_t size);

/* Plan to copy the stack of a thread that has registers. */
void ow_taken_plan_stack(struct ow_taken *t, size_t i);

/*
 * And once that is copied, of what it goes on with (ow_stackplan_add_home()), as far as
 * that is found before plan.until_ns.
 */
void ow_taken_plan_home(struct ow_taken *t, size_t i);

/*
 * Call no thread certain whose stack is in memory that may be shared with another
 * process (mmap(2), MAP_SHARED), which no stop of this one keeps from changing it.
 * Return how many of them were captured.
 */
size_t ow_taken_doubt_shared(struct ow_taken *t);

/* Copy what is planned, and then what that shows stopped threads to need. */
void ow_taken_copy(struct ow_taken *t, size_t first, size_t nr);

#endif /* OW_TAKEN_H */

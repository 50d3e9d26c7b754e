/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stopping threads by ptrace, without a signal to them, and letting them go
 * (ptrace(2), PTRACE_SEIZE).  If the caller dies, the kernel lets them go.
 */
#ifndef OW_STOPPER_H
#define OW_STOPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <outwind/outwind.h>

enum ow_stop_state {
	OW_STOP_NONE,    /* not ours: not seized, or let go */
	OW_STOP_SEIZED,  /* told to stop, has not done so */
	OW_STOP_STOPPED, /* its registers can be read */
};

struct ow_stop {
	pid_t tid;
	enum ow_stop_state state;
	int signal;          /* that was on its way to it, to be handed on */
	bool by_us;          /* it stopped for our asking, for nothing else */
	bool gone;           /* it has exited */
	bool is_late;        /* it did not stop in time, which why tells, */
	bool is_explained;   /* and what it does instead */
	struct ow_error why; /* if state is OW_STOP_NONE */
};

/*
 * Take hold of a thread of the process whose folder of threads is open; it goes on
 * running.  Then tell it to stop.  Failure is in s->why, and false.  A thread of
 * another process, which has the id by now, is let go at once.  One that is ours, as
 * another of ours has started it so (clone(2), CLONE_PTRACE), is taken as it is.
 */
bool ow_stop_seize(struct ow_stop *s, int tasks, pid_t pid, pid_t tid);
void ow_stop_interrupt(struct ow_stop *s);

/*
 * Wait until it stops, or until deadline_ns of CLOCK_MONOTONIC, or until a
 * signal that ends programs is pending.  Return how often we slept meanwhile.
 * The caller blocks these signals, and SIGCHLD, so that it wakes us.
 */
unsigned int ow_stop_wait(struct ow_stop *s, uint64_t deadline_ns);

/*
 * Have why tell what a thread that was late does now, if it was.  To ask for that takes
 * its time: first let go of those that stand still.
 */
void ow_stop_explain_late(struct ow_stop *s);

/* Have a thread that was late be waited for once more. */
void ow_stop_be_patient(struct ow_stop *s);

/* The registers of a stopped thread; returns their bytes, 0 on failure. */
size_t ow_stop_regs(const struct ow_stop *s, void *buf, size_t size);

/*
 * The address that a stopped thread's descriptor says, which is its thread pointer
 * on i386; 0 if it has none of that number.
 */
uint64_t ow_stop_tls(const struct ow_stop *s, unsigned int number);

/* Let it go on as if nothing had been. */
void ow_stop_release(struct ow_stop *s);

/*
 * The id of any thread that is the calling thread's, and has stopped or ended since; 0:
 * there is none.  What *status says has to be settled: s is that thread's, and has it then
 * if it is seized.  One that was let go too early, or that another has made ours
 * and nobody asked for (s is NULL), goes on at once.
 */
pid_t ow_stop_next(int *status);
void ow_stop_settle(struct ow_stop *s, pid_t tid, int status);

#endif /* OW_STOPPER_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libkunwind: what programs ask of the kunwind module, /dev/kunwind.  Link with
 * -lkunwind.  The second half is the original kunwind library's interface.
 */
#ifndef OUTWIND_KUNWIND_H
#define OUTWIND_KUNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ow_frame.h"
#include "ow_kunwind.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ow_error;

/*
 * Open a session.  Return its descriptor, the caller's to close, with
 * close-on-exec; or -1 with err, which may be NULL, here and below.
 */
int ow_kunwind_open(struct ow_error *err);

/*
 * Make the compact table of the ELF file that fd is open on for reading, and hand
 * it in; path is for messages.  0 or negative with err.
 */
int ow_kunwind_add(int dev, int fd, const char *path, struct ow_error *err);

/* The same of the vDSO that a process has at start, size bytes. */
int ow_kunwind_add_vdso(int dev, pid_t pid, uint64_t start, uint64_t size,
			struct ow_error *err);

/*
 * Follow a process, 0 being the caller, with flags of ow_kunwind_follow_flags,
 * and hand in what it lacks now.
 */
int ow_kunwind_follow(int dev, pid_t pid, unsigned int flags,
		      struct ow_error *err);

/* The same, without handing anything in: ow_kunwind_serve() is to follow. */
int ow_kunwind_follow_only(int dev, pid_t pid, unsigned int flags,
			   struct ow_error *err);

/*
 * Hand in the users' subordinate ids (subuid(5)), once each list; it is read anew after a
 * change, within some seconds.  0 or negative with err; a module that knows nothing of such
 * ids is no error.
 */
int ow_kunwind_add_subuids(int dev, struct ow_error *err);

struct ow_kunwind_tally {
	unsigned long followed, made, failed, exited, lost;
};

/*
 * Do what the events that are waiting in a session ask for: make and hand in
 * tables.  Does not wait; poll() tells when there is something to do.  Processes
 * that make events all the time don't keep the caller here: it returns after
 * OW_KUNWIND_FILE_EVENTS of them, and when a signal is pending that ends the
 * caller.  What was done is added to tally, which may be NULL.  say, if not NULL, is called with a
 * line for each table that could not be made.  Return the number of events, or
 * negative with err.
 */
int ow_kunwind_serve(int dev, struct ow_kunwind_tally *tally,
		     void (*say)(void *arg, const char *line), void *arg,
		     struct ow_error *err);

/* What ow_kunwind_serve_by() calls; each may be NULL. */
struct ow_kunwind_server {
	/* A table could not be made. */
	void (*say)(void *arg, const char *line);
	/*
	 * So many events of a user's processes were lost, and they may lack tables; nr 0:
	 * some of them could not be followed.  OW_KUNWIND_NO_USER: several users'.
	 */
	void (*lost)(void *arg, uint32_t uid, uint64_t nr);
	/* There is no room for a table that a user's process lacks. */
	void (*refused)(void *arg, uint32_t uid);
	/* Asked before each event, which may take seconds; true: end. */
	bool (*must_end)(void *arg);
	void *arg;
};

/* As ow_kunwind_serve(). */
int ow_kunwind_serve_by(int dev, struct ow_kunwind_tally *tally,
			const struct ow_kunwind_server *server,
			struct ow_error *err);

/*
 * The calling thread's stack: fill up to max frames, innermost first: the system
 * call itself.  Return their number and in *end why there are no more, or
 * negative with err.  flags are ow_kunwind_unwind_flags.
 */
int ow_kunwind_unwind(int dev, struct ow_frame *frames, unsigned int max,
		      unsigned int flags, enum ow_end *end,
		      struct ow_error *err);

/* The original library's interface. */

struct kunwind_backtrace {
	uint32_t max_entries;
	uint32_t nr_entries;
	uint64_t *entries;
};

struct kunwind_handle;
struct proc_info;

/* Room for max_entries; NULL if that is 0, or out of memory. */
struct kunwind_backtrace *kunwind_backtrace_new(int max_entries);
void kunwind_backtrace_free(struct kunwind_backtrace *bt);

/*
 * Have the calling process known to the module.  0; a positive errno if the
 * device can't be opened, -1 with errno if it refuses, -ENOMEM.
 */
int kunwind_open(struct kunwind_handle **handle);

/* The same; where objects' unwind data lies is found without info's help. */
int kunwind_init_proc_info(struct kunwind_handle **handle,
			   struct proc_info *info);

/* Fill bt; 0, or -1 with errno. */
int kunwind_backtrace(struct kunwind_handle *handle,
		      struct kunwind_backtrace *bt);
void kunwind_close(struct kunwind_handle *handle);

#ifdef __cplusplus
}
#endif

#endif /* OUTWIND_KUNWIND_H */

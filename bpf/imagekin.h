/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that share their memory with others, or may: what one of them moves there,
 * it moves for all.
 */
#ifndef OW_IMAGEKIN_H
#define OW_IMAGEKIN_H

#include "images.h"

/* Do two processes share their memory?  Not known of who is gone. */
enum ow_kinship {
	OW_KIN_NO,
	OW_KIN_YES,
	OW_KIN_UNKNOWN
};

/* Two processes, and what the kernel says of them. */
struct ow_kinpair {
	pid_t a, b;
	enum ow_kinship answer;
	bool is_silent; /* it did not answer in time */
};

/*
 * Ask about pairs, for all of them about 50 us and 1 us for each: a delegate does that, as
 * the kernel lets those wait who ask about a process that executes a program
 * (delegate.h).
 */
void ow_imagekin_ask(struct ow_kinpair *pairs, size_t nr);

/*
 * A child was made at a time by a process that is known, and is known, too.  Later, all
 * at once, they are asked about and those that share their memory, or may, are joined,
 * with what they have moved since: when a reading of records is over.
 */
void ow_imagekin_note_fork(struct ow_images *im, pid_t parent, pid_t child,
			   uint64_t time);
void ow_imagekin_settle(struct ow_images *im);

/*
 * Calls that may move code, of a process and of all that it has made since: they are
 * counted as long as some process or the counter holds this.  CLOCK_MONOTONIC, ns.
 */
struct ow_image_calls {
	size_t nr_holders; /* the last one frees it */
	uint64_t since;    /* each call that begins later is counted */
	uint64_t until; /* none has begun later; UINT64_MAX: that isn't known */
};

/*
 * They share it, or may, until one executes a program, or is forgotten.  Without memory
 * for that, they are not said to.
 */
void ow_imagekin_join(struct ow_image_user *user, struct ow_image_user *with);
void ow_imagekin_leave(struct ow_image_user *user);

/* Code of the memory was moved at a time, or may have been. */
void ow_imagekin_note_move(struct ow_image_user *user, uint64_t time);

/* When that was the last time; or 0. */
uint64_t ow_imagekin_moved(const struct ow_image_user *user);

/* The calls of a process are counted, which holds them until it executes a program. */
void ow_imagekin_count(struct ow_image_user *user,
		       struct ow_image_calls *calls);
void ow_imagekin_leave_calls(struct ow_image_calls *calls);

/* Return true if it is known of the process itself when it called. */
bool ow_imagekin_is_counted(const struct ow_image_user *user);

/* A process was made at a time by one of the same memory: that may count its calls. */
void ow_imagekin_inherit(struct ow_image_user *user,
			 const struct ow_image_user *from, uint64_t time);

/* A process that isn't known has moved code of the memory. */
void ow_imagekin_note_stranger(struct ow_image_user *user);

/*
 * Return the time after which none has called that shares the memory, and is known;
 * UINT64_MAX if that isn't known of each.
 */
uint64_t ow_imagekin_called(const struct ow_image_user *user);

#endif /* OW_IMAGEKIN_H */

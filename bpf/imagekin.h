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

enum ow_kinship ow_imagekin_ask(pid_t a, pid_t b);

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

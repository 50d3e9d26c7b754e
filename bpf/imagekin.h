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
 * They share it, or may, until one executes a program.  Without memory for that, they
 * are not said to.
 */
void ow_imagekin_join(struct ow_image_user *user, struct ow_image_user *with);
void ow_imagekin_leave(struct ow_image_user *user);

/* Code of the memory was moved at a time, or may have been. */
void ow_imagekin_note_move(struct ow_image_user *user, uint64_t time);

/* When that was the last time; or 0. */
uint64_t ow_imagekin_moved(const struct ow_image_user *user);

#endif /* OW_IMAGEKIN_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each user's processes may have of a recording: objects that are opened for them,
 * and looks at what they have mapped.  Root's processes may have all that there is.
 */
#ifndef OW_IMAGESHARES_H
#define OW_IMAGESHARES_H

#include "images.h"

/* A user's share; uid -1 is of those whose user is not known. */
struct ow_image_share {
	uid_t uid;
	uint32_t nr_opened;    /* objects, less those that count no more, */
	uint64_t as_of_ns;     /* as of then, CLOCK_MONOTONIC */
	size_t nr_ranges;      /* of images that have many */
	uint64_t looked_until; /* ns; the time that mappings listed stand for */
	/* ns; likewise the time that was spent, which counts as often as users were busy */
	uint64_t spent_until[OW_IMAGE_NR_WORKS];
};

/*
 * Return true if another object may be opened for a process of the user's; false also
 * without memory.
 */
bool ow_imageshares_may_open(struct ow_images *im, uid_t uid,
			     struct ow_image_user *process);

/* An object was opened for it. */
void ow_imageshares_opened(struct ow_images *im, uid_t uid,
			   struct ow_image_user *process);

/*
 * Return true if what a process of the user's has mapped may be looked at now.  Where there
 * is no time for that, the user is told of (ow_file_lost()).
 */
bool ow_imageshares_may_look(struct ow_images *im, uid_t uid);

/* Likewise, by a look that is known to need so much time, as far as a user ever has that. */
bool ow_imageshares_may_look_for(struct ow_images *im, uid_t uid, uint64_t ns);

/* Likewise, if it can be told what the process has mapped without a look. */
bool ow_imageshares_may_spend(struct ow_images *im, uid_t uid);

/* How long such a look may take now: less where users have taken much, and most ns at most. */
uint64_t ow_imageshares_look_ns(struct ow_images *im, uid_t uid, uint64_t most);

/* A process of the user's was looked at, which had nr mappings listed. */
void ow_imageshares_looked(struct ow_images *im, uid_t uid, size_t nr);

/*
 * So much time of the recorder went to what a process of the user's has mapped.  After some
 * seconds, all users get half of the time together, in equal parts, but those who have taken
 * the least get theirs first.
 */
void ow_imageshares_spent(struct ow_images *im, uid_t uid, uint64_t ns);

/*
 * Return true if a stack of a user's that was taken at a time (CLOCK_MONOTONIC, ns) may be
 * walked.  Where walks are behind, all users may have half of the time, as above.  Without
 * it, standard error names the user, and innermost frames alone are known.
 */
bool ow_imageshares_may_walk(struct ow_images *im, uid_t uid, uint64_t time);

/* The walk of a user's stack that was taken at that time took so much CPU time. */
void ow_imageshares_walked(struct ow_images *im, uid_t uid, uint64_t time,
			   uint64_t ns);

/*
 * Return true if a process of the user's may have an image of so many ranges.  Few are
 * always so; a user may have as many as are left over for others, and some at least.
 */
bool ow_imageshares_may_map(struct ow_images *im, uid_t uid, uint32_t nr);

/* It has one, which may be NULL: ow_images_uncount() undoes that. */
void ow_imageshares_mapped(struct ow_images *im, uid_t uid,
			   struct ow_image *image);

/* Free what im has of shares. */
void ow_imageshares_deinit(struct ow_images *im);

#endif /* OW_IMAGESHARES_H */

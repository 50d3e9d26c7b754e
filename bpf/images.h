/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sampled processes have mapped where: an image is one such list, and has
 * a number of its own, so that what a process ran before it mapped something
 * else, or was replaced by exec, is named rightly afterwards.
 */
#ifndef OW_IMAGES_H
#define OW_IMAGES_H

#include "image.h"
#include "jitmaps.h"
#include "sampledobjects.h"

struct ow_image_user {
	pid_t pid;
	uint32_t image;
	bool is_gone; /* the process has ended */
	/* CLOCK_MONOTONIC, ns: */
	uint64_t as_of; /* it holds what came until then, */
	uint64_t told;  /* but what came later than that is still to be told, */
	uint64_t looked; /* and the look that has shown it was over then, or 0 */
};

struct ow_images {
	struct ow_sampledobjects *objects;
	struct ow_jitmaps jits;
	uint32_t room_ranges; /* in the kernel */
	struct ow_image *all;
	size_t nr, room;
	size_t nr_ranges;            /* of all of them */
	size_t thin_at;              /* as many of these */
	uint32_t most_ranges;        /* of one */
	struct ow_image_user *users; /* by pid */
	size_t nr_users, room_users;
};

void ow_images_deinit(struct ow_images *im);

struct ow_image *ow_images_get(const struct ow_images *im, uint32_t id);

/*
 * Add an image that comes after another one (0: none).  ranges are the image's
 * then, or freed where there is no memory, or are NULL: then return NULL.
 */
struct ow_image *ow_images_add(struct ow_images *im, pid_t pid,
			       struct ow_bpf_range *ranges, uint32_t nr,
			       uint64_t since, uint32_t before);

/* What is known of a process, until another one is added; or NULL. */
struct ow_image_user *ow_images_user(const struct ow_images *im, pid_t pid);

/* The process lives, and has that image.  False if there is no memory. */
bool ow_images_give(struct ow_images *im, pid_t pid, struct ow_image *image,
		    uint64_t as_of);

/* What the process has, or has had if it has ended, is rather that image. */
void ow_images_exchange(struct ow_images *im, struct ow_image_user *user,
			struct ow_image *image);

/* The image that a process has now, or NULL. */
struct ow_image *ow_images_of(const struct ow_images *im, pid_t pid);

/* Until when what a process has mapped is known; 0 if nothing is. */
uint64_t ow_images_as_of(const struct ow_images *im, pid_t pid);

/*
 * Look at what a process has mapped now.  Return its image, which is a new one
 * if that differs from what was known, and then *is_new; NULL if the process is
 * gone or has no memory.
 */
struct ow_image *ow_images_look(struct ow_images *im, pid_t pid, bool *is_new);

/*
 * The same of who is asked for; where there is no such process, say so and return
 * NULL.
 */
struct ow_image *ow_images_find(struct ow_images *im, pid_t pid,
				struct ow_error *err);

/*
 * What the kernel tells of processes: a child has what its parent has; one that
 * was replaced by exec has nothing at first; one has mapped something; one has
 * ended.  These return the process' image, or NULL where that isn't news: what
 * is told later than it was looked at is what was so before.  What came while it
 * was looked at may have been seen, or not.
 */
void ow_images_fork(struct ow_images *im, pid_t parent, pid_t child,
		    uint64_t time);
struct ow_image *ow_images_exec(struct ow_images *im, pid_t pid, uint64_t time);
struct ow_image *ow_images_map(struct ow_images *im, pid_t pid, uint64_t time,
			       const struct ow_mapping *map);
void ow_images_end(struct ow_images *im, pid_t pid, uint64_t time);

/* Is it known, and hasn't ended? */
bool ow_images_lives(const struct ow_images *im, pid_t pid);

/* The image that a process had at that time, or the first known; or NULL. */
struct ow_image *ow_images_at(const struct ow_images *im, pid_t pid,
			      uint64_t time);

/* Find a place for an image's ranges among room_ranges; false if there is none. */
bool ow_images_place(struct ow_images *im, struct ow_image *image);

/*
 * Names of what a process ran at a time (CLOCK_MONOTONIC, ns), by the number of
 * its image: as ow_symbolizer_name() gives them, but module is "[jit]" of code
 * in memory of no file, and "[unknown]" where nothing is mapped.
 */
size_t ow_images_name(struct ow_images *im, uint32_t id, pid_t pid,
		      uint64_t time, const struct ow_frame *f,
		      struct ow_name *names, size_t max);

#endif /* OW_IMAGES_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and what they did, as images.h has them: for who notes it. */
#ifndef OW_IMAGEUSERS_H
#define OW_IMAGEUSERS_H

#include "images.h"

enum ow_image_event {
	OW_IMAGE_MAP,
	OW_IMAGE_EXEC, /* all is gone */
	OW_IMAGE_LOOK, /* this is what there was */
};

struct ow_image_change {
	uint64_t time; /* CLOCK_MONOTONIC, ns; of a look: when it was over */

	union {
		struct ow_image_file
			*file; /* of MAP, until it is opened; or NULL */
		struct ow_image *image; /* of LOOK */
	};

	uint64_t as_of; /* of LOOK: what came later may be missing */
	/* Of MAP.  Until its file is opened, bias is the offset in the file. */
	struct ow_bpf_range range;
	uint8_t event; /* enum ow_image_event */
	uint32_t size; /* bytes that it counts for in its log */
};

/* Shared by mappings that are told of. */
struct ow_image_file {
	unsigned int users;
	uint64_t dev, inode;
	uint64_t opening; /* of ow_images: the last one that it was part of, */
	uint32_t number; /* and what it was found to be then: of ow_sampledobjects */
	uint32_t size; /* bytes of path, with its end */
	char path[];
};

/*
 * Forget what a process has mapped, which it changes more often than there is room to
 * follow: until a sample asks for it, its stacks end for that reason.
 */
void ow_imageusers_forget(struct ow_images *im, struct ow_image_user *user);

/* Forget what the process had mapped before the last look in its log. */
void ow_imageusers_forget_past(struct ow_images *im,
			       struct ow_image_user *user);

/* Return true if the process may have another change noted, for all that logs take. */
bool ow_imageusers_has_room(const struct ow_images *im,
			    const struct ow_image_user *user);

/* The change has no file any more, which is left. */
void ow_imageusers_leave_file(struct ow_images *im, struct ow_image_user *user,
			      struct ow_image_change *c);

/* The user who answers for the process, as ow_images_uid() has it. */
uid_t ow_imageusers_uid(const struct ow_images *im,
			const struct ow_image_user *user);

/* A process that begins; NULL when out of memory. */
struct ow_image_user *ow_imageusers_add(struct ow_images *im, pid_t pid,
					uint64_t begun);

/* The process that had the number at that time, or the first known; or NULL. */
struct ow_image_user *ow_imageusers_at(const struct ow_images *im, pid_t pid,
				       uint64_t time);

/*
 * Put a change where it belongs in the log.  Its file or image is the log's then,
 * also where there is no memory: then return false.
 */
bool ow_imageusers_note(struct ow_images *im, struct ow_image_user *user,
			const struct ow_image_change *c);

/* The process has that image, by itself, from the beginning on. */
void ow_imageusers_begin(struct ow_images *im, struct ow_image_user *user,
			 struct ow_image *image);

/* The image after so many changes of the log, made if need be; or NULL. */
struct ow_image *ow_imageusers_image(struct ow_images *im,
				     struct ow_image_user *user, uint32_t nr);

/* What the log may give up is to be looked for. */
void ow_imageusers_unsettle(struct ow_images *im, struct ow_image_user *user);

/*
 * The first thread of the process has ended, and another one, live, goes on: see
 * from time to time whether that is so still.
 */
void ow_imageusers_behead(struct ow_images *im, struct ow_image_user *user,
			  pid_t live);

/* The file of a mapping, which someone more has then; or NULL. */
struct ow_image_file *ow_imagefile_get(struct ow_images *im,
				       const struct ow_mapping *map);
void ow_imagefile_leave(struct ow_image_file *file);

/*
 * The image after changes from nr on were made to another one (NULL: nothing was
 * mapped), or to none of these where one of them was an exec.  NULL: there is no memory
 * for it, or no time for the processes of that user now.
 */
struct ow_image *ow_imagechanges_apply(struct ow_images *im,
				       struct ow_image_user *user,
				       struct ow_image *from, uint64_t since,
				       uint32_t nr);

#define OW_IMAGE_SILENT_NS \
	60000000000ULL /* until one that does not answer is asked about again */

/*
 * Leave a process out for so many nanoseconds, and tell why; NULL: the kernel does not
 * answer about it in time.
 */
void ow_imageusers_leave_out(struct ow_image_user *user, uint64_t ns,
			     const char *why);

#endif /* OW_IMAGEUSERS_H */

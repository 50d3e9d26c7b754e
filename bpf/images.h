/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sampled processes have mapped where, and when: an image is one such list,
 * and has a number of its own, so that what a process ran before it mapped
 * something else, or was replaced by exec, is named rightly afterwards.
 *
 * What the kernel tells of a process is noted, and nothing more: an image is made
 * of it when it is asked for, which is when a sample hits the process.  What nobody
 * can ask for any more goes: notes and ended processes by ow_images_settle(),
 * images by ow_images_thin().
 */
#ifndef OW_IMAGES_H
#define OW_IMAGES_H

#include "image.h"
#include "jitmaps.h"
#include "rangeroom.h"
#include "sampledobjects.h"

struct ow_codeplaces;   /* where there may be code */
struct ow_image_calls;  /* calls that are counted (imagekin.h) */
struct ow_image_change; /* what a process did */
struct ow_image_file;   /* the file of a mapping, not opened yet */
struct ow_image_family; /* those that share a memory, or may (imagekin.h) */
struct ow_image_limbo;  /* a block of ranges that a program may read yet */
struct ow_image_share;  /* of a user (imageshares.h) */

/* One process, from its begin to its end; its number may be another's later. */
struct ow_image_user {
	struct ow_image_user *next; /* of its bucket: newer ones first */
	/* It, and a ring of them, if there are others; or NULL. */
	struct ow_image_family *family;
	struct ow_image_user *next_kin, *last_kin;
	struct ow_image_calls *calls; /* its own and those of its kin; or NULL */
	pid_t pid;
	pid_t live;        /* a thread whose /proc has the memory, if any has */
	bool is_gone;      /* the process has ended */
	bool is_unsettled; /* some of the log, or the process, may go soon */
	bool is_due;       /* it is in the queue of the code that asks */
	bool is_out;       /* counted as one that the kernel has no room for */
	bool is_unheeded;  /* what it maps isn't noted until it is looked at */
	bool has_strangers; /* who is no user has moved code of its memory */
	/* CLOCK_MONOTONIC, ns: */
	uint64_t begun; /* 0: not known */
	uint64_t added; /* it has been known since then */
	uint64_t ended;
	uint64_t execed;   /* replaced by exec then, the last time; or 0 */
	uint64_t has_vdso; /* mapped since; or 0 */
	uint64_t headless; /* last seen to go on without its first thread; or 0 */
	uint64_t as_of;    /* it holds what came until then, */
	uint64_t told;   /* but what came later than that is still to be told */
	uint64_t looked; /* the last look holds what came until then; or 0 */
	/* When the kernel was given the image, its as_of then, and its ranges. */
	uint64_t told_at, told_as_of;
	uint32_t nr_told;
	struct ow_image *base;       /* before the log; or NULL */
	struct ow_image_change *log; /* by time */
	uint32_t nr, room;
	size_t noted;         /* bytes of the log, and of the files in it */
	struct ow_image *now; /* after the first changes of the log, or NULL */
	uint32_t nr_applied;  /* those */
	uint32_t nr_opened; /* objects that it was the first to map, less those */
	uint64_t opened_as_of; /* that count no more as of then, CLOCK_MONOTONIC */
	bool has_uid, is_full; /* is_full: counted as having too many ranges */
	uid_t uid;             /* who answers for it, */
	uint64_t uid_as_of;    /* asked for then; 0: not yet */
	uint64_t silent_until; /* ns; the kernel isn't asked about it until then */
	int start_errno; /* why no process could be started to ask; or 0 */
	uint64_t checked; /* a look agreed with what was told, or was gone by; or 0 */
	uint64_t moved; /* code of its own, the last time that this was told; or 0 */
	uint64_t kin_silent_until; /* ns; nor whose memory its children have */
	uint64_t uncounted_until; /* its calls can't be counted so long; or 0 */
	uint64_t nr_fresh;   /* samples since then, where these are counted */
	uint64_t look_needs; /* ns, more than its last look had; or 0 */
	uint64_t looked_until; /* ns; its share of the time that looks took so far */
};

/* What takes the recorder's time, of which users have shares (imageshares.h). */
enum ow_image_work {
	OW_IMAGE_LOOKS, /* at what a process has mapped */
	OW_IMAGE_WALKS, /* of copied stacks */
	OW_IMAGE_NR_WORKS,
};

/* A process that another one made. */
struct ow_image_fork {
	pid_t parent, child;
	uint64_t time;
	bool is_asked;
};

struct ow_images {
	struct ow_sampledobjects *objects;
	struct ow_jitmaps jits;
	/* The kernel's array, of room for OW_BPF_RANGES, or NULL; a block begins
	   with a range whose object is the number of the image that lies there,
	   and whose start is when a program used it last. */
	struct ow_bpf_range *kernel;
	uint64_t *changes; /* counts what programs have to look up again; or NULL */
	struct ow_rangeroom room;
	struct ow_image **placed; /* by the unit of their block */
	struct ow_image_limbo *limbo;
	size_t nr_limbo, room_limbo;
	uint64_t evictions;        /* images whose block another one needed */
	bool is_closed;            /* none is placed any more */
	const volatile int *asked; /* for the recorder's end, so often; or NULL */
	int patience; /* asked so often, it looks at no process any more */
	/* Called before ranges of an image go; or NULL. */
	void (*forget)(void *arg, struct ow_image *image);
	void *arg;
	/* Called where a process is found to have ended that nothing told of; or
	   NULL. */
	void (*ended)(void *arg, const struct ow_image_user *user);
	void *ended_arg;

	struct ow_image **by_id; /* buckets */
	size_t nr, nr_buckets;
	uint32_t last_id;
	size_t nr_ranges; /* of all images */
	uint64_t looked; /* what looks have cost: mappings, and some for each */
	struct ow_image *first_idle, *last_idle;
	struct ow_image *unknown; /* ow_images_unknown(), once it was asked for */

	struct ow_image_user **users; /* buckets, by pid */
	size_t nr_users, nr_user_buckets;
	uint64_t nr_begun; /* users, ever */
	struct ow_image_user **unsettled;
	size_t nr_unsettled, room_unsettled;
	struct ow_image_file **files; /* that came last, by hash */
	uint64_t nr_openings;         /* of the files of a process's mappings */
	size_t noted;                 /* bytes of all logs */
	struct ow_image_share *shares;
	size_t nr_shares;
	/* ns; as of a share, of all users but root */
	uint64_t looked_until;
	uint64_t spent_until[OW_IMAGE_NR_WORKS];
	uint64_t lost_at; /* what came until then may not have been told; or 0 */
	uint64_t absent_at; /* who had ended without that was looked for then, */
	bool is_in_doubt;   /* and is to be looked for again */
	bool is_wanted; /* the process that is looked at was asked for by its number */
	struct ow_codeplaces *places; /* of all images and logs; or NULL */
	bool has_kin; /* it is asked which processes share their memory, */
	struct ow_image_fork *forks; /* of these not yet */
	size_t nr_forks, room_forks;
	uint64_t moves_lost_at; /* moves until then may not have been told; or 0 */

	/* What there was no room for: */
	unsigned int nr_full;    /* processes with too many ranges, */
	unsigned int nr_refused; /* mappings of objects beyond a limit */
};

void ow_images_deinit(struct ow_images *im);

/* Forget all processes, and what they did. */
void ow_images_drop_users(struct ow_images *im);

struct ow_image *ow_images_get(const struct ow_images *im, uint32_t id);

/*
 * Add an image that nobody has.  ranges are the image's then, or freed where there
 * is no memory, or are NULL: then return NULL.
 */
struct ow_image *ow_images_add(struct ow_images *im, pid_t pid,
			       struct ow_bpf_range *ranges, uint32_t nr);

/* Have users be as far ahead of their time as they were, with nothing of from's. */
void ow_images_move_shares(struct ow_images *to, struct ow_images *from);

/* So many of the ranges that an image counts for its user go (imageshares.h). */
void ow_images_uncount(const struct ow_images *im, struct ow_image *image,
		       uint32_t nr);

/* An image that stands for more ranges than there is room for; or NULL. */
struct ow_image *ow_images_add_full(struct ow_images *im, pid_t pid);

/* The one that stands for all that isn't known, of any process; or NULL. */
struct ow_image *ow_images_unknown(struct ow_images *im);

/* Someone has the image, or has it no more. */
void ow_images_hold(struct ow_images *im, struct ow_image *image);
void ow_images_leave(struct ow_images *im, struct ow_image *image);

/* The process that has that number now, or had it last; or NULL. */
struct ow_image_user *ow_images_user(const struct ow_images *im, pid_t pid);

/* The image that a process has now, or NULL. */
struct ow_image *ow_images_of(struct ow_images *im, pid_t pid);

/* Until when what a process has mapped is known; 0 if nothing is. */
uint64_t ow_images_as_of(const struct ow_images *im, pid_t pid);

/* Until when a look has shown what a process has mapped; 0 if none has. */
uint64_t ow_images_looked(const struct ow_images *im, pid_t pid);

/* Return true if the recorder is to end before it has looked at more processes. */
bool ow_images_must_end(const struct ow_images *im);

/*
 * Look at what a process has mapped now.  Return its image, which is a new one
 * if that differs from what was known, and then *is_new; NULL if the process is
 * gone or has no memory.
 */
struct ow_image *ow_images_look(struct ow_images *im, pid_t pid, bool *is_new);

/*
 * Note what a process was seen to have mapped with code in it: nr mappings in address
 * order.  Return as ow_images_look() does.
 */
struct ow_image *ow_images_show(struct ow_images *im, pid_t pid,
				const struct ow_mapping *list, size_t nr);

/*
 * Look at a process that a sample finds changed: not for more than a part of the time,
 * however often it changes.  NULL: there is nothing, or it isn't looked at now.
 */
struct ow_image *ow_images_look_again(struct ow_images *im, pid_t pid);

/*
 * What a process had mapped when a sample of it was taken, after the kernel may have left
 * out something that the process did: look at the process.  If the look shows anything else
 * than was known, what was before the look is not known from then on.  Where the process
 * can't be looked at now, what is known counts if a look has shown it within the last
 * second, and the process had been known for a second by then.  Else return
 * ow_images_unknown(), and forget nothing.  A process that has ended since is not looked
 * at.  Return NULL if nothing was known, and nothing is now.
 */
struct ow_image *ow_images_sampled(struct ow_images *im, pid_t pid,
				   uint64_t time);

/*
 * Look at a process that is asked for; where there is no such process, say so and return
 * NULL.
 */
struct ow_image *ow_images_find(struct ow_images *im, pid_t pid,
				struct ow_error *err);

/*
 * What the kernel tells of processes: a child has what its parent has; one that
 * was replaced by exec has nothing at first; one has mapped something; one's first
 * thread has ended, and it with that, unless others go on; one has ended.  These return true where the process' present image may differ by that:
 * what is told later than it was looked at is what was so before.  What came while
 * it was looked at may have been seen, or not.
 */
bool ow_images_fork(struct ow_images *im, pid_t parent, pid_t child,
		    uint64_t time);
bool ow_images_exec(struct ow_images *im, pid_t pid, uint64_t time);
bool ow_images_map(struct ow_images *im, pid_t pid, uint64_t time,
		   const struct ow_mapping *map);
bool ow_images_exit(struct ow_images *im, pid_t pid, uint64_t time);
bool ow_images_end(struct ow_images *im, pid_t pid, uint64_t time);

/*
 * A process may have mapped or unmapped something that wasn't told: nothing is known
 * any more of what it had, until it is looked at.
 */
void ow_images_doubt(struct ow_images *im, pid_t pid);

/* The kernel told the user of a known process at that time, with a sample. */
void ow_images_tell_uid(struct ow_images *im, pid_t pid, uint64_t time,
			uid_t uid);

/*
 * The user who answers for a process (ow_process_user()), which is asked for anew where
 * that was a second ago: it may become another user's.  Of one that has ended, what was
 * known last; -1: not known.
 */
uid_t ow_images_uid(const struct ow_images *im, pid_t pid);

/* What came until that time may not all have been told. */
void ow_images_lose(struct ow_images *im, uint64_t time);

/* Is it known, and hasn't ended? */
bool ow_images_lives(const struct ow_images *im, pid_t pid);

/* Return true if it is known, and what happened at that time is not after its end. */
bool ow_images_lives_at(const struct ow_images *im, pid_t pid, uint64_t time);

/* Return true if what a process had mapped at that time is likely not known. */
bool ow_images_is_in_doubt(const struct ow_images *im, pid_t pid,
			   uint64_t time);

/*
 * Return true if exec had mapped the next program at that time, but had not let it run
 * yet: registers are those of the program before.
 */
bool ow_images_is_between(const struct ow_images *im, pid_t pid, uint64_t time);

/* The image that a process had at that time, or the first known; or NULL. */
struct ow_image *ow_images_at(struct ow_images *im, pid_t pid, uint64_t time);

/* Nobody asks for what was before that time any more. */
void ow_images_settle(struct ow_images *im, uint64_t time);

/* A stack was stored that names an image: the ranges it has frames in are kept. */
void ow_images_claim(struct ow_images *im, const struct ow_recorded *s);

/* One that was claimed for is stored no more. */
void ow_images_unclaim(struct ow_images *im, const struct ow_recorded *s);

/*
 * Of images that nobody has had since an instant (CLOCK_MONOTONIC, ns) free what
 * no stored stack needs.
 */
void ow_images_thin(struct ow_images *im, uint64_t since);

/*
 * Set named[n] for each object n that an image names, or a mapping that was noted: its
 * number can't be another object's.
 */
void ow_images_mark(const struct ow_images *im, bool *named);

/*
 * From now on note where there is code, of images and of mappings that were noted.  Without
 * memory for that, there may be code anywhere.
 */
void ow_images_note_code(struct ow_images *im);

/* Return false if no process that is known has code in a place. */
bool ow_images_may_have_code(struct ow_images *im, uint64_t start,
			     uint64_t end);

/*
 * Have the image's ranges lie in the kernel's.  Where others have all the room that
 * is used the longest ago goes, later: return false then.
 */
bool ow_images_place(struct ow_images *im, struct ow_image *image);

/*
 * None lies there any more, and none will before ow_images_renew(): programs know
 * of no image soon.
 */
void ow_images_displace_all(struct ow_images *im);

/* Forget all processes, images and maps of JITs; new images have new numbers. */
void ow_images_renew(struct ow_images *im);

/* Its ranges lie there no more. */
void ow_images_displace(struct ow_images *im, struct ow_image *image);

/*
 * Names of a frame of a stack's program: as ow_symbolizer_name() gives them, but module
 * is "[jit]" of code in memory of no file, and "[unknown]" where nothing is mapped.
 */
size_t ow_images_name(struct ow_images *im, const struct ow_recorded *s,
		      const struct ow_frame *f, struct ow_name *names,
		      size_t max);

#endif /* OW_IMAGES_H */

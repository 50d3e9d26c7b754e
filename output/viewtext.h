/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much text the names of stacks may take: each frame of each thread has them, and
 * who is looked at chooses how long they are.
 */
#ifndef VIEWTEXT_H
#define VIEWTEXT_H

#include <outwind/outwind.h>

#define VIEWTEXT_MOST  ((uint64_t)1 << 30)    /* bytes, as they are written */
#define VIEWTEXT_WHOLE ((uint64_t)1536 << 20) /* with the lines of all frames */
#define VIEWTEXT_FRAME 128 /* bytes of a frame's line, beside its names */

/* All zero before the first frame. */
struct viewtext {
	size_t longest; /* bytes of a function that are shown, or 0: all */
	uint64_t used;
	uint64_t nr_cut;   /* frames that lack names, or parts of them */
	uint64_t whole;    /* bytes of names and of lines */
	uint64_t nr_short; /* stacks that are cut, of so many frames: */
	uint64_t nr_left_out;
};

/*
 * Take the text of one frame's names.  Once all would take more than VIEWTEXT_MOST,
 * frames keep short names; of the others only the function that the rest is inlined in
 * is left, with what is short of its function and object.  Return how many there are.
 */
size_t viewtext_take(struct viewtext *t, struct ow_name *names, size_t nr);

/*
 * Take the lines of a stack's frames.  Return how many of the innermost ones are to be
 * printed: once all stacks would take more than VIEWTEXT_WHOLE, one.
 */
size_t viewtext_fit(struct viewtext *t, size_t nr);

/* Fill buf with a line that tells what lacks names; return false if nothing does. */
#define VIEWTEXT_LINE 128
bool viewtext_line(const struct viewtext *t, char buf[VIEWTEXT_LINE]);

/* Likewise of frames that are left out. */
bool viewtext_short_line(const struct viewtext *t, char buf[VIEWTEXT_LINE]);

/* Have both lines said.  Return true if there is none: nothing lacks. */
bool viewtext_say(const struct viewtext *t, void (*say)(const char *line));

#endif /* VIEWTEXT_H */

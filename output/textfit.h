/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which texts a format has room for.  Where all of them are longer than that, their
 * owners share the room: an owner gets what it wants, or else as much as any other one
 * gets.  Of an owner's texts, the shortest are there.
 */
#ifndef OW_TEXTFIT_H
#define OW_TEXTFIT_H

#include "profile.h"

struct textfit_item {
	uint64_t size; /* bytes */
	uint16_t owner;
	/* It is the text before it, which another owner has, too: written once. */
	bool is_copy;
};

/* All zero, but for the upper part, is one that hasn't shared yet. */
struct textfit {
	size_t nr; /* texts */
	const void *of;
	struct textfit_item (*item)(const void *of, size_t i);

	uint8_t *flags; /* of each text, enum textfit_flags; NULL: all are there */
};

enum textfit_flags {
	TEXTFIT_CUT = 1,
	TEXTFIT_COPY = 2
};

/* Return true if there is room for all texts. */
bool textfit_is_room(const struct textfit *t, const struct profile_options *o);

/*
 * Share what o allows, and count for it what is left out.  Texts of equal size are taken
 * in their order.  Return false when out of memory.
 */
bool textfit_share(struct textfit *t, const struct profile_options *o);

/* Return true if there is room for a text.  Copies say the same as what they are of. */
static inline bool textfit_has(const struct textfit *t, size_t i)
{
	return !t->flags || !(t->flags[i] & TEXTFIT_CUT);
}

void textfit_deinit(struct textfit *t);

#endif /* OW_TEXTFIT_H */

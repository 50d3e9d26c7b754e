/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which names a format has room for that writes those of each item of a profile, quoted:
 * one text may be the name of many items.  The shortest names are there.
 */
#ifndef OW_NAMEFIT_H
#define OW_NAMEFIT_H

#include "profile.h"
#include "textfit.h"

/* All zero, but for the upper part, is one that hasn't shared yet. */
struct namefit {
	const struct profile *p;
	size_t nr; /* items */
	/* The bytes of an item's names, by what follows. */
	uint64_t (*size)(const struct namefit *n, size_t i);
	/* How text is quoted; as a function of proftext.h. */
	size_t (*put)(FILE *out, const char *text);

	uint32_t *sizes; /* of strings as put() writes them, or NULL */
	struct textfit fit;
};

/* Bytes of a string, or more while it isn't measured; 0 if it is PROFILE_NONE. */
uint64_t namefit_string(const struct namefit *n, uint32_t string);

/* Likewise of profile_label(). */
uint64_t namefit_label(const struct namefit *n, const struct profile_frame *f);

/* Share what o allows.  Return false when out of memory. */
bool namefit_share(struct namefit *n, const struct profile_options *o);

/* Return true if there is room for an item's names. */
static inline bool namefit_has(const struct namefit *n, size_t i)
{
	return textfit_has(&n->fit, i);
}

void namefit_deinit(struct namefit *n);

#endif /* OW_NAMEFIT_H */

// SPDX-License-Identifier: BSD-2-Clause
#include "imagecheck.h"

#include <stdlib.h>

/* The place in the log of a look that was begun at a time; or nr. */
static uint32_t look_at(const struct ow_image_user *user, uint64_t as_of)
{
	uint32_t i = user->nr;

	while (i > 0) {
		i--;
		if (user->log[i].event == OW_IMAGE_LOOK &&
		    user->log[i].as_of == as_of)
			return i;
	}
	return user->nr;
}

/* What there was no room for can't be compared. */
static bool is_other(const struct ow_bpf_range *a, const struct ow_bpf_range *b)
{
	if (a->mapped == OW_BPF_NO_ROOM || b->mapped == OW_BPF_NO_ROOM)
		return false;
	return a->mapped != b->mapped || (a->object && a->bias != b->bias);
}

/* Was something mapped there while the look went on, which may have seen it or not? */
static bool is_unclear(const struct ow_image_user *user, uint32_t look,
		       const struct ow_bpf_range *r)
{
	const struct ow_image_change *c;

	for (c = user->log; c < user->log + look; c++)
		if (c->time > user->log[look].as_of &&
		    (c->event == OW_IMAGE_EXEC ||
		     (c->event == OW_IMAGE_MAP && c->range.start < r->end &&
		      r->start < c->range.end)))
			return true;
	return false;
}

struct ow_bpf_range *ow_imagecheck_changed(struct ow_images *im, pid_t pid,
					   uint64_t as_of, uint32_t *nr)
{
	struct ow_image_user *user = ow_images_user(im, pid);
	const struct ow_bpf_range *a, *b, *a_end, *b_end;
	const struct ow_image *known, *seen;
	struct ow_bpf_range *list, both;
	uint32_t look;

	*nr = 0;
	look = user ? look_at(user, as_of) : 0;
	if (!user || look == user->nr)
		return NULL;
	known = ow_imageusers_image(im, user, look);
	seen = user->log[look].image;
	if (!known || known == seen)
		return NULL;
	list = calloc((size_t)known->nr + seen->nr + 1, sizeof(*list));
	a = known->ranges;
	a_end = a + known->nr;
	b = seen->ranges;
	b_end = b + seen->nr;
	while (list && a < a_end && b < b_end) {
		both.start = a->start > b->start ? a->start : b->start;
		both.end = a->end < b->end ? a->end : b->end;
		if (both.start < both.end && is_other(a, b) &&
		    !is_unclear(user, look, &both))
			list[(*nr)++] =
				(struct ow_bpf_range){ .start = both.start,
						       .end = both.end };
		if (a->end < b->end)
			a++;
		else
			b++;
	}
	if (*nr)
		return list;
	free(list);
	return NULL;
}

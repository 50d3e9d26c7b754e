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

/* What was mapped while a look went on, which may have seen it or not. */
struct meanwhile {
	struct ow_bpf_range *list; /* in address order, and apart; to be freed */
	uint32_t nr;
	bool is_all; /* another program was started, or there was no memory */
};

static int compare_starts(const void *a, const void *b)
{
	const struct ow_bpf_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Have those be one that overlap, or touch each other. */
static void join(struct meanwhile *m)
{
	uint32_t i, nr = 0;

	if (m->nr)
		qsort(m->list, m->nr, sizeof(*m->list), compare_starts);
	for (i = 0; i < m->nr; i++)
		if (nr == 0 || m->list[nr - 1].end < m->list[i].start)
			m->list[nr++] = m->list[i];
		else if (m->list[nr - 1].end < m->list[i].end)
			m->list[nr - 1].end = m->list[i].end;
	m->nr = nr;
}

static struct meanwhile list_meanwhile(const struct ow_image_user *user,
				       uint32_t look)
{
	struct meanwhile m = { calloc((size_t)look + 1, sizeof(*m.list)), 0,
			       false };
	const struct ow_image_change *c;

	m.is_all = !m.list;
	for (c = user->log; !m.is_all && c < user->log + look; c++) {
		if (c->time <= user->log[look].as_of)
			continue;
		if (c->event == OW_IMAGE_MAP)
			m.list[m.nr++] = c->range;
		m.is_all = c->event == OW_IMAGE_EXEC;
	}
	join(&m);
	return m;
}

static bool is_unclear(const struct meanwhile *m, const struct ow_bpf_range *r)
{
	const struct ow_bpf_range *at =
		ow_image_in_list(m->list, m->nr, r->start);

	return m->is_all || (at && at->start < r->end);
}

struct ow_bpf_range *ow_imagecheck_changed(struct ow_images *im, pid_t pid,
					   uint64_t as_of, uint32_t *nr)
{
	struct ow_image_user *user = ow_images_user(im, pid);
	const struct ow_bpf_range *a, *b, *a_end, *b_end;
	const struct ow_image *known, *seen;
	struct ow_bpf_range *list, both;
	struct meanwhile meanwhile;
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
	meanwhile = list_meanwhile(user, look);
	a = known->ranges;
	a_end = a + known->nr;
	b = seen->ranges;
	b_end = b + seen->nr;
	while (list && a < a_end && b < b_end) {
		both.start = a->start > b->start ? a->start : b->start;
		both.end = a->end < b->end ? a->end : b->end;
		if (both.start < both.end && is_other(a, b) &&
		    !is_unclear(&meanwhile, &both))
			list[(*nr)++] =
				(struct ow_bpf_range){ .start = both.start,
						       .end = both.end };
		if (a->end < b->end)
			a++;
		else
			b++;
	}
	free(meanwhile.list);
	if (*nr)
		return list;
	free(list);
	return NULL;
}

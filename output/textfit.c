// SPDX-License-Identifier: BSD-2-Clause
#include "textfit.h"

#include <stdlib.h>

/* A text, to be sorted. */
struct text {
	uint32_t size; /* or one byte more than there is room for */
	uint32_t number;
	uint16_t owner;
};

/* What an owner has: texts that follow one another. */
struct group {
	struct text *texts;
	size_t nr;
	uint64_t size;
};

struct groups {
	struct group *all;
	size_t nr;
};

static int compare_texts(const void *a, const void *b)
{
	const struct text *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* The owner that wants least is first. */
static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return (x->texts > y->texts) - (x->texts < y->texts);
}

bool textfit_is_room(const struct textfit *t, const struct profile_options *o)
{
	uint64_t most = profile_most_text(o);
	struct textfit_item item;
	uint64_t size = 0;
	size_t i;

	for (i = 0; i < t->nr && size <= most; i++) {
		item = t->item(t->of, i);
		if (!item.is_copy)
			size = profile_sum(size, item.size);
	}
	return size <= most;
}

/* All texts, by owner and size; or NULL when out of memory. */
static struct text *sort_texts(struct textfit *t, uint32_t most)
{
	struct text *texts = calloc(t->nr, sizeof(*texts));
	struct textfit_item item;
	size_t i;

	for (i = 0; texts && i < t->nr; i++) {
		item = t->item(t->of, i);
		texts[i] = (struct text){
			.size = item.size <= most ? (uint32_t)item.size :
						    most + 1,
			.number = (uint32_t)i,
			.owner = item.owner,
		};
		if (item.is_copy)
			t->flags[i] |= TEXTFIT_COPY;
	}
	if (texts)
		qsort(texts, t->nr, sizeof(*texts), compare_texts);
	return texts;
}

static size_t count_owners(const struct text *texts, size_t nr)
{
	size_t n = 1, i;

	for (i = 1; i < nr; i++)
		n += texts[i].owner != texts[i - 1].owner;
	return n;
}

/* What each owner has, of sorted texts.  Return false when out of memory. */
static bool group_texts(struct groups *g, struct text *texts, size_t nr)
{
	struct group *last = NULL;
	size_t i;

	g->all = calloc(count_owners(texts, nr), sizeof(*g->all));
	for (i = 0; g->all && i < nr; i++) {
		if (!last || last->texts->owner != texts[i].owner) {
			last = &g->all[g->nr++];
			last->texts = &texts[i];
		}
		last->nr++;
		last->size += texts[i].size;
	}
	return g->all;
}

/* Leave out an owner's texts beyond its share.  Return how much of it is used. */
static uint64_t cut_group(struct textfit *t, const struct group *g,
			  uint64_t share)
{
	uint64_t used = 0;
	size_t i;

	for (i = 0; i < g->nr && g->texts[i].size <= share - used; i++)
		used += g->texts[i].size;
	for (; i < g->nr; i++)
		t->flags[g->texts[i].number] |= TEXTFIT_CUT;
	return used;
}

/* What an owner leaves over is for those that want more. */
static void cut_groups(struct textfit *t, struct groups *g, uint64_t most)
{
	size_t i;

	qsort(g->all, g->nr, sizeof(*g->all), compare_groups);
	for (i = 0; i < g->nr; i++)
		most -= cut_group(t, &g->all[i], most / (g->nr - i));
}

/* Have a text and its copies be there if one of them is.  Return how many they are. */
static size_t settle_copies(struct textfit *t, size_t first)
{
	uint8_t cut = t->flags[first] & TEXTFIT_CUT;
	size_t nr, i;

	for (nr = 1; first + nr < t->nr && t->flags[first + nr] & TEXTFIT_COPY;
	     nr++)
		cut &= t->flags[first + nr];
	for (i = first; i < first + nr; i++)
		t->flags[i] = (t->flags[i] & TEXTFIT_COPY) | cut;
	return nr;
}

static void count_cut(const struct textfit *t, const struct text *texts,
		      const struct profile_options *o)
{
	uint8_t flags;
	size_t i;

	for (i = 0; i < t->nr; i++) {
		flags = t->flags[texts[i].number];
		if (flags == TEXTFIT_CUT && o->nr_cut_ret)
			++*o->nr_cut_ret;
		if (flags & TEXTFIT_CUT && o->nr_cut_of_ret)
			o->nr_cut_of_ret[texts[i].owner]++;
	}
}

bool textfit_share(struct textfit *t, const struct profile_options *o)
{
	uint64_t most = profile_most_text(o);
	struct groups g = { 0 };
	struct text *texts;
	size_t i;
	bool good;

	if (textfit_is_room(t, o))
		return true;
	if (t->nr > UINT32_MAX || most >= UINT32_MAX)
		return false;
	t->flags = calloc(t->nr, sizeof(*t->flags));
	texts = t->flags ? sort_texts(t, (uint32_t)most) : NULL;
	good = texts && group_texts(&g, texts, t->nr);
	if (good) {
		cut_groups(t, &g, most);
		for (i = 0; i < t->nr; i += settle_copies(t, i))
			;
		count_cut(t, texts, o);
	}
	free(g.all);
	free(texts);
	return good;
}

void textfit_deinit(struct textfit *t)
{
	free(t->flags);
	t->flags = NULL;
}

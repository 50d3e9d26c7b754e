// SPDX-License-Identifier: BSD-2-Clause
#include "pprofmaps.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096

/* Of an object whose mapping is not known: from where to where frames are. */
struct pprofmap_guess {
	uint64_t low, high;
};

static uint32_t guess(struct pprofmaps *m, const struct profile_frame *f)
{
	const struct profile_mapping key = {
		.module = f->module,
		.build_id = f->build_id,
		.start = f->pc - f->module_offset,
	};
	uint32_t nr = m->guessed.nr_mappings;
	uint32_t number = profile_mapping(&m->guessed, &key);
	struct pprofmap_guess *g = &m->guesses[number];

	if (m->guessed.nr_mappings > nr)
		*g = (struct pprofmap_guess){ f->pc, f->pc };
	if (f->pc < g->low)
		g->low = f->pc;
	if (f->pc > g->high)
		g->high = f->pc;
	return m->p->nr_mappings + number;
}

/* Where none is known, as in a guest of Xen's: by what is loaded where. */
static uint32_t mapping_of(struct pprofmaps *m, const struct profile_frame *f)
{
	bool is_object = f->module && strcmp(profile_text(m->p, f->module),
					     "[unknown]") != 0;

	if (m->p->nr_mappings || !is_object)
		return f->mapping;
	return guess(m, f);
}

bool pprofmaps_init(struct pprofmaps *m, const struct profile *p)
{
	size_t nr = (size_t)p->nr_frames + 1;
	uint32_t i;

	*m = (struct pprofmaps){ .p = p };
	m->of = calloc(nr, sizeof(*m->of));
	m->guesses = calloc(nr, sizeof(*m->guesses));
	m->flags = calloc(nr + p->nr_mappings, sizeof(*m->flags));
	if (!m->of || !m->guesses || !m->flags)
		return false;
	for (i = 0; i < p->nr_frames; i++)
		m->of[i] = mapping_of(m, &p->frames[i]);
	m->nr = p->nr_mappings + m->guessed.nr_mappings;
	return !m->guessed.failed;
}

void pprofmaps_deinit(struct pprofmaps *m)
{
	free(m->of);
	free(m->guesses);
	free(m->flags);
	profile_deinit(&m->guessed);
}

uint32_t pprofmaps_use(struct pprofmaps *m, uint32_t frame)
{
	const struct profile_frame *f = &m->p->frames[frame];

	m->flags[m->of[frame]] |=
		(uint8_t)(PPROFMAP_USED | (f->file ? PPROFMAP_FILES : 0) |
			  (f->line ? PPROFMAP_LINES : 0) |
			  (f->is_inline ? PPROFMAP_INLINES : 0));
	return m->of[frame];
}

/* A guess: addresses in the file are taken for offsets there. */
static void get_guess(const struct pprofmaps *m, uint32_t number,
		      struct profile_mapping *ret)
{
	const struct pprofmap_guess *g = &m->guesses[number];
	uint64_t bias;

	*ret = m->guessed.mappings[number - 1];
	bias = ret->start;
	ret->start = g->low & ~(uint64_t)(PAGE - 1);
	ret->end = (g->high | (PAGE - 1)) + 1;
	ret->offset = ret->start - bias;
}

uint8_t pprofmaps_get(const struct pprofmaps *m, uint32_t number,
		      struct profile_mapping *ret)
{
	if (number <= m->p->nr_mappings)
		*ret = m->p->mappings[number - 1];
	else
		get_guess(m, number - m->p->nr_mappings, ret);
	return m->flags[number];
}

// SPDX-License-Identifier: BSD-2-Clause
#include "jitnames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "grow.h"

#define FIRST_FRAMES 1024
#define MOST_FRAMES  1000000

/* What is being collected. */
struct collecting {
	struct ow_capture *c;
	struct ow_perfmap *map;
	struct ow_symbol *found;
	size_t nr, room;
};

static bool add_frame(struct collecting *k, const struct ow_frame *frame)
{
	uint64_t pc = ow_frame_lookup_pc(frame);
	const struct ow_capture_module *m = ow_capture_module_at(k->c, pc);
	struct ow_symbol sym;

	if ((m && m->object) || !ow_perfmap_find(k->map, pc, &sym))
		return true;
	if (!ow_grow(&k->found, &k->room, k->nr + 1, sizeof(*k->found)))
		return false;
	k->found[k->nr++] = sym;
	return true;
}

static bool add_thread(struct collecting *k, size_t i)
{
	_cleanup_(ow_freep) struct ow_frame *frames = NULL;
	size_t max = FIRST_FRAMES, nr, n;
	enum ow_end end;

	for (;; max *= 4) {
		free(frames);
		frames = calloc(max, sizeof(*frames));
		if (!frames)
			return false;
		nr = ow_capture_walk(k->c, i, frames, max, &end, NULL);
		if (end != OW_END_LIMIT || max > MOST_FRAMES)
			break;
	}
	for (n = 0; n < nr; n++)
		if (!add_frame(k, &frames[n]))
			return false;
	return true;
}

static int symbol_order(const void *a, const void *b)
{
	const struct ow_symbol *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static void print(struct collecting *k, struct ow_bytebuf *to)
{
	char numbers[64];
	size_t i;

	if (k->nr)
		qsort(k->found, k->nr, sizeof(*k->found), symbol_order);
	for (i = 0; i < k->nr; i++) {
		if (i > 0 && k->found[i].vaddr == k->found[i - 1].vaddr &&
		    k->found[i].name == k->found[i - 1].name)
			continue;
		snprintf(numbers, sizeof(numbers), "%llx %llx ",
			 (unsigned long long)k->found[i].vaddr,
			 (unsigned long long)k->found[i].size);
		ow_bytebuf_add(to, numbers, strlen(numbers));
		ow_bytebuf_add(to, k->found[i].name, strlen(k->found[i].name));
		ow_bytebuf_add(to, "\n", 1);
	}
}

struct ow_perfmap *ow_jitnames_open(const struct ow_capture *c)
{
	if (c->jit_names)
		return ow_perfmap_parse(c->jit_names, c->jit_names_size,
					c->jit_path);
	return c->live > 0 ? ow_perfmap_open(c->pid) : NULL;
}

bool ow_jitnames_collect(struct ow_jitnames *ret, struct ow_capture *c)
{
	struct collecting k = { .c = c };
	bool good;
	size_t i;

	*ret = (struct ow_jitnames){ 0 };
	k.map = ow_jitnames_open(c);
	good = k.map != NULL;
	for (i = 0; good && i < c->nr_threads; i++)
		good = add_thread(&k, i);
	if (good && k.nr) {
		print(&k, &ret->text);
		ret->path = strdup(ow_perfmap_path(k.map));
	}
	ow_perfmap_close(k.map);
	free(k.found);
	if (ret->path)
		return true;
	ow_jitnames_deinit(ret);
	return false;
}

void ow_jitnames_deinit(struct ow_jitnames *j)
{
	free(j->path);
	ow_bytebuf_deinit(&j->text);
	j->path = NULL;
}

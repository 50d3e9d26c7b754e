// SPDX-License-Identifier: BSD-2-Clause
#include "xenlinks.h"

#include <string.h>

#define LEFT_STACK ((size_t)16384) /* copied of a stack that was left */
#define NEAR       4096 /* from where a link points to what is read there */

static uint64_t word_at(const struct ow_xenstack *k, size_t off, size_t word)
{
	uint64_t value = 0;

	memcpy(&value, k->bytes + off, word);
	return value;
}

static void put_first(struct ow_xenstack *k, uint64_t link)
{
	unsigned int n;

	for (n = 0; n < OW_XENSTACK_LINKS - 1 && k->links[n] != link; n++)
		;
	memmove(k->links + 1, k->links, n * sizeof(k->links[0]));
	k->links[0] = link;
	k->nr_links++;
}

/*
 * Of the words that point a little below addr, the nearest, outermost.  What
 * isn't a word of a stack, but code that is looked at, has none.
 */
void ow_xenlinks_learn(struct ow_xenstack *stack, struct ow_xenstack *left,
		       size_t word, uint64_t addr, size_t size)
{
	uint64_t distance, nearest = NEAR, link = 0;
	size_t off;

	if (size != word || addr % word)
		return;
	for (off = 0; off + word <= stack->size; off += word) {
		distance = addr - word_at(stack, off, word);
		if (distance <= nearest && distance % word == 0) {
			nearest = distance;
			link = stack->start + off;
		}
	}
	if (!link || link == left->link)
		return;
	put_first(stack, link);
	left->want = LEFT_STACK;
}

bool ow_xenlinks_follow(const struct ow_xenstack *stack,
			struct ow_xenstack *left, size_t word)
{
	uint64_t off, to;
	size_t n;

	left->link = 0;
	for (n = 0; n < OW_XENSTACK_LINKS; n++) {
		off = stack->links[n] - stack->start;
		if (!stack->links[n] || off >= stack->size ||
		    stack->size - off < word)
			continue;
		to = word_at(stack, off, word);
		if (to - stack->start < stack->size)
			continue; /* not off this stack */
		left->start = to;
		left->link = stack->links[n];
		return true;
	}
	return false;
}

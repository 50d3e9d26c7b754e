// SPDX-License-Identifier: BSD-2-Clause
/*
 * A treap (Seidel and Aragon, "Randomized Search Trees"): ordered by address, and by
 * priorities that nobody outside can choose, so that it is about as deep as the
 * logarithm of its size.  A node with several users is copied before it changes.
 */
#include "tracespans.h"

#include <stdlib.h>

#include "budget.h"
#include "hash.h"

#define BESIDE 16 /* bytes that malloc() takes beside */

struct trace_spans {
	struct trace_span span;
	uint32_t nr_users; /* trees that it is in, and processes whose root it is */
	uint64_t priority; /* none below has a greater one */
	struct trace_spans *left, *right;
	size_t *own; /* of who has paid for it */
};

/* Who pays for new nodes, and whether there were some that nobody could. */
struct paying {
	size_t *own;
	bool failed;
};

static struct trace_spans *make(struct paying *p)
{
	struct trace_spans *n;

	if (!ow_budget_take(p->own, sizeof(*n) + BESIDE)) {
		p->failed = true;
		return NULL;
	}
	n = calloc(1, sizeof(*n));
	if (!n) {
		ow_budget_give(p->own, sizeof(*n) + BESIDE);
		p->failed = true;
		return NULL;
	}
	n->nr_users = 1;
	n->own = p->own;
	return n;
}

static struct trace_spans *make_of(const struct trace_span *s, struct paying *p)
{
	static uint64_t nr_made;
	struct trace_spans *n = make(p);

	if (n) {
		n->span = *s;
		n->priority = ow_hash_word(nr_made++);
	}
	return n;
}

struct trace_spans *trace_spans_share(struct trace_spans *n)
{
	if (n)
		n->nr_users++;
	return n;
}

void trace_spans_drop(struct trace_spans *n)
{
	if (!n || --n->nr_users)
		return;
	trace_spans_drop(n->left);
	trace_spans_drop(n->right);
	ow_budget_give(n->own, sizeof(*n) + BESIDE);
	free(n);
}

/* The caller's node for the caller alone, or NULL. */
static struct trace_spans *for_one(struct trace_spans *n, struct paying *p)
{
	struct trace_spans *copy;

	if (n->nr_users == 1)
		return n;
	copy = make(p);
	if (copy) {
		copy->span = n->span;
		copy->priority = n->priority;
		copy->left = trace_spans_share(n->left);
		copy->right = trace_spans_share(n->right);
	}
	trace_spans_drop(n);
	return copy;
}

/* Two trees to one; all of a is below b. */
static struct trace_spans *join(struct trace_spans *a, struct trace_spans *b,
				struct paying *p)
{
	if (!a || !b)
		return a ? a : b;
	if (a->priority > b->priority) {
		a = for_one(a, p);
		if (a)
			a->right = join(a->right, b, p);
		else
			trace_spans_drop(b);
		return a;
	}
	b = for_one(b, p);
	if (b)
		b->left = join(a, b->left, p);
	else
		trace_spans_drop(a);
	return b;
}

/* What a span has from addr on, which it is cut at. */
static struct trace_spans *cut(struct trace_spans *n, uint64_t addr,
			       struct paying *p)
{
	struct trace_span rest = n->span;

	if (n->span.end <= addr)
		return NULL;
	rest.off += addr - rest.start;
	rest.start = addr;
	n->span.end = addr;
	return make_of(&rest, p);
}

/* Return the part of a tree that is below addr, and in rest what is not. */
static struct trace_spans *split(struct trace_spans *n, uint64_t addr,
				 struct trace_spans **rest, struct paying *p)
{
	struct trace_spans *below, *piece;

	*rest = NULL;
	n = n ? for_one(n, p) : NULL;
	if (!n)
		return NULL;
	if (n->span.start >= addr) {
		below = split(n->left, addr, &n->left, p);
		*rest = n;
		return below;
	}
	piece = cut(n, addr, p);
	n->right = split(n->right, addr, rest, p);
	*rest = join(piece, *rest, p);
	return n;
}

struct trace_span *trace_spans_find(struct trace_spans *n, uint64_t addr)
{
	while (n) {
		if (addr < n->span.start)
			n = n->left;
		else if (addr >= n->span.end)
			n = n->right;
		else
			return &n->span;
	}
	return NULL;
}

bool trace_spans_put(struct trace_spans **all, const struct trace_span *s,
		     size_t *own)
{
	struct paying p = { .own = own };
	struct trace_spans *below, *there, *above;

	below = split(*all, s->start, &there, &p);
	there = split(there, s->end, &above, &p);
	trace_spans_drop(there);
	*all = join(join(below, make_of(s, &p), &p), above, &p);
	if (p.failed) {
		trace_spans_drop(*all);
		*all = NULL;
	}
	return !p.failed;
}

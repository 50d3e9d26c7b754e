// SPDX-License-Identifier: BSD-2-Clause
#include "objectnumbers.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hash.h"
#include "monotonic.h"
#include "ow_sample.h"

#define MANY (OW_BPF_OBJECTS / 4 * 3) /* numbers in use */
#define USERS_PART \
	(OW_BPF_OBJECTS / 2)   /* that a user other than root may have */
#define KEPT_NS 60000000000ULL /* of a file that may be mapped again */

int ow_objectnumbers_init(struct ow_objectnumbers *n, struct ow_error *err)
{
	*n = (struct ow_objectnumbers){ .all = ow_capture_create(err) };
	if (!n->all)
		return -OW_CODE_MEMORY;
	n->all->modules = calloc(OW_BPF_OBJECTS, sizeof(*n->all->modules));
	n->all->ranges = calloc(OW_BPF_OBJECTS, sizeof(*n->all->ranges));
	n->kin = calloc(OW_BPF_OBJECTS, sizeof(*n->kin));
	n->kin_heads = calloc(OW_BPF_OBJECTS, sizeof(*n->kin_heads));
	if (!n->all->modules || !n->all->ranges || !n->kin || !n->kin_heads)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	n->all->is_lasting = true;
	n->all->target.map.ranges = n->all->ranges;
	return 0;
}

void ow_objectnumbers_deinit(struct ow_objectnumbers *n)
{
	ow_capture_destroy(n->all);
	free(n->kin);
	free(n->kin_heads);
	*n = (struct ow_objectnumbers){ 0 };
}

struct ow_capture_module *
ow_objectnumbers_module(const struct ow_objectnumbers *n, uint32_t number)
{
	return &n->all->modules[number - 1];
}

static struct ow_object_kin *kin_of(const struct ow_objectnumbers *n,
				    uint32_t number)
{
	return &n->kin[number - 1];
}

static uint32_t *kin_head(const struct ow_objectnumbers *n, const char *path)
{
	return &n->kin_heads[ow_hash(path, strlen(path)) % OW_BPF_OBJECTS];
}

uint32_t ow_objectnumbers_like(const struct ow_objectnumbers *n,
			       const char *path)
{
	return *kin_head(n, path);
}

/* Bytes that stay where they are only as long as the object is open. */
static uint64_t nameless_size(const struct ow_objectnumbers *n, uint32_t number)
{
	const struct ow_object *obj =
		ow_objectnumbers_module(n, number)->object;

	return obj && !obj->is_image && obj->file.is_unlinked ? obj->size : 0;
}

static void set_idle(struct ow_objectnumbers *n, uint32_t number)
{
	kin_of(n, number)->idle_since = ow_now_ns();
	n->nameless += nameless_size(n, number);
}

void ow_objectnumbers_hold(struct ow_objectnumbers *n, uint32_t number)
{
	if (kin_of(n, number)->nr_lists++ == 0)
		n->nameless -= nameless_size(n, number);
}

void ow_objectnumbers_leave(struct ow_objectnumbers *n, uint32_t number)
{
	if (--kin_of(n, number)->nr_lists == 0)
		set_idle(n, number);
}

/* Return true if the user has as many files open, or mapped, as one may have. */
static bool has_users_part(const struct ow_objectnumbers *n, uid_t user)
{
	uint32_t nr = 0, i;

	if (user == 0 || ow_objectnumbers_nr(n) < USERS_PART)
		return false;
	for (i = 0; i < n->all->nr_modules; i++)
		nr += !n->kin[i].is_free && n->kin[i].user == user &&
		      (n->all->modules[i].object || n->kin[i].nr_lists);
	return nr >= USERS_PART;
}

bool ow_objectnumbers_has_room(const struct ow_objectnumbers *n, uid_t user)
{
	return ow_objectnumbers_nr(n) + 1 < OW_BPF_OBJECTS &&
	       !has_users_part(n, user);
}

/* A number that nothing has, which is in use then; there is one. */
static uint32_t take_number(struct ow_objectnumbers *n)
{
	uint32_t number = n->free;

	if (number) {
		n->free = kin_of(n, number)->next;
		n->nr_free--;
		return number;
	}
	number = (uint32_t)n->all->nr_modules + 1;
	n->all->nr_modules = n->all->target.map.nr = number;
	return number;
}

uint32_t ow_objectnumbers_keep(struct ow_objectnumbers *n,
			       struct ow_capture_module *m,
			       const struct ow_object_kin *kin)
{
	uint32_t number = take_number(n);
	struct ow_capture_module *to = ow_objectnumbers_module(n, number);
	uint32_t *head = kin_head(n, m->path);

	m->start = (uint64_t)number << OW_OBJECT_SHIFT;
	m->end = m->start + ((uint64_t)1 << OW_OBJECT_SHIFT);
	m->base.bias = m->start;
	m->base.state = OW_MODULE_READY;
	m->owns_object = m->object != NULL;
	*to = *m;
	*kin_of(n, number) = *kin;
	kin_of(n, number)->next = *head;
	kin_of(n, number)->is_kin = true;
	*head = number;
	set_idle(n, number);
	n->all->ranges[number - 1] =
		(struct ow_range){ to->start, to->end, &to->base };
	return number;
}

void ow_objectnumbers_set_object(struct ow_objectnumbers *n, uint32_t number,
				 struct ow_object *obj)
{
	struct ow_capture_module *m = ow_objectnumbers_module(n, number);

	m->object = obj;
	m->owns_object = true;
	m->why.code = 0;
	if (!kin_of(n, number)->nr_lists)
		n->nameless += nameless_size(n, number);
}

uint32_t ow_objectnumbers_nr(const struct ow_objectnumbers *n)
{
	return (uint32_t)n->all->nr_modules - n->nr_free;
}

bool ow_objectnumbers_is_crowded(const struct ow_objectnumbers *n)
{
	return ow_objectnumbers_nr(n) >= MANY;
}

bool ow_objectnumbers_is_over(const struct ow_objectnumbers *n, uint32_t number,
			      uint64_t since, const bool *named)
{
	const struct ow_object_kin *kin = kin_of(n, number);
	bool is_short = nameless_size(n, number) || (named && !named[number]);

	return ow_objectnumbers_module(n, number)->object && !kin->nr_lists &&
	       kin->idle_since + (is_short ? 0 : KEPT_NS) < since;
}

/* Nothing is compared with the object any more. */
static void leave_kin(struct ow_objectnumbers *n, uint32_t number)
{
	uint32_t *at = kin_head(n, ow_objectnumbers_module(n, number)->path);

	while (*at != number)
		at = &kin_of(n, *at)->next;
	*at = kin_of(n, number)->next;
	kin_of(n, number)->is_kin = false;
}

void ow_objectnumbers_close(struct ow_objectnumbers *n, uint32_t number)
{
	struct ow_capture_module *m = ow_objectnumbers_module(n, number);

	n->nameless -= nameless_size(n, number);
	leave_kin(n, number);
	ow_object_close(m->object);
	m->object = NULL;
	m->owns_object = false;
	kin_of(n, number)->idle_since = ow_now_ns();
}

bool ow_objectnumbers_is_closed(const struct ow_objectnumbers *n,
				uint32_t number)
{
	const struct ow_capture_module *m = ow_objectnumbers_module(n, number);

	return !m->object && !m->why.code;
}

/* Return true if the number is of what was closed, or could not be opened, before then. */
static bool is_unused(const struct ow_objectnumbers *n, uint32_t number,
		      uint64_t before)
{
	const struct ow_object_kin *kin = kin_of(n, number);

	return !kin->is_free && !kin->nr_lists && kin->idle_since < before &&
	       !ow_objectnumbers_module(n, number)->object;
}

uint32_t ow_objectnumbers_list_unused(const struct ow_objectnumbers *n,
				      uint64_t before, const bool *named,
				      uint32_t *ret)
{
	uint32_t number, nr = 0;

	for (number = 1; number <= n->all->nr_modules; number++)
		if (!named[number] && is_unused(n, number, before))
			ret[nr++] = number;
	return nr;
}

void ow_objectnumbers_free(struct ow_objectnumbers *n, uint32_t number)
{
	struct ow_capture_module *m = ow_objectnumbers_module(n, number);

	if (kin_of(n, number)->is_kin)
		leave_kin(n, number);
	free(m->path);
	*m = (struct ow_capture_module){ .start = m->start,
					 .end = m->end,
					 .base = m->base };
	*kin_of(n, number) =
		(struct ow_object_kin){ .next = n->free, .is_free = true };
	n->free = number;
	n->nr_free++;
}

bool ow_objectnumbers_is_free(const struct ow_objectnumbers *n, uint64_t number)
{
	return number && number <= n->all->nr_modules &&
	       n->kin[number - 1].is_free;
}

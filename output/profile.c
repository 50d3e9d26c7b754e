// SPDX-License-Identifier: BSD-2-Clause
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "hash.h"
#include "stackview.h"

/* Return false if the profile is closed: has_refused tells of it then. */
static bool is_open(struct profile *p)
{
	p->has_refused |= p->is_closed;
	return !p->is_closed;
}

/* Room for one more of nr; items stays as it is when out of memory. */
static bool make_room(struct profile *p, void *items, uint32_t nr,
		      uint32_t *room, size_t size)
{
	uint32_t want = *room ? 2 * *room : 256;
	void **at = items, *more;

	if (nr < *room)
		return true;
	more = want > *room ? realloc(*at, want * size) : NULL;
	if (!more) {
		p->failed = true;
		return false;
	}
	*at = more;
	*room = want;
	return true;
}

/* Who tells whether item number i is the one that is looked for, and its hash. */
struct asking {
	const struct profile *p;
	const void *what, *more;
	bool (*is)(const struct asking *a, uint32_t i);
	uint64_t (*hash)(const struct profile *p, uint32_t i);
};

/* Where the item is in a table, or a free place for it. */
static uint32_t *find(const struct asking *a, uint32_t *table, uint32_t room,
		      uint64_t hash)
{
	uint32_t i = (uint32_t)hash & (room - 1);

	while (table[i] && !a->is(a, table[i] - 1))
		i = (i + 1) & (room - 1);
	return &table[i];
}

/* At most half full, with nr in it already. */
static bool grow(struct profile *p, const struct asking *a, uint32_t **table,
		 uint32_t *room, uint32_t nr)
{
	uint32_t want = *room ? 2 * *room : 1024, i, at;
	uint32_t *more;

	if (2 * (uint64_t)nr < *room)
		return true;
	more = calloc(want, sizeof(*more));
	if (!more) {
		p->failed = true;
		return false;
	}
	for (i = 0; i < nr; i++) {
		at = (uint32_t)a->hash(p, i) & (want - 1);
		while (more[at])
			at = (at + 1) & (want - 1);
		more[at] = i + 1;
	}
	free(*table);
	*table = more;
	*room = want;
	return true;
}

static uint64_t hash_string(const struct profile *p, uint32_t i)
{
	const char *text = p->strings.text + p->strings.starts[i];

	return ow_hash(text, strlen(text));
}

static bool is_string(const struct asking *a, uint32_t i)
{
	return strcmp(a->what, a->p->strings.text + a->p->strings.starts[i]) ==
	       0;
}

static bool add_string(struct profile *p, const char *text)
{
	struct profile_strings *s = &p->strings;
	size_t size = strlen(text) + 1, room = s->text_room;
	char *more;

	if (!make_room(p, &s->starts, s->nr, &s->room, sizeof(*s->starts)))
		return false;
	while (room - s->size < size)
		room = room ? 2 * room : 4096;
	if (room > UINT32_MAX) {
		p->failed = true;
		return false;
	}
	if (room != s->text_room) {
		more = realloc(s->text, room);
		if (!more) {
			p->failed = true;
			return false;
		}
		s->text = more;
		s->text_room = room;
	}
	s->starts[s->nr++] = (uint32_t)s->size;
	memcpy(s->text + s->size, text, size);
	s->size += size;
	return true;
}

static uint32_t intern(struct profile *p, const char *text)
{
	struct profile_strings *s = &p->strings;
	struct asking a = { p, text, NULL, is_string, hash_string };
	uint32_t *slot;

	if (!grow(p, &a, &s->hash, &s->hash_room, s->nr))
		return PROFILE_NONE;
	slot = find(&a, s->hash, s->hash_room, ow_hash(text, strlen(text)));
	if (!*slot && (!is_open(p) || !add_string(p, text)))
		return PROFILE_NONE;
	if (!*slot)
		*slot = s->nr;
	return *slot - 1;
}

/*
 * Text of a target, as every format can have it: UTF-8 without control
 * characters, and not longer than it may be.  to has room for as much as that.
 */
static void clean(char *to, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	const unsigned char *end = s + PROFILE_LONGEST - sizeof("...");
	size_t n;

	if (strnlen(text, PROFILE_LONGEST) < PROFILE_LONGEST)
		end = s + PROFILE_LONGEST;
	for (; *s; s += n) {
		if (s >= end) {
			memcpy(to, "...", 3);
			to += 3;
			break;
		}
		if (ow_view_is_control(s, &n)) {
			*to++ = '?';
		} else {
			memcpy(to, s, n);
			to += n;
		}
	}
	*to = '\0';
}

uint32_t profile_string(struct profile *p, const char *text)
{
	uint32_t string;
	char *copy;

	if (p->strings.nr == 0)
		intern(p, "");
	if (!text || !*text)
		return PROFILE_NONE;
	copy = malloc(strnlen(text, PROFILE_LONGEST) + sizeof("..."));
	if (!copy) {
		p->failed = true;
		return PROFILE_NONE;
	}
	clean(copy, text);
	string = intern(p, copy);
	free(copy);
	return string;
}

const char *profile_text(const struct profile *p, uint32_t string)
{
	return string < p->strings.nr ?
		       p->strings.text + p->strings.starts[string] :
		       "";
}

static uint64_t hash_mapping(const struct profile *p, uint32_t i)
{
	return ow_hash(&p->mappings[i], sizeof(p->mappings[i]));
}

static bool is_mapping(const struct asking *a, uint32_t i)
{
	return memcmp(a->what, &a->p->mappings[i], sizeof(*a->p->mappings)) ==
	       0;
}

uint32_t profile_mapping(struct profile *p, const struct profile_mapping *m)
{
	struct asking a = { p, m, NULL, is_mapping, hash_mapping };
	uint32_t *slot;

	if (!grow(p, &a, &p->mapping_hash, &p->mapping_hash_room,
		  p->nr_mappings) ||
	    !make_room(p, &p->mappings, p->nr_mappings, &p->room_mappings,
		       sizeof(*m)))
		return 0;
	slot = find(&a, p->mapping_hash, p->mapping_hash_room,
		    ow_hash(m, sizeof(*m)));
	if (!*slot && !is_open(p))
		return 0;
	if (!*slot) {
		p->mappings[p->nr_mappings++] = *m;
		*slot = p->nr_mappings;
	}
	return *slot;
}

static uint64_t hash_frame(const struct profile *p, uint32_t i)
{
	return ow_hash(&p->frames[i], sizeof(p->frames[i]));
}

static bool is_frame(const struct asking *a, uint32_t i)
{
	return memcmp(a->what, &a->p->frames[i], sizeof(*a->p->frames)) == 0;
}

uint32_t profile_frame(struct profile *p, const struct profile_frame *f)
{
	struct asking a = { p, f, NULL, is_frame, hash_frame };
	uint32_t *slot;

	if (!grow(p, &a, &p->frame_hash, &p->frame_hash_room, p->nr_frames) ||
	    !make_room(p, &p->frames, p->nr_frames, &p->room_frames,
		       sizeof(*f)))
		return 0;
	slot = find(&a, p->frame_hash, p->frame_hash_room,
		    ow_hash(f, sizeof(*f)));
	if (!*slot && !is_open(p))
		return 0;
	if (!*slot) {
		p->frames[p->nr_frames++] = *f;
		*slot = p->nr_frames;
	}
	return *slot - 1;
}

uint32_t profile_mark(struct profile *p, const char *text)
{
	const struct profile_frame f = { .function = profile_string(p, text) };

	return profile_frame(p, &f);
}

/* A target may have functions that are called as marks of ours. */
static uint32_t function_string(struct profile *p, const char *name)
{
	uint32_t string;
	char *text;

	if (!name || *name != '[')
		return profile_string(p, name);
	if (asprintf(&text, "\\%s", name) < 0) {
		p->failed = true;
		return PROFILE_NONE;
	}
	string = profile_string(p, text);
	free(text);
	return string;
}

uint32_t profile_name(struct profile *p, const struct ow_name *name,
		      uint64_t pc, bool is_kernel, uint32_t mapping)
{
	struct profile_frame f = {
		.function = function_string(p, name->function),
		.module = profile_string(p, name->module),
		.file = profile_string(p, name->file),
		.line = name->line,
		.is_inline = name->is_inline,
		.is_kernel = is_kernel,
		.has_start = !name->function && name->start,
	};

	/* What nothing else names is called by its address. */
	if (!p->is_placeless || (!f.function && !f.module))
		f.pc = pc;
	if (p->is_placeless) {
		f.module_offset = f.has_start ? name->start : 0;
		return profile_frame(p, &f);
	}
	f.build_id = profile_string(p, name->build_id);
	f.mapping = mapping;
	f.offset = f.has_start ? name->module_offset - name->start :
				 name->offset;
	f.module_offset = name->module_offset;
	return profile_frame(p, &f);
}

uint32_t profile_place(struct profile *p, uint32_t module, uint64_t pc,
		       uint64_t module_offset)
{
	struct profile_frame f = { .module = module };

	if (!p->is_placeless || !module)
		f.pc = pc;
	if (!p->is_placeless)
		f.module_offset = module_offset;
	return profile_frame(p, &f);
}

uint32_t profile_move(struct profile *p, uint32_t id, uint64_t pc)
{
	struct profile_frame f = p->frames[id];

	if (f.pc == pc || (p->is_placeless && (f.function || f.module)))
		return id;
	f.pc = pc;
	return profile_frame(p, &f);
}

static uint64_t hash_ids(const struct profile_stack *s, const uint32_t *ids)
{
	uint64_t words[] = {
		ow_hash(ids, s->nr * sizeof(*ids)),
		(uint64_t)s->comm << 32 | (uint32_t)s->owner << 8 | s->kind,
		(uint64_t)(uint32_t)s->pid << 32 | (uint32_t)s->tid,
	};

	return ow_hash(words, sizeof(words));
}

static uint64_t hash_stack(const struct profile *p, uint32_t i)
{
	return hash_ids(&p->stacks[i], p->ids + p->stacks[i].first);
}

static bool is_stack(const struct asking *a, uint32_t i)
{
	const struct profile_stack *x = a->what, *y = &a->p->stacks[i];

	return x->comm == y->comm && x->pid == y->pid && x->tid == y->tid &&
	       x->owner == y->owner && x->end == y->end && x->kind == y->kind &&
	       x->nr == y->nr &&
	       (x->nr == 0 || memcmp(a->more, a->p->ids + y->first,
				     x->nr * sizeof(*a->p->ids)) == 0);
}

bool profile_add(struct profile *p, const struct profile_stack *s,
		 const uint32_t *ids, uint32_t nr)
{
	struct profile_stack is = *s, *at;
	struct asking a = { p, &is, ids, is_stack, hash_stack };
	uint32_t *slot, i;

	if (p->is_placeless)
		is.pid = is.tid = 0;
	is.nr = nr;
	is.first = p->nr_ids;
	if (!grow(p, &a, &p->stack_hash, &p->stack_hash_room, p->nr_stacks) ||
	    !make_room(p, &p->stacks, p->nr_stacks, &p->room_stacks,
		       sizeof(is)))
		return false;
	slot = find(&a, p->stack_hash, p->stack_hash_room, hash_ids(&is, ids));
	if (*slot) {
		at = &p->stacks[*slot - 1];
		at->count = profile_sum(at->count, s->count);
		at->value = profile_sum(at->value, s->value);
		return true;
	}
	if (!is_open(p))
		return false;
	for (i = 0; i < nr; i++) {
		if (!make_room(p, &p->ids, p->nr_ids, &p->room_ids,
			       sizeof(*ids))) {
			p->nr_ids = is.first;
			return false;
		}
		p->ids[p->nr_ids++] = ids[i];
	}
	p->stacks[p->nr_stacks++] = is;
	*slot = p->nr_stacks;
	return true;
}

size_t profile_size(const struct profile *p)
{
	/* Each item has about two places of a hash table. */
	const size_t more = 2 * sizeof(uint32_t);

	return p->strings.size +
	       p->strings.nr * (sizeof(*p->strings.starts) + more) +
	       p->nr_mappings * (sizeof(*p->mappings) + more) +
	       p->nr_frames * (sizeof(*p->frames) + more) +
	       p->nr_stacks * (sizeof(*p->stacks) + more) +
	       p->nr_ids * sizeof(*p->ids);
}

void profile_leave_out(struct profile *p, const char *line)
{
	bool was_closed = p->is_closed;

	p->is_closed = false;
	if (make_room(p, &p->left_out, p->nr_left_out, &p->room_left_out,
		      sizeof(*p->left_out)))
		p->left_out[p->nr_left_out++] = profile_string(p, line);
	p->is_closed = was_closed;
}

uint16_t profile_owner(struct profile *p, uint32_t uid)
{
	uint32_t i;

	for (i = 0; i < p->nr_owners; i++)
		if (p->owners[i] == uid)
			return (uint16_t)(i + 1);
	if (p->nr_owners == UINT16_MAX ||
	    !make_room(p, &p->owners, p->nr_owners, &p->room_owners,
		       sizeof(*p->owners)))
		return 0;
	p->owners[p->nr_owners++] = uid;
	return (uint16_t)p->nr_owners;
}

bool profile_make_ids(struct profile *p, struct profile_ids *ids,
		      struct profile_stack *is)
{
	if (ids->nr + OW_VIEW_NAMES >= PROFILE_DEEPEST) {
		is->end = OW_END_LIMIT;
		return false;
	}
	if (ow_grow(&ids->list, &ids->room, ids->nr + OW_VIEW_NAMES + 1,
		    sizeof(*ids->list)))
		return true;
	p->failed = true;
	return false;
}

uint64_t profile_text_size(const struct profile *p, uint32_t string)
{
	const struct profile_strings *s = &p->strings;
	size_t end;

	if (string == PROFILE_NONE || string >= s->nr)
		return 0;
	end = string + 1 < s->nr ? s->starts[string + 1] : s->size;
	return end - s->starts[string];
}

void profile_deinit(struct profile *p)
{
	free(p->left_out);
	free(p->owners);
	free(p->strings.text);
	free(p->strings.starts);
	free(p->strings.hash);
	free(p->mappings);
	free(p->mapping_hash);
	free(p->frames);
	free(p->frame_hash);
	free(p->stacks);
	free(p->stack_hash);
	free(p->ids);
	*p = (struct profile){ 0 };
}

uint64_t profile_most_text(const struct profile_options *o)
{
	return o->most_text ? o->most_text : PROFILE_MOST_TEXT;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * pprof's profile.proto, in gzip.  (github.com/google/pprof, proto/profile.proto:
 * numbers of fields are from there.)
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "pprofmaps.h"
#include "profile.h"
#include "profnames.h"
#include "protobuf.h"
#include "stackview.h"

/* A pc's names, from the innermost inlined one on. */
struct place {
	uint64_t number; /* 0: not written yet */
	uint32_t last;   /* frame */
};

/* What is being written. */
struct pprof {
	const struct profile *p;
	bool has[PROFILE_NR_KINDS];
	struct profile names;     /* strings that are used, and functions */
	struct profnames strings; /* of p, among these */
	struct pprofmaps maps;
	struct place *places; /* by their first frame */
	uint64_t *functions;  /* each frame's number; 0: not known yet */
	uint64_t nr_places;
	struct protobuf out, part, inner, locations;
};

static uint64_t text(struct pprof *w, const char *string)
{
	return profile_string(&w->names, string);
}

static uint64_t text_of(struct pprof *w, uint32_t string)
{
	return profnames_of(&w->strings, string);
}

/* --- what samples have --- */

struct value_type {
	const char *type, *unit;
};

/* By kind: what is counted, and what that amounts to. */
static const struct value_type types[PROFILE_NR_KINDS][2] = {
	[PROFILE_CPU] = { { "samples", "count" }, { "cpu", "nanoseconds" } },
	[PROFILE_OFF_CPU] = { { "waits", "count" },
			      { "off_cpu", "nanoseconds" } },
	[PROFILE_FAULTS] = { { "faults", "count" } },
	[PROFILE_SYSCALLS] = { { "calls", "count" } },
};

static uint64_t period(const struct pprof *w)
{
	return w->p->frequency ? 1000000000 / w->p->frequency : 1;
}

/* What samples come to, in an int64 of theirs. */
static uint64_t cpu_ns(const struct pprof *w, uint64_t count)
{
	return count < INT64_MAX / period(w) ? count * period(w) : INT64_MAX;
}

static void put_type(struct pprof *w, unsigned int field,
		     const struct value_type *t)
{
	protobuf_put_number(&w->part, 1, text(w, t->type));
	protobuf_put_number(&w->part, 2, text(w, t->unit));
	protobuf_put_message(&w->out, field, &w->part);
}

static void put_types(struct pprof *w)
{
	enum profile_kind main_kind = profile_kind(w->p);
	const struct value_type *shown = types[main_kind];
	uint32_t i;

	w->has[main_kind] = true;
	for (i = 0; i < w->p->nr_stacks; i++)
		w->has[w->p->stacks[i].kind % PROFILE_NR_KINDS] = true;
	for (i = 0; i < PROFILE_NR_KINDS; i++) {
		if (!w->has[i])
			continue;
		put_type(w, 1, &types[i][0]);
		if (types[i][1].type)
			put_type(w, 1, &types[i][1]);
	}
	if (w->has[PROFILE_CPU]) {
		put_type(w, 11, &types[PROFILE_CPU][1]);
		protobuf_put_number(&w->out, 12, period(w));
	}
	protobuf_put_number(&w->out, 14,
			    text(w, shown[1].type ? shown[1].type :
						    shown[0].type));
}

static void put_values(struct pprof *w, const struct profile_stack *s)
{
	unsigned int kind;
	bool is;

	for (kind = 0; kind < PROFILE_NR_KINDS; kind++) {
		is = s->kind == kind;
		if (!w->has[kind])
			continue;
		protobuf_put_varint(&w->inner, is ? s->count : 0);
		if (kind == PROFILE_CPU)
			protobuf_put_varint(&w->inner,
					    is ? cpu_ns(w, s->count) : 0);
		else if (kind == PROFILE_OFF_CPU)
			protobuf_put_varint(&w->inner, is ? s->value : 0);
	}
	protobuf_put_message(&w->part, 2, &w->inner);
}

static void put_label(struct pprof *w, const char *key, uint64_t string,
		      uint64_t number)
{
	protobuf_put_number(&w->inner, 1, text(w, key));
	protobuf_put_number(&w->inner, 2, string);
	protobuf_put_number(&w->inner, 3, number);
	protobuf_put_message(&w->part, 3, &w->inner);
}

/* --- mappings --- */

static void put_mapping(struct pprof *w, uint32_t number)
{
	struct profile_mapping m;
	uint8_t flags = pprofmaps_get(&w->maps, number, &m);

	if (!flags)
		return;
	protobuf_put_number(&w->part, 1, number);
	protobuf_put_number(&w->part, 2, m.start);
	protobuf_put_number(&w->part, 3, m.end);
	protobuf_put_number(&w->part, 4, m.offset);
	protobuf_put_number(&w->part, 5, text_of(w, m.module));
	protobuf_put_number(&w->part, 6, text_of(w, m.build_id));
	/* All that can be named is named. */
	protobuf_put_number(&w->part, 7, 1);
	protobuf_put_number(&w->part, 8, (flags & PPROFMAP_FILES) != 0);
	protobuf_put_number(&w->part, 9, (flags & PPROFMAP_LINES) != 0);
	protobuf_put_number(&w->part, 10, (flags & PPROFMAP_INLINES) != 0);
	protobuf_put_message(&w->out, 3, &w->part);
}

static void put_mappings(struct pprof *w)
{
	uint32_t i;

	for (i = 1; i <= w->maps.nr; i++)
		put_mapping(w, i);
}

/* --- frames --- */

/* The number of a frame's function, from 1. */
static uint64_t function_of(struct pprof *w, uint32_t frame)
{
	const struct profile_frame *f = &w->p->frames[frame];
	struct profile_frame key = { 0 };

	if (w->functions[frame])
		return w->functions[frame];
	key.function = profnames_label(&w->strings, f);
	key.file = profnames_of(&w->strings, f->file);
	w->functions[frame] = (uint64_t)profile_frame(&w->names, &key) + 1;
	return w->functions[frame];
}

static void put_line(struct pprof *w, uint32_t frame)
{
	const struct profile_frame *f = &w->p->frames[frame];

	protobuf_put_number(&w->inner, 1, function_of(w, frame));
	protobuf_put_number(&w->inner, 2, f->line);
	protobuf_put_message(&w->part, 4, &w->inner);
	pprofmaps_use(&w->maps, frame);
}

/* The number of the place that these frames are the names of. */
static uint64_t place_of(struct pprof *w, const uint32_t *ids, uint32_t nr)
{
	struct place *place = &w->places[ids[0]];
	uint32_t i;

	if (place->number && place->last == ids[nr - 1])
		return place->number;
	*place = (struct place){ ++w->nr_places, ids[nr - 1] };
	protobuf_put_number(&w->part, 1, place->number);
	protobuf_put_number(&w->part, 2, pprofmaps_use(&w->maps, ids[0]));
	protobuf_put_number(&w->part, 3, w->p->frames[ids[0]].pc);
	for (i = 0; i < nr; i++)
		put_line(w, ids[i]);
	protobuf_put_message(&w->locations, 4, &w->part);
	return place->number;
}

/* How many of the frames are names of one pc. */
static uint32_t inlined(const struct profile *p, const uint32_t *ids,
			uint32_t nr)
{
	uint32_t i;

	for (i = 0; i + 1 < nr; i++)
		if (!p->frames[ids[i]].is_inline ||
		    p->frames[ids[i]].pc != p->frames[ids[i + 1]].pc)
			break;
	return i + 1;
}

static void put_sample(struct pprof *w, const struct profile_stack *s,
		       struct protobuf *numbers)
{
	const uint32_t *ids = w->p->ids + s->first;
	uint32_t i, n;

	for (i = 0; i < s->nr; i += n) {
		n = inlined(w->p, ids + i, s->nr - i);
		protobuf_put_varint(numbers, place_of(w, ids + i, n));
	}
	protobuf_put_message(&w->part, 1, numbers);
	put_values(w, s);
	put_label(w, "thread", text_of(w, s->comm), 0);
	put_label(w, "pid", PROFILE_NONE, (uint64_t)s->pid);
	protobuf_put_message(&w->out, 2, &w->part);
}

static void put_samples(struct pprof *w)
{
	const struct profile *p = w->p;
	struct protobuf numbers = { 0 };
	uint32_t i;

	for (i = 0; i < p->nr_stacks; i++)
		if (p->stacks[i].count || p->stacks[i].value)
			put_sample(w, &p->stacks[i], &numbers);
	protobuf_deinit(&numbers);
}

static void put_functions(struct pprof *w)
{
	const struct profile_frame *f;
	uint32_t i;

	for (i = 0; i < w->names.nr_frames; i++) {
		f = &w->names.frames[i];
		protobuf_put_number(&w->part, 1, (uint64_t)i + 1);
		/* Were it the system's name as well (3), pprof would take it
		   for a mangled one, and drop what is in brackets. */
		protobuf_put_number(&w->part, 2, f->function);
		protobuf_put_number(&w->part, 4, f->file);
		protobuf_put_message(&w->out, 5, &w->part);
	}
}

static void put_comments(struct pprof *w)
{
	const struct profile *p = w->p;
	uint32_t i;

	for (i = 0; i < p->nr_left_out; i++)
		protobuf_put_number(&w->out, 13, text_of(w, p->left_out[i]));
}

/* Have '?' in a text in place of what is not to be shown; it gets no longer. */
static void mask(char *text)
{
	unsigned char *from = (unsigned char *)text, *to = from;
	size_t size;

	for (; *from; from += size)
		if (ow_view_is_odd(from, &size)) {
			*to++ = '?';
		} else {
			memmove(to, from, size);
			to += size;
		}
	*to = '\0';
}

/* Who shows them may be on a terminal. */
static void put_strings(struct pprof *w)
{
	uint32_t i;
	char *s;

	for (i = 0; i < w->names.strings.nr; i++) {
		s = strdup(profile_text(&w->names, i));
		if (!s) {
			w->out.failed = true;
			return;
		}
		mask(s);
		protobuf_put_bytes(&w->out, 6, s, strlen(s));
		free(s);
	}
}

static void put_all(struct pprof *w)
{
	text(w, ""); /* number 0 */
	put_types(w);
	put_samples(w);
	put_mappings(w);
	protobuf_put_fields(&w->out, &w->locations);
	put_functions(w);
	protobuf_put_number(&w->out, 9, w->p->begin_ns);
	protobuf_put_number(&w->out, 10, w->p->duration_ns);
	put_comments(w);
	put_strings(w);
}

/* --- gzip --- */

static bool compress_to(FILE *out, const struct protobuf *b)
{
	uint8_t piece[16384];
	z_stream z = { .next_in = b->bytes };
	size_t left = b->size;
	int state;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	do {
		if (z.avail_in == 0 && left) {
			z.avail_in = left > 1U << 30 ? 1U << 30 : (uInt)left;
			left -= z.avail_in;
		}
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		state = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
		fwrite(piece, 1, sizeof(piece) - z.avail_out, out);
	} while (state == Z_OK || state == Z_BUF_ERROR);
	deflateEnd(&z);
	return true;
}

static void free_all(struct pprof *w)
{
	free(w->places);
	free(w->functions);
	pprofmaps_deinit(&w->maps);
	profnames_deinit(&w->strings);
	profile_deinit(&w->names);
	protobuf_deinit(&w->out);
	protobuf_deinit(&w->part);
	protobuf_deinit(&w->inner);
	protobuf_deinit(&w->locations);
}

static bool write_pprof(FILE *out, const struct profile *p,
			const struct profile_options *o)
{
	struct pprof w = { .p = p };
	bool good;

	w.places = calloc((size_t)p->nr_frames + 1, sizeof(*w.places));
	w.functions = calloc((size_t)p->nr_frames + 1, sizeof(*w.functions));
	good = profnames_init(&w.strings, p, &w.names, profile_string, o) &&
	       pprofmaps_init(&w.maps, p) && w.places && w.functions;
	if (good) {
		put_all(&w);
		good = !w.out.failed && !w.names.failed &&
		       compress_to(out, &w.out);
	}
	free_all(&w);
	return good;
}

const struct profile_writer profile_pprof = {
	.name = "pprof",
	.suffix = ".pb.gz",
	.what = "for go tool pprof and what reads its files",
	.binary = true,
	.write = write_pprof,
};

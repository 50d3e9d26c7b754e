// SPDX-License-Identifier: BSD-2-Clause
/*
 * pprof's profile.proto, in gzip: fields by number, as protobuf's encoding has
 * them (a varint of number << 3 | type, then a varint or a size and bytes).
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "profile.h"

#define PAGE 4096

struct buf {
	uint8_t *bytes;
	size_t size, room;
	bool failed;
};

static void put(struct buf *b, const void *bytes, size_t size)
{
	size_t room = b->room ? b->room : 65536;
	uint8_t *more;

	while (room - b->size < size)
		room *= 2;
	if (room != b->room) {
		more = realloc(b->bytes, room);
		if (!more) {
			b->failed = true;
			return;
		}
		b->bytes = more;
		b->room = room;
	}
	if (size)
		memcpy(b->bytes + b->size, bytes, size);
	b->size += size;
}

static void put_varint(struct buf *b, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	do {
		bytes[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v);
	put(b, bytes, n);
}

static void put_number(struct buf *b, unsigned int field, uint64_t v)
{
	if (v == 0)
		return;
	put_varint(b, field << 3);
	put_varint(b, v);
}

static void put_bytes(struct buf *b, unsigned int field, const void *bytes,
		      size_t size)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, size);
	put(b, bytes, size);
}

/* A message that was made aside; that is empty again. */
static void put_message(struct buf *b, unsigned int field, struct buf *message)
{
	put_bytes(b, field, message->bytes, message->size);
	b->failed |= message->failed;
	message->size = 0;
}

/* What is being written.  The profile's strings come first, then ours. */
struct pprof {
	const struct profile *p;
	enum profile_kind kind;
	struct buf out, part, inner;
	uint32_t *mappings; /* of each frame, from 1; 0: none */
	const char *own[16];
	uint32_t nr_own;
};

static uint64_t text(struct pprof *w, const char *string)
{
	uint32_t i;

	for (i = 0; i < w->nr_own; i++)
		if (strcmp(w->own[i], string) == 0)
			return w->p->strings.nr + i;
	w->own[w->nr_own] = string;
	return w->p->strings.nr + w->nr_own++;
}

static void put_type(struct pprof *w, unsigned int field, const char *type,
		     const char *unit)
{
	put_number(&w->part, 1, text(w, type));
	put_number(&w->part, 2, text(w, unit));
	put_message(&w->out, field, &w->part);
}

static void put_types(struct pprof *w)
{
	switch (w->kind) {
	case PROFILE_OFF_CPU:
		put_type(w, 1, "waits", "count");
		put_type(w, 1, "off_cpu", "nanoseconds");
		put_type(w, 11, "off_cpu", "nanoseconds");
		break;
	case PROFILE_FAULTS: put_type(w, 1, "faults", "count"); break;
	case PROFILE_SYSCALLS: put_type(w, 1, "calls", "count"); break;
	default:
		put_type(w, 1, "samples", "count");
		put_type(w, 1, "cpu", "nanoseconds");
		put_type(w, 11, "cpu", "nanoseconds");
		put_number(&w->out, 12,
			   w->p->frequency ? 1000000000 / w->p->frequency : 1);
	}
}

static void put_values(struct pprof *w, const struct profile_stack *s)
{
	uint64_t period = w->p->frequency ? 1000000000 / w->p->frequency : 1;

	put_varint(&w->inner, s->count);
	if (w->kind == PROFILE_CPU)
		put_varint(&w->inner, s->count * period);
	else if (w->kind == PROFILE_OFF_CPU)
		put_varint(&w->inner, s->value);
	put_message(&w->part, 2, &w->inner);
}

static void put_label(struct pprof *w, const char *key, uint64_t string,
		      uint64_t number)
{
	put_number(&w->inner, 1, text(w, key));
	put_number(&w->inner, 2, string);
	put_number(&w->inner, 3, number);
	put_message(&w->part, 3, &w->inner);
}

static void put_samples(struct pprof *w)
{
	const struct profile *p = w->p;
	const struct profile_stack *s;
	uint32_t i;

	for (s = p->stacks; s < p->stacks + p->nr_stacks; s++) {
		if (s->kind != w->kind || !s->count)
			continue;
		for (i = 0; i < s->nr; i++)
			put_varint(&w->inner,
				   (uint64_t)p->ids[s->first + i] + 1);
		put_message(&w->part, 1, &w->inner);
		put_values(w, s);
		put_label(w, "thread", s->comm, 0);
		put_label(w, "pid", 0, (uint64_t)s->pid);
		put_message(&w->out, 2, &w->part);
	}
}

/* A mapping: all frames of a module, wherever processes have it. */
struct mapping {
	uint32_t module, build_id;
	uint64_t low, high;
};

static uint32_t find_mapping(struct mapping *list, uint32_t *nr,
			     const struct profile_frame *f)
{
	uint32_t i;

	for (i = 0; i < *nr; i++)
		if (list[i].module == f->module &&
		    list[i].build_id == f->build_id)
			break;
	if (i == *nr)
		list[(*nr)++] = (struct mapping){ f->module, f->build_id, f->pc,
						  f->pc };
	if (f->pc < list[i].low)
		list[i].low = f->pc;
	if (f->pc > list[i].high)
		list[i].high = f->pc;
	return i + 1;
}

static bool put_mappings(struct pprof *w)
{
	const struct profile *p = w->p;
	struct mapping *list = calloc(p->nr_frames + 1, sizeof(*list));
	uint32_t i, nr = 0;

	w->mappings = calloc(p->nr_frames + 1, sizeof(*w->mappings));
	if (!list || !w->mappings) {
		free(list);
		return false;
	}
	for (i = 0; i < p->nr_frames; i++)
		if (p->frames[i].module)
			w->mappings[i] = find_mapping(list, &nr, &p->frames[i]);
	for (i = 0; i < nr; i++) {
		put_number(&w->part, 1, i + 1);
		put_number(&w->part, 2, list[i].low & ~(uint64_t)(PAGE - 1));
		put_number(&w->part, 3, (list[i].high | (PAGE - 1)) + 1);
		put_number(&w->part, 5, list[i].module);
		put_number(&w->part, 6, list[i].build_id);
		put_number(&w->part, 7, 1); /* has_functions */
		put_message(&w->out, 3, &w->part);
	}
	free(list);
	return true;
}

static void put_places(struct pprof *w, char (*labels)[PROFILE_LABEL])
{
	const struct profile *p = w->p;
	const struct profile_frame *f;
	uint64_t name, i;

	for (i = 0; i < p->nr_frames; i++) {
		f = &p->frames[i];
		put_number(&w->inner, 1, i + 1);
		put_number(&w->inner, 2, f->line);
		put_number(&w->part, 1, i + 1);
		put_number(&w->part, 2, w->mappings[i]);
		put_number(&w->part, 3, f->pc);
		put_message(&w->part, 4, &w->inner);
		put_message(&w->out, 4, &w->part);
		/* Names that were made up are behind all others, in order. */
		name = f->function ? f->function :
				     p->strings.nr + 16 + (uint64_t)i;
		profile_label(p, f, labels[i]);
		put_number(&w->part, 1, i + 1);
		put_number(&w->part, 2, name);
		put_number(&w->part, 3, name);
		put_number(&w->part, 4, f->file);
		put_message(&w->out, 5, &w->part);
	}
}

static void put_strings(struct pprof *w, char (*labels)[PROFILE_LABEL])
{
	const struct profile *p = w->p;
	const char *s;
	uint32_t i;

	for (i = 0; i < p->strings.nr; i++) {
		s = profile_text(p, i);
		put_bytes(&w->out, 6, s, strlen(s));
	}
	for (i = 0; i < 16; i++) {
		s = i < w->nr_own ? w->own[i] : "";
		put_bytes(&w->out, 6, s, strlen(s));
	}
	for (i = 0; i < p->nr_frames; i++) {
		s = p->frames[i].function ? "" : labels[i];
		put_bytes(&w->out, 6, s, strlen(s));
	}
}

static void compress_to(FILE *out, const struct buf *b)
{
	uint8_t piece[65536];
	z_stream z = { .next_in = b->bytes };
	size_t left = b->size;
	int state;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return;
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
}

static void write_pprof(FILE *out, const struct profile *p,
			const struct profile_options *o)
{
	struct pprof w = { .p = p, .kind = profile_kind(p) };
	char(*labels)[PROFILE_LABEL] =
		calloc(p->nr_frames + 1, sizeof(*labels));

	(void)o;
	if (labels && put_mappings(&w)) {
		put_types(&w);
		put_samples(&w);
		put_places(&w, labels);
		put_number(&w.out, 9, p->begin_ns);
		put_number(&w.out, 10, p->duration_ns);
		put_strings(&w, labels);
		if (!w.out.failed)
			compress_to(out, &w.out);
	}
	free(labels);
	free(w.mappings);
	free(w.out.bytes);
	free(w.part.bytes);
	free(w.inner.bytes);
}

const struct profile_writer profile_pprof = {
	.name = "pprof",
	.suffix = ".pb.gz",
	.what = "for go tool pprof and what reads its files",
	.binary = true,
	.write = write_pprof,
};

// SPDX-License-Identifier: BSD-2-Clause
/*
 * A profile in a file, to be reported later: lines of text, each a letter and
 * numbers.
 *
 *	outwind-profile 2
 *	t BEGIN-NS DURATION-NS FREQUENCY SAMPLES MISSED LOST
 *	s TEXT                              string, from number 1 on
 *	m MODULE BUILD-ID START END OFFSET  mapping, from number 1 on
 *	f FUNCTION MODULE BUILD-ID FILE LINE FLAGS MAPPING PC OFFSET
 *	  MODULE-OFFSET
 *	k COMM PID TID END KIND COUNT VALUE NR FRAME...
 *	l TEXT                              string: what is missing, and why
 *	e
 *
 * FLAGS: 1 inlined, 2 of the kernel, 4 without a name, but OFFSET is known.  START, PC
 * and what follows them are hexadecimal.  Version 1 had no mappings, and their number not in frames.
 * Version 3 has lines l, and version 4 the flag 4; a profile without either is written
 * as version 2.
 *
 * Of a TEXT, PROFILE_LONGEST bytes are kept.  More than PROFILE_DEEPEST frames of
 * a stack, or more than MOST_LEFT_OUT lines l, are refused.
 */
#include <stdlib.h>
#include <string.h>

#include "profile.h"

#include "grow.h"
#include "stackview.h"

#define HEADER  "outwind-profile "
#define VERSION 4

#define LINE_PART 4096
#define MOST_LINE ((size_t)16 << 20)

#define MOST_LEFT_OUT 1024

static void put_items(FILE *out, const struct profile *p)
{
	const struct profile_mapping *m;
	const struct profile_frame *f;
	uint32_t i;

	/* A newline in a name would begin another item. */
	for (i = 1; i < p->strings.nr; i++) {
		fputs("s ", out);
		ow_view_put_clean(out, profile_text(p, i));
		putc('\n', out);
	}
	for (m = p->mappings; m < p->mappings + p->nr_mappings; m++)
		fprintf(out, "m %u %u %llx %llx %llx\n", m->module, m->build_id,
			(unsigned long long)m->start,
			(unsigned long long)m->end,
			(unsigned long long)m->offset);
	for (f = p->frames; f < p->frames + p->nr_frames; f++)
		fprintf(out, "f %u %u %u %u %u %u %u %llx %llx %llx\n",
			f->function, f->module, f->build_id, f->file, f->line,
			(f->is_inline ? 1U : 0) | (f->is_kernel ? 2U : 0) |
				(f->has_start ? 4U : 0),
			f->mapping, (unsigned long long)f->pc,
			(unsigned long long)f->offset,
			(unsigned long long)f->module_offset);
	for (i = 0; i < p->nr_left_out; i++)
		fprintf(out, "l %u\n", p->left_out[i]);
}

/* The oldest version that has all that is to be written. */
static int version_of(const struct profile *p)
{
	const struct profile_frame *f;

	for (f = p->frames; f < p->frames + p->nr_frames; f++)
		if (f->has_start)
			return 4;
	return p->nr_left_out ? 3 : 2;
}

static bool write_own(FILE *out, const struct profile *p,
		      const struct profile_options *o)
{
	const struct profile_stack *s;
	uint32_t i;

	(void)o;
	fprintf(out, HEADER "%d\n", version_of(p));
	fprintf(out, "t %llu %llu %u %llu %llu %llu\n",
		(unsigned long long)p->begin_ns,
		(unsigned long long)p->duration_ns, p->frequency,
		(unsigned long long)p->samples, (unsigned long long)p->missed,
		(unsigned long long)p->lost);
	put_items(out, p);
	for (s = p->stacks; s < p->stacks + p->nr_stacks; s++) {
		fprintf(out, "k %u %d %d %u %u %llu %llu %u", s->comm, s->pid,
			s->tid, s->end, s->kind, (unsigned long long)s->count,
			(unsigned long long)s->value, s->nr);
		for (i = 0; i < s->nr; i++)
			fprintf(out, " %u", p->ids[s->first + i]);
		putc('\n', out);
	}
	fputs("e\n", out);
	return true;
}

const struct profile_writer profile_own = {
	.name = "outwind",
	.suffix = ".owp",
	.what = "for outwind report",
	.write = write_own,
};

/* A file that is being read. */
struct reading {
	struct profile *p;
	unsigned int version;
	const char *at; /* in the line */
	bool bad;
	bool is_deep; /* bad, as a stack has too many frames */
	uint32_t *ids, nr_ids, room_ids; /* of the stack's frames */
	/* The file's numbers to ours: the same text may stand there twice. */
	uint32_t *strings, nr_strings, room_strings;
	uint32_t *mappings, nr_mappings, room_mappings;
	uint32_t *frames, nr_frames, room_frames;
	bool ended;
};

static uint64_t number(struct reading *r, int base, uint64_t most)
{
	unsigned long long v;
	char *end;

	if (*r->at != ' ' || r->at[1] == ' ' || r->at[1] == '-') {
		r->bad = true;
		return 0;
	}
	v = strtoull(r->at + 1, &end, base);
	if (end == r->at + 1 || v > most)
		r->bad = true;
	r->at = end;
	return r->bad ? 0 : v;
}

static bool append(uint32_t **list, uint32_t *nr, uint32_t *room, uint32_t v)
{
	uint32_t want = *room ? 2 * *room : 1024;
	uint32_t *more;

	if (*nr == *room) {
		more = want > *room ? realloc(*list, want * sizeof(*more)) :
				      NULL;
		if (!more)
			return false;
		*list = more;
		*room = want;
	}
	(*list)[(*nr)++] = v;
	return true;
}

static uint32_t string(struct reading *r)
{
	uint64_t i = number(r, 10, UINT32_MAX);

	if (i > r->nr_strings)
		r->bad = true;
	return r->bad || i == 0 ? 0 : r->strings[i - 1];
}

static void read_times(struct reading *r)
{
	r->p->begin_ns = number(r, 10, UINT64_MAX);
	r->p->duration_ns = number(r, 10, UINT64_MAX);
	r->p->frequency = (uint32_t)number(r, 10, 1000000);
	r->p->samples = number(r, 10, UINT64_MAX);
	r->p->missed = number(r, 10, UINT64_MAX);
	r->p->lost = number(r, 10, UINT64_MAX);
}

static void read_mapping(struct reading *r)
{
	struct profile_mapping m = { .module = string(r) };
	uint32_t mapping;

	m.build_id = string(r);
	m.start = number(r, 16, UINT64_MAX);
	m.end = number(r, 16, UINT64_MAX);
	m.offset = number(r, 16, UINT64_MAX);
	if (r->version < 2 || m.end <= m.start)
		r->bad = true;
	mapping = r->bad ? 0 : profile_mapping(r->p, &m);
	if (mapping &&
	    !append(&r->mappings, &r->nr_mappings, &r->room_mappings, mapping))
		r->p->failed = true;
}

/* Of a frame: ours, or 0 if it has none. */
static uint32_t mapping(struct reading *r)
{
	uint64_t i = r->version < 2 ? 0 : number(r, 10, UINT32_MAX);

	if (i > r->nr_mappings)
		r->bad = true;
	return r->bad || i == 0 ? 0 : r->mappings[i - 1];
}

static void read_left_out(struct reading *r)
{
	uint32_t line = string(r);

	if (r->version < 3 || r->p->nr_left_out >= MOST_LEFT_OUT)
		r->bad = true;
	if (!r->bad)
		profile_leave_out(r->p, profile_text(r->p, line));
}

static void read_frame(struct reading *r)
{
	struct profile_frame f = { 0 };
	uint64_t flags;

	f.function = string(r);
	f.module = string(r);
	f.build_id = string(r);
	f.file = string(r);
	f.line = (uint32_t)number(r, 10, UINT32_MAX);
	flags = number(r, 10, r->version < 4 ? 3 : 7);
	f.is_inline = flags & 1;
	f.is_kernel = flags >> 1 & 1;
	f.has_start = flags >> 2;
	f.mapping = mapping(r);
	f.pc = number(r, 16, UINT64_MAX);
	f.offset = number(r, 16, UINT64_MAX);
	f.module_offset = number(r, 16, UINT64_MAX);
	if (!r->bad && !append(&r->frames, &r->nr_frames, &r->room_frames,
			       profile_frame(r->p, &f)))
		r->p->failed = true;
}

static void read_stack(struct reading *r)
{
	struct profile_stack s = { 0 };
	uint32_t i, nr;
	uint64_t id;

	r->nr_ids = 0;
	s.comm = string(r);
	s.pid = (int32_t)number(r, 10, INT32_MAX);
	s.tid = (int32_t)number(r, 10, INT32_MAX);
	s.end = (uint8_t)number(r, 10, OW_NR_ENDS - 1);
	s.kind = (uint8_t)number(r, 10, PROFILE_NR_KINDS - 1);
	s.count = number(r, 10, (uint64_t)1 << 48);
	s.value = number(r, 10, (uint64_t)1 << 62);
	nr = (uint32_t)number(r, 10, UINT32_MAX);
	r->is_deep = nr > PROFILE_DEEPEST;
	r->bad |= r->is_deep;
	for (i = 0; i < nr && !r->bad && !r->p->failed; i++) {
		id = number(r, 10, UINT32_MAX);
		if (id >= r->nr_frames)
			r->bad = true;
		else if (!append(&r->ids, &r->nr_ids, &r->room_ids,
				 r->frames[id]))
			r->p->failed = true;
	}
	if (!r->bad && !r->p->failed)
		profile_add(r->p, &s, r->ids, nr);
}

static void read_line(struct reading *r, char *line)
{
	size_t n = strlen(line);

	if (n < 2 || line[n - 1] != '\n') {
		r->bad = true;
		return;
	}
	line[n - 1] = '\0';
	r->at = line + 1;
	switch (*line) {
	case 't': read_times(r); break;
	case 's':
		if (n < 3 ||
		    !append(&r->strings, &r->nr_strings, &r->room_strings,
			    profile_string(r->p, line + 2)))
			r->bad = true;
		return;
	case 'm': read_mapping(r); break;
	case 'f': read_frame(r); break;
	case 'k': read_stack(r); break;
	case 'l': read_left_out(r); break;
	case 'e': r->ended = true; break;
	default: r->bad = true;
	}
	r->bad |= *r->at != '\0';
}

/* The version that the first line tells; 0, and why, if it is not for us. */
static unsigned int read_version(const char *line, char *why, size_t size)
{
	size_t n = strlen(HEADER);
	unsigned long version = 0;
	char *end = NULL;

	if (strncmp(line, HEADER, n) == 0 && line[n] >= '1' && line[n] <= '9')
		version = strtoul(line + n, &end, 10);
	if (version && strcmp(end, "\n") == 0 && version <= VERSION)
		return (unsigned int)version;
	if (version && strcmp(end, "\n") == 0)
		snprintf(why, size,
			 "a profile of version %lu, for a later "
			 "outwind",
			 version);
	else
		snprintf(why, size, "not a profile of outwind");
	return 0;
}

/*
 * The next line, with its newline unless the file ends there, or a zero byte or too
 * much comes before it: such a line is malformed.  False at the file's end.
 */
static bool take_line(FILE *in, char **line, size_t *room)
{
	size_t used = 0, n;

	do {
		if (!ow_grow(line, room, used + LINE_PART, 1) ||
		    !fgets(*line + used, LINE_PART, in))
			return used > 0;
		n = strlen(*line + used);
		used += n;
	} while (n == LINE_PART - 1 && (*line)[used - 1] != '\n' &&
		 used < MOST_LINE);
	return true;
}

/* The bytes of memory that are taken by now, about. */
static size_t memory(const struct reading *r)
{
	return profile_size(r->p) +
	       ((size_t)r->nr_strings + r->nr_mappings + r->nr_frames) *
		       sizeof(uint32_t);
}

static void tell_why(const struct reading *r, size_t line, bool is_large,
		     char *why, size_t size)
{
	if (r->p->failed)
		snprintf(why, size, "out of memory");
	else if (is_large)
		snprintf(why, size,
			 "takes more memory than a quarter of "
			 "--memory-limit: give a higher one");
	else if (r->is_deep)
		snprintf(why, size, "line %zu has more than %d frames", line,
			 PROFILE_DEEPEST);
	else
		snprintf(why, size, "line %zu is %s", line,
			 r->bad ? "malformed" : "the last: cut off");
}

int profile_read(struct profile *p, FILE *in, size_t most, char *why,
		 size_t size)
{
	struct reading r = { .p = p };
	bool is_large = false;
	size_t room = 0, nr = 1;
	char *line = NULL;

	r.version = read_version(take_line(in, &line, &room) ? line : "", why,
				 size);
	r.bad = r.version == 0;
	if (!r.bad) {
		while (!r.bad && !r.ended && !p->failed && !is_large &&
		       take_line(in, &line, &room)) {
			nr++;
			read_line(&r, line);
			is_large = memory(&r) > most;
		}
		tell_why(&r, nr, is_large, why, size);
	}
	free(line);
	free(r.ids);
	free(r.strings);
	free(r.mappings);
	free(r.frames);
	return r.ended && !r.bad && !p->failed && !is_large ? 0 : -1;
}

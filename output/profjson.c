// SPDX-License-Identifier: BSD-2-Clause
/* All of a profile as one JSON object; and as speedscope wants it. */
#include <stdlib.h>

#include "profile.h"
#include "proftext.h"
#include "stackview.h"

static const char *const kinds[PROFILE_NR_KINDS] = {
	[PROFILE_CPU] = "cpu",
	[PROFILE_OFF_CPU] = "off-cpu",
	[PROFILE_FAULTS] = "faults",
	[PROFILE_SYSCALLS] = "syscalls",
};

/* Return the bytes that the text took. */
static size_t put_member(FILE *out, const char *key, const char *text)
{
	if (!*text)
		return 0;
	fprintf(out, ",\"%s\":", key);
	return proftext_put_json(out, text);
}

/* This, and what follows, returns the bytes that names took. */
static size_t put_names(FILE *out, const struct profile *p,
			const struct profile_frame *f)
{
	size_t n = put_member(out, "function", profile_text(p, f->function));

	if (f->function)
		fprintf(out, ",\"offset\":%llu", (unsigned long long)f->offset);
	n += put_member(out, "module", profile_text(p, f->module));
	if (f->module)
		fprintf(out, ",\"module_offset\":\"%#llx\"",
			(unsigned long long)f->module_offset);
	n += put_member(out, "build_id", profile_text(p, f->build_id));
	n += put_member(out, "file", profile_text(p, f->file));
	if (f->line)
		fprintf(out, ",\"line\":%u", f->line);
	return n;
}

static size_t put_frame(FILE *out, const struct profile *p,
			const struct profile_frame *f, bool has_names)
{
	size_t n = 0;

	fprintf(out, "{\"pc\":\"%#llx\"", (unsigned long long)f->pc);
	if (has_names)
		n = put_names(out, p, f);
	if (f->is_inline)
		fputs(",\"inline\":true", out);
	if (f->is_kernel)
		fputs(",\"kernel\":true", out);
	if (f->mapping)
		fprintf(out, ",\"mapping\":%u", f->mapping - 1);
	putc('}', out);
	return n;
}

static size_t put_mapping(FILE *out, const struct profile *p,
			  const struct profile_mapping *m, bool has_names)
{
	size_t n = 0;

	fprintf(out, "{\"start\":\"%#llx\",\"end\":\"%#llx\"",
		(unsigned long long)m->start, (unsigned long long)m->end);
	fprintf(out, ",\"offset\":\"%#llx\"", (unsigned long long)m->offset);
	if (has_names) {
		n += put_member(out, "module", profile_text(p, m->module));
		n += put_member(out, "build_id", profile_text(p, m->build_id));
	}
	putc('}', out);
	return n;
}

static size_t put_stack(FILE *out, const struct profile *p,
			const struct profile_stack *s, bool has_name)
{
	size_t n;
	uint32_t i;

	fprintf(out, "{\"pid\":%d,\"tid\":%d,\"thread\":", s->pid, s->tid);
	n = proftext_put_json(out, has_name ? profile_text(p, s->comm) : "");
	fprintf(out, ",\"kind\":\"%s\",\"count\":%llu",
		kinds[s->kind % PROFILE_NR_KINDS],
		(unsigned long long)s->count);
	if (s->kind == PROFILE_OFF_CPU)
		fprintf(out, ",\"nanoseconds\":%llu",
			(unsigned long long)s->value);
	fputs(",\"end\":", out);
	proftext_put_json(out, ow_end_text(s->end));
	fputs(",\"frames\":[", out);
	for (i = 0; i < s->nr; i++)
		fprintf(out, "%s%u", i ? "," : "", p->ids[s->first + i]);
	fputs("]}", out);
	return n;
}

static void put_left_out(FILE *out, const struct profile *p)
{
	uint32_t i;

	fputs("\"left_out\":[", out);
	for (i = 0; i < p->nr_left_out; i++) {
		fputs(i ? ",\n" : "\n", out);
		proftext_put_json(out, profile_text(p, p->left_out[i]));
	}
	fputs("],\n", out);
}

static void put_mappings(FILE *out, const struct profile *p,
			 const struct profile_options *o, uint64_t *used)
{
	const struct profile_mapping *m;
	uint64_t size, written;
	uint32_t i;

	fputs("\"mappings\":[", out);
	for (i = 0; i < p->nr_mappings; i++) {
		m = &p->mappings[i];
		size = profile_text_size(p, m->module) +
		       profile_text_size(p, m->build_id);
		fputs(i ? ",\n" : "\n", out);
		written = put_mapping(out, p, m,
				      profile_take_text(o, used, size));
		profile_take_escaped(used, size, written);
	}
	fputs("],\n", out);
}

static void put_frames(FILE *out, const struct profile *p,
		       const struct profile_options *o, uint64_t *used)
{
	const struct profile_frame *f;
	uint64_t size, written;
	uint32_t i;

	fputs("\"frames\":[", out);
	for (i = 0; i < p->nr_frames; i++) {
		f = &p->frames[i];
		fputs(i ? ",\n" : "\n", out);
		size = profile_names_size(p, f);
		written =
			put_frame(out, p, f, profile_take_text(o, used, size));
		profile_take_escaped(used, size, written);
	}
	fputs("],\n", out);
}

static void put_stacks(FILE *out, const struct profile *p,
		       const struct profile_options *o, uint64_t *used)
{
	const struct profile_stack *s;
	uint64_t size, written;
	uint32_t i;

	fputs("\"stacks\":[", out);
	for (i = 0; i < p->nr_stacks; i++) {
		s = &p->stacks[i];
		fputs(i ? ",\n" : "\n", out);
		size = profile_text_size(p, s->comm);
		written =
			put_stack(out, p, s, profile_take_text(o, used, size));
		profile_take_escaped(used, size, written);
	}
	fputs("]", out);
}

static bool write_json(FILE *out, const struct profile *p,
		       const struct profile_options *o)
{
	uint64_t used = 0;

	fprintf(out,
		"{\"begin_ns\":%llu,\"duration_ns\":%llu,\"frequency\":%u,"
		"\"samples\":%llu,\"missed\":%llu,\"lost\":%llu,\n",
		(unsigned long long)p->begin_ns,
		(unsigned long long)p->duration_ns, p->frequency,
		(unsigned long long)p->samples, (unsigned long long)p->missed,
		(unsigned long long)p->lost);
	put_left_out(out, p);
	put_mappings(out, p, o, &used);
	put_frames(out, p, o, &used);
	put_stacks(out, p, o, &used);
	fputs("}\n", out);
	return true;
}

const struct profile_writer profile_json = {
	.name = "json",
	.suffix = ".json",
	.what = "all that is known, in JSON",
	.cut = "names of frames, mappings and threads",
	.write = write_json,
};

static void put_samples(FILE *out, const struct profile *p,
			enum profile_kind kind, bool weights)
{
	const struct profile_stack *s;
	bool first = true;
	uint32_t i;

	for (s = p->stacks; s < p->stacks + p->nr_stacks; s++) {
		if (s->kind != kind || !profile_weight(s))
			continue;
		if (!first)
			fputs(",\n", out);
		first = false;
		if (weights) {
			fprintf(out, "%llu",
				(unsigned long long)profile_weight(s));
			continue;
		}
		/* Outermost first; the thread is the outermost of all. */
		fprintf(out, "[%u", p->nr_frames + s->comm);
		for (i = s->nr; i-- > 0;)
			fprintf(out, ",%u", p->ids[s->first + i]);
		putc(']', out);
	}
}

static void put_speedscope_frames(FILE *out, const struct profile *p,
				  const struct profile_options *o)
{
	const struct profile_frame *f;
	uint64_t used = 0, size, written;
	char buf[OW_VIEW_LABEL];
	uint32_t i;

	for (i = 0; i < p->nr_frames; i++) {
		f = &p->frames[i];
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		size = profile_names_size(p, f);
		if (!profile_take_text(o, &used, size)) {
			fputs("\"\"}", out);
			continue;
		}
		written = proftext_put_json(out, profile_label(p, f, buf));
		written += put_member(out, "file",
				      profile_text(p, f->file ? f->file :
								f->module));
		profile_take_escaped(&used, size, written);
		if (f->line)
			fprintf(out, ",\"line\":%u", f->line);
		putc('}', out);
	}
	/* Names of threads are among the strings. */
	for (i = 0; i < p->strings.nr; i++) {
		fputs(i || p->nr_frames ? ",\n{\"name\":" : "\n{\"name\":",
		      out);
		proftext_put_json(out, profile_text(p, i));
		putc('}', out);
	}
}

static void put_kind(FILE *out, const struct profile *p, enum profile_kind kind)
{
	fprintf(out,
		"{\"type\":\"sampled\",\"name\":\"%s\","
		"\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu,\n"
		"\"samples\":[",
		kinds[kind], kind == PROFILE_OFF_CPU ? "microseconds" : "none",
		(unsigned long long)profile_total(p, kind));
	put_samples(out, p, kind, false);
	fputs("],\n\"weights\":[", out);
	put_samples(out, p, kind, true);
	fputs("]}", out);
}

static bool write_speedscope(FILE *out, const struct profile *p,
			     const struct profile_options *o)
{
	unsigned int kind, shown = profile_kind(p);

	fputs("{\"$schema\":\"https://www.speedscope.app/"
	      "file-format-schema.json\",\n\"exporter\":\"outwind\",\"name\":",
	      out);
	proftext_put_json(out, o->title ? o->title : "outwind");
	fputs(",\n\"shared\":{\"frames\":[", out);
	put_speedscope_frames(out, p, o);
	/* The first one is what is shown. */
	fputs("]},\n\"activeProfileIndex\":0,\"profiles\":[", out);
	put_kind(out, p, shown);
	for (kind = 0; kind < PROFILE_NR_KINDS; kind++)
		if (kind != shown && profile_total(p, kind)) {
			fputs(",\n", out);
			put_kind(out, p, kind);
		}
	fputs("]}\n", out);
	return true;
}

const struct profile_writer profile_speedscope = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.what = "for speedscope.app",
	.cut = "names of frames",
	.write = write_speedscope,
};

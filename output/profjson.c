// SPDX-License-Identifier: BSD-2-Clause
/* All of a profile as one JSON object; and as speedscope wants it. */
#include <stdlib.h>

#include "namefit.h"
#include "profile.h"
#include "proftext.h"
#include "stackview.h"

static const char *const kinds[PROFILE_NR_KINDS] = {
	[PROFILE_CPU] = "cpu",
	[PROFILE_OFF_CPU] = "off-cpu",
	[PROFILE_FAULTS] = "faults",
	[PROFILE_SYSCALLS] = "syscalls",
};

static void put_member(FILE *out, const char *key, const char *text)
{
	if (!*text)
		return;
	fprintf(out, ",\"%s\":", key);
	proftext_put_json(out, text);
}

static void put_names(FILE *out, const struct profile *p,
		      const struct profile_frame *f)
{
	put_member(out, "function", profile_text(p, f->function));
	if (f->function)
		fprintf(out, ",\"offset\":%llu", (unsigned long long)f->offset);
	put_member(out, "module", profile_text(p, f->module));
	if (f->module)
		fprintf(out, ",\"module_offset\":\"%#llx\"",
			(unsigned long long)f->module_offset);
	put_member(out, "build_id", profile_text(p, f->build_id));
	put_member(out, "file", profile_text(p, f->file));
	if (f->line)
		fprintf(out, ",\"line\":%u", f->line);
}

static void put_frame(FILE *out, const struct profile *p,
		      const struct profile_frame *f, bool has_names)
{
	fprintf(out, "{\"pc\":\"%#llx\"", (unsigned long long)f->pc);
	if (has_names)
		put_names(out, p, f);
	if (f->is_inline)
		fputs(",\"inline\":true", out);
	if (f->is_kernel)
		fputs(",\"kernel\":true", out);
	if (f->mapping)
		fprintf(out, ",\"mapping\":%u", f->mapping - 1);
	putc('}', out);
}

static void put_mapping(FILE *out, const struct profile *p,
			const struct profile_mapping *m, bool has_names)
{
	fprintf(out, "{\"start\":\"%#llx\",\"end\":\"%#llx\"",
		(unsigned long long)m->start, (unsigned long long)m->end);
	fprintf(out, ",\"offset\":\"%#llx\"", (unsigned long long)m->offset);
	if (has_names) {
		put_member(out, "module", profile_text(p, m->module));
		put_member(out, "build_id", profile_text(p, m->build_id));
	}
	putc('}', out);
}

static void put_stack(FILE *out, const struct profile *p,
		      const struct profile_stack *s, bool has_name)
{
	uint32_t i;

	fprintf(out, "{\"pid\":%d,\"tid\":%d,\"thread\":", s->pid, s->tid);
	proftext_put_json(out, has_name ? profile_text(p, s->comm) : "");
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

/* Names that are written: of mappings, then of frames, then of stacks' threads. */
static uint64_t names_size(const struct namefit *n, size_t i)
{
	const struct profile *p = n->p;
	const struct profile_mapping *m;
	const struct profile_frame *f;

	if (i < p->nr_mappings) {
		m = &p->mappings[i];
		return namefit_string(n, m->module) +
		       namefit_string(n, m->build_id);
	}
	i -= p->nr_mappings;
	if (i >= p->nr_frames)
		return namefit_string(n, p->stacks[i - p->nr_frames].comm);
	f = &p->frames[i];
	return namefit_string(n, f->function) + namefit_string(n, f->module) +
	       namefit_string(n, f->build_id) + namefit_string(n, f->file);
}

static void put_mappings(FILE *out, const struct namefit *n)
{
	const struct profile *p = n->p;
	uint32_t i;

	fputs("\"mappings\":[", out);
	for (i = 0; i < p->nr_mappings; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_mapping(out, p, &p->mappings[i], namefit_has(n, i));
	}
	fputs("],\n", out);
}

static void put_frames(FILE *out, const struct namefit *n)
{
	const struct profile *p = n->p;
	size_t first = p->nr_mappings;
	uint32_t i;

	fputs("\"frames\":[", out);
	for (i = 0; i < p->nr_frames; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_frame(out, p, &p->frames[i], namefit_has(n, first + i));
	}
	fputs("],\n", out);
}

static void put_stacks(FILE *out, const struct namefit *n)
{
	const struct profile *p = n->p;
	size_t first = (size_t)p->nr_mappings + p->nr_frames;
	uint32_t i;

	fputs("\"stacks\":[", out);
	for (i = 0; i < p->nr_stacks; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_stack(out, p, &p->stacks[i], namefit_has(n, first + i));
	}
	fputs("]", out);
}

static void put_profile(FILE *out, const struct profile *p,
			const struct namefit *n)
{
	fprintf(out,
		"{\"begin_ns\":%llu,\"duration_ns\":%llu,\"frequency\":%u,"
		"\"samples\":%llu,\"missed\":%llu,\"lost\":%llu,\n",
		(unsigned long long)p->begin_ns,
		(unsigned long long)p->duration_ns, p->frequency,
		(unsigned long long)p->samples, (unsigned long long)p->missed,
		(unsigned long long)p->lost);
	put_left_out(out, p);
	put_mappings(out, n);
	put_frames(out, n);
	put_stacks(out, n);
	fputs("}\n", out);
}

static bool write_json(FILE *out, const struct profile *p,
		       const struct profile_options *o)
{
	struct namefit names = {
		.p = p,
		.nr = (size_t)p->nr_mappings + p->nr_frames + p->nr_stacks,
		.size = names_size,
		.put = proftext_put_json,
	};
	bool good = namefit_share(&names, o);

	if (good)
		put_profile(out, p, &names);
	namefit_deinit(&names);
	return good;
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

/* Where a frame's code is from, as speedscope shows it. */
static uint32_t source_of(const struct profile_frame *f)
{
	return f->file ? f->file : f->module;
}

static uint64_t speedscope_size(const struct namefit *n, size_t i)
{
	const struct profile_frame *f = &n->p->frames[i];

	return namefit_label(n, f) + namefit_string(n, source_of(f));
}

static void put_speedscope_frames(FILE *out, const struct profile *p,
				  const struct namefit *names)
{
	const struct profile_frame *f;
	char buf[OW_VIEW_LABEL];
	uint32_t i;

	for (i = 0; i < p->nr_frames; i++) {
		f = &p->frames[i];
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		if (!namefit_has(names, i)) {
			fputs("\"\"}", out);
			continue;
		}
		proftext_put_json(out, profile_label(p, f, buf));
		put_member(out, "file", profile_text(p, source_of(f)));
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

static void put_speedscope(FILE *out, const struct profile *p,
			   const struct profile_options *o,
			   const struct namefit *names)
{
	unsigned int kind, shown = profile_kind(p);

	fputs("{\"$schema\":\"https://www.speedscope.app/"
	      "file-format-schema.json\",\n\"exporter\":\"outwind\",\"name\":",
	      out);
	proftext_put_json(out, o->title ? o->title : "outwind");
	fputs(",\n\"shared\":{\"frames\":[", out);
	put_speedscope_frames(out, p, names);
	/* The first one is what is shown. */
	fputs("]},\n\"activeProfileIndex\":0,\"profiles\":[", out);
	put_kind(out, p, shown);
	for (kind = 0; kind < PROFILE_NR_KINDS; kind++)
		if (kind != shown && profile_total(p, kind)) {
			fputs(",\n", out);
			put_kind(out, p, kind);
		}
	fputs("]}\n", out);
}

static bool write_speedscope(FILE *out, const struct profile *p,
			     const struct profile_options *o)
{
	struct namefit names = {
		.p = p,
		.nr = p->nr_frames,
		.size = speedscope_size,
		.put = proftext_put_json,
	};
	bool good = namefit_share(&names, o);

	if (good)
		put_speedscope(out, p, o, &names);
	namefit_deinit(&names);
	return good;
}

const struct profile_writer profile_speedscope = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.what = "for speedscope.app",
	.cut = "names of frames",
	.write = write_speedscope,
};

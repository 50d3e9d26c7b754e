// SPDX-License-Identifier: BSD-2-Clause
#include "recordout.h"

#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "grow.h"
#include "profileout.h"

bool recordout_begin(struct recordout *o)
{
	o->frames = calloc(o->max_frames, sizeof(*o->frames));
	o->views = calloc(o->max_frames, sizeof(*o->views));
	o->profile.frequency = o->frequency;
	if (o->writer)
		o->names.text = &o->text;
	return o->frames && o->views;
}

/* The names of a frame as frames of the profile, to ids from *used on. */
static bool put_ids(struct recordout *o, const struct ow_view_frame *f,
		    size_t *used)
{
	struct ow_name none = { .module_offset = f->frame.pc };
	size_t k, nr = f->nr_names ? f->nr_names : 1;

	if (!ow_grow(&o->ids, &o->room_ids, *used + nr, sizeof(*o->ids)))
		return false;
	for (k = 0; k < nr; k++)
		o->ids[(*used)++] = profile_name(
			&o->profile, f->nr_names ? &f->names[k] : &none,
			f->frame.pc, false, 0);
	return true;
}

/* Fill ids; false when out of memory. */
static bool fill_ids(struct recordout *o, const struct ow_view *view,
		     size_t *used)
{
	size_t i;

	for (i = 0; i < view->nr && !o->profile.has_refused; i++)
		if (!put_ids(o, &view->frames[i], used))
			return false;
	if (o->showing & OW_VIEW_CERTAIN && !view->thread->certain) {
		if (!ow_grow(&o->ids, &o->room_ids, *used + 1, sizeof(*o->ids)))
			return false;
		o->ids[(*used)++] = profile_mark(&o->profile, "[uncertain]");
	}
	return true;
}

/* Count a stack that the profile has no room for. */
static void fold(struct recordout *o, struct profile_stack *s)
{
	uint32_t id;

	o->folded++;
	o->profile.is_closed = false;
	s->end = OW_END_LIMIT;
	id = profile_mark(&o->profile, "[too many different stacks]");
	profile_add(&o->profile, s, &id, 1);
}

/* A guest can have stacks without end that are all different. */
static bool count(struct recordout *o, const struct ow_view *view)
{
	struct profile_stack s = {
		.comm = profile_string(&o->profile, view->thread->name),
		.pid = view->pid,
		.tid = view->thread->tid,
		.end = (uint8_t)view->end,
		.kind = PROFILE_CPU,
		.count = 1,
		.value = 1,
	};
	struct profile *p = &o->profile;
	size_t used = 0;

	if (!view->thread->captured)
		return true;
	p->is_closed = profile_size(p) >= o->profile_memory;
	p->has_refused = false;
	if (!fill_ids(o, view, &used))
		return false;
	if (p->has_refused || !profile_add(p, &s, o->ids, (uint32_t)used))
		fold(o, &s);
	return !p->failed;
}

static bool take_thread(struct recordout *o, struct ow_capture *c, size_t i,
			bool first)
{
	struct ow_error why = { 0 };
	struct ow_view view = {
		.pid = ow_capture_pid(c),
		.program = ow_capture_program(c),
		.is_core = true,
		.thread = ow_capture_thread(c, i),
		.number = i + 1,
		.frames = o->views,
		.why = &why,
	};

	if (view.thread->captured) {
		view.nr = ow_capture_walk(c, i, o->frames, o->max_frames,
					  &view.end, &why);
		o->nr_stacks++;
		o->nr_whole += view.end == OW_END_OUTERMOST;
	}
	if (!viewnames_fill(&o->names, o->symbolizer, o->frames, view.nr,
			    o->views))
		return false;
	if (!o->writer)
		return count(o, &view);
	o->writer->thread(o->out, &view, first, o->showing);
	return true;
}

/* When the sample was taken, around what the writer makes of it. */
static void put_opening(struct recordout *o, const struct sample *s)
{
	if (o->writer == &ow_json_writer)
		fprintf(o->out, "{\"time\":\"%lld.%09ld\",\"sample\":",
			(long long)s->time.tv_sec, s->time.tv_nsec);
	else if (o->writer == &ow_text_writer)
		fprintf(o->out, "TIME %lld.%09ld\n", (long long)s->time.tv_sec,
			s->time.tv_nsec);
}

static uint64_t time_of(const struct sample *s)
{
	return (uint64_t)s->time.tv_sec * 1000000000 +
	       (uint64_t)s->time.tv_nsec;
}

bool recordout_take(struct recordout *o, const struct sample *s)
{
	struct ow_capture *c = s->capture;
	size_t i, nr = ow_capture_nr_threads(c);

	o->profile.samples++;
	if (o->profile.begin_ns == 0)
		o->profile.begin_ns = time_of(s);
	o->profile.duration_ns = time_of(s) - o->profile.begin_ns;
	put_opening(o, s);
	if (o->writer)
		o->writer->begin(o->out, ow_capture_pid(c),
				 ow_capture_program(c));
	for (i = 0; i < nr; i++)
		if (!take_thread(o, c, i, i == 0)) {
			o->no_memory = true;
			return false;
		}
	if (o->writer)
		o->writer->end(o->out);
	if (o->writer == &ow_json_writer)
		fputs("}\n", o->out);
	return !ferror(o->out);
}

int recordout_end(struct recordout *o)
{
	const struct profile_options options = { .title = o->title };
	char line[VIEWTEXT_LINE];
	int status = EXIT_WELL;

	fflush(o->out);
	if (o->no_memory) {
		complain("out of memory");
		return o->writer ? EXIT_SOME : EXIT_NONE;
	}
	if (o->folded)
		complain("%llu samples had too many different stacks: in the "
			 "profile without theirs (--profile-memory)",
			 (unsigned long long)o->folded);
	if (viewtext_line(&o->text, line)) {
		complain("%s", line);
		return EXIT_SOME;
	}
	if (!o->writer)
		status = profileout_write(o->profile_writer, o->out,
					  &o->profile, &options);
	return status == EXIT_WELL && o->folded ? EXIT_SOME : status;
}

void recordout_free(struct recordout *o)
{
	free(o->frames);
	free(o->views);
	viewnames_free(&o->names);
	free(o->ids);
	profile_deinit(&o->profile);
}

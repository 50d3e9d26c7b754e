// SPDX-License-Identifier: BSD-2-Clause
#include "recordout.h"

#include <stdlib.h>
#include <string.h>

static bool is_counted(const struct recordout *o)
{
	return o->writer == &ow_folded_writer;
}

bool recordout_begin(struct recordout *o)
{
	o->frames = calloc(o->max_frames, sizeof(*o->frames));
	o->views = calloc(o->max_frames, sizeof(*o->views));
	if (is_counted(o))
		o->line_out = open_memstream(&o->line, &o->line_size);
	return o->frames && o->views && (o->line_out || !is_counted(o));
}

/* Names of the frames, one after another; false when out of memory. */
static bool name_frames(struct recordout *o, size_t nr)
{
	size_t i, used = 0;
	struct ow_name *more;

	for (i = 0; i < nr; i++) {
		o->views[i] = (struct ow_view_frame){ .frame = o->frames[i] };
		if (!o->symbolizer)
			continue;
		if (o->room_names - used < OW_VIEW_NAMES) {
			o->room_names = 2 * o->room_names + OW_VIEW_NAMES;
			more = realloc(o->names, o->room_names * sizeof(*more));
			if (!more)
				return false;
			o->names = more;
		}
		o->views[i].nr_names =
			ow_symbolizer_name(o->symbolizer, &o->frames[i],
					   o->names + used, OW_VIEW_NAMES);
		used += o->views[i].nr_names;
	}
	for (used = 0, i = 0; i < nr; used += o->views[i++].nr_names)
		o->views[i].names = o->names ? o->names + used : NULL;
	return true;
}

/* Count the line that the writer makes, without its own " 1". */
static bool count(struct recordout *o, const struct ow_view *view)
{
	static const char ending[] = " 1\n";
	size_t n = sizeof(ending) - 1;

	rewind(o->line_out);
	o->writer->thread(o->line_out, view, true, o->showing);
	if (fflush(o->line_out))
		return false;
	if (o->line_size < n || memcmp(o->line + o->line_size - n, ending, n))
		return true; /* nothing to be counted */
	return foldcount_add(&o->folds, o->line, o->line_size - n);
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
	if (!name_frames(o, view.nr))
		return false;
	if (is_counted(o))
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

bool recordout_take(struct recordout *o, const struct sample *s)
{
	struct ow_capture *c = s->capture;
	size_t i, nr = ow_capture_nr_threads(c);

	put_opening(o, s);
	o->writer->begin(o->out, ow_capture_pid(c), ow_capture_program(c));
	for (i = 0; i < nr; i++)
		if (!take_thread(o, c, i, i == 0)) {
			o->no_memory = true;
			return false;
		}
	o->writer->end(o->out);
	if (o->writer == &ow_json_writer)
		fputs("}\n", o->out);
	return !ferror(o->out);
}

void recordout_end(struct recordout *o)
{
	if (is_counted(o))
		foldcount_print(&o->folds, o->out);
}

void recordout_free(struct recordout *o)
{
	if (o->line_out)
		fclose(o->line_out);
	free(o->line);
	free(o->frames);
	free(o->views);
	free(o->names);
	foldcount_deinit(&o->folds);
}

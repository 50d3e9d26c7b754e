// SPDX-License-Identifier: BSD-2-Clause
#include "tracereport.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "interrupt.h"
#include "traceopen.h"
#include "tracestack.h"

#define MOST_LINES 8 /* of files that can't be opened: the others are counted */

struct report {
	const struct trace_request *request;
	struct tracemaps maps;
	struct trace_open open; /* what has begun */
	uint64_t stacks, homeless;
	uint64_t first, last; /* time of events */
};

/* --- printing --- */

static void put_time(FILE *out, uint64_t ns)
{
	time_t s = (time_t)(ns / 1000000000);
	char text[32] = "?";
	struct tm tm;

	if (localtime_r(&s, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fprintf(out, "[%s.%09" PRIu64 "]", text, ns % 1000000000);
}

static void put_name(FILE *out, const struct ow_name *name)
{
	fputs(" > ", out);
	if (name->function) {
		ow_view_put_clean(out, name->function);
		fprintf(out, "+%#" PRIx64, name->offset);
		if (name->module) {
			fputs(" (", out);
			ow_view_put_clean(out, name->module);
			putc(')', out);
		}
	} else if (name->module) {
		ow_view_put_clean(out, name->module);
		fprintf(out, "+%#" PRIx64, name->module_offset);
	} else {
		fprintf(out, "%#" PRIx64, name->module_offset);
	}
	putc('\n', out);
}

static void put_frames(struct report *r, const struct trace_stack *s)
{
	struct ow_name names[OW_VIEW_NAMES];
	FILE *out = r->request->out;
	size_t i, k, nr;

	for (i = 0; i < s->nr; i++) {
		nr = trace_stack_name(s, &r->maps, i, names, OW_VIEW_NAMES);
		for (k = 0; k < nr; k++)
			put_name(out, &names[k]);
	}
	if (s->end != OW_END_OUTERMOST && s->end != OW_END_NOT_YET)
		fprintf(out, " > [%s]\n", ow_end_text(s->end));
}

/* end: of what the event began, or NULL. */
static void print(struct report *r, const struct trace_stack *s,
		  const struct ctf_event *end)
{
	FILE *out = r->request->out;

	put_time(out, s->time);
	if (*s->host) {
		putc(' ', out);
		ow_view_put_clean(out, s->host);
	}
	putc(' ', out);
	ow_view_put_clean(out, s->label);
	if (s->pid >= 0)
		fprintf(out, " pid %" PRId64, s->pid);
	if (s->tid >= 0)
		fprintf(out, " tid %" PRId64, s->tid);
	if (*s->comm) {
		fputs(" \"", out);
		ow_view_put_clean(out, s->comm);
		putc('"', out);
	}
	if (end && ctf_has(end, CTF_RET))
		fprintf(out, " = %" PRId64, end->numbers[CTF_RET]);
	if (end)
		fprintf(out, " <%.9f>", (double)(end->time - s->time) / 1e9);
	putc('\n', out);
	put_frames(r, s);
}

/* --- counting --- */

static uint32_t group_frame(struct profile *p, const char *label)
{
	return profile_mark(p, label);
}

static size_t frame_ids(struct report *r, const struct trace_stack *s,
			uint32_t *ids, size_t most)
{
	struct ow_name names[OW_VIEW_NAMES];
	struct profile *p = r->request->profile;
	size_t i, k, nr, used = 0;

	for (i = 0; i < s->nr; i++) {
		nr = trace_stack_name(s, &r->maps, i, names, OW_VIEW_NAMES);
		for (k = 0; k < nr && used < most; k++)
			ids[used++] =
				profile_name(p, &names[k], s->pcs[i], false, 0);
	}
	if (r->request->by == TRACE_BY_EVENT)
		ids[used++] = group_frame(p, s->label);
	return used;
}

static void count(struct report *r, const struct trace_stack *s,
		  const struct ctf_event *end)
{
	size_t most = s->nr * 4 + OW_VIEW_NAMES;
	uint32_t *ids = calloc(most + 1, sizeof(*ids));
	struct profile *p = r->request->profile;
	struct profile_stack is = {
		.comm = profile_string(p, r->request->by == TRACE_BY_NOTHING ?
						  "all" :
						  s->comm),
		.end = (uint8_t)(s->end ? s->end : OW_END_OUTERMOST),
		.kind = end ? PROFILE_OFF_CPU : PROFILE_CPU,
		.count = 1,
		.value = end ? end->time - s->time : 1,
	};

	if (!ids) {
		p->failed = true;
		return;
	}
	/* One that isn't known stays 0: profiles have no other number for it. */
	if (r->request->by != TRACE_BY_NOTHING && s->pid > 0 &&
	    s->pid <= INT32_MAX) {
		is.pid = (int32_t)s->pid;
		is.tid = (int32_t)s->pid;
	}
	profile_add(p, &is, ids, (uint32_t)frame_ids(r, s, ids, most));
	free(ids);
}

/* --- events --- */

static bool is_asked_for(const struct report *r, const char *label)
{
	return !r->request->events ||
	       fnmatch(r->request->events, label, 0) == 0;
}

static void finish(struct report *r, const struct trace_stack *s,
		   const struct ctf_event *end)
{
	r->stacks++;
	if (s->pid < 0)
		r->homeless++;
	if (r->request->profile)
		count(r, s, end);
	else
		print(r, s, end);
}

static void on_begin(void *arg, const struct trace_stack *s,
		     const struct ctf_event *end)
{
	finish(arg, s, end);
}

static void on_stack(void *arg, const struct ctf_event *e)
{
	struct report *r = arg;
	struct trace_stack s;
	char label[64];

	if (!r->first)
		r->first = e->time;
	r->last = e->time;
	if (r->request->times)
		trace_open_end(&r->open, tracemaps_host(&r->maps, e->host), e,
			       on_begin, r);
	if (!e->has_list[CTF_USER_STACK])
		return;
	trace_label(e, label);
	if (!is_asked_for(r, label) || !trace_stack_take(&s, &r->maps, e))
		return;
	if (r->request->times) {
		trace_open_begin(&r->open, tracemaps_host(&r->maps, e->host), e,
				 &s);
	} else {
		finish(r, &s, NULL);
		trace_stack_free(&s);
	}
}

static void on_map(void *arg, const struct ctf_event *e)
{
	struct report *r = arg;

	tracemaps_take(&r->maps, e);
}

static void on_both(void *arg, const struct ctf_event *e)
{
	struct report *r = arg;

	tracemaps_take(&r->maps, e);
	on_stack(r, e);
}

static void on_live(void *arg, const struct ctf_event *e)
{
	struct report *r = arg;

	on_both(r, e);
	if (!r->request->profile)
		fflush(r->request->out);
}

static bool is_interrupted(void *arg)
{
	(void)arg;
	return interrupt_came();
}

/*
 * What is there already is read twice, as processes that were there before are
 * told of a little after the trace begins.
 */
static int read_all(struct report *r, struct ctf_reader *reader, char *why,
		    size_t size)
{
	bool live = ctf_is_live(r->request->path);

	r->maps.is_first_reading = !live;
	reader->event = live ? on_live : on_map;
	if (ctf_read(r->request->path, reader, why, size) &&
	    reader->events == 0)
		return -1;
	if (live)
		return *why ? -1 : 0;
	tracemaps_again(&r->maps);
	reader->event = on_both;
	return ctf_read(r->request->path, reader, why, size);
}

static void fill_in(const struct report *r, const struct ctf_reader *reader)
{
	struct profile *p = r->request->profile;

	if (!p)
		return;
	p->begin_ns = r->first;
	p->duration_ns = r->last - r->first;
	p->samples = r->stacks;
	p->lost = reader->lost;
}

/* A line for what there was no room for; false if there was room for all. */
static bool complain_of(const struct report *r, const struct trace_lack *l,
			const char *what, const char *why)
{
	if (l->is_some)
		complain("%s: %s of pid %" PRId64 "%s %s: left out",
			 r->request->path, what, l->first,
			 l->has_others ? ", and of others," : "", why);
	return l->is_some;
}

static int complain_of_room(const struct report *r)
{
	const char *more = "would take more memory than they may "
			   "(--memory-limit)";
	bool is_some = complain_of(r, &r->maps.memory, "mappings", more);

	is_some |= complain_of(r, &r->maps.objects, "objects", "are too many");
	if (r->open.nr_left_out)
		complain("%s: %" PRIu64 " stacks of what had begun %s: left "
			 "out",
			 r->request->path, r->open.nr_left_out, more);
	return is_some || r->open.nr_left_out ? EXIT_SOME : EXIT_WELL;
}

static int judge(const struct report *r, const struct ctf_reader *reader)
{
	const struct profile *p = r->request->profile;

	if (r->maps.failed || (p && p->failed)) {
		complain("out of memory");
		return EXIT_NONE;
	}
	if (reader->lost)
		complain("%s: %" PRIu64 " events were lost as it was recorded",
			 r->request->path, reader->lost);
	if (!r->stacks) {
		complain("%s: none of %" PRIu64 " events has a stack%s",
			 r->request->path, reader->events,
			 r->request->times  ? " and an end" :
			 r->request->events ? " and such a name" :
					      "");
		return EXIT_NONE;
	}
	if (r->homeless)
		complain("%s: %" PRIu64 " stacks have no names: record the "
			 "context pid, too",
			 r->request->path, r->homeless);
	else if (!r->maps.processes.nr)
		complain("%s: stacks have no names: record kunwind_map, "
			 "kunwind_exec and kunwind_fork, too",
			 r->request->path);
	fill_in(r, reader);
	return complain_of_room(r);
}

static void complain_of_objects(const struct tracemaps *maps)
{
	unsigned int i, nr = ow_places_nr(maps->places), lacking = 0;
	struct ow_error why;

	for (i = 1; i <= nr; i++)
		if (ow_places_lacks(maps->places, i, &why) &&
		    lacking++ < MOST_LINES)
			complain("%s", why.msg);
	if (lacking > MOST_LINES)
		complain("and %u more such files", lacking - MOST_LINES);
}

int trace_report(const struct trace_request *request)
{
	struct report r = { .request = request };
	struct ctf_reader reader = { .arg = &r, .stop = is_interrupted };
	struct ow_error err;
	int status = EXIT_NONE, failed;
	char why[300] = "";

	r.maps.places = ow_places_create(request->sysroot, 0, &err);
	if (!r.maps.places) {
		complain("%s", err.msg);
		return EXIT_NONE;
	}
	interrupt_catch(1);
	failed = read_all(&r, &reader, why, sizeof(why));
	if (failed)
		complain("%s", why);
	if (!failed || r.stacks)
		status = judge(&r, &reader);
	if (failed && status == EXIT_WELL)
		status = EXIT_SOME;
	complain_of_objects(&r.maps);
	trace_open_deinit(&r.open);
	tracemaps_deinit(&r.maps);
	return status;
}

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
#include "shares.h"
#include "stackview.h"
#include "tracenames.h"
#include "traceopen.h"
#include "tracestack.h"
#include "viewtext.h"

#define MEMORY_PART   4   /* of the run's memory is the profile */
#define PROCESS_SHARE 4   /* eighths of what others leave over */
#define MOST_FOLDED   256 /* processes told apart by their folded stacks */
#define TEXT_SHARE    6 /* eighths of what others leave over, for one process */
#define MOST_LINES    8 /* of files that can't be opened: the others are counted */

/*
 * Stacks counted into a profile.  Any process can have stacks without end that are all
 * different.  So the profile has a limit, a quarter of the run's memory, and no process
 * may add more than half of what the others leave over.  After that, new stacks of the
 * process are counted by a frame that says so; those that the profile has already are
 * counted as before.
 */
struct counting {
	struct profile *profile;
	enum trace_grouping by;
	struct shares processes; /* bytes that they have added */
	uint64_t folded;         /* events whose stack was left out */
	uint32_t nr_folded;      /* stacks that stand for those */
	struct profile_ids ids;  /* of the stack that is counted */
	struct trace_names names;
	uint64_t unnamed; /* events whose stack lacks names, for want of time */
};

struct report {
	const struct trace_request *request;
	struct tracemaps maps;
	struct trace_open open; /* what has begun */
	struct counting count;  /* where stacks are counted */
	struct shares text;     /* of names, that processes have taken */
	uint64_t nr_cut;        /* frames that lack names, or parts of them */
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

/* Leave out names that would take more than the process' share of all text. */
static size_t limit_names(struct report *r, uint64_t owner,
			  struct ow_name *names, size_t nr)
{
	uint64_t before = VIEWTEXT_MOST - shares_left(&r->text, owner);
	struct viewtext t = { .used = before };

	nr = viewtext_take(&t, names, nr);
	shares_take(&r->text, owner, t.used - before);
	r->nr_cut += t.nr_cut;
	return nr;
}

static void put_frames(struct report *r, const struct trace_stack *s)
{
	struct ow_name names[OW_VIEW_NAMES];
	uint64_t owner = trace_stack_owner(s);
	FILE *out = r->request->out;
	size_t i, k, nr;

	for (i = 0; i < s->nr; i++) {
		nr = trace_stack_name(s, &r->maps, i, names, OW_VIEW_NAMES);
		nr = limit_names(r, owner, names, nr);
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

/* Collect the numbers of a stack's frames.  Where these are too many, is->end says so. */
static void take_ids(struct counting *c, const struct tracemaps *maps,
		     const struct trace_stack *s, struct profile_stack *is)
{
	struct profile_ids *ids = &c->ids;
	struct profile *p = c->profile;
	bool is_placed = false;
	size_t i;

	ids->nr = 0;
	/* Also without a frame there may be a label. */
	if (!profile_make_ids(p, ids, is))
		return;
	for (i = 0; i < s->nr && !p->has_refused; i++) {
		if (!profile_make_ids(p, ids, is))
			break;
		ids->nr += trace_names_take(&c->names, s, maps, i,
					    ids->list + ids->nr, &is_placed);
	}
	if (is_placed) {
		c->unnamed++;
		shares_refuse(&c->names.work, trace_stack_owner(s));
	}
	if (c->by == TRACE_BY_EVENT && !p->failed)
		ids->list[ids->nr++] = profile_mark(p, s->label);
}

/* What is counted of an event, but for its stack. */
static struct profile_stack event_of(const struct counting *c,
				     const struct trace_stack *s,
				     const struct ctf_event *end)
{
	struct profile_stack is = {
		.comm = profile_string(c->profile, c->by == TRACE_BY_NOTHING ?
							   "all" :
							   s->comm),
		.end = (uint8_t)(s->end ? s->end : OW_END_OUTERMOST),
		.kind = end ? PROFILE_OFF_CPU : PROFILE_CPU,
		.count = 1,
		.value = end ? end->time - s->time : 1,
	};

	/* One that isn't known stays 0: profiles have no other number for it. */
	if (c->by != TRACE_BY_NOTHING && s->pid > 0 && s->pid <= INT32_MAX) {
		is.pid = (int32_t)s->pid;
		is.tid = (int32_t)s->pid;
	}
	return is;
}

/* Add a stack with its names.  False if that took more than there may be. */
static bool add(struct counting *c, const struct tracemaps *maps,
		const struct trace_stack *s, const struct ctf_event *end)
{
	struct profile_stack is = event_of(c, s, end);
	struct profile *p = c->profile;

	take_ids(c, maps, s, &is);
	if (!p->has_refused && !p->failed)
		profile_add(p, &is, c->ids.list, (uint32_t)c->ids.nr);
	return !p->has_refused;
}

/*
 * Count an event without its stack: by its process, or where there are many of these,
 * by none.
 */
static void fold(struct counting *c, const struct trace_stack *s,
		 const struct ctf_event *end)
{
	struct profile *p = c->profile;
	struct profile_stack is = event_of(c, s, end);
	uint32_t before = p->nr_stacks, id;

	is.end = OW_END_LIMIT;
	if (c->nr_folded >= MOST_FOLDED) {
		is.comm = profile_string(p, "others");
		is.pid = is.tid = 0;
	}
	id = profile_mark(p, "[too many different stacks]");
	profile_add(p, &is, &id, 1);
	c->nr_folded += p->nr_stacks > before;
}

/* Count a stack; end is of what its event began, or NULL. */
static void count(struct counting *c, const struct tracemaps *maps,
		  const struct trace_stack *s, const struct ctf_event *end)
{
	uint64_t owner = trace_stack_owner(s);
	struct profile *p = c->profile;
	size_t before = profile_size(p);
	bool good;

	p->is_closed = shares_left(&c->processes, owner) == 0;
	p->has_refused = false;
	good = add(c, maps, s, end);
	p->is_closed = false;
	if (!good) {
		shares_refuse(&c->processes, owner);
		c->folded++;
		fold(c, s, end);
	}
	shares_take(&c->processes, owner, profile_size(p) - before);
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
		count(&r->count, &r->maps, s, end);
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

static void on_loss(void *arg, uint64_t begin, uint64_t end)
{
	struct report *r = arg;

	(void)begin;
	tracemaps_lose(&r->maps, end);
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

/* Stacks for whose names there was no time; the profile tells of them, too. */
static void tell_unnamed(const struct report *r)
{
	const struct counting *c = &r->count;
	char line[256];

	if (!c->unnamed)
		return;
	snprintf(line, sizeof(line),
		 "naming took too long: stacks of %" PRIu64
		 " events of %" PRIu64
		 " processes are in the profile by object and offset, at "
		 "least in part",
		 c->unnamed, c->names.work.nr_refused);
	profile_leave_out(c->profile, line);
	complain("%s: %s", r->request->path, line);
}

/* Frames that another program's mappings may be at; the profile tells of them, too. */
static void tell_doubted(const struct report *r)
{
	char line[256];

	if (!r->maps.nr_doubted)
		return;
	snprintf(line, sizeof(line),
		 "%" PRIu64 " frames are addresses: events that tell which "
		 "program their process ran were lost, or not recorded",
		 r->maps.nr_doubted);
	if (r->request->profile)
		profile_leave_out(r->request->profile, line);
	complain("%s: %s", r->request->path, line);
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

static void complain_of_begun(const struct report *r, const char *why)
{
	const struct trace_lack *l = &r->open.lack;
	char whose[48] = "";

	if (!r->open.nr_left_out)
		return;
	if (l->first >= 0)
		snprintf(whose, sizeof(whose), "pid %" PRId64 "%s ", l->first,
			 l->has_others ? ", and others," : "");
	complain("%s: %" PRIu64 " stacks of what %shad begun %s: left out",
		 r->request->path, r->open.nr_left_out, whose, why);
}

static int complain_of_room(const struct report *r)
{
	const char *more = "would take more memory than they may "
			   "(--memory-limit)";
	const struct viewtext text = { .nr_cut = r->nr_cut };
	char line[VIEWTEXT_LINE];
	bool is_some = complain_of(r, &r->maps.memory, "mappings", more);

	is_some |= complain_of(r, &r->maps.objects, "objects",
			       "are too many, so that files of processes that "
			       "came later may lack names, too");
	if (r->count.folded)
		complain("%s: %" PRIu64 " events of %" PRIu64 " processes had "
			 "too many different stacks: in the profile without "
			 "theirs (--memory-limit)",
			 r->request->path, r->count.folded,
			 r->count.processes.nr_refused);
	tell_unnamed(r);
	tell_doubted(r);
	if (viewtext_line(&text, line))
		complain("%s: %s", r->request->path, line);
	complain_of_begun(r, more);
	is_some |= r->count.folded || r->count.unnamed || r->nr_cut ||
		   r->maps.nr_doubted || r->open.nr_left_out;
	return is_some ? EXIT_SOME : EXIT_WELL;
}

static void complain_of_users(const struct report *r,
			      const struct ctf_reader *reader)
{
	if (reader->user_traces)
		complain("%s: %" PRIu64 " traces are of user space: left out",
			 r->request->path, reader->user_traces);
	if (reader->user_events)
		complain("%s: %" PRIu64 " events are of user space: left out",
			 r->request->path, reader->user_events);
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
	complain_of_users(r, reader);
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
	struct report r = {
		.request = request,
		.count = {
			.profile = request->profile,
			.by = request->by,
			.processes = {
				.most = ow_get_memory_limit() / MEMORY_PART,
				.eighths = PROCESS_SHARE,
			},
			.names = {
				.profile = request->profile,
				.work = trace_names_work,
			},
		},
		.text = { .most = VIEWTEXT_MOST, .eighths = TEXT_SHARE },
	};
	struct ctf_reader reader = {
		.loss = on_loss,
		.arg = &r,
		.stop = is_interrupted,
	};
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
	if (request->out)
		fflush(request->out);
	if (failed)
		complain("%s", why);
	if (!failed || r.stacks)
		status = judge(&r, &reader);
	if (failed && status == EXIT_WELL)
		status = EXIT_SOME;
	complain_of_objects(&r.maps);
	trace_open_deinit(&r.open);
	shares_deinit(&r.count.processes);
	trace_names_deinit(&r.count.names);
	free(r.count.ids.list);
	shares_deinit(&r.text);
	tracemaps_deinit(&r.maps);
	return status;
}

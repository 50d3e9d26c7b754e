// SPDX-License-Identifier: BSD-2-Clause
#include "recordlive.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clockns.h"
#include "command.h"
#include "commands.h"
#include "interrupt.h"
#include "profileout.h"
#include "profiling.h"
#include "recordtables.h"

#define SECOND  1000000000ULL
#define TICK_MS 200 /* between two looks at whether it is over */

/* What was left out, so that one process' mappings take no room of others'. */
static void warn_crowded(const struct ow_recorder_stats *s)
{
	if (s->unwalked)
		complain("%llu threads waited before, in stacks that it would "
			 "have taken too long to walk: of these only the "
			 "innermost frames are told",
			 (unsigned long long)s->unwalked);
	if (s->is_listing_cut)
		complain("not all threads that waited before were found until "
			 "the end: such waits are missing");
	if (s->crowded_processes)
		complain(
			"%u processes had more mappings of code than there is "
			"room for (%u of each): %llu of their samples end there",
			s->crowded_processes, OW_RECORD_MAPPINGS,
			(unsigned long long)s->ends[OW_END_NO_ROOM]);
	if (s->crowded_mappings)
		complain("%u mappings of files had no room: one process may "
			 "have %u files, one user %u, all %u",
			 s->crowded_mappings, OW_RECORD_FILES,
			 OW_RECORD_FILES_USER, OW_RECORD_FILES_ALL);
	if (s->crowded_out)
		complain("%u processes had no room among the %u that the "
			 "kernel knows: their stacks are missing",
			 s->crowded_out, s->most_processes);
	if (s->unfollowed)
		complain("%llu child processes had no room among the %u that "
			 "can be followed: their stacks are missing",
			 (unsigned long long)s->unfollowed, s->most_processes);
	if (s->lost_lives)
		complain("%llu forks, execs, mappings and ends of processes "
			 "were too many at once to be told: some stacks of "
			 "these processes lack frames, and some names",
			 (unsigned long long)s->lost_lives);
	if (s->crowded_maps)
		complain("%u maps of JITs had no room: some of their names are "
			 "missing",
			 s->crowded_maps);
}

void recordlive_warn(struct ow_recorder *r, enum ow_engine engine)
{
	static const char *const why_missed[] = {
		[OW_ENGINE_BPF] =
			", of processes whose tables were still being loaded",
		[OW_ENGINE_PERF] = ", of processes that had ended by then",
		[OW_ENGINE_PTRACE] =
			": those before them took longer than is between two",
		[OW_ENGINE_KUNWIND] = ", of processes that had ended by then",
	};
	/* perf tells how many records are lost, not which. */
	bool by_perf = engine == OW_ENGINE_PERF || engine == OW_ENGINE_KUNWIND;
	struct ow_recorder_stats s;

	ow_recorder_stats(r, &s);
	if (s.missed)
		complain("%llu samples missed%s", (unsigned long long)s.missed,
			 why_missed[engine]);
	if (s.lost)
		complain("%llu %s at once", (unsigned long long)s.lost,
			 by_perf ? "records lost, of samples or of what "
				   "processes map: too many" :
				   "samples lost: too many different stacks");
	if (s.unlisted)
		complain("this kernel doesn't tell who waited before: such "
			 "waits are missing");
	warn_crowded(&s);
}

static void print_ends(const struct ow_recorder_stats *s)
{
	double all = s->samples ? (double)s->samples : 1;
	unsigned int i;

	for (i = 0; i < OW_NR_ENDS; i++)
		if (s->ends[i])
			fprintf(stderr, "  %6.2f %%  %s\n",
				100 * (double)s->ends[i] / all, ow_end_text(i));
}

void recordlive_print_stats(struct ow_recorder *r)
{
	struct ow_recorder_stats s;
	double all;

	ow_recorder_stats(r, &s);
	all = s.samples ? (double)s.samples : 1;
	fprintf(stderr,
		"%llu samples%s%s, %llu of them copied, %llu missed, %llu lost, "
		"%llu different "
		"stacks\n%.1f frames a sample, %.2f %% of them looked up in "
		"a table\n%.1f bytes a sample left the kernel\n",
		(unsigned long long)s.samples, s.clock ? " by " : "",
		s.clock ? s.clock : "", (unsigned long long)s.copied,
		(unsigned long long)s.missed, (unsigned long long)s.lost,
		(unsigned long long)s.stacks, (double)s.frames / all,
		s.frames ? 100 * (double)s.cold / (double)s.frames : 0.0,
		(double)s.bytes_out / all);
	fprintf(stderr,
		"tables: %.1f MiB in the kernel, %u objects, %u lists of "
		"mappings, %llu evicted, %.1f ms at most to load\n",
		(double)s.table_bytes / 1048576, s.objects, s.images,
		(unsigned long long)s.evictions, (double)s.slowest_ns / 1e6);
	if (s.program_runs && s.frames)
		fprintf(stderr, "programs: %.0f ns a run, %.1f ns a frame\n",
			(double)s.program_ns / (double)s.program_runs,
			(double)s.program_ns / (double)s.frames);
	if (s.renewals)
		fprintf(stderr, "files and names: forgotten %u times\n",
			s.renewals);
	if (s.verified)
		fprintf(stderr, "verifier: %llu instructions\n",
			(unsigned long long)s.verified);
	if (s.unlisted)
		fputs("this kernel doesn't tell who waited before\n", stderr);
	warn_crowded(&s);
	if (s.unwatched)
		fputs("this kernel doesn't tell at once of code that replaces "
		      "other\n",
		      stderr);
	print_ends(&s);
}

static void show_progress(struct ow_recorder *r, uint64_t since)
{
	struct ow_recorder_stats s;

	if (!isatty(STDERR_FILENO))
		return;
	ow_recorder_stats(r, &s);
	fprintf(stderr, "\r%.0f s, %llu samples, %llu stacks  ",
		(double)(clock_ns(CLOCK_MONOTONIC) - since) / 1e9,
		(unsigned long long)s.samples, (unsigned long long)s.stacks);
}

static void end_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

static bool all_gone(const struct record_request *r)
{
	return r->nr_pids && !alive_is_any(&r->alive);
}

static bool is_over(const struct record_request *r, struct command *c,
		    uint64_t since)
{
	uint64_t passed = clock_ns(CLOCK_MONOTONIC) - since;

	return interrupt_came() ||
	       (r->duration_ns && passed >= r->duration_ns) ||
	       (c->pid ? command_has_ended(c) : all_gone(r));
}

/* How long to wait until something is to be looked at, in ms. */
static unsigned int next_look(const struct record_request *r,
			      const struct command *c, uint64_t since)
{
	uint64_t passed = clock_ns(CLOCK_MONOTONIC) - since;
	uint64_t left = TICK_MS, most;

	if (c->pid)
		left = 20;
	if (r->duration_ns) {
		most = passed < r->duration_ns ?
			       (r->duration_ns - passed) / 1000000 + 1 :
			       1;
		left = most < left ? most : left;
	}
	return (unsigned int)left;
}

static void note_frequency(const struct record_request *r,
			   const struct ow_recorder_stats *s, struct profile *p)
{
	if (!(r->live.events & OW_RECORD_CPU))
		return;
	p->frequency = s->frequency;
	if (s->frequency < r->frequency)
		complain("%u samples a second: "
			 "kernel.perf_event_max_sample_rate allows no more",
			 s->frequency);
}

/* 5 seconds of work for all names; beside busy processes that may take longer. */
static const struct profiling_limits at_end = {
	.naming = { 5 * SECOND, 20 * SECOND },
	.placing = { 2 * SECOND, 8 * SECOND },
};

static int sample(const struct record_request *r, struct profiling *g,
		  struct command *c)
{
	struct ow_recorder *rec = g->r;
	struct profile *p = g->p;
	struct ow_error err;
	int failed = ow_recorder_start(rec, &err);
	struct ow_recorder_stats s;
	uint64_t since;

	/* From now on there is something to keep. */
	interrupt_catch(2);
	if (!failed && interrupt_came())
		complain("interrupted before anything was sampled");
	ow_recorder_stats(rec, &s);
	since = s.begun_ns;
	p->begin_ns =
		clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - since);
	if (!failed)
		note_frequency(r, &s, p);
	if (!failed && c->pid && !command_go(c))
		return EXIT_NONE;
	while (!failed && !is_over(r, c, since)) {
		failed = ow_recorder_wait(rec, next_look(r, c, since), &err);
		if (!failed && ow_recorder_is_full(rec))
			failed = profiling_drain_some(g, &err);
		show_progress(rec, since);
	}
	end_progress();
	ow_recorder_stop(rec);
	p->duration_ns = clock_ns(CLOCK_MONOTONIC) - since;
	if (!failed)
		failed = profiling_drain(g, &at_end, &err);
	if (!failed)
		return EXIT_WELL;
	complain("%s", err.msg);
	return EXIT_NONE;
}

static void fill_options(const struct record_request *r,
			 struct ow_recorder_options *o)
{
	*o = r->live;
	o->pids = r->pids;
	o->everyone = r->everyone;
	o->nr_pids = r->nr_pids;
	o->duration_ns = r->duration_ns;
	o->frequency = r->frequency;
	o->max_frames = (unsigned int)r->max_frames;
	o->naming = r->naming;
	o->asked = interrupt_wishes();
}

#define LINE 320

/* Append "of a (12), b (34) and others". */
static void append_list(char line[LINE], const struct profile *p,
			const struct profiling_list *l)
{
	FILE *out = fmemopen(line, LINE - 1, "a");
	size_t i;

	if (!out)
		return;
	for (i = 0; i < l->nr; i++)
		fprintf(out, "%s%s (%d)", i ? ", " : "of ",
			profile_text(p, l->of[i].comm), l->of[i].pid);
	if (l->has_more)
		fputs(" and others", out);
	fclose(out);
}

/* Stacks for which the kernel, or the recorder, had no room. */
static void warn_of_crowders(const struct profiling *g)
{
	char line[LINE] = "";

	if (!g->crowded)
		return;
	snprintf(line, sizeof(line),
		 "%llu samples had more different stacks than could be taken: "
		 "in the profile without theirs: ",
		 (unsigned long long)g->crowded);
	append_list(line, g->p, &g->crowders);
	complain("%s", line);
}

/* Stacks for which the profile had no room. */
static void warn_folded(const struct profiling *g)
{
	if (g->folded)
		complain("%llu samples of %u users had too many different "
			 "stacks: in the profile without theirs "
			 "(--profile-memory)",
			 (unsigned long long)g->folded, g->nr_folded);
	warn_of_crowders(g);
}

/* Stacks for whose names there was no time; the profile tells of them, too. */
static void tell_unnamed(struct profiling *g)
{
	char line[LINE] = "";

	if (!g->unnamed)
		return;
	snprintf(line, sizeof(line),
		 "naming took too long: %llu stacks are in the profile by "
		 "module and address, at least in part: ",
		 (unsigned long long)g->unnamed);
	append_list(line, g->p, &g->lacking);
	profile_leave_out(g->p, line);
	complain("%s", line);
}

/* Have the profile tell of files that are missing in it. */
static void note_left_out(struct profile *p)
{
	const char *line;
	size_t i;

	for (i = 0; (line = ow_left_out(i)); i++)
		profile_leave_out(p, line);
	for (i = 0; (line = ow_file_lost(i)); i++)
		profile_leave_out(p, line);
}

static int write_profile(const struct record_request *r, struct profile *p,
			 FILE *out)
{
	const struct profile_options o = { .title = r->title };

	return profileout_write(r->profile_writer, out, p, &o);
}

/*
 * Return true if processes, names or stacks were left out.  Samples that are lost or
 * missed, or for whose stacks the kernel had no room for a moment, don't count, as the
 * profile has their number, nor do stacks that end early, as it has the end of each.
 */
static bool is_crowded(const struct ow_recorder_stats *s)
{
	return s->unrecorded || s->unfollowed || s->crowded_out ||
	       s->crowded_maps || s->is_short;
}

/* EXIT_SOME if some of what was asked for is missing in what was written. */
static int status_of(const struct profiling *g)
{
	struct ow_recorder_stats s;

	ow_recorder_stats(g->r, &s);
	return is_crowded(&s) || g->is_short || g->folded || g->unnamed ?
		       EXIT_SOME :
		       EXIT_WELL;
}

static int record(const struct record_request *r, struct ow_recorder *rec,
		  struct command *c, FILE *out)
{
	struct recordtables tables;
	struct profile p = {
		.is_placeless = r->profile_writer->is_placeless &&
				!r->live.by_thread,
	};
	struct profiling g = { .p = &p, .r = rec, .limit = r->profile_memory };
	struct ow_error err;
	int status = EXIT_NONE;

	if (c->pid && ow_recorder_add(rec, c->pid, &err)) {
		complain("%s", err.msg);
		return EXIT_NONE;
	}
	if (recordtables_begin(&tables, r, c->pid))
		status = sample(r, &g, c);
	recordtables_end(&tables);
	profiling_tally(&g);
	note_left_out(&p);
	if (status == EXIT_WELL)
		tell_unnamed(&g);
	if (status == EXIT_WELL)
		status = write_profile(r, &p, out);
	if (status != EXIT_NONE && r->stats) {
		interrupt_begin_write();
		recordlive_print_stats(rec);
		recordtables_print(&tables);
		interrupt_end_write();
	} else if (status != EXIT_NONE) {
		recordlive_warn(rec, r->live.engine);
	}
	if (status != EXIT_NONE)
		warn_folded(&g);
	if (status == EXIT_WELL)
		status = status_of(&g);
	profiling_deinit(&g);
	profile_deinit(&p);
	return status;
}

int recordlive_run(const struct record_request *r, FILE *out)
{
	struct ow_recorder_options options;
	struct ow_recorder *rec;
	struct command c = { .link = -1 };
	struct ow_error err;
	int status = EXIT_NONE;

	fill_options(r, &options);
	interrupt_catch(1);
	if (r->command && !command_prepare(&c, r->command))
		return EXIT_NONE;
	rec = ow_recorder_open(&options, &err);
	if (rec) {
		status = record(r, rec, &c, out);
	} else {
		complain("%s", err.msg);
		if (r->live.engine == OW_ENGINE_BPF &&
		    (err.code == OW_CODE_PERMISSION ||
		     err.code == OW_CODE_UNSUPPORTED))
			complain("--engine=perf or --engine=ptrace may do");
	}
	ow_recorder_close(rec);
	command_finish(&c);
	return status;
}

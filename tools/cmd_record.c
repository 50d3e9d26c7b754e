// SPDX-License-Identifier: BSD-2-Clause
/* outwind record: the stacks of a target, again and again. */
#include <stdio.h>
#include <string.h>

#include "commands.h"

#include "outfile.h"
#include "profiling.h"
#include "recordlive.h"
#include "recordout.h"
#include "recordrequest.h"
#include "sampler.h"

static bool take(void *arg, const struct sample *s)
{
	return recordout_take(arg, s);
}

/* Of each sample: what it cost at least, mostly and at most. */
static void print_cost(struct sampler *s, enum sampler_cost cost,
		       const char *name)
{
	fprintf(stderr, "%s %llu min, %llu median, %llu p99, %llu max\n", name,
		(unsigned long long)costs_share(&s->costs[cost], 0),
		(unsigned long long)costs_share(&s->costs[cost], 0.5),
		(unsigned long long)costs_share(&s->costs[cost], 0.99),
		(unsigned long long)costs_share(&s->costs[cost], 1));
}

static void print_stats(struct sampler *s, const struct recordout *o)
{
	fprintf(stderr,
		"%llu samples, %llu stacks, %llu whole; %llu deadlines "
		"missed\n",
		(unsigned long long)s->nr, (unsigned long long)o->nr_stacks,
		(unsigned long long)o->nr_whole,
		(unsigned long long)s->nr_missed);
	fprintf(stderr,
		"paused for %.1f us min, %.1f median, %.1f p99, %.1f max\n",
		(double)costs_share(&s->costs[SAMPLER_PAUSE], 0) / 1e3,
		(double)costs_share(&s->costs[SAMPLER_PAUSE], 0.5) / 1e3,
		(double)costs_share(&s->costs[SAMPLER_PAUSE], 0.99) / 1e3,
		(double)costs_share(&s->costs[SAMPLER_PAUSE], 1) / 1e3);
	print_cost(s, SAMPLER_HYPERCALLS, "hypercalls");
	print_cost(s, SAMPLER_MAPPINGS, "mappings");
}

static void put_header(struct record_request *r, FILE *out)
{
	time_t now = time(NULL);
	struct ow_xen_domain d;
	struct tm tm;

	if (r->writer == &ow_uniprof_writer &&
	    !ow_xen_domain(r->xen.x, &d, NULL) && localtime_r(&now, &tm))
		ow_uniprof_put_header(out, d.backend, d.id, &tm);
}

static int sample(struct record_request *r, struct ow_capture *c,
		  struct recordout *o)
{
	struct sampler s = {
		.frequency = r->frequency,
		.most = r->most,
		.duration_ns = r->duration_ns,
		.is_measured = r->stats,
		.take = take,
		.arg = o,
	};
	int status = EXIT_WELL, written;

	if (!recordout_begin(o)) {
		complain("out of memory");
		return EXIT_NONE;
	}
	put_header(r, o->out);
	if (sampler_run(&s, c)) {
		complain("%s", s.why.msg);
		status = EXIT_SOME;
	}
	written = recordout_end(o);
	if (written > status)
		status = written;
	if (s.nr_missed && !r->stats)
		complain("%llu deadlines missed",
			 (unsigned long long)s.nr_missed);
	if (r->stats)
		print_stats(&s, o);
	sampler_free(&s);
	return status;
}

/* With names, unless symbolize(1) is to find those. */
static int record(struct record_request *r, struct ow_capture *c, FILE *out)
{
	bool named = r->writer != &ow_uniprof_writer ||
		     r->xen.options.symbols || r->xen.options.nr_images;
	struct recordout o = { .out = out,
			       .writer = r->writer,
			       .profile_writer = r->profile_writer,
			       .title = r->title,
			       .frequency = r->frequency,
			       .showing = r->showing,
			       .max_frames = r->max_frames,
			       .profile_memory = r->profile_memory ?
							 r->profile_memory :
							 PROFILING_LIMIT };
	struct ow_error err;
	int status = EXIT_NONE;

	if (named)
		o.symbolizer = ow_symbolizer_create(
			c, r->naming | (r->writer ? r->writer->naming : 0),
			&err);
	if (named && !o.symbolizer)
		complain("%s", err.msg);
	else
		status = sample(r, c, &o);
	recordout_free(&o);
	ow_symbolizer_destroy(o.symbolizer);
	return status;
}

static int run(struct record_request *r)
{
	struct ow_capture *c = NULL;
	struct ow_error err;
	struct outfile out;
	int status = EXIT_NONE;

	if (!outfile_open(&out, r->path))
		return EXIT_NONE;
	if (r->domain) {
		c = xen_request_take(&r->xen, r->domain, &r->options, &err);
		if (c)
			status = record(r, c, out.f);
		else
			complain("%s", err.msg);
		ow_capture_destroy(c);
	} else {
		status = recordlive_run(r, out.f);
	}
	return outfile_close(&out, status);
}

int cmd_record(int argc, char **argv)
{
	struct record_request r;
	int status = EXIT_USAGE;

	if (!record_request_parse(&r, argc, argv))
		fputs("see outwind record --help\n", stderr);
	else if (r.help)
		status = finish_output(EXIT_WELL);
	else
		status = run(&r);
	record_request_free(&r);
	return status;
}

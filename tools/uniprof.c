// SPDX-License-Identifier: BSD-2-Clause
/* uniprof: traces of a Xen guest, with the options and output of uniprof 1.2. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/xen.h>

#include "stackview.h"

#include "missing.h"
#include "ownfile.h"
#include "sampler.h"
#include "uniprofargs.h"
#include "viewtext.h"

#define MOST_FRAMES 1024

/* The original returns these negated. */
enum {
	EXIT_BAD_USAGE = 255,
	EXIT_BAD_DOMAIN = 254,
	EXIT_NO_OUTFILE = 253,
	EXIT_NO_HYPERVISOR = 252,
	EXIT_NO_DOMAIN = 251,
	EXIT_BAD_WORD = 250,
	EXIT_NO_TRACE = 249, /* ELF file, pause or unpause */
	EXIT_SHUT_DOWN = 248,
};

struct uniprof {
	const struct uniprof_args *args;
	FILE *out;
	struct ow_symbolizer *symbolizer; /* or NULL */
	unsigned int showing;
	struct ow_frame frames[MOST_FRAMES];
	struct ow_view_frame views[MOST_FRAMES];
	struct ow_name names[MOST_FRAMES];
	struct viewtext text; /* of all names that were written */
};

/* A line on stderr; the guest chose some of what is in it. */
__attribute__((format(printf, 1, 2))) static void complain(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	ow_view_put_clean(stderr, line);
	putc('\n', stderr);
}

/* The name of a frame: of all that is known, its function is shown. */
static size_t name_frame(struct uniprof *u, size_t k)
{
	struct ow_name *name = &u->names[k];

	if (!u->symbolizer ||
	    !ow_symbolizer_name(u->symbolizer, &u->frames[k], name, 1))
		return 0;
	*name = (struct ow_name){ .function = name->function,
				  .offset = name->offset };
	return viewtext_take(&u->text, name, 1);
}

static void put_stack(struct uniprof *u, struct ow_capture *c, size_t i)
{
	struct ow_error why;
	struct ow_view view = { .thread = ow_capture_thread(c, i),
				.frames = u->views,
				.why = &why };
	size_t k;

	if (!view.thread->captured) {
		if (u->args->verbose)
			complain("VCPU %zu: skipping trace: %s", i,
				 view.thread->why.msg);
		return;
	}
	view.nr =
		ow_capture_walk(c, i, u->frames, MOST_FRAMES, &view.end, &why);
	for (k = 0; k < view.nr; k++) {
		u->views[k] = (struct ow_view_frame){ .frame = u->frames[k],
						      .names = &u->names[k] };
		u->views[k].nr_names = name_frame(u, k);
	}
	ow_uniprof_writer.thread(u->out, &view, false, u->showing);
}

static bool take(void *arg, const struct sample *s)
{
	struct uniprof *u = arg;
	struct ow_capture_stats st;
	size_t i;

	for (i = 0; i < ow_capture_nr_threads(s->capture); i++)
		put_stack(u, s->capture, i);
	if (u->args->verbose) {
		ow_capture_stats(s->capture, &st);
		fprintf(stderr,
			"trace %llu: %u hypercalls, %u mappings, paused for "
			"%.1f us\n",
			(unsigned long long)s->number, st.hypercalls,
			st.mappings, (double)st.freeze_ns / 1e3);
	}
	return !ferror(u->out);
}

static void say_missed(void *arg, uint64_t late_ns)
{
	(void)arg;
	fprintf(stderr, "we're falling behind by %llu.%09llu!\n",
		(unsigned long long)late_ns / 1000000000,
		(unsigned long long)late_ns % 1000000000);
}

static void put_header(struct uniprof *u, const struct ow_xen_domain *d)
{
	time_t now = time(NULL);
	struct tm tm;

	if (localtime_r(&now, &tm))
		ow_uniprof_put_header(u->out, d->backend, d->id, &tm);
}

static int sample(struct uniprof *u, struct ow_capture *c, struct ow_xen *x,
		  const struct ow_xen_domain *d)
{
	struct sampler s = {
		.frequency = (unsigned int)u->args->frequency,
		.most = (uint64_t)u->args->frequency * u->args->seconds,
		.take = take,
		.missed = u->args->say_missed ? say_missed : NULL,
		.arg = u,
	};
	struct ow_xen_domain now;
	int status = EXIT_SUCCESS;

	put_header(u, d);
	if (sampler_run(&s, c)) {
		complain("%s", s.why.msg);
		status = ow_xen_domain(x, &now, NULL) || now.ended ?
				 EXIT_SHUT_DOWN :
				 EXIT_NO_TRACE;
	}
	if (s.nr_missed)
		fprintf(stderr, "Missed %llu deadlines\n",
			(unsigned long long)s.nr_missed);
	sampler_free(&s);
	return status;
}

/* The table, unless it is of no use, which ends nothing. */
static const char *usable_table(const char *path)
{
	struct ow_nametable *t;
	struct ow_error err;

	if (!path)
		return NULL;
	t = ow_nametable_open(path, OW_ALIASES_PLAIN, &err);
	if (t && !ow_nametable_is_empty(t)) {
		ow_nametable_close(t);
		return path;
	}
	if (t)
		fprintf(stderr,
			"Symbol table file %s contained no valid entries!\n"
			"Disabling symbol resolution.\n",
			path);
	else
		fprintf(stderr,
			"failed to open symbol table file %s, will not resolve "
			"symbols!\n",
			path);
	ow_nametable_close(t);
	return NULL;
}

/*
 * What it was that failed shows in how the domain is now, and in whether the
 * message is about it.
 */
static int say_failure(const struct uniprof *u, struct ow_xen *x,
		       const struct ow_error *err)
{
	struct ow_xen_domain d;
	char domain[32];

	if (ow_xen_domain(x, &d, NULL) || d.ended) {
		complain("%s", err->msg);
		return EXIT_SHUT_DOWN;
	}
	snprintf(domain, sizeof(domain), "domain %u: ", d.id);
	if (u->args->elf && strncmp(err->msg, domain, strlen(domain)) != 0)
		complain("Cannot read elf file %s. File unreadable or invalid! "
			 "(%s)",
			 u->args->elf, err->msg);
	else
		complain("Could not pause domid %u (%s)", d.id, err->msg);
	return EXIT_NO_TRACE;
}

static int trace(struct uniprof *u, struct ow_xen *x,
		 const struct ow_xen_domain *d)
{
	const struct ow_capture_options options = { .use_tables = true };
	const struct ow_xen_image image = { .path = u->args->elf };
	const struct ow_xen_options xen = {
		.images = &image,
		.nr_images = u->args->elf ? 1 : 0,
		.symbols = usable_table(u->args->table),
	};
	char line[VIEWTEXT_LINE];
	struct ow_error err;
	struct ow_capture *c = ow_capture_xen(x, &xen, &options, &err);
	int status;

	if (!c)
		return say_failure(u, x, &err);
	if (xen.symbols || u->args->resolve)
		u->symbolizer =
			ow_symbolizer_create(c, OW_SYMBOLIZER_RAW, &err);
	if (u->args->elf)
		u->showing = OW_VIEW_ALWAYS_ONE;
	status = sample(u, c, x, d);
	if (viewtext_line(&u->text, line)) {
		complain("%s", line);
		if (status == EXIT_SUCCESS)
			status = EXIT_NO_TRACE;
	}
	ow_symbolizer_destroy(u->symbolizer);
	ow_capture_destroy(c);
	return status;
}

static int say_no_domain(const struct uniprof_args *a,
			 const struct ow_error *err)
{
	switch (err->code) {
	case OW_CODE_ARGUMENT:
		fprintf(stderr,
			"invalid domid (unparseable domid string %s, or cannot "
			"trace dom0)\n",
			a->domain);
		return EXIT_BAD_DOMAIN;
	case OW_CODE_ABSENT:
		fprintf(stderr,
			"Could not access information for domid %s. (Does "
			"domid %s exist?)\n",
			a->domain, a->domain);
		return EXIT_NO_DOMAIN;
	case OW_CODE_FORMAT:
		complain("Unexpected wordsize (%s), cannot trace.", err->msg);
		return EXIT_BAD_WORD;
	}
	complain("Cannot connect to the hypervisor. (Is this Xen?) (%s)",
		 err->msg);
	return EXIT_NO_HYPERVISOR;
}

static int run(struct uniprof *u)
{
	const struct uniprof_args *a = u->args;
	struct ow_xen_domain d;
	struct ow_error err;
	struct ow_xen *x = ow_xen_open(a->domain, a->backend, &err);
	int status;

	if (!x || ow_xen_domain(x, &d, &err))
		status = say_no_domain(a, &err);
	else
		status = trace(u, x, &d);
	ow_xen_close(x);
	return status;
}

/* The file is made before anything else is looked at, but a wrong domid. */
static int run_to_file(struct uniprof *u)
{
	const struct uniprof_args *a = u->args;
	bool is_stdout = strcmp(a->outfile, "-") == 0;
	int status;

	if (a->domain[strspn(a->domain, "0")] == '\0') {
		const struct ow_error dom0 = { .code = OW_CODE_ARGUMENT };

		return say_no_domain(a, &dom0);
	}
	u->out = is_stdout ? stdout : ownfile_create(a->outfile);
	if (!u->out) {
		fprintf(stderr, "cannot open file %s: %s\n", a->outfile,
			strerror(errno));
		return EXIT_NO_OUTFILE;
	}
	status = run(u);
	if (fflush(u->out) || ferror(u->out)) {
		fprintf(stderr, "write %s: %s\n", a->outfile, strerror(errno));
		status = EXIT_NO_OUTFILE;
	}
	if (!is_stdout)
		fclose(u->out);
	return status;
}

static int finish_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "write output: %s\n", strerror(errno));
	return EXIT_NO_OUTFILE;
}

int main(int argc, char **argv)
{
	static struct uniprof u;
	struct uniprof_args args;
	int status;

	u.args = &args;
	switch (uniprof_args_parse(&args, argc, argv, stderr)) {
	case UNIPROF_TRACE:
		status = run_to_file(&u);
		if (missing_complain("uniprof", status != EXIT_SUCCESS) &&
		    status == EXIT_SUCCESS)
			status = EXIT_NO_TRACE;
		return status;
	case UNIPROF_VERSION:
		printf("uniprof version 1.2\noutwind %s\n", ow_version());
		return finish_output(EXIT_SUCCESS);
	case UNIPROF_HELP:
		uniprof_args_print_usage(stdout, argv[0]);
		return finish_output(EXIT_SUCCESS);
	case UNIPROF_USAGE:
		uniprof_args_print_usage(stdout, argv[0]);
		return EXIT_BAD_USAGE;
	case UNIPROF_REFUSE: break;
	}
	return EXIT_BAD_USAGE;
}

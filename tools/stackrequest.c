// SPDX-License-Identifier: BSD-2-Clause
#include "stackrequest.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

#define DEFAULT_FRAMES 1024
#define MOST_TIDS      100000
#define STATES         "RSDTtZXI" /* proc(5), of a thread */

/* What getopt_long() returns for the first option that has a long name. */
#define FIRST_VALUE 256

static bool set_stopping(struct stack_request *r, const struct stack_option *o)
{
	if (r->options.stopping && r->options.stopping != o->stopping) {
		complain("only one of --no-stop, --gentle and --one-at-a-time");
		return false;
	}
	r->options.stopping = o->stopping;
	return true;
}

static bool choose(struct stack_request *r, const struct stack_option *o,
		   const char *text)
{
	if (o->flag)
		*(bool *)((char *)r + o->flag) = true;
	if (o->text)
		*(const char **)((char *)r + o->text) = text;
	r->naming |= o->naming;
	r->showing |= o->showing;
	r->options.extras |= o->extras;
	if (o->stopping && !set_stopping(r, o))
		return false;
	return !o->take || o->take(r, text);
}

/* What getopt_long() takes, in room for all, terminated. */
static void make_options(struct option *longs, char *letters)
{
	size_t i;

	for (i = 0; i < nr_stack_options; i++) {
		if (stack_options[i].name)
			*longs++ = (struct option){ stack_options[i].name,
						    stack_options[i].argument !=
							    NULL,
						    NULL, FIRST_VALUE + i };
		if (stack_options[i].letter)
			*letters++ = stack_options[i].letter;
		if (stack_options[i].letter && stack_options[i].argument)
			*letters++ = ':';
	}
}

static const struct stack_option *find_option(int value)
{
	size_t i;

	if (value >= FIRST_VALUE)
		return &stack_options[value - FIRST_VALUE];
	for (i = 0; i < nr_stack_options; i++)
		if (stack_options[i].letter == value)
			return &stack_options[i];
	return NULL;
}

/* "TID,TID,..." */
static bool parse_tids(struct stack_request *r, char *text)
{
	unsigned long tid;
	pid_t *more;
	char *part;

	for (part = strtok(text, ","); part; part = strtok(NULL, ",")) {
		if (!parse_number(part, 1, INT32_MAX, &tid) ||
		    r->options.nr_tids == MOST_TIDS)
			return false;
		more = realloc(r->tids,
			       (r->options.nr_tids + 1) * sizeof(*more));
		if (!more)
			return false;
		r->tids = more;
		r->tids[r->options.nr_tids++] = (pid_t)tid;
	}
	return r->options.nr_tids > 0;
}

static bool take_tids(struct stack_request *r, const char *list)
{
	char *text = strdup(list);
	bool good = text && parse_tids(r, text);

	if (!good)
		complain("%s: not a list of threads", list);
	free(text);
	return good;
}

/* Of a process, threads may stand behind a slash. */
static bool choose_threads(struct stack_request *r)
{
	const char *slash = r->is_core ? NULL : strchr(r->target, '/');

	if (slash && slash[1] && slash[1 + strspn(slash + 1, STATES)] == '\0')
		r->options.states = slash + 1;
	else if (slash && !take_tids(r, slash + 1))
		return false;
	if (r->tid_list && !take_tids(r, r->tid_list))
		return false;
	if (r->one_thread && !r->tids) {
		r->tids = malloc(sizeof(*r->tids));
		if (!r->tids)
			return false;
		r->tids[0] = r->pid; /* of a core 0: the first */
		r->options.nr_tids = 1;
	}
	r->options.tids = r->tids;
	return true;
}

/* An executable is one image more. */
static bool parse_domain(struct stack_request *r)
{
	if (r->is_process || r->tid_list || r->one_thread) {
		complain("%s: a domain of Xen, which has no threads to choose",
			 r->target);
		return false;
	}
	return !r->exe || xen_request_image(&r->xen, r->exe);
}

/* Of anything else nothing asks for what only guests have. */
static bool is_no_guest(const struct stack_request *r)
{
	const struct ow_xen_options *x = &r->xen.options;

	if (!x->nr_images && !x->symbols && !x->unwinding && !r->xen.backend)
		return true;
	complain("%s: no guest, which --image, --kallsyms, --unwind and "
		 "--backend are for",
		 r->target);
	return false;
}

static bool parse_target(struct stack_request *r)
{
	size_t n = strcspn(r->target, "/");
	unsigned long pid;
	char text[16];

	r->domain = r->is_core ? NULL : xen_request_domain(r->target);
	if (r->domain)
		return parse_domain(r);
	if (!is_no_guest(r))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)n, r->target);
	if (!r->is_core && n < sizeof(text) &&
	    parse_number(text, 1, INT32_MAX, &pid)) {
		r->pid = (pid_t)pid;
		return choose_threads(r);
	}
	if (r->is_process) {
		complain("%s: not a process id", r->target);
		return false;
	}
	r->is_core = true;
	return choose_threads(r);
}

/* TARGET [EXECUTABLE], or EXECUTABLE behind --core. */
static bool parse_operands(struct stack_request *r, int nr, char **texts)
{
	if (!r->target && nr > 0) {
		r->target = *texts++;
		nr--;
	}
	if (!r->target) {
		complain("no target: give a PID or a core file");
		return false;
	}
	if (!parse_target(r))
		return false;
	if (nr == 1 && r->is_core && !r->exe) {
		r->exe = *texts;
		return true;
	}
	if (nr == 1 && r->domain)
		return xen_request_image(&r->xen, *texts);
	if (nr == 1 && !r->is_core)
		complain("%s: only a core file has an executable beside it",
			 *texts);
	else if (nr)
		complain(r->is_core ? "one core file and one executable" :
				      "one target at a time");
	return nr == 0;
}

enum stack_asked stack_request_parse(struct stack_request *r, int argc,
				     char **argv)
{
	struct option longs[STACK_OPTIONS_MOST + 1] = { 0 };
	char letters[2 * STACK_OPTIONS_MOST + 1] = { 0 };
	const struct stack_option *o;
	int value;

	*r = (struct stack_request){
		.max_frames = DEFAULT_FRAMES,
		.writer = &ow_text_writer,
		.options.use_tables = true,
	};
	make_options(longs, letters);
	while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		o = find_option(value);
		if (!o || !choose(r, o, optarg))
			return STACK_ASKED_WRONG;
		if (r->help) {
			stack_options_help();
			return STACK_ASKED_HELP;
		}
	}
	return parse_operands(r, argc - optind, argv + optind) ?
		       STACK_ASKED_WELL :
		       STACK_ASKED_WRONG;
}

void stack_request_free(struct stack_request *r)
{
	xen_request_free(&r->xen);
	free(r->tids);
}

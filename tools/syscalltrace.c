// SPDX-License-Identifier: BSD-2-Clause
#include "syscalltrace.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clockns.h"
#include "command.h"
#include "commands.h"
#include "interrupt.h"
#include "ownfile.h"
#include "sitenames.h"
#include "syscallbegun.h"
#include "syscallcount.h"
#include "syscallline.h"
#include "syscallsite.h"
#include "syscalltext.h"

#define LISTED  8  /* processes, of which something was lost */
#define TICK_MS 20 /* between two looks at whether it is over */
#define BUFFER  ((size_t)1 << 18)
#define GRACE   300000000 /* ns that a reader has after a signal */

/* What is under way. */
struct tracing {
	const struct syscall_request *request;
	struct ow_recorder *recorder;
	FILE *file;     /* what is written to, */
	FILE *out;      /* by this */
	uint64_t asked; /* CLOCK_MONOTONIC: when the end was, first seen; or 0 */
	int why;        /* errno of what couldn't be written, or 0 */
	struct command command;
	pid_t starting; /* the command, until its program is executed; or 0 */
	struct syscallsbegun begun;
	struct syscallsites sites;
	struct syscallcounts counts;
	uint64_t nr_cut;     /* calls whose names aren't whole */
	uint64_t nr_unnamed; /* for which there was no time at the end, */
	uint64_t nr_hurried; /* or before it */
	uint64_t nr_nowhere; /* calls for whose sites there was no room */
	struct syscalltext text;
};

/*
 * Wait until the file takes PIPE_BUF bytes at once; false if the end was asked for
 * and nobody reads.
 */
static bool await_reader(struct tracing *t)
{
	struct pollfd p = { .fd = fileno(t->file), .events = POLLOUT };
	uint64_t now;

	while (poll(&p, 1, TICK_MS) <= 0) {
		if (!interrupt_came())
			continue;
		now = clock_ns(CLOCK_MONOTONIC);
		if (!t->asked)
			t->asked = now;
		if (now - t->asked > GRACE)
			return false;
	}
	return true;
}

static ssize_t write_lines(void *cookie, const char *bytes, size_t size)
{
	struct tracing *t = cookie;
	size_t done = 0, most;
	ssize_t n;

	while (done < size) {
		if (!await_reader(t)) {
			errno = EINTR;
			break;
		}
		most = size - done < PIPE_BUF ? size - done : PIPE_BUF;
		n = write(fileno(t->file), bytes + done, most);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

/* Behind whatever writes: later calls have errors of their own. */
static void note_failure(struct tracing *t)
{
	if (!t->why && ferror(t->out))
		t->why = errno;
}

/* Whether names that are shown of a call aren't whole. */
static bool is_cut(const struct tracing *t, const struct syscallsite *site)
{
	if (!site)
		return false;
	return (site->names && site->names->is_cut) ||
	       (site->is_cut && !t->request->summary);
}

static void print(struct tracing *t, const struct syscall_begun *b,
		  const struct ow_recorded_syscall *end,
		  const struct syscallsite *site)
{
	enum syscalltext_way way = syscalltext_take(
		&t->text, b->call.pid, b->uid, syscallline_size(b, end, site));

	if (way == SYSCALLTEXT_AS_NONE)
		return;
	t->nr_cut += is_cut(t, site);
	syscallline_print(t->out, b, end, site, way == SYSCALLTEXT_AS_BRIEF);
	note_failure(t);
}

/* One call is over; end is NULL if it doesn't return. */
static void tell(struct tracing *t, struct syscall_begun *b,
		 const struct ow_recorded_syscall *end,
		 struct syscallsite *site)
{
	if (b->call.pid == t->starting) {
		/* What starts it is no call of the command. */
		if (!end || end->result || !syscallbegun_is_exec(end->nr))
			return;
		t->starting = 0;
	}
	if (t->why || !syscallset_has(&t->request->set, b->call.nr))
		return;
	if (t->request->summary) {
		t->nr_cut += is_cut(t, site);
		syscallcount_add(&t->counts, b, site,
				 end ? end->time - b->call.time : 0,
				 end && syscallline_is_error(end->result));
		return;
	}
	print(t, b, end, site);
}

/* Likewise, and nothing is kept of it but the thread. */
static void finish(struct tracing *t, struct syscall_begun *b,
		   const struct ow_recorded_syscall *end)
{
	struct syscallsite *site = b->site;

	b->site = NULL;
	/* It is there until another one is held. */
	syscallsite_release(site);
	tell(t, b, end, site);
	syscallbegun_close(&t->begun, b);
}

/* Where a call was made, which may have to be named first; or NULL. */
static struct syscallsite *
hold_site(struct tracing *t, const struct ow_recorded_syscall *s, uid_t uid)
{
	struct syscallsite *site = syscallsite_hold(&t->sites, s->stack, false);
	uint64_t since;

	if (site || !s->stack)
		return site;
	if (syscalltext_is_late(&t->text, s->pid, uid)) {
		t->nr_unnamed += t->text.is_over;
		t->nr_hurried += !t->text.is_over;
		return NULL;
	}
	since = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	site = syscallsite_hold(&t->sites, s->stack, true);
	syscalltext_work(&t->text, s->pid, uid,
			 clock_ns(CLOCK_THREAD_CPUTIME_ID) - since);
	t->nr_nowhere += !site && (s->stack->nr || s->stack->is_folded);
	return site;
}

static void begin(struct tracing *t, const struct ow_recorded_syscall *s)
{
	const struct ow_syscall_shape *shape = ow_syscall_shape(s->nr);
	struct syscall_begun *b = syscallbegun_find(&t->begun, s->tid);

	syscalltext_see(&t->text, clock_ns(CLOCK_MONOTONIC), s->time, s->pid,
			s->stack ? s->stack->uid : (uid_t)-1);
	if (b && b->is_open)
		finish(t, b, NULL);
	if (!syscallbegun_add(&t->begun, s))
		return;
	b = syscallbegun_find(&t->begun, s->tid);
	/* The recorder doesn't keep its stack until the call ends. */
	if (syscallset_has(&t->request->set, s->nr) && s->pid != t->starting &&
	    !syscalltext_is_full(&t->text, s->pid, b->uid))
		b->site = hold_site(t, s, b->uid);
	if (shape && shape->result[0] == '?')
		finish(t, b, NULL);
}

static void take(void *arg, const struct ow_recorded_syscall *s)
{
	struct tracing *t = arg;
	struct syscall_begun *b;

	switch (s->event) {
	case OW_SYSCALL_BEGINS: begin(t, s); return;
	case OW_SYSCALL_ENDS:
		b = syscallbegun_end(&t->begun, s);
		if (b)
			finish(t, b, s);
		/* The thread has its process's number now, and nothing ends its own. */
		if (b && b->call.tid != s->tid)
			syscallbegun_remove(&t->begun, b);
		return;
	case OW_SYSCALL_TEXT:
		b = syscallbegun_find(&t->begun, s->tid);
		if (b && b->is_open && !b->text && s->text)
			syscallbegun_set_text(b, s);
		return;
	case OW_SYSCALL_GONE:
		b = syscallbegun_find(&t->begun, s->tid);
		if (!b)
			return;
		if (b->is_open)
			finish(t, b, NULL);
		syscallbegun_remove(&t->begun, b);
	}
}

static void flush(struct tracing *t)
{
	fflush(t->out);
	note_failure(t);
}

static bool goes_on(struct tracing *t, uint64_t since)
{
	const struct syscall_request *q = t->request;

	if (interrupt_came() || t->why)
		return false;
	if (q->duration_ns &&
	    clock_ns(CLOCK_MONOTONIC) - since >= q->duration_ns)
		return false;
	return t->command.pid ? !command_has_ended(&t->command) :
				alive_is_any(&q->alive);
}

/* Each has been told of when it was made. */
static void ignore(void *arg, const struct ow_recorded *s)
{
	(void)arg;
	(void)s;
}

/* Return 0 or what err says. */
static int follow(struct tracing *t, struct ow_error *err)
{
	uint64_t since = clock_ns(CLOCK_MONOTONIC);
	int failed = 0;

	while (!failed && goes_on(t, since)) {
		failed = ow_recorder_wait(t->recorder, TICK_MS, err);
		if (!failed && !interrupt_came() &&
		    ow_recorder_is_full(t->recorder))
			failed = ow_recorder_drain(t->recorder, ignore, NULL,
						   err);
		flush(t);
	}
	return failed;
}

/* So much was lost: say of whom. */
static void tell_lost(struct tracing *t, uint64_t lost)
{
	struct ow_recorded_loss of[LISTED];
	size_t nr = ow_recorder_losses(t->recorder, of, LISTED), i;
	char text[LISTED * 64 + 64] = "";
	uint64_t others = lost;
	int used = 0;

	for (i = 0; i < nr && of[i].lost <= others; i++) {
		used += snprintf(text + used, sizeof(text) - (size_t)used,
				 "%s %llu of process %d", i ? "," : ":",
				 (unsigned long long)of[i].lost, of[i].pid);
		others -= of[i].lost;
	}
	if (others && i)
		snprintf(text + used, sizeof(text) - (size_t)used,
			 ", %llu of others", (unsigned long long)others);
	complain("%llu system calls or results of them lost%s",
		 (unsigned long long)lost, text);
}

/* Say what was cut, or left out, as there was too much of it; return if any was. */
static bool tell_cut(const struct tracing *t)
{
	const struct syscalltext *text = &t->text;

	if (t->nr_unnamed)
		complain("naming took too long: who made %llu system calls "
			 "that waited at the end isn't told",
			 (unsigned long long)t->nr_unnamed);
	if (t->nr_hurried)
		complain("calls came faster than they could be named: who made "
			 "%llu system calls isn't told",
			 (unsigned long long)t->nr_hurried);
	if (t->nr_nowhere)
		complain("who made %llu system calls isn't told: there was no "
			 "room for so many call sites, of calls that go on",
			 (unsigned long long)t->nr_nowhere);
	if (t->nr_cut)
		complain("names are cut in %llu system calls: one has %d KiB "
			 "at most, and those of a stack %d KiB",
			 (unsigned long long)t->nr_cut, SITENAMES_ALONE >> 10,
			 SITENAMES_WHOLE >> 10);
	if (text->nr_brief)
		complain("long stacks and texts would take more than %llu MiB, "
			 "or than a part of it that others leave over: %llu "
			 "system calls of %llu processes are cut to %d KiB",
			 (unsigned long long)(SYSCALLTEXT_MOST >> 20),
			 (unsigned long long)text->nr_brief,
			 (unsigned long long)text->most.processes.nr_refused,
			 SYSCALLTEXT_BRIEF >> 10);
	if (text->nr_none)
		complain("what waited at the end would take more than %llu "
			 "MiB: %llu system calls of %llu processes are left "
			 "out",
			 (unsigned long long)(SYSCALLTEXT_LATE >> 20),
			 (unsigned long long)text->nr_none,
			 (unsigned long long)
				 text->late_brief.processes.nr_refused);
	return t->nr_unnamed || t->nr_hurried || t->nr_nowhere || t->nr_cut ||
	       text->nr_brief || text->nr_none;
}

/* Those that haven't ended yet, and what was lost. */
static int conclude(struct tracing *t)
{
	struct syscall_begun **list;
	struct ow_recorder_stats s;
	size_t i;

	list = syscallsbegun_list(&t->begun);
	for (i = 0; list && i < t->begun.nr; i++)
		if (list[i]->is_open)
			finish(t, list[i], NULL);
	free(list);
	if (t->request->summary)
		syscallcount_print(&t->counts, t->out);
	flush(t);
	if (t->why == EINTR)
		return EXIT_SOME; /* nor need anybody read what is said */
	ow_recorder_stats(t->recorder, &s);
	if (s.lost)
		tell_lost(t, s.lost);
	if (s.missed)
		complain("who made %llu system calls isn't known",
			 (unsigned long long)s.missed);
	if (s.unfollowed)
		complain("%llu child processes had no room among the %u that "
			 "can be followed: their calls are missing",
			 (unsigned long long)s.unfollowed, s.most_processes);
	return tell_cut(t) || s.lost || s.missed || s.unfollowed ||
			       s.unrecorded ?
		       EXIT_SOME :
		       EXIT_WELL;
}

static int trace(struct tracing *t)
{
	struct command *c = &t->command;
	struct ow_error err;
	int failed = 0;

	t->starting = c->pid;
	if (c->pid)
		failed = ow_recorder_add(t->recorder, c->pid, &err);
	if (!failed)
		failed = ow_recorder_start(t->recorder, &err);
	if (!failed && c->pid && !command_go(c))
		return command_status(c);
	if (!failed)
		failed = follow(t, &err);
	syscalltext_end(&t->text);
	ow_recorder_stop(t->recorder);
	if (failed) {
		complain("%s", err.msg);
		return EXIT_NONE;
	}
	failed = conclude(t);
	return c->ended ? command_status(c) : failed;
}

static bool open_output(struct tracing *t)
{
	const struct syscall_request *q = t->request;

	t->file = q->path    ? ownfile_create(q->path) :
		  q->summary ? stdout :
			       stderr;
	if (!t->file) {
		complain("open %s: %s", q->path, strerror(errno));
		return false;
	}
	t->out = fopencookie(t, "w",
			     (cookie_io_functions_t){ .write = write_lines });
	if (t->out)
		setvbuf(t->out, NULL, _IOFBF, BUFFER);
	else
		complain("out of memory");
	return t->out;
}

/* Who reads no more wants no word of it. */
static int close_output(struct tracing *t, int status)
{
	const char *path = t->request->path;

	flush(t);
	if (t->why && t->why != EPIPE && t->why != EINTR)
		complain("write %s: %s", path ? path : "output",
			 strerror(t->why));
	fclose(t->out);
	if (path)
		fclose(t->file);
	return t->why ? EXIT_NONE : status;
}

int syscalltrace_run(struct syscall_request *q)
{
	struct tracing t = { .request = q, .command = { .link = -1 } };
	struct ow_error err;
	int status = EXIT_NONE;

	if (!open_output(&t))
		return EXIT_NONE;
	interrupt_catch(1);
	q->options.on_syscall = take;
	q->options.arg = &t;
	q->options.asked = interrupt_wishes();
	t.sites.stacks = q->stacks;
	syscalltext_init(&t.text);
	if (!q->command || command_prepare(&t.command, q->command)) {
		t.recorder = ow_recorder_open(&q->options, &err);
		t.sites.recorder = t.recorder;
		if (t.recorder)
			status = trace(&t);
		else
			complain("%s", err.msg);
	}
	ow_recorder_close(t.recorder);
	syscallsbegun_deinit(&t.begun);
	syscallsites_deinit(&t.sites);
	syscallcounts_deinit(&t.counts);
	syscalltext_deinit(&t.text);
	status = close_output(&t, status);
	command_finish(&t.command);
	return status;
}

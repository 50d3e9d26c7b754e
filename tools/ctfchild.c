// SPDX-License-Identifier: BSD-2-Clause
/*
 * libbabeltrace2 2.0 ends the program, or never ends, on some damaged traces.  So
 * it runs in a process of its own, which sends the events here; that may take no
 * more than --memory-limit, or time that brings nothing.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <outwind/outwind.h>

#include "ctftrace.h"

#define MAX_SECONDS 5 /* of CPU time, for one step */
#define MAX_TEXT    4096
#define BUFFER      65536 /* bytes of the pipe that are received at once */

/* What goes through the pipe: this, and behind it texts and lists. */
struct record {
	uint64_t time;
	int64_t numbers[CTF_NR_NUMBERS];
	uint32_t has;
	uint32_t has_list, has_text; /* bits */
	uint32_t list_nr[CTF_NR_LISTS];
	uint32_t text_size[CTF_NR_TEXTS + 2]; /* name and host are the last */
	uint32_t is_loss;                     /* from time on, and: */
	uint64_t loss_end;
	uint32_t is_end; /* the name is what was wrong then, and: */
	int32_t result;
	uint64_t lost, user_traces, user_events;
};

/* --- the child --- */

struct sending {
	FILE *out;
	char *at; /* of MAX_TEXT bytes, shared: the trace that it reads */
};

static uint32_t text_size(const char *text)
{
	size_t size = text ? strlen(text) : 0;

	return size < MAX_TEXT ? (uint32_t)size : MAX_TEXT;
}

static void send_event(void *arg, const struct ctf_event *e)
{
	struct sending *s = arg;
	struct record r = { .time = e->time, .has = e->has };
	const char *texts[CTF_NR_TEXTS + 2];
	size_t i;

	memcpy(r.numbers, e->numbers, sizeof(r.numbers));
	memcpy(texts, e->texts, sizeof(e->texts));
	texts[CTF_NR_TEXTS] = e->name;
	texts[CTF_NR_TEXTS + 1] = e->host;
	for (i = 0; i < CTF_NR_TEXTS + 2; i++) {
		r.has_text |= texts[i] ? 1u << i : 0;
		r.text_size[i] = text_size(texts[i]);
	}
	for (i = 0; i < CTF_NR_LISTS; i++) {
		r.has_list |= e->has_list[i] ? 1u << i : 0;
		r.list_nr[i] = (uint32_t)e->nr[i];
	}
	fwrite(&r, sizeof(r), 1, s->out);
	for (i = 0; i < CTF_NR_TEXTS + 2; i++)
		if (r.text_size[i])
			fwrite(texts[i], r.text_size[i], 1, s->out);
	for (i = 0; i < CTF_NR_LISTS; i++)
		fwrite(e->lists[i], sizeof(e->lists[i][0]), e->nr[i], s->out);
}

static void send_loss(void *arg, uint64_t begin, uint64_t end)
{
	const struct record r = {
		.time = begin,
		.is_loss = 1,
		.loss_end = end,
	};
	struct sending *s = arg;

	fwrite(&r, sizeof(r), 1, s->out);
}

static void send_end(FILE *out, const struct ctf_reader *reader, int result,
		     const char *why)
{
	struct record r = {
		.is_end = 1,
		.result = result,
		.lost = reader->lost,
		.user_traces = reader->user_traces,
		.user_events = reader->user_events,
	};

	r.text_size[CTF_NR_TEXTS] = text_size(why);
	fwrite(&r, sizeof(r), 1, out);
	fwrite(why, r.text_size[CTF_NR_TEXTS], 1, out);
	fflush(out);
}

static void begin_step(void *arg, const char *name)
{
	struct sending *s = arg;

	snprintf(s->at, MAX_TEXT, "%s", name);
}

/* Something is done: there is time for the next step. */
static void end_step(void *arg, bool idle)
{
	const struct itimerval most = { .it_value = { .tv_sec = MAX_SECONDS } };
	struct sending *s = arg;

	if (idle)
		fflush(s->out);
	setitimer(ITIMER_PROF, &most, NULL);
}

/* It ends with the pipe, and a signal for all of a terminal's doesn't cut a record. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
}

static void limit(void)
{
#ifndef __SANITIZE_ADDRESS__
	const rlim_t bytes = ow_get_memory_limit();
	const struct rlimit most = { bytes, bytes };

	setrlimit(RLIMIT_DATA, &most);
#endif
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPROF, SIG_DFL);
}

static void read_and_send(const char *path, int fd, char *at)
{
	static const struct ctf_watch watch = { begin_step, end_step };
	struct sending s = { fdopen(fd, "w"), at };
	struct ctf_reader mine = {
		.event = send_event,
		.loss = send_loss,
		.arg = &s,
	};
	char why[MAX_TEXT] = "";
	int result;

	if (!s.out)
		_exit(1);
	ignore_signals();
	limit();
	/* What it says as it dies is said better here. */
	if (!freopen("/dev/null", "w", stderr))
		_exit(1);
	end_step(&s, false);
	result = ctf_trace_read(path, &mine, &watch, why, sizeof(why));
	send_end(s.out, &mine, result, why);
	_exit(0);
}

/* --- the parent --- */

struct receiving {
	int in;
	size_t used, end; /* of the buffer's bytes */
	uint8_t buffer[BUFFER];
	char *at; /* shared: the trace that the child reads */
	struct ctf_reader *reader;
	struct record r;
	struct ctf_event event;
	char texts[CTF_NR_TEXTS + 2][MAX_TEXT + 1];
};

static bool is_to_stop(const struct receiving *v)
{
	return v->reader->stop && v->reader->stop(v->reader->arg);
}

/*
 * Wait for bytes, whatever signals come, unless one is to stop us.  A signal comes
 * before the question, or ends the wait.
 */
static bool await_bytes(const struct receiving *v)
{
	struct pollfd p = { .fd = v->in, .events = POLLIN };
	sigset_t all, before;
	int nr = -1;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	while (nr < 0 && !is_to_stop(v)) {
		nr = ppoll(&p, 1, NULL, &before);
		if (nr < 0 && errno != EINTR)
			break;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return nr > 0;
}

/* Have bytes in the buffer, which is empty. */
static bool fill(struct receiving *v)
{
	ssize_t n = -1;

	while (n < 0) {
		if (!await_bytes(v))
			return false;
		n = read(v->in, v->buffer, sizeof(v->buffer));
		if (n < 0 && errno != EINTR)
			return false;
	}
	v->used = 0;
	v->end = (size_t)n;
	return n > 0;
}

static bool take(struct receiving *v, void *to, size_t size)
{
	size_t got = 0, n;

	while (got < size) {
		if (v->used == v->end && !fill(v))
			return false;
		n = v->end - v->used;
		n = n < size - got ? n : size - got;
		memcpy((uint8_t *)to + got, v->buffer + v->used, n);
		v->used += n;
		got += n;
	}
	return true;
}

static bool receive_texts(struct receiving *v)
{
	size_t i;

	for (i = 0; i < CTF_NR_TEXTS + 2; i++) {
		if (v->r.text_size[i] > MAX_TEXT ||
		    !take(v, v->texts[i], v->r.text_size[i]))
			return false;
		v->texts[i][v->r.text_size[i]] = '\0';
	}
	return true;
}

static bool receive_lists(struct receiving *v)
{
	struct ctf_event *e = &v->event;
	size_t i;

	for (i = 0; i < CTF_NR_LISTS; i++) {
		e->has_list[i] = v->r.has_list & 1u << i;
		e->nr[i] = v->r.list_nr[i];
		if (e->nr[i] > CTF_MAX_LIST ||
		    !take(v, e->lists[i], sizeof(e->lists[i][0]) * e->nr[i]))
			return false;
	}
	return true;
}

/* One record; false: there is none, or not all of it. */
static bool receive(struct receiving *v)
{
	struct ctf_event *e = &v->event;
	size_t i;

	if (!take(v, &v->r, sizeof(v->r)) || !receive_texts(v) ||
	    !receive_lists(v)) {
		v->r.is_end = 0;
		return false;
	}
	e->time = v->r.time;
	e->has = v->r.has;
	memcpy(e->numbers, v->r.numbers, sizeof(e->numbers));
	for (i = 0; i < CTF_NR_TEXTS; i++)
		e->texts[i] = v->r.has_text & 1u << i ? v->texts[i] : NULL;
	e->name = v->texts[CTF_NR_TEXTS];
	e->host = v->texts[CTF_NR_TEXTS + 1];
	return true;
}

/* How the child ended that did not say that it would. */
static void explain(const char *path, int status, char *why, size_t size)
{
	int nr = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (nr == SIGPROF)
		snprintf(why, size, "%s: libbabeltrace2 gets nowhere with it",
			 path);
	else if (nr)
		snprintf(why, size, "%s: libbabeltrace2 fails on it (SIG%s)%s",
			 path, sigabbrev_np(nr),
			 nr == SIGTRAP || nr == SIGABRT ?
				 ", perhaps as it may take no more "
				 "memory (--memory-limit)" :
				 "");
	else
		snprintf(why, size, "%s: libbabeltrace2 fails on it", path);
}

static void hand_over(struct receiving *v)
{
	struct ctf_reader *r = v->reader;

	if (v->r.is_loss) {
		r->loss(r->arg, v->r.time, v->r.loss_end);
		return;
	}
	r->events++;
	r->event(r->arg, &v->event);
}

static int receive_all(struct receiving *v, const char *path, pid_t child,
		       char *why, size_t size)
{
	bool is_stopped = false;
	int status = 0;

	v->reader->events = v->reader->lost = 0;
	v->reader->user_traces = v->reader->user_events = 0;
	while (!(is_stopped = is_to_stop(v)) && receive(v) && !v->r.is_end)
		hand_over(v);
	is_stopped |= !v->r.is_end && is_to_stop(v);
	if (is_stopped)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (is_stopped) {
		*why = '\0';
		return 0;
	}
	if (!v->r.is_end) {
		v->at[MAX_TEXT - 1] = '\0';
		explain(*v->at ? v->at : path, status, why, size);
		return -1;
	}
	v->reader->lost = v->r.lost;
	v->reader->user_traces = v->r.user_traces;
	v->reader->user_events = v->r.user_events;
	snprintf(why, size, "%s", v->texts[CTF_NR_TEXTS]);
	return v->r.result;
}

static int start(const char *path, char *at, pid_t *child_ret)
{
	int ends[2];

	fflush(NULL);
	if (pipe(ends))
		return -1;
	*child_ret = fork();
	if (*child_ret == 0) {
		close(ends[0]);
		read_and_send(path, ends[1], at);
	}
	close(ends[1]);
	if (*child_ret > 0)
		return ends[0];
	close(ends[0]);
	return -1;
}

/* Receive what a child sends of the trace at path, whose name is at v->at. */
static int read_by_child(struct receiving *v, const char *path, char *why,
			 size_t size)
{
	pid_t child = 0;
	int result;

	v->in = start(path, v->at, &child);
	if (v->in < 0) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		return -1;
	}
	result = receive_all(v, path, child, why, size);
	close(v->in);
	return result;
}

int ctf_read(const char *path, struct ctf_reader *reader, char *why,
	     size_t size)
{
	struct receiving *v = calloc(1, sizeof(*v));
	char *at = mmap(NULL, MAX_TEXT, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int result = -1;

	if (v && at != MAP_FAILED) {
		v->reader = reader;
		v->at = at;
		result = read_by_child(v, path, why, size);
	} else {
		snprintf(why, size, "%s: %s", path, strerror(errno));
	}
	if (at != MAP_FAILED)
		munmap(at, MAX_TEXT);
	free(v);
	return result;
}

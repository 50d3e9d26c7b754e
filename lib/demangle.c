// SPDX-License-Identifier: BSD-2-Clause
#include "demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "delegate.h"
#include "error.h"
#include "leftout.h"
#include "monotonic.h"
#include "reach.h"
#include "rustname.h"
#include "userefforts.h"

/*
 * Both manglings can refer back to what they have said, so that a short name
 * gives a text of exponential length.
 */
enum {
	MANGLED_MAX = 4096,
	TEXT_MAX = 16384,
};

/*
 * The demangler may also take exponential time and say nothing meanwhile: it looks
 * for the pack of an expansion in each part as often as the name refers to that
 * part, and counts a Rust binder's lifetimes, of any number, where it prints none.
 * So what may take long is demangled by a delegate that a timer stops.
 */
#define MOST_REFERENCES 16     /* of a name that is demangled right here */
#define MOST_LIFETIMES  64     /* of all its binders, likewise */
#define LATE_US         100000 /* of the CPU; for one name */

/*
 * Each reference may double the time: these are steps of some 5 ns as a rule, and of 70 ns
 * at most.  A name of few is demangled even if its user has no time left.  Names of
 * libraries take a microsecond or two.
 */
#define FEW_STEPS      256
#define FAIR_NS        5000
#define LIFETIME_STEPS 5
#define MOVED_A_STEP   16 /* characters */

#define MOST_COPIES 4096 /* of templates, of 16 bytes each on the stack */

/* A name of so many bytes is likely to take longer than what is fair. */
#define LONG_NAME 1024

/* Parts of a path in a Rust name that takes no more steps than its length. */
#define MOST_PARTS 20

#define BASE_62      \
	"0123456789" \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/*
 * Microseconds of the CPU for all names of a user's processes in a run, and that come
 * back each second.
 */
#define MOST_US     (16 * LATE_US)
#define US_A_SECOND 10000

static struct ow_userefforts efforts = OW_USEREFFORTS(MOST_US, US_A_SECOND);

struct text {
	char *buf; /* TEXT_MAX bytes */
	size_t len;
	uid_t uid; /* whose name it is */
	bool is_rust, is_full;
	bool is_refused;   /* nobody knows it, as there was no time */
	bool is_delegated; /* and the user was charged for that */
	jmp_buf too_long;
};

/*
 * Return true if the demangler may own memory while it says this: a Rust identifier in
 * Punycode, which has a character at least that is not ASCII.
 */
static bool may_own(const struct text *t, const char *s, size_t n)
{
	for (size_t i = 0; t->is_rust && i < n; i++)
		if ((unsigned char)s[i] >= 0x80)
			return true;
	return false;
}

/*
 * The demangler can't be told to stop, but it works on its stack: it can be left at any
 * call of this at which it owns nothing.
 */
static void append(const char *s, size_t n, void *opaque)
{
	struct text *t = opaque;

	t->is_full = t->is_full || n >= TEXT_MAX - t->len;
	if (!t->is_full) {
		memcpy(t->buf + t->len, s, n);
		t->len += n;
	} else if (!may_own(t, s, n)) {
		longjmp(t->too_long, 1);
	}
}

static bool demangle(struct text *t, const char *name)
{
	int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(t->too_long))
		return false;
	t->is_rust = name[1] == 'R';
	t->is_full = false;
	if (rust_demangle_callback(name, options, append, t))
		return !t->is_full;
	t->is_rust = t->is_full = false;
	t->len = 0;
	return cplus_demangle_v3_callback(name, options, append, t);
}

/* A name that a delegate demangles. */
struct job {
	struct text *text;
	const char *name;
	bool is_demangled;
	uint64_t us; /* of the CPU, that it took */
	sigjmp_buf late;
};

static __thread struct job *current;

static void stop_late(int number)
{
	(void)number;
	siglongjmp(current->late, 1);
}

/* Handlers, signals that are blocked, and timers are the delegate's own. */
static void set_timer(void)
{
	const struct sigaction stop = { .sa_handler = stop_late };
	const struct itimerval late = { .it_value = { .tv_usec = LATE_US } };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGVTALRM);
	sigaction(SIGVTALRM, &stop, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	setitimer(ITIMER_VIRTUAL, &late, NULL);
}

static void demangle_in_time(void *arg)
{
	const struct itimerval never = { .it_value = { .tv_sec = 0 } };
	struct job *job = arg;
	struct timespec took;

	current = job;
	if (!sigsetjmp(job->late, 1)) {
		set_timer();
		job->is_demangled = demangle(job->text, job->name);
	}
	setitimer(ITIMER_VIRTUAL, &never, NULL);
	if (!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &took))
		job->us = (uint64_t)took.tv_sec * 1000000 +
			  (uint64_t)took.tv_nsec / 1000;
}

/* Return true if the user has time for a name that may take long, or tell of it. */
static bool has_time(struct text *t)
{
	char whose[OW_PROCESSES_NAME], what[32 + sizeof(whose)];
	uid_t uid = t->uid;

	if (ow_userefforts_left(&efforts, ow_owner_of(uid).share))
		return true;
	t->is_refused = true;
	snprintf(what, sizeof(what), "demangled names%s%s", uid ? " of " : "",
		 uid ? ow_name_processes(uid, whose) : "");
	ow_leave_out(what, "those that may take long, after others took "
			   "too long");
	return false;
}

/*
 * A delegate that only computes is never given up on.  To start one takes longer than
 * usual names do.
 */
static bool demangle_delegated(struct text *t, const char *name)
{
	const struct ow_delegate_limits limits = { .call_ns = UINT64_MAX,
						   .until_ns = UINT64_MAX };
	struct job job = { .text = t, .name = name };
	enum ow_delegation end;
	uint64_t begun;

	if (!has_time(t))
		return false;
	t->is_delegated = true;
	begun = ow_cpu_ns();
	end = ow_delegate_run(demangle_in_time, &job, &limits, NULL);
	if (end == OW_DELEGATION_NONE)
		ow_reach_leave_out("demangled names that may take long", end);
	ow_userefforts_spend(&efforts, ow_owner_of(t->uid).share,
			     job.us + (ow_cpu_ns() - begun) / 1000);
	t->is_refused = end != OW_DELEGATION_DONE;
	return !t->is_refused && job.is_demangled;
}

/* Count what may be references to parts, and to arguments of templates. */
static size_t nr_references(const char *name)
{
	bool is_reference = false;
	size_t nr = 0;

	for (; *name; name++) {
		if (*name == 'S' || *name == 'T')
			is_reference = true;
		else if (!(*name >= '0' && *name <= '9') &&
			 !(*name >= 'A' && *name <= 'Z')) {
			nr += is_reference && *name == '_';
			is_reference = false;
		}
	}
	return nr;
}

/*
 * Return true if a path begins at p that has few parts and no references: a crate, or
 * what is in modules of one.
 */
static bool is_short_path(const char *p)
{
	unsigned int parts = 0;

	while (p[0] == 'N' && isalpha((unsigned char)p[1]) &&
	       ++parts < MOST_PARTS)
		p += 2;
	return *p == 'C';
}

/* A base-62 number and an underscore (Rust RFC 2603); what is none gives any number. */
static size_t read_base_62(const char *p)
{
	size_t value = 0;

	if (*p == '_')
		return 0;
	for (; *p && *p != '_' && value < MANGLED_MAX; p++)
		value = 62 * value + (isdigit((unsigned char)*p) ? *p - '0' :
				      *p >= 'a' ? *p - 'a' + 10 :
						  *p - 'A' + 36);
	return value + 1;
}

/*
 * Count what may be references of a Rust name: B, digits and an underscore.  One to a
 * short path does not double the time, but takes as many steps more, which are added.
 */
static size_t nr_rust_references(const char *name, size_t *steps)
{
	const char *path = name + strlen("_R"), *end = path + strlen(path);
	const char *digits_end = name;
	size_t nr = 0, at;

	for (name = path; *name; name++) {
		if (digits_end < name)
			digits_end = name + strspn(name, BASE_62);
		if (*name != 'B' || *digits_end != '_')
			continue;
		at = read_base_62(name + 1);
		if (at < (size_t)(end - path) && is_short_path(path + at))
			*steps += 2 * MOST_PARTS;
		else
			nr++;
	}
	return nr;
}

/* Lifetimes that there may be of functions and trait objects. */
static size_t nr_lifetimes(const char *name)
{
	size_t nr = 0;

	for (; *name; name++)
		if (*name == 'G' && (name[-1] == 'F' || name[-1] == 'D'))
			nr += read_base_62(name + 1);
	return nr;
}

/*
 * Each character of what may be an identifier in Punycode, of which there are at most size,
 * moves others.
 */
static size_t nr_punycode_steps(const char *name, size_t size)
{
	size_t steps = 0, length;

	for (; *name; name++) {
		if (*name != 'u' || !isdigit((unsigned char)name[1]))
			continue;
		length = strtoul(name + 1, NULL, 10);
		length = length < size ? length : size;
		steps += length * length / MOVED_A_STEP;
	}
	return steps;
}

/*
 * Return true if a pack of parameters may be expanded (Dp, sp) or counted (sZ): each of
 * its elements is looked for from its begin.
 */
static bool may_expand(const char *name)
{
	return strstr(name, "Dp") || strstr(name, "sp") || strstr(name, "sZ");
}

/*
 * Return true if the demangler may take much of the stack, which has 1 MiB in a delegate, for
 * a C++ name: it has room for two copies of each template (I, J) for each of two copies of each
 * reference (R, O) to a parameter of one (T), or to what may stand for that (S).
 */
static bool may_copy_many(const char *name)
{
	size_t templates = 0, references = 0;

	for (; *name; name++) {
		templates += *name == 'I' || *name == 'J';
		references += (*name == 'R' || *name == 'O') &&
			      (name[1] == 'T' || name[1] == 'S');
	}
	return 4 * templates * references > MOST_COPIES;
}

static bool demangle_safely(struct text *t, const char *name)
{
	size_t size = strlen(name), references, lifetimes = 0;
	bool is_rust = name[1] == 'R';
	size_t steps = !is_rust && may_expand(name) ? size * size : size;

	if (is_rust) {
		lifetimes = nr_lifetimes(name);
		steps += nr_punycode_steps(name, size) +
			 LIFETIME_STEPS * lifetimes;
	}
	if (!is_rust && may_copy_many(name))
		return false;
	references = is_rust ? nr_rust_references(name, &steps) :
			       nr_references(name);
	if (references <= MOST_REFERENCES && lifetimes <= MOST_LIFETIMES)
		return (steps << references < FEW_STEPS || has_time(t)) &&
		       demangle(t, name);
	/* Punycode takes memory, and what does may not be stopped at any time. */
	if (is_rust && ow_rustname_may_be_punycode(name))
		return false;
	return demangle_delegated(t, name);
}

/* The user has no more of the time that a name takes beyond what is fair. */
static bool demangle_charged(struct text *t, const char *name,
			     unsigned int times)
{
	uint64_t begun = ow_cpu_ns(), took;
	bool is_demangled = demangle_safely(t, name);

	took = ow_cpu_ns() - begun;
	if (!t->is_delegated && took > FAIR_NS)
		ow_userefforts_spend(&efforts, ow_owner_of(t->uid).share,
				     (times * took - FAIR_NS) / 1000);
	return is_demangled;
}

/*
 * The time of the CPU takes as long to ask for as a name takes.  So it is asked for where
 * more than what is fair went by, in which other threads may have run: the name is
 * demangled once more then.
 */
static bool demangle_timed(struct text *t, const char *name)
{
	size_t size = strlen(name);
	uint64_t begun;
	bool is_demangled;

	if (!ow_userefforts_left(&efforts, ow_owner_of(t->uid).share))
		return (size < FEW_STEPS || has_time(t)) &&
		       demangle_safely(t, name);
	if (size >= LONG_NAME)
		return demangle_charged(t, name, 1);
	begun = ow_now_ns();
	is_demangled = demangle_safely(t, name);
	if (t->is_delegated || ow_now_ns() - begun <= FAIR_NS)
		return is_demangled;
	t->len = 0;
	return demangle_charged(t, name, 2);
}

bool ow_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') &&
	       strnlen(name, MANGLED_MAX + 1) <= MANGLED_MAX;
}

int ow_demangle(const char *name, uid_t uid, char **ret)
{
	_cleanup_(ow_freep) struct text *t = NULL;
	_cleanup_(ow_freep) char *buf = NULL;

	*ret = NULL;
	if (!ow_is_mangled(name))
		return 0;
	t = calloc(1, sizeof(*t));
	buf = malloc(TEXT_MAX);
	if (!t || !buf)
		return -OW_CODE_MEMORY;
	t->buf = buf;
	t->uid = uid;
	if (!demangle_timed(t, name))
		return t->is_refused ? -OW_CODE_TIMEOUT : 0;
	*ret = strndup(buf, t->len);
	return *ret ? 0 : -OW_CODE_MEMORY;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces in the Common Trace Format, as LTTng writes or streams them. */
#ifndef OW_CTFREADER_H
#define OW_CTFREADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What events have of what is looked at, in their contexts or as fields. */
enum ctf_number {
	CTF_PID, /* of who the event happens to, as the kernel numbers them */
	CTF_TID,
	CTF_SUBJECT_PID, /* of whose mappings the event tells */
	CTF_PARENT_PID,
	CTF_BIRTH, /* with CTF_EXECS: of that process, and its program */
	CTF_EXECS,
	CTF_PARENT_BIRTH,
	CTF_NEXT_TID,
	CTF_NR, /* of a system call */
	CTF_POINT,
	CTF_REASON,
	CTF_RET,
	CTF_START,
	CTF_END,
	CTF_OFFSET,
	CTF_NR_NUMBERS
};

enum ctf_text {
	CTF_COMM,
	CTF_PATH,
	CTF_NR_TEXTS
};

enum ctf_list {
	CTF_USER_STACK, /* program counters, innermost first */
	CTF_BUILD_ID,
	CTF_NR_LISTS
};

#define CTF_MAX_LIST 4096 /* what is more in a list is left out */

struct ctf_event {
	const char *name, *host; /* borrowed, as all below; host may be "" */
	uint64_t time;           /* nanoseconds since 1970 */
	uint32_t has;            /* bit n: numbers[n] */
	int64_t numbers[CTF_NR_NUMBERS];
	const char *texts[CTF_NR_TEXTS]; /* NULL: there is none */
	bool has_list[CTF_NR_LISTS];
	size_t nr[CTF_NR_LISTS];
	uint64_t lists[CTF_NR_LISTS][CTF_MAX_LIST];
};

static inline bool ctf_has(const struct ctf_event *e, enum ctf_number n)
{
	return e->has & (1u << n);
}

struct ctf_reader {
	void (*event)(void *arg, const struct ctf_event *e);
	/*
	 * Some time from begin until end, as an event's time is, events were lost that
	 * may have told of mappings.  It comes before events that are later than begin.
	 */
	void (*loss)(void *arg, uint64_t begin, uint64_t end);
	void *arg;
	bool (*stop)(void *arg); /* asked now and then, where it isn't NULL */
	/* Out: how many there were; weren't recorded. */
	uint64_t events, lost;
	/* Out, left out as any program could have made them: traces of user space, and
	   events of those that were read. */
	uint64_t user_traces, user_events;
};

/* Is it a trace's folder, or where one is streamed from? */
bool ctf_is_trace(const char *path);
bool ctf_is_live(const char *path);

/*
 * Read all events of the kernel in the order of time: of every trace below a folder, or of a
 * session "net://HOST/host/NAME/SESSION" until it ends.  0, or -1 with one line in
 * why, of size bytes; events before what is wrong have been handed over then.
 */
int ctf_read(const char *path, struct ctf_reader *r, char *why, size_t size);

#endif /* OW_CTFREADER_H */

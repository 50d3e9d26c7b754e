/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of a trace's events: what is known of each, and their names. */
#ifndef OW_TRACESTACK_H
#define OW_TRACESTACK_H

#include <outwind/outwind.h>

#include "stackview.h"
#include "tracemaps.h"

/* An event with a stack, kept until what it began ends. */
struct trace_stack {
	char label[64]; /* the event, by the system call or point if it has one */
	char comm[17];
	const char *host; /* borrowed from the maps */
	int64_t pid, tid; /* -1: not known */
	uint64_t time;
	enum ow_end end; /* OW_END_NOT_YET: the event doesn't say */
	size_t nr;
	struct trace_place *places; /* innermost first */
	uint64_t *pcs;
};

/*
 * Take the stack of an event, if it has one: false if not, or when out of memory.
 * The caller frees it.
 */
bool trace_stack_take(struct trace_stack *s, struct tracemaps *maps,
		      const struct ctf_event *e);
void trace_stack_free(struct trace_stack *s);

/* A number of the process that it is of, on its host. */
uint64_t trace_stack_owner(const struct trace_stack *s);

/* What the event is called; buf holds 64 bytes. */
void trace_label(const struct ctf_event *e, char *buf);

/* What enum ow_frame_flags says of frame i; it opens the object, and that before it. */
unsigned int trace_stack_flags(const struct trace_stack *s,
			       const struct tracemaps *maps, size_t i);

/* Names of frame i. */
size_t trace_stack_name(const struct trace_stack *s,
			const struct tracemaps *maps, size_t i,
			struct ow_name *names, size_t max);

#endif /* OW_TRACESTACK_H */

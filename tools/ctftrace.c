// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each trace has a graph of libbabeltrace2 of its own: a source, the muxer of its
 * streams, and a sink of ours.  So the others are read to their ends where one fails.
 */
#include "ctftrace.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctffields.h"
#include "ctffolder.h"
#include "ctflibrary.h"
#include "ctfmetadata.h"

#define MAX_TRACES 256
#define MAX_DEPTH  16
#define NAP_US     100000 /* before a live session is asked again */

#define STAT_BLOCK 512 /* bytes: stat(2), st_blocks */
#define SMALL_FILE 65536

/* An event, or a loss, that waits for those of other traces that were earlier. */
struct held {
	const bt_message *message;
	uint64_t time;
	uint64_t end; /* of a loss */
};

/* A trace, or a session that is streamed. */
struct source {
	char *name; /* that it is known by */
	struct reading *reading;
	struct ctf_folder folder;
	bt_graph *graph;
	const bt_component_filter *muxer;
	struct held *held; /* those from at on, in the order of time */
	size_t at, nr, room;
	uint64_t messages, most; /* so many came; may come */
	uint64_t newest;         /* time of the last event held */
	bool is_over;
};

struct reading {
	const bt_plugin *ctf, *utils;
	struct source sources[MAX_TRACES];
	size_t nr_sources;
	size_t nr_failed;
	struct ctf_reader *reader;
	const struct ctf_watch *watch;
	char *why; /* of size bytes: what was wrong with the first that failed */
	size_t size;
	struct ctf_event event;
};

/* --- the sink --- */

static bt_graph_simple_sink_component_initialize_func_status
sink_begin(bt_message_iterator *it, void *data)
{
	(void)it;
	(void)data;
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static uint64_t ns_of(const bt_clock_snapshot *clock)
{
	int64_t ns = 0;

	if (bt_clock_snapshot_get_ns_from_origin(clock, &ns))
		bt_current_thread_clear_error();
	return ns > 0 ? (uint64_t)ns : 0;
}

static uint64_t time_of(const bt_message *m)
{
	const bt_stream_class *class =
		bt_stream_borrow_class_const(bt_event_borrow_stream_const(
			bt_message_event_borrow_event_const(m)));

	if (!bt_stream_class_borrow_default_clock_class_const(class))
		return 0;
	return ns_of(bt_message_event_borrow_default_clock_snapshot_const(m));
}

/* Set when discarded events were, if their stream tells. */
static void time_lost_events(struct held *h, const bt_stream_class *class)
{
	if (!bt_stream_class_discarded_events_have_default_clock_snapshots(
		    class))
		return;
	h->time = ns_of(
		bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(
			h->message));
	h->end = ns_of(
		bt_message_discarded_events_borrow_end_default_clock_snapshot_const(
			h->message));
}

static void time_lost_packets(struct held *h, const bt_stream_class *class)
{
	if (!bt_stream_class_discarded_packets_have_default_clock_snapshots(
		    class))
		return;
	h->time = ns_of(
		bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(
			h->message));
	h->end = ns_of(
		bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(
			h->message));
}

/* Return false if there is no memory for more. */
static bool make_room(struct source *s, size_t nr)
{
	struct held *held;

	if (s->at == s->nr)
		s->at = s->nr = 0;
	if (nr <= s->room - s->nr)
		return true;
	held = realloc(s->held, (s->nr + nr) * sizeof(*held));
	if (!held)
		return false;
	s->held = held;
	s->room = s->nr + nr;
	return true;
}

static void count_lost(struct source *s, const bt_message *m)
{
	uint64_t lost = 0;

	if (bt_message_discarded_events_get_count(m, &lost) ==
	    BT_PROPERTY_AVAILABILITY_AVAILABLE)
		s->reading->reader->lost += lost;
}

/* Hold a loss of events or packets, if it may be one of what tells of mappings. */
static void
hold_loss(struct source *s, const bt_message *m, const bt_stream *stream,
	  void (*set_times)(struct held *h, const bt_stream_class *class))
{
	struct held h = { m, s->newest, s->newest };

	if (!ctf_fields_are_kernels(stream) || !ctf_fields_tell_maps(stream)) {
		bt_message_put_ref(m);
		return;
	}
	set_times(&h, bt_stream_borrow_class_const(stream));
	s->held[s->nr++] = h;
}

static void take_message(struct source *s, const bt_message *m)
{
	switch (bt_message_get_type(m)) {
	case BT_MESSAGE_TYPE_EVENT:
		s->newest = time_of(m);
		s->held[s->nr++] = (struct held){ m, s->newest, 0 };
		return;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		count_lost(s, m);
		hold_loss(s, m,
			  bt_message_discarded_events_borrow_stream_const(m),
			  time_lost_events);
		return;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		hold_loss(s, m,
			  bt_message_discarded_packets_borrow_stream_const(m),
			  time_lost_packets);
		return;
	default: bt_message_put_ref(m); return;
	}
}

static bt_graph_simple_sink_component_consume_func_status
sink_consume(bt_message_iterator *it, void *data)
{
	bt_message_array_const messages;
	struct source *s = data;
	uint64_t nr, i;
	bool has_room;

	switch (bt_message_iterator_next(it, &messages, &nr)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK: break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_MEMORY_ERROR:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_MEMORY_ERROR;
	default:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	}
	has_room = make_room(s, nr);
	for (i = 0; i < nr; i++) {
		if (s->messages++ < s->most && has_room)
			take_message(s, messages[i]);
		else
			bt_message_put_ref(messages[i]);
	}
	if (!has_room)
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_MEMORY_ERROR;
	return s->messages <= s->most ?
		       BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK :
		       BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
}

/* --- the graph --- */

static bool find_plugins(struct reading *r)
{
	if (bt_plugin_find("ctf", 1, 0, 1, 1, 0, &r->ctf) ||
	    bt_plugin_find("utils", 1, 0, 1, 1, 0, &r->utils)) {
		snprintf(r->why, r->size,
			 "babeltrace2's plugins ctf and utils are "
			 "not there");
		return false;
	}
	return true;
}

/* {inputs: [path]}, and what a live session needs beside. */
static bt_value *make_params(const char *path, bool live)
{
	bt_value *params = bt_value_map_create(), *inputs = NULL;
	bool well = params &&
		    bt_value_map_insert_empty_array_entry(params, "inputs",
							  &inputs) == 0 &&
		    bt_value_array_append_string_element(inputs, path) == 0;

	if (well && live)
		well = bt_value_map_insert_string_entry(
			       params, "session-not-found-action", "fail") == 0;
	if (well)
		return params;
	bt_value_put_ref(params);
	return NULL;
}

static bool connect_all(struct source *s, const bt_component_source *source)
{
	uint64_t i, nr = bt_component_source_get_output_port_count(source);
	const bt_port_output *from;
	const bt_port_input *to;

	for (i = 0; i < nr; i++) {
		from = bt_component_source_borrow_output_port_by_index_const(
			source, i);
		to = bt_component_filter_borrow_input_port_by_index_const(
			s->muxer, i);
		if (bt_graph_connect_ports(s->graph, from, to, NULL))
			return false;
	}
	return true;
}

/* path: of a folder's, or a session's. */
static bool add_source(struct source *s, const char *path, bool live)
{
	const bt_component_class_source *class =
		bt_plugin_borrow_source_component_class_by_name_const(
			s->reading->ctf, live ? "lttng-live" : "fs");
	bt_value *params = make_params(path, live);
	const bt_component_source *source;
	bool well;

	well = class && params &&
	       bt_graph_add_source_component(s->graph, class, "source", params,
					     BT_LOGGING_LEVEL_NONE,
					     &source) == 0 &&
	       connect_all(s, source);
	bt_value_put_ref(params);
	return well;
}

static bool build(struct source *s)
{
	const bt_component_class_filter *class =
		bt_plugin_borrow_filter_component_class_by_name_const(
			s->reading->utils, "muxer");
	const bt_component_sink *sink;

	s->graph = bt_graph_create(0);
	return s->graph && class &&
	       bt_graph_add_filter_component(s->graph, class, "muxer", NULL,
					     BT_LOGGING_LEVEL_NONE,
					     &s->muxer) == 0 &&
	       bt_graph_add_simple_sink_component(s->graph, "sink", sink_begin,
						  sink_consume, NULL, s,
						  &sink) == 0 &&
	       bt_graph_connect_ports(
		       s->graph,
		       bt_component_filter_borrow_output_port_by_index_const(
			       s->muxer, 0),
		       bt_component_sink_borrow_input_port_by_index_const(sink,
									  0),
		       NULL) == 0;
}

static struct source *new_source(struct reading *r, const char *name)
{
	struct source *s = &r->sources[r->nr_sources++];

	s->reading = r;
	s->name = strdup(name);
	s->folder.mount = -1;
	s->most = UINT64_MAX;
	r->watch->begin(r->reader->arg, name);
	return s;
}

static void free_source(struct source *s)
{
	while (s->at < s->nr)
		bt_message_put_ref(s->held[s->at++].message);
	bt_graph_put_ref(s->graph);
	ctf_folder_close(&s->folder);
	free(s->held);
	free(s->name);
}

/* --- what goes wrong --- */

/* The first cause, which is what was wrong with the trace, in one line. */
static void explain(const struct source *s, char *why, size_t size)
{
	const bt_error *err = bt_current_thread_take_error();
	const char *text = "it can't be read";
	char *c;

	if (err && bt_error_get_cause_count(err))
		text = bt_error_cause_get_message(
			bt_error_borrow_cause_by_index(err, 0));
	if (s->messages > s->most)
		text = "more events than its files can have";
	snprintf(why, size, "%s: %s", s->name ? s->name : "", text);
	for (c = why; *c; c++)
		if (*c == '\n')
			*c = ' ';
	if (err)
		bt_error_release(err);
}

/* No more comes from there.  why: or "", where the library says it. */
static void fail(struct source *s, const char *why)
{
	struct reading *r = s->reading;

	if (r->nr_failed++ == 0 && *why)
		snprintf(r->why, r->size, "%s", why);
	else if (r->nr_failed == 1)
		explain(s, r->why, r->size);
	bt_current_thread_clear_error();
	s->is_over = true;
}

static void count_failed(const struct reading *r)
{
	size_t used = strlen(r->why);

	if (r->nr_failed > 1)
		snprintf(r->why + used, r->size - used,
			 "; %zu more can't be read", r->nr_failed - 1);
}

/* --- traces below a folder --- */

static char *found[MAX_TRACES];
static size_t nr_found;
static uint64_t bytes_found; /* of all files of one */

/*
 * The bytes of a file, of which a hole has none.  A small file may be stored
 * without blocks.
 */
static uint64_t bytes_of(const char *path)
{
	struct stat st;
	uint64_t stored, size;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	stored = (uint64_t)st.st_blocks * STAT_BLOCK + SMALL_FILE;
	size = (uint64_t)st.st_size;
	return size < stored ? size : stored;
}

static int look(const char *path, const struct stat *st, int what,
		struct FTW *at)
{
	(void)st;
	if (what != FTW_F || strcmp(path + at->base, "metadata") != 0)
		return at->level > MAX_DEPTH ? 1 : 0;
	if (nr_found == MAX_TRACES)
		return 1;
	found[nr_found] = strndup(path, at->base ? (size_t)at->base - 1 : 0);
	nr_found += found[nr_found] != NULL;
	return 0;
}

static int add_bytes(const char *path, const struct stat *st, int what,
		     struct FTW *at)
{
	(void)st;
	if (what == FTW_F || what == FTW_SL)
		bytes_found += bytes_of(path);
	return at->level > MAX_DEPTH ? 1 : 0;
}

/*
 * A message takes many bytes, also where a file system stores fewer; a bit is what any
 * has to take, or there is no end of them.
 */
static uint64_t most_messages(const char *path)
{
	bytes_found = 0;
	nftw(path, add_bytes, 16, FTW_PHYS);
	return 8 * bytes_found;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What a user's programs may have made isn't given to the library at all. */
static void add_trace(struct reading *r, const char *path)
{
	struct source *s = new_source(r, path);
	char why[4096] = "";

	if (!ctf_folder_open(&s->folder, path, why, sizeof(why))) {
		fail(s, why);
		return;
	}
	if (ctf_metadata_is_users(s->folder.path)) {
		r->reader->user_traces++;
		s->is_over = true;
		return;
	}
	s->most = most_messages(path);
	if (!ctf_metadata_check(s->folder.path, path, why, sizeof(why)) ||
	    !build(s) || !add_source(s, s->folder.path, false))
		fail(s, why);
}

static void add_folder(struct reading *r, const char *path)
{
	bool is_cut;
	size_t i;

	nr_found = 0;
	is_cut = nftw(path, look, 16, FTW_PHYS) > 0;
	qsort(found, nr_found, sizeof(found[0]), by_name);
	if (is_cut || nr_found == 0) {
		r->nr_failed++;
		snprintf(r->why, r->size,
			 is_cut ? "%s: more than %d traces, or folders in %d "
				  "others: not all are read" :
				  "%s: no trace: there is no metadata below",
			 path, MAX_TRACES, MAX_DEPTH);
	}
	for (i = 0; i < nr_found; i++) {
		add_trace(r, found[i]);
		free(found[i]);
	}
}

static void add_session(struct reading *r, const char *path)
{
	struct source *s = new_source(r, path);

	if (!build(s) || !add_source(s, path, true))
		fail(s, "");
}

/* --- running --- */

static bool is_to_stop(const struct reading *r)
{
	return r->reader->stop && r->reader->stop(r->reader->arg);
}

/* Have the next event of a trace, unless it is over. */
static void fill(struct source *s)
{
	struct reading *r = s->reading;
	bt_graph_run_once_status status;

	while (!s->is_over && s->at == s->nr && !is_to_stop(r)) {
		r->watch->begin(r->reader->arg, s->name ? s->name : "");
		status = bt_graph_run_once(s->graph);
		r->watch->done(r->reader->arg,
			       status == BT_GRAPH_RUN_ONCE_STATUS_AGAIN);
		if (status == BT_GRAPH_RUN_ONCE_STATUS_END)
			s->is_over = true;
		else if (status == BT_GRAPH_RUN_ONCE_STATUS_AGAIN)
			usleep(NAP_US);
		else if (status != BT_GRAPH_RUN_ONCE_STATUS_OK)
			fail(s, "");
	}
}

/* Of which the next event is; NULL: of none. */
static struct source *earliest(struct reading *r)
{
	struct source *s, *ret = NULL;
	size_t i;

	for (i = 0; i < r->nr_sources; i++) {
		s = &r->sources[i];
		if (s->at < s->nr &&
		    (!ret || s->held[s->at].time < ret->held[ret->at].time))
			ret = s;
	}
	return ret;
}

static void hand_over_event(struct reading *r, const struct held *h)
{
	const bt_event *event = bt_message_event_borrow_event_const(h->message);

	if (ctf_fields_are_kernels(bt_event_borrow_stream_const(event))) {
		r->event.time = h->time;
		ctf_fields_take(event, &r->event);
		r->reader->events++;
		r->reader->event(r->reader->arg, &r->event);
	} else {
		r->reader->user_events++;
	}
}

static void hand_over(struct reading *r, const struct held *h)
{
	if (bt_message_get_type(h->message) == BT_MESSAGE_TYPE_EVENT)
		hand_over_event(r, h);
	else
		r->reader->loss(r->reader->arg, h->time, h->end);
	bt_message_put_ref(h->message);
}

static void run(struct reading *r)
{
	struct source *s;
	size_t i;

	for (i = 0; i < r->nr_sources; i++)
		fill(&r->sources[i]);
	while (!is_to_stop(r) && (s = earliest(r)) != NULL) {
		hand_over(r, &s->held[s->at++]);
		fill(s);
	}
}

static void read_path(struct reading *r, const char *path)
{
	size_t i;

	if (!find_plugins(r)) {
		r->nr_failed++;
	} else {
		if (ctf_is_live(path))
			add_session(r, path);
		else
			add_folder(r, path);
		run(r);
	}
	for (i = 0; i < r->nr_sources; i++)
		free_source(&r->sources[i]);
	bt_plugin_put_ref(r->ctf);
	bt_plugin_put_ref(r->utils);
	count_failed(r);
}

int ctf_trace_read(const char *path, struct ctf_reader *reader,
		   const struct ctf_watch *watch, char *why, size_t size)
{
	struct reading *r = calloc(1, sizeof(*r));
	bool well = false;

	snprintf(why, size, "out of memory");
	if (r && ctf_library_load(why, size)) {
		r->reader = reader;
		r->watch = watch;
		r->why = why;
		r->size = size;
		reader->events = reader->lost = 0;
		reader->user_traces = reader->user_events = 0;
		*why = '\0';
		read_path(r, path);
		well = r->nr_failed == 0;
	}
	free(r);
	return well ? 0 : -1;
}

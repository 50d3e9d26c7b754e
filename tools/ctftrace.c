// SPDX-License-Identifier: BSD-2-Clause
/* A graph of libbabeltrace2: sources, the muxer, and a sink of our own. */
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

struct graph {
	bt_graph *graph;
	const bt_plugin *ctf, *utils;
	const bt_component_filter *muxer;
	uint64_t inputs; /* of the muxer, in use */
	struct ctf_folder folders[MAX_TRACES];
	size_t nr_folders;
	struct ctf_reader *reader;
	uint64_t messages, most; /* so many came; may come */
	void (*step)(void *arg, bool idle);
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

static void take_event(struct graph *g, const bt_message *m)
{
	const bt_event *event = bt_message_event_borrow_event_const(m);
	const bt_stream_class *class = bt_stream_borrow_class_const(
		bt_event_borrow_stream_const(event));
	const bt_clock_snapshot *clock;
	int64_t ns = 0;

	if (!ctf_fields_are_kernels(event)) {
		g->reader->user_events++;
		return;
	}
	if (bt_stream_class_borrow_default_clock_class_const(class)) {
		clock = bt_message_event_borrow_default_clock_snapshot_const(m);
		if (bt_clock_snapshot_get_ns_from_origin(clock, &ns))
			bt_current_thread_clear_error();
	}
	g->event.time = ns > 0 ? (uint64_t)ns : 0;
	ctf_fields_take(event, &g->event);
	g->reader->events++;
	g->reader->event(g->reader->arg, &g->event);
}

static void take_message(struct graph *g, const bt_message *m)
{
	uint64_t lost;

	switch (bt_message_get_type(m)) {
	case BT_MESSAGE_TYPE_EVENT: take_event(g, m); break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		lost = 0;
		if (bt_message_discarded_events_get_count(m, &lost) ==
		    BT_PROPERTY_AVAILABILITY_AVAILABLE)
			g->reader->lost += lost;
		break;
	default: break;
	}
}

static bt_graph_simple_sink_component_consume_func_status
sink_consume(bt_message_iterator *it, void *data)
{
	bt_message_array_const messages;
	struct graph *g = data;
	uint64_t nr, i;

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
	for (i = 0; i < nr; i++) {
		if (g->messages++ < g->most)
			take_message(g, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return g->messages <= g->most ?
		       BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK :
		       BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
}

/* --- the graph --- */

static bool find_plugins(struct graph *g, char *why, size_t size)
{
	if (bt_plugin_find("ctf", 1, 0, 1, 1, 0, &g->ctf) ||
	    bt_plugin_find("utils", 1, 0, 1, 1, 0, &g->utils)) {
		snprintf(why, size,
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

static bool connect_all(struct graph *g, const bt_component_source *source)
{
	uint64_t i, nr = bt_component_source_get_output_port_count(source);
	const bt_port_output *from;
	const bt_port_input *to;

	for (i = 0; i < nr; i++) {
		from = bt_component_source_borrow_output_port_by_index_const(
			source, i);
		to = bt_component_filter_borrow_input_port_by_index_const(
			g->muxer, g->inputs++);
		if (bt_graph_connect_ports(g->graph, from, to, NULL))
			return false;
	}
	return true;
}

static bool add_source(struct graph *g, const char *path, bool live)
{
	const bt_component_class_source *class =
		bt_plugin_borrow_source_component_class_by_name_const(
			g->ctf, live ? "lttng-live" : "fs");
	bt_value *params = make_params(path, live);
	const bt_component_source *source;
	char name[32];
	bool well;

	snprintf(name, sizeof(name), "source%u", (unsigned int)g->inputs);
	well = class && params &&
	       bt_graph_add_source_component(g->graph, class, name, params,
					     BT_LOGGING_LEVEL_NONE,
					     &source) == 0 &&
	       connect_all(g, source);
	bt_value_put_ref(params);
	return well;
}

static bool build(struct graph *g)
{
	const bt_component_class_filter *class =
		bt_plugin_borrow_filter_component_class_by_name_const(g->utils,
								      "muxer");
	const bt_component_sink *sink;

	g->graph = bt_graph_create(0);
	return g->graph && class &&
	       bt_graph_add_filter_component(g->graph, class, "muxer", NULL,
					     BT_LOGGING_LEVEL_NONE,
					     &g->muxer) == 0 &&
	       bt_graph_add_simple_sink_component(g->graph, "sink", sink_begin,
						  sink_consume, NULL, g,
						  &sink) == 0 &&
	       bt_graph_connect_ports(
		       g->graph,
		       bt_component_filter_borrow_output_port_by_index_const(
			       g->muxer, 0),
		       bt_component_sink_borrow_input_port_by_index_const(sink,
									  0),
		       NULL) == 0;
}

/* --- traces below a folder --- */

static char *found[MAX_TRACES];
static size_t nr_found;
static uint64_t bytes_found; /* of all files there */

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
	if (what == FTW_F || what == FTW_SL)
		bytes_found += bytes_of(path);
	if (what != FTW_F || strcmp(path + at->base, "metadata") != 0)
		return at->level > MAX_DEPTH ? 1 : 0;
	if (nr_found == MAX_TRACES)
		return 1;
	found[nr_found] = strndup(path, at->base ? (size_t)at->base - 1 : 0);
	nr_found += found[nr_found] != NULL;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What a user's programs may have made isn't given to the library at all. */
static bool add_trace(struct graph *g, const char *path, char *why, size_t size)
{
	struct ctf_folder *f = &g->folders[g->nr_folders++];

	if (!ctf_folder_open(f, path, why, size))
		return false;
	if (ctf_metadata_is_users(f->path)) {
		g->reader->user_traces++;
		return true;
	}
	return ctf_metadata_check(f->path, path, why, size) &&
	       add_source(g, f->path, false);
}

static bool add_folder(struct graph *g, const char *path, char *why,
		       size_t size)
{
	bool well = true;
	size_t i;

	nr_found = 0;
	bytes_found = 0;
	nftw(path, look, 16, FTW_PHYS);
	qsort(found, nr_found, sizeof(found[0]), by_name);
	/* A message takes many bytes, also where a file system stores fewer;
	   a bit is what any has to take, or there is no end of them. */
	g->most = 8 * bytes_found;
	if (nr_found == 0)
		snprintf(why, size, "%s: no trace: there is no metadata below",
			 path);
	for (i = 0; i < nr_found; i++) {
		well = well && add_trace(g, found[i], why, size);
		free(found[i]);
	}
	return well && nr_found;
}

/* --- running --- */

/* The first cause, which is what was wrong with the trace, in one line. */
static void explain(const char *path, char *why, size_t size)
{
	const bt_error *err = bt_current_thread_take_error();
	const char *text = "it can't be read";
	char *c;

	if (err && bt_error_get_cause_count(err))
		text = bt_error_cause_get_message(
			bt_error_borrow_cause_by_index(err, 0));
	snprintf(why, size, "%s: %s", path, text);
	for (c = why; *c; c++)
		if (*c == '\n')
			*c = ' ';
	if (err)
		bt_error_release(err);
}

static bool run(struct graph *g)
{
	const struct ctf_reader *r = g->reader;
	bt_graph_run_once_status status;

	while (g->inputs > 0) {
		if (r->stop && r->stop(r->arg))
			return true;
		status = bt_graph_run_once(g->graph);
		g->step(r->arg, status == BT_GRAPH_RUN_ONCE_STATUS_AGAIN);
		if (status == BT_GRAPH_RUN_ONCE_STATUS_END)
			return true;
		if (status == BT_GRAPH_RUN_ONCE_STATUS_AGAIN)
			usleep(NAP_US);
		else if (status != BT_GRAPH_RUN_ONCE_STATUS_OK)
			return false;
	}
	return true;
}

int ctf_trace_read(const char *path, struct ctf_reader *r,
		   void (*step)(void *arg, bool idle), char *why, size_t size)
{
	struct graph *g = calloc(1, sizeof(*g));
	bool live = ctf_is_live(path), well = false;

	snprintf(why, size, "out of memory");
	if (!g || !ctf_library_load(why, size)) {
		free(g);
		return -1;
	}
	g->reader = r;
	g->step = step;
	g->most = UINT64_MAX;
	r->events = r->lost = r->user_traces = r->user_events = 0;
	*why = '\0';
	if (find_plugins(g, why, size))
		well = build(g) &&
		       (live ? add_source(g, path, true) :
			       add_folder(g, path, why, size)) &&
		       run(g);
	if (g->messages > g->most)
		snprintf(why, size, "%s: more events than its files can have",
			 path);
	else if (!well && !*why)
		explain(path, why, size);
	bt_graph_put_ref(g->graph);
	bt_plugin_put_ref(g->ctf);
	bt_plugin_put_ref(g->utils);
	while (g->nr_folders > 0)
		ctf_folder_close(&g->folders[--g->nr_folders]);
	free(g);
	return well ? 0 : -1;
}

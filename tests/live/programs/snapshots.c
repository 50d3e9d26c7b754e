/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All that the library tells of a process's threads, again and again, a line
 * of JSON each time: snapshots WAY COUNT PID [STACK SIZE].
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/outwind.h>

#define MOST_FRAMES 4096

static const char *const ways[] = {
	[OW_STOPPING_ALL] = "all",
	[OW_STOPPING_EACH] = "one-at-a-time",
	[OW_STOPPING_GENTLE] = "gentle",
	[OW_STOPPING_NEVER] = "no-stop",
};

#define NR_WAYS (sizeof(ways) / sizeof(ways[0]))

static const char *truth(bool b)
{
	return b ? "true" : "false";
}

static void print_thread(struct ow_capture *c, size_t i)
{
	static struct ow_frame frames[MOST_FRAMES];
	const struct ow_thread *t = ow_capture_thread(c, i);
	enum ow_end end = OW_END_OUTERMOST;
	struct ow_error err = { 0 };
	size_t nr = 0, k;

	if (t->captured)
		nr = ow_capture_walk(c, i, frames, MOST_FRAMES, &end, &err);
	printf("%s{\"tid\": %d, \"state\": \"%c\", \"captured\": %s, "
	       "\"stopped\": %s, \"certain\": %s, \"why\": \"%s\", "
	       "\"end\": \"%s\", \"detail\": \"%s\", \"frames\": [",
	       i ? ", " : "", t->tid, t->state, truth(t->captured),
	       truth(t->stopped), truth(t->certain),
	       t->captured ? "" : t->why.msg,
	       end == OW_END_OUTERMOST ? "" : ow_end_text(end),
	       end == OW_END_OUTERMOST ? "" : err.msg);
	for (k = 0; k < nr; k++)
		printf("%s[%llu, %llu]", k ? ", " : "",
		       (unsigned long long)frames[k].pc,
		       (unsigned long long)frames[k].sp);
	fputs("]}", stdout);
}

static void take(pid_t pid, const struct ow_capture_options *options)
{
	struct ow_error err = { 0 };
	struct ow_capture *c = ow_capture_process(pid, options, &err);
	struct ow_capture_stats stats = { 0 };
	size_t i;

	if (c)
		ow_capture_stats(c, &stats);
	printf("{\"error\": \"%s\", \"stopped\": %u, \"copied\": %llu, "
	       "\"threads\": [",
	       c ? "" : err.msg, stats.stopped,
	       (unsigned long long)stats.bytes_copied);
	for (i = 0; c && i < ow_capture_nr_threads(c); i++)
		print_thread(c, i);
	puts("]}");
	ow_capture_destroy(c);
}

int main(int argc, char **argv)
{
	struct ow_capture_options options = { 0 };
	size_t way = 0;
	long i;

	if (argc < 4)
		return 64;
	while (way < NR_WAYS && strcmp(argv[1], ways[way]) != 0)
		way++;
	if (way == NR_WAYS)
		return 64;
	options.stopping = (enum ow_stopping)way;
	options.stack_size = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
	for (i = 0; i < atol(argv[2]); i++)
		take(atoi(argv[3]), &options);
	return 0;
}

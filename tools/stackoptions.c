// SPDX-License-Identifier: BSD-2-Clause
#include "stackoptions.h"

#include <limits.h>
#include <stdio.h>

#include "commands.h"

#define MOST_FRAMES 1000000
#define MOST_MS     1000000000
#define HELP_AT     26 /* column of the words */
#define FORMATS     "text, json, folded, gdb, eu, tbstack or outwind (text)"

#define IN_REQUEST(field) offsetof(struct stack_request, field)

static bool take_format(struct stack_request *r, const char *text)
{
	r->writer = ow_view_writer_find(text);
	if (!r->writer)
		complain("no format '%s': " FORMATS, text);
	return r->writer != NULL;
}

static bool take_json(struct stack_request *r, const char *text)
{
	(void)text;
	r->writer = &ow_json_writer;
	return true;
}

static bool take_max_frames(struct stack_request *r, const char *text)
{
	unsigned long n;

	if (!parse_number(text, 0, MOST_FRAMES, &n)) {
		complain("-n %s: not a number of frames", text);
		return false;
	}
	r->limited = n != 0;
	r->max_frames = n ? n : MOST_FRAMES;
	return true;
}

static bool take_stack_size(struct stack_request *r, const char *text)
{
	unsigned long n;

	if (!parse_number(text, 1, 1UL << 40, &n)) {
		complain("--stack-size %s: not a number of bytes", text);
		return false;
	}
	r->options.stack_size = n;
	return true;
}

static bool take_limit(struct stack_request *r, const char *text)
{
	(void)r;
	return take_memory_limit(text);
}

static bool take_stop_timeout(struct stack_request *r, const char *text)
{
	unsigned long ms;

	if (!parse_number(text, 0, MOST_MS, &ms)) {
		complain("--stop-timeout %s: not a number of milliseconds",
			 text);
		return false;
	}
	r->options.stop_timeout_ms = ms ? ms : UINT_MAX;
	return true;
}

static bool take_read_timeout(struct stack_request *r, const char *text)
{
	unsigned long ms;

	if (!parse_number(text, 1, MOST_MS, &ms)) {
		complain("--read-timeout %s: not a number of milliseconds",
			 text);
		return false;
	}
	r->options.read_timeout_ms = (unsigned int)ms;
	return true;
}

static bool take_freeze_limit(struct stack_request *r, const char *text)
{
	unsigned long ms;

	if (!parse_number(text, 1, MOST_MS, &ms)) {
		complain("--freeze-limit %s: not a number of milliseconds",
			 text);
		return false;
	}
	r->options.freeze_limit_ms = (unsigned int)ms;
	return true;
}

static bool take_proc_mem(struct stack_request *r, const char *text)
{
	(void)text;
	r->options.reading = OW_READING_FILE;
	return true;
}

static bool take_no_tables(struct stack_request *r, const char *text)
{
	(void)text;
	r->options.use_tables = false;
	return true;
}

static bool take_target(struct stack_request *r, const char *text)
{
	if (r->target) {
		complain("one target at a time");
		return false;
	}
	r->target = text;
	return true;
}

static bool take_core(struct stack_request *r, const char *text)
{
	r->is_core = true;
	return take_target(r, text);
}

static bool take_pid(struct stack_request *r, const char *text)
{
	r->is_process = true;
	return take_target(r, text);
}

static bool take_image(struct stack_request *r, const char *text)
{
	return xen_request_image(&r->xen, text);
}

static bool take_unwinding(struct stack_request *r, const char *text)
{
	return xen_request_unwinding(&r->xen, text);
}

/* In the order of the help. */
const struct stack_option stack_options[] = {
	{ '1', NULL, NULL,
	  "only the thread whose id is PID; of a core, the first",
	  .flag = IN_REQUEST(one_thread), .showing = OW_VIEW_ONE },
	{ 'a', "activation-args", .showing = OW_VIEW_ACTIVATIONS },
	{ 0, "activation", NULL, "\"- 1\" beside return addresses",
	  .showing = OW_VIEW_ACTIVATIONS },
	{ 'b', "build-id", NULL, "build-ids and addresses within objects",
	  .showing = OW_VIEW_BUILD_IDS },
	{ 'e', "executable", "FILE", "the program, if a core doesn't tell",
	  .text = IN_REQUEST(exe) },
	{ 'f', "format", "FORMAT", .take = take_format },
	{ 0, "style", "FORMAT", FORMATS, .take = take_format },
	{ 0, "json", NULL, "the same as -f json", .take = take_json },
	{ 'i', "inlines", NULL, "inlined functions too",
	  .naming = OW_SYMBOLIZER_INLINES },
	{ 'k', "kernel", NULL, "each thread's stack in the kernel too",
	  .showing = OW_VIEW_KERNEL, .extras = OW_EXTRA_KERNEL_STACK },
	{ 'l', "list-modules", NULL, "what is mapped where, before the stacks",
	  .flag = IN_REQUEST(list_modules) },
	{ 'm', "module", NULL, "the object of each frame",
	  .showing = OW_VIEW_MODULES },
	{ 'n', NULL, "NUMBER", "frames of a stack at most (1024; 0: all)",
	  .take = take_max_frames },
	{ 'q', "quiet", NULL, "addresses only", .flag = IN_REQUEST(quiet) },
	{ 'r', "raw", NULL, "names as the object has them",
	  .naming = OW_SYMBOLIZER_RAW },
	{ 's', "source", NULL, "source file and line",
	  .naming = OW_SYMBOLIZER_LINES, .showing = OW_VIEW_LINES },
	{ 'S', "syscall", NULL, "the system call that each thread is in",
	  .showing = OW_VIEW_SYSCALL, .extras = OW_EXTRA_SYSCALL },
	{ 'v', "verbose", NULL, "as -bims, and how each frame was found",
	  .naming = OW_SYMBOLIZER_LINES | OW_SYMBOLIZER_INLINES,
	  .showing = OW_VIEW_LINES | OW_VIEW_MODULES | OW_VIEW_HOW },
	{ 'w', "wchan", NULL, "where in the kernel each thread waits",
	  .showing = OW_VIEW_WCHAN, .extras = OW_EXTRA_WCHAN },
	{ 'p', "pid", "PID", "the same as TARGET", .take = take_pid },
	{ 0, "core", "FILE", "the same as TARGET", .take = take_core },
	{ 0, "tid", "TIDS", "only the threads of these ids (TID,TID)",
	  .text = IN_REQUEST(tid_list) },
	{ 0, "no-stop", NULL, "stop no thread; say which stacks are certain",
	  .showing = OW_VIEW_CERTAIN, .stopping = OW_STOPPING_NEVER },
	{ 0, "gentle", NULL, "stop only threads that don't wait in the kernel",
	  .showing = OW_VIEW_CERTAIN, .stopping = OW_STOPPING_GENTLE },
	{ 0, "one-at-a-time", NULL, "stop each thread for its own copy only",
	  .stopping = OW_STOPPING_EACH },
	{ 0, "stop-timeout", "MS",
	  "for all threads to stop (1000 and more; 0: any)",
	  .take = take_stop_timeout },
	{ 0, "freeze-limit", "MS", "stop threads for that long together (1000)",
	  .take = take_freeze_limit },
	{ 0, "read-timeout", "MS", "for memory that has to be served (1000)",
	  .take = take_read_timeout },
	{ 0, "proc-mem", NULL, "read memory by /proc/PID/mem",
	  .take = take_proc_mem },
	{ 0, "stack-size", "BYTES", "copied of a stack at most",
	  .take = take_stack_size },
	{ 0, "memory-limit", "SIZE", MEMORY_LIMIT_HELP, .take = take_limit },
	{ 0, "sysroot", "DIR", "below which a core's objects are",
	  .text = IN_REQUEST(options.sysroot) },
	{ 0, "no-tables", NULL, "don't use compact tables from the cache",
	  .take = take_no_tables },
	{ 0, "image", "ELF[@BIAS]", "of a guest: what it runs, and where",
	  .take = take_image },
	{ 0, "kallsyms", "FILE", "of a guest: names, as nm -n prints, too",
	  .text = IN_REQUEST(xen.options.symbols) },
	{ 0, "unwind", "HOW", "of a guest: by cfi, fp or both",
	  .take = take_unwinding },
	{ 0, "backend", "NAME", "of a guest: libxencall or libxc",
	  .text = IN_REQUEST(xen.backend) },
	{ 0, "no-pause", NULL, "the same as --no-stop",
	  .showing = OW_VIEW_CERTAIN, .stopping = OW_STOPPING_NEVER },
	{ 0, "debuginfod", NULL, "ask debuginfod servers for symbols",
	  .naming = OW_SYMBOLIZER_DEBUGINFOD },
	{ 0, "stats", NULL, "how long the target was stopped, on stderr",
	  .flag = IN_REQUEST(stats) },
	{ 'h', "help", NULL, "this", .flag = IN_REQUEST(help) },
};

const size_t nr_stack_options =
	sizeof(stack_options) / sizeof(stack_options[0]);

_Static_assert(sizeof(stack_options) / sizeof(stack_options[0]) <=
		       STACK_OPTIONS_MOST,
	       "room for all where they are parsed");

/* One option's names; its number of characters. */
static int print_names(const struct stack_option *o)
{
	bool both = o->letter && o->name;
	int n = o->letter ? printf("  -%c", o->letter) : printf("    ");

	n += printf("%s", both ? ", " : o->name ? "  " : "");
	if (o->name)
		n += printf("--%s", o->name);
	if (o->argument)
		n += printf("%c%s", o->name ? '=' : ' ', o->argument);
	return n;
}

void stack_options_help(void)
{
	const struct stack_option *o;
	int n;

	fputs("usage: outwind stack [OPTIONS] TARGET\n"
	      "\n"
	      "TARGET is PID, PID/TID[,TID...], PID/STATES (such as PID/RD), "
	      "xen:ID, xen:NAME,\n"
	      "or a core file, and its executable if it doesn't tell.\n"
	      "\n",
	      stdout);
	for (o = stack_options; o < stack_options + nr_stack_options; o++) {
		n = print_names(o);
		if (o->help)
			printf("%*s%s", n < HELP_AT ? HELP_AT - n : 1, "",
			       o->help);
		putchar('\n');
	}
	fputs("\n"
	      "Exit status: 0 all stacks are complete, 1 some frames or "
	      "threads failed,\n"
	      "2 nothing could be done, 64 usage.\n",
	      stdout);
}

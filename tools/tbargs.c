// SPDX-License-Identifier: BSD-2-Clause
#include "tbargs.h"

#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define STOP_TIMEOUT_MS 1000

enum {
	OPT_HELP = 256,
	OPT_IGNORE_DELETED,
	OPT_PROC_MEM,
	OPT_PTRACE,
	OPT_SHOW_RSP,
	OPT_SHOW_STATE,
	OPT_STACK_SIZE,
	OPT_STOP_TIMEOUT,
	OPT_USE_WAITPID_TIMEOUT,
	OPT_VERBOSE,
	OPT_VERSION,
};

static const struct option options[] = {
	{ "help", no_argument, NULL, OPT_HELP },
	{ "ignore-deleted", no_argument, NULL, OPT_IGNORE_DELETED },
	{ "proc-mem", no_argument, NULL, OPT_PROC_MEM },
	{ "ptrace", no_argument, NULL, OPT_PTRACE },
	{ "show-rsp", no_argument, NULL, OPT_SHOW_RSP },
	{ "show-state", no_argument, NULL, OPT_SHOW_STATE },
	{ "stack-size", required_argument, NULL, OPT_STACK_SIZE },
	{ "stop-timeout", required_argument, NULL, OPT_STOP_TIMEOUT },
	{ "use-waitpid-timeout", no_argument, NULL, OPT_USE_WAITPID_TIMEOUT },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

void tb_args_print_usage(FILE *to, const char *name)
{
	fprintf(to,
		"usage:    %s <pid>\n"
		"          %s <pid>/<tid1>,...,<tidn>\n"
		"          %s <pid>/RS\n"
		"\n"
		"Prints the stacks of a process: of all threads, of those in "
		"the list (ids, or\n"
		"numbers from 1 in the kernel's order), or of those in one of "
		"these states.\n"
		"\n"
		"options:  --help                this text\n"
		"          --ignore-deleted      no effect: deleted files are "
		"read all the same\n"
		"          --use-waitpid-timeout no effect but on the message: "
		"the time is\n"
		"                                limited in any case\n"
		"          --proc-mem            read /proc/pid/mem, not by "
		"process_vm_readv\n"
		"          --ptrace              read by ptrace, a word at a "
		"time (slow)\n"
		"          --show-rsp            the stack pointer as second "
		"column\n"
		"          --show-state          the state of each thread\n"
		"          --stack-size <size>   bytes to copy of a stack at "
		"most, decimal or 0x...\n"
		"                                (default: the soft limit of "
		"RLIMIT_STACK)\n"
		"          --stop-timeout <ms>   for the threads to stop, all "
		"together (default:\n"
		"                                %d; 0: wait for ever)\n"
		"          --verbose             what was copied, and why a "
		"stack breaks\n"
		"          --version             the version of the format\n"
		"\n"
		"This tbstack is part of outwind %s.\n",
		name, name, name, STOP_TIMEOUT_MS, ow_version());
}

/* Digits of that base to the end of text; more than fits is ULONG_MAX. */
static bool parse_digits(const char *text, int base, unsigned long *ret)
{
	const char *digits = base == 16 ? "0123456789abcdefABCDEF" :
					  "0123456789";

	if (text[strspn(text, digits)])
		return false;
	*ret = strtoul(text, NULL, base);
	return true;
}

static bool parse_stack_size(const char *text, size_t *ret)
{
	if (strncmp(text, "0x", 2) == 0)
		return parse_digits(text + 2, 16, ret);
	return parse_digits(text, 10, ret);
}

static bool parse_timeout(const char *text, unsigned int *ms_ret)
{
	unsigned long ms;

	if (!*text || !parse_digits(text, 10, &ms) || ms > INT_MAX)
		return false;
	*ms_ret = ms ? (unsigned int)ms : UINT_MAX;
	return true;
}

/* Return TB_TASK_STACKS to go on. */
static enum tb_task take_option(struct tb_args *args, int opt, FILE *err)
{
	switch (opt) {
	case OPT_HELP: return TB_TASK_HELP;
	case OPT_VERSION: return TB_TASK_VERSION;
	case OPT_IGNORE_DELETED: break;
	case OPT_SHOW_RSP: args->show_sp = true; break;
	case OPT_SHOW_STATE: args->show_state = true; break;
	case OPT_VERBOSE: args->verbose = true; break;
	case OPT_USE_WAITPID_TIMEOUT: args->waitpid_timeout = true; break;
	case OPT_PTRACE: args->reading = OW_READING_PTRACE; break;
	case OPT_PROC_MEM:
		if (args->reading != OW_READING_PTRACE)
			args->reading = OW_READING_FILE;
		break;
	case OPT_STACK_SIZE:
		if (parse_stack_size(optarg, &args->stack_size))
			break;
		fprintf(err, "invalid value of option stack-size: %s\n",
			optarg);
		return TB_TASK_REFUSE;
	case OPT_STOP_TIMEOUT:
		if (parse_timeout(optarg, &args->stop_timeout_ms))
			break;
		fprintf(err, "invalid value of stop-timeout: %s\n", optarg);
		return TB_TASK_REFUSE;
	default: return TB_TASK_USAGE;
	}
	return TB_TASK_STACKS;
}

/* A pid, maybe with blanks around it, as ps(1) prints it. */
static bool parse_pid(const char *text, size_t size, pid_t *ret)
{
	const char *end = text + size;
	char *stop;
	long pid;

	while (text < end && isspace((unsigned char)*text))
		text++;
	if (text == end || !isdigit((unsigned char)*text))
		return false;
	pid = strtol(text, &stop, 10);
	while (stop < end && isspace((unsigned char)*stop))
		stop++;
	if (stop != end || pid <= 0 || pid > INT_MAX)
		return false;
	*ret = (pid_t)pid;
	return true;
}

static bool is_letters(const char *text)
{
	while (isalpha((unsigned char)*text))
		text++;
	return *text == '\0';
}

/* Numbers between single commas? */
static bool is_list(const char *text)
{
	for (; isdigit((unsigned char)*text); text++) {
		text += strspn(text, "0123456789");
		if (*text == '\0')
			return true;
		if (*text != ',')
			return false;
	}
	return false;
}

static bool has_thread(const struct tb_args *args, pid_t thread)
{
	size_t i;

	for (i = 0; i < args->nr_threads; i++)
		if (args->threads[i] == thread)
			return true;
	return false;
}

static bool take_list(struct tb_args *args, const char *text, FILE *err)
{
	const char *p = text;
	char *end;
	long thread;

	/* Every other character is a comma, at the most. */
	args->threads = malloc((strlen(text) / 2 + 1) * sizeof(pid_t));
	if (!args->threads) {
		fputs("out of memory\n", err);
		return false;
	}
	do {
		thread = strtol(p, &end, 10);
		if (thread > INT_MAX)
			thread = INT_MAX;
		if (has_thread(args, (pid_t)thread)) {
			fprintf(err, "duplicate thread %ld\n", thread);
			return false;
		}
		args->threads[args->nr_threads++] = (pid_t)thread;
		p = end + 1;
	} while (*end);
	return true;
}

/* "PID", "PID/THREADS" or "PID/STATES". */
static bool take_target(struct tb_args *args, const char *text, FILE *err)
{
	const char *slash = strchr(text, '/');
	size_t size = slash ? (size_t)(slash - text) : strlen(text);

	if (slash && slash[1] == '\0') {
		fputs("empty thread list\n", err);
		return false;
	}
	if (!parse_pid(text, size, &args->pid)) {
		fprintf(err, "invalid pid %.*s\n", (int)size, text);
		return false;
	}
	if (!slash)
		return true;
	if (is_letters(slash + 1)) {
		args->states = slash + 1;
		return true;
	}
	if (is_list(slash + 1))
		return take_list(args, slash + 1, err);
	fprintf(err, "invalid thread list string '%s'\n", slash + 1);
	return false;
}

enum tb_task tb_args_parse(struct tb_args *args, int argc, char **argv,
			   FILE *err)
{
	enum tb_task task = TB_TASK_STACKS;
	int opt;

	*args = (struct tb_args){ .stop_timeout_ms = STOP_TIMEOUT_MS };
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		task = take_option(args, opt, err);
		if (task != TB_TASK_STACKS)
			return task;
	}
	if (optind == argc || !take_target(args, argv[optind], err))
		return TB_TASK_USAGE;
	if (++optind == argc)
		return TB_TASK_STACKS;
	fprintf(err, "unknown command line argument %s\n", argv[optind]);
	return TB_TASK_USAGE;
}

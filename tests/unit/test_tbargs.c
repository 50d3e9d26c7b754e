/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of tbstack: what it asks for, and what is said of it. */
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tbargs.h"
#include "test.h"

#define MOST_ARGS 8

struct parsed {
	struct tb_args args;
	enum tb_task task;
	char *said;
	char words[256];
};

/* Parse "tbstack" and the words of line. */
static struct parsed parse(const char *line)
{
	static struct parsed p;
	char *argv[MOST_ARGS + 1] = { (char *)"tbstack" };
	int argc = 1;
	size_t size;
	char *word;
	FILE *err;

	snprintf(p.words, sizeof(p.words), "%s", line);
	for (word = strtok(p.words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	err = open_memstream(&p.said, &size);
	optind = 0; /* getopt_long(3): begin anew */
	p.task = tb_args_parse(&p.args, argc, argv, err);
	fclose(err);
	return p;
}

static void drop(struct parsed *p)
{
	free(p->args.threads);
	free(p->said);
}

static bool refused(const char *line, enum tb_task task, const char *said)
{
	struct parsed p = parse(line);
	bool same = p.task == task && strcmp(p.said, said) == 0;

	if (!same)
		printf("%s: task %d, '%s'\n", line, p.task, p.said);
	drop(&p);
	return same;
}

static void test_pid_alone(void)
{
	struct parsed p = parse("4711");

	CHECK(p.task == TB_TASK_STACKS && p.said[0] == '\0');
	CHECK(p.args.pid == 4711);
	CHECK(!p.args.states && !p.args.threads && p.args.nr_threads == 0);
	CHECK(p.args.reading == OW_READING_VM && p.args.stack_size == 0);
	CHECK(p.args.stop_timeout_ms == 1000 && !p.args.waitpid_timeout);
	CHECK(!p.args.show_sp && !p.args.show_state && !p.args.verbose);
	drop(&p);
}

static void test_all_options(void)
{
	struct parsed p = parse("12 --proc-mem --show-rsp --show-state "
				"--verbose --use-waitpid-timeout "
				"--ignore-deleted");

	CHECK(p.task == TB_TASK_STACKS && p.said[0] == '\0');
	CHECK(p.args.pid == 12 && p.args.reading == OW_READING_FILE);
	CHECK(p.args.show_sp && p.args.show_state && p.args.verbose);
	CHECK(p.args.waitpid_timeout);
	drop(&p);
	p = parse("--ptrace --proc-mem 12");
	CHECK(p.args.reading == OW_READING_PTRACE);
	drop(&p);
	p = parse("--verb 12 --show-r --stack 16 --stop=5");
	CHECK(p.task == TB_TASK_STACKS && p.args.show_sp && p.args.verbose);
	CHECK(p.args.stack_size == 16 && p.args.stop_timeout_ms == 5);
	drop(&p);
	CHECK(refused("--help 0", TB_TASK_HELP, ""));
	CHECK(refused("--version 0", TB_TASK_VERSION, ""));
}

static size_t stack_size(const char *line)
{
	struct parsed p = parse(line);
	size_t size = p.task == TB_TASK_STACKS ? p.args.stack_size : SIZE_MAX;

	drop(&p);
	return size;
}

static void test_stack_size(void)
{
	CHECK(stack_size("1 --stack-size=8192") == 8192);
	CHECK(stack_size("1 --stack-size 0x20") == 32);
	CHECK(stack_size("1 --stack-size 020") == 20);
	CHECK(stack_size("1 --stack-size=0") == 0);
	CHECK(stack_size("1 --stack-size=") == 0);
	CHECK(stack_size("1 --stack-size=99999999999999999999") == ULONG_MAX);
	CHECK(refused("1 --stack-size=8k", TB_TASK_REFUSE,
		      "invalid value of option stack-size: 8k\n"));
	CHECK(refused("1 --stack-size=-1", TB_TASK_REFUSE,
		      "invalid value of option stack-size: -1\n"));
	CHECK(refused("1 --stack-size=0X20", TB_TASK_REFUSE,
		      "invalid value of option stack-size: 0X20\n"));
	CHECK(refused("1 --stack-size=0xg", TB_TASK_REFUSE,
		      "invalid value of option stack-size: 0xg\n"));
}

static unsigned int timeout(const char *line)
{
	struct parsed p = parse(line);
	unsigned int ms = p.task == TB_TASK_STACKS ? p.args.stop_timeout_ms : 0;

	drop(&p);
	return ms;
}

static void test_stop_timeout(void)
{
	CHECK(timeout("1 --stop-timeout=2500") == 2500);
	CHECK(timeout("1 --stop-timeout 0") == UINT_MAX);
	CHECK(timeout("1 --stop-timeout=2147483647") == INT_MAX);
	CHECK(refused("1 --stop-timeout=-1", TB_TASK_REFUSE,
		      "invalid value of stop-timeout: -1\n"));
	CHECK(refused("1 --stop-timeout=1s", TB_TASK_REFUSE,
		      "invalid value of stop-timeout: 1s\n"));
	CHECK(refused("1 --stop-timeout=", TB_TASK_REFUSE,
		      "invalid value of stop-timeout: \n"));
	CHECK(refused("1 --stop-timeout=2147483648", TB_TASK_REFUSE,
		      "invalid value of stop-timeout: 2147483648\n"));
}

static void test_threads(void)
{
	struct parsed p = parse("10/12,7,10");

	CHECK(p.task == TB_TASK_STACKS && p.args.pid == 10);
	CHECK(p.args.nr_threads == 3 && !p.args.states);
	CHECK(p.args.threads[0] == 12 && p.args.threads[1] == 7 &&
	      p.args.threads[2] == 10);
	drop(&p);
	p = parse("10/99999999999999999999");
	CHECK(p.args.nr_threads == 1 && p.args.threads[0] == INT_MAX);
	drop(&p);
	CHECK(refused("10/", TB_TASK_USAGE, "empty thread list\n"));
	CHECK(refused("x/", TB_TASK_USAGE, "empty thread list\n"));
	CHECK(refused("10/5,6,5", TB_TASK_USAGE, "duplicate thread 5\n"));
	CHECK(refused("10/5,05", TB_TASK_USAGE, "duplicate thread 5\n"));
	CHECK(refused("10/,5", TB_TASK_USAGE,
		      "invalid thread list string ',5'\n"));
	CHECK(refused("10/5,", TB_TASK_USAGE,
		      "invalid thread list string '5,'\n"));
	CHECK(refused("10/5,,6", TB_TASK_USAGE,
		      "invalid thread list string '5,,6'\n"));
	CHECK(refused("10/5R", TB_TASK_USAGE,
		      "invalid thread list string '5R'\n"));
	CHECK(refused("10/R5", TB_TASK_USAGE,
		      "invalid thread list string 'R5'\n"));
	CHECK(refused("10/-5", TB_TASK_USAGE,
		      "invalid thread list string '-5'\n"));
	CHECK(refused("10/5/6", TB_TASK_USAGE,
		      "invalid thread list string '5/6'\n"));
}

static void test_states(void)
{
	struct parsed p = parse("10/RS");

	CHECK(p.task == TB_TASK_STACKS && p.args.pid == 10);
	CHECK(p.args.states && strcmp(p.args.states, "RS") == 0);
	CHECK(!p.args.threads);
	drop(&p);
}

static void test_bad_pids(void)
{
	struct tb_args args;
	char blanks[] = "  77\n", name[] = "tbstack";
	char *argv[] = { name, blanks, NULL };
	char two[] = "7 7";
	FILE *nowhere = fopen("/dev/null", "w");

	CHECK(refused("0", TB_TASK_USAGE, "invalid pid 0\n"));
	CHECK(refused("-- -5", TB_TASK_USAGE, "invalid pid -5\n"));
	CHECK(refused("abc", TB_TASK_USAGE, "invalid pid abc\n"));
	CHECK(refused("12x/3", TB_TASK_USAGE, "invalid pid 12x\n"));
	CHECK(refused("/3", TB_TASK_USAGE, "invalid pid \n"));
	CHECK(refused("4294967297", TB_TASK_USAGE, "invalid pid 4294967297\n"));
	CHECK(refused("5 6", TB_TASK_USAGE,
		      "unknown command line argument 6\n"));
	CHECK(refused("0 6", TB_TASK_USAGE, "invalid pid 0\n"));
	CHECK(refused("", TB_TASK_USAGE, ""));
	optind = 0;
	CHECK(tb_args_parse(&args, 2, argv, nowhere) == TB_TASK_STACKS);
	CHECK(args.pid == 77);
	optind = 0;
	argv[1] = two;
	CHECK(tb_args_parse(&args, 2, argv, nowhere) == TB_TASK_USAGE);
	fclose(nowhere);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a pid alone", test_pid_alone },
		{ "all options, anywhere, abbreviated", test_all_options },
		{ "--stack-size", test_stack_size },
		{ "--stop-timeout", test_stop_timeout },
		{ "lists of threads", test_threads },
		{ "states", test_states },
		{ "pids", test_bad_pids },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}

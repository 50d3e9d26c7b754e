// SPDX-License-Identifier: BSD-2-Clause
#include "procfs.h"

#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "monotonic.h"
#include "scratch.h"
#include "subuid.h"
#include "subuids.h"
#include "test.h"

/* A thread may be named like what is looked for, in front of it. */
static void test_names_like_keys(void)
{
	static const char *const names[] = {
		"TracerPid:\t1",   "\nTracerPid:\t1", "\rTracerPid:\t1",
		"State:\tX",       "\nState:\tX",     "TracerPid:\n1",
		"x\nTracerPid: 1", "\\nTracerPid: 1",
	};
	long tracer = ow_status_number(getpid(), "TracerPid:"), pid, none;
	size_t i;

	CHECK(tracer >= 0); /* not 0 below a debugger */
	for (i = 0; i < OW_ARRAY_SIZE(names); i++) {
		prctl(PR_SET_NAME, names[i]);
		CHECK(ow_status_number(getpid(), "TracerPid:") == tracer);
		pid = ow_status_number(getpid(), "Pid:");
		CHECK(pid == getpid());
		CHECK(memchr("RSD", ow_status_state(getpid()), 3));
		none = ow_status_number(getpid(), "Nonsense:");
		CHECK(none == -1);
	}
	CHECK(ow_status_number(INT32_MAX, "TracerPid:") == -1);
	CHECK(ow_status_state(INT32_MAX) == '\0');
}

/* We run, or wait for the delegate that looks. */
static void test_names_like_stat(void)
{
	static const char *const names[] = {
		"plain", ") Z 1 (", "a) X", "((((", "))))", "", "\n) Z\n",
	};
	char name[32], state = '?';
	struct ow_task task;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(names); i++) {
		prctl(PR_SET_NAME, names[i]);
		CHECK(ow_task_stat(getpid(), getpid(), name, sizeof(name),
				   &state));
		CHECK(strcmp(name, names[i]) == 0);
		CHECK(strchr("RS", state));
		CHECK(ow_task_name(getpid(), getpid(), name, sizeof(name)));
		CHECK(strcmp(name, names[i]) == 0);
	}
	prctl(PR_SET_NAME, "fifteen letters");
	CHECK(ow_task_stat(getpid(), getpid(), name, 8, &state));
	CHECK(strcmp(name, "fifteen") == 0);
	CHECK(ow_task_name(getpid(), getpid(), name, 8));
	CHECK(strcmp(name, "fifteen") == 0);
	CHECK(!ow_task_name(getpid(), getppid(), name, sizeof(name)));
	CHECK(ow_task_read(getpid(), getpid(), &task));
	CHECK(strcmp(task.name, "fifteen letters") == 0 &&
	      strchr("RS", task.state));
	CHECK(task.stack_start > (uintptr_t)name);
	CHECK(task.flags && !(task.flags & ow_task_worker_flags()));
	/* A thread of another process is none of this one's. */
	CHECK(!ow_task_stat(getpid(), getppid(), name, sizeof(name), &state));
	CHECK(!ow_task_stat(INT32_MAX, INT32_MAX, name, sizeof(name), &state));
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* By whole clock ticks, of which there are 100 a second. */
static void test_start(void)
{
	uint64_t before = now_ns(), start;
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	start = ow_process_start_ns(child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(start > before - 10000000 && start <= now_ns());
	CHECK(ow_process_start_ns(INT32_MAX) == 0);
}

/* What comes after a line of all groups that a process can have. */
static void test_many_groups(void)
{
	static gid_t groups[65536];
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(groups); i++)
		groups[i] = 4000000000U + (gid_t)i;
	if (setgroups(OW_ARRAY_SIZE(groups), groups)) {
		printf("# not allowed to have groups\n");
		return;
	}
	CHECK(ow_status_number(getpid(), "Threads:") == 1);
	CHECK(ow_status_number(getpid(), "voluntary_ctxt_switches:") >= 0);
	CHECK(setgroups(0, groups) == 0);
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static void check_user(uid_t owner, int depth, long uid, long user)
{
	pid_t pid = subuid_start(owner, depth, wait_for_ever);

	if (pid < 0) {
		printf("# user namespaces are not allowed\n");
		return;
	}
	CHECK(ow_status_number(pid, "Uid:") == uid);
	CHECK(ow_process_user(pid) == user);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(ow_process_user(pid) == -1);
}

/* Whatever numbers a user has in a namespace, the processes there are the user's. */
static void test_user(void)
{
	CHECK(ow_process_user(getpid()) == (long)getuid());
	if (getuid() != 0)
		return;
	check_user(1000, 0, 1000, 1000);
	check_user(SUBUID_OWNER, 0, SUBUID_OWNER, SUBUID_OWNER);
	check_user(SUBUID_OWNER, 1, SUBUID_FIRST, SUBUID_OWNER);
	check_user(SUBUID_OWNER, 2, SUBUID_FIRST, SUBUID_OWNER);
	/* What root has made is for many users. */
	check_user(0, 1, SUBUID_FIRST, SUBUID_FIRST);
}

/* A user's subordinate ids are the user's in our namespace, too, and so are their own. */
static void test_user_of_subordinate_ids(void)
{
	if (!subuid_put("anna:200000:65536\nroot:300000:65536\n",
			"anna:x:1000:1000::/:/bin/sh\n")) {
		printf("# not allowed to mount\n");
		return;
	}
	ow_subuids_renew(ow_now_ns());
	check_user(200000, 0, 200000, 1000);
	check_user(265535, 0, 265535, 1000);
	check_user(200001, 1, SUBUID_FIRST, 1000);
	check_user(265536, 0, 265536, 265536);
	check_user(300000, 0, 300000, 300000);
}

int main(void)
{
	static const struct test tests[] = {
		{ "names like keys", test_names_like_keys },
		{ "names like what stat says", test_names_like_stat },
		{ "when a process began", test_start },
		{ "many groups", test_many_groups },
		{ "users", test_user },
		{ "users of subordinate ids", test_user_of_subordinate_ids },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}

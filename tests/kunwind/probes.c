// SPDX-License-Identifier: BSD-2-Clause
/*
 * The module's probes cost nothing before somebody is followed, and when they are
 * switched off, it goes on without them.  Run as root, with a module that was just
 * loaded, and is to be loaded anew afterwards.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#define PROBES "/sys/kernel/debug/kprobes/list"
#define SWITCH "/proc/sys/kernel/ftrace_enabled"
#define PAGE   4096

static int passed, failed, dev;

static void say(bool well, const char *what, long figure)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s (%ld)\n", what, figure);
}

/* How many of the functions that are probed have a probe, on or off. */
static int count_probes(bool on)
{
	FILE *f = fopen(PROBES, "re");
	char line[256];
	int nr = 0;

	while (f && fgets(line, sizeof(line), f))
		nr += (strstr(line, "perf_event_mmap+") ||
		       strstr(line, "unmap_vmas+") ||
		       strstr(line, "exit_mmap+")) &&
		      !strstr(line, "[DISABLED]") == on;
	if (f)
		fclose(f);
	return nr;
}

static bool sees_mappings(void)
{
	struct ow_kunwind_info info = { .features = 0 };

	return ioctl(dev, OW_KUNWIND_INFO, &info) == 0 &&
	       info.features & OW_KUNWIND_TRACKS_MMAP;
}

static long followed(void)
{
	struct ow_kunwind_stats stats = { .followed = 0 };

	return ioctl(dev, OW_KUNWIND_STATS, &stats) ? -1 : (long)stats.followed;
}

static bool switch_probes(char to)
{
	int fd = open(SWITCH, O_WRONLY | O_CLOEXEC);
	bool ret = fd >= 0 && write(fd, &to, 1) == 1;

	if (fd >= 0)
		close(fd);
	return ret;
}

static bool is_complete(void)
{
	struct ow_frame frames[64];
	enum ow_end end = OW_END_NOT_YET;

	return ow_kunwind_unwind(dev, frames, 64, 0, &end, NULL) >= 3 &&
	       end == OW_END_OUTERMOST;
}

/* A process that is followed, and ends. */
static void come_and_go(void)
{
	int go[2];
	pid_t pid;

	if (pipe(go))
		return;
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		_exit(read(go[0], &(char){ 0 }, 1) != 0);
	}
	say(ow_kunwind_follow_only(dev, pid, 0, NULL) == 0, "follow a child",
	    0);
	close(go[1]);
	waitpid(pid, NULL, 0);
	close(go[0]);
}

/* What is gone is given back by a worker. */
static bool is_given_back(void)
{
	int i;

	for (i = 0; i < 100 && followed() != 1; i++)
		usleep(100000);
	return followed() == 1;
}

static void check_off(void)
{
	say(switch_probes('0'), "switch probes off", 0);
	sleep(2);
	say(is_complete(), "unwind without them", 0);
	say(!sees_mappings(), "that is told", 0);
	come_and_go();
	say(is_given_back(), "an end is seen without them", followed());
	say(switch_probes('1'), "switch probes on", 0);
	say(is_complete(), "unwind as before", 0);
}

int main(void)
{
	struct ow_error err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	dev = ow_kunwind_open(&err);
	if (dev < 0) {
		printf("%s\n0 passed, 1 failed\n", err.msg);
		return 1;
	}
	say(count_probes(true) == 0, "no probe at first", count_probes(true));
	say(count_probes(false) == 3, "but they are there",
	    count_probes(false));
	say(ow_kunwind_follow(dev, 0, 0, &err) == 0, "follow", 0);
	say(count_probes(true) == 3, "probes", count_probes(true));
	say(is_complete(), "unwind", 0);
	say(sees_mappings(), "mappings are seen", 0);
	come_and_go();
	say(is_given_back(), "an end is seen", followed());
	check_off();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}

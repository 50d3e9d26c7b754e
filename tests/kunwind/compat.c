// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program of 32 bits, whose stack the module unwinds by the tables that a
 * daemon hands in.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ow_kunwind.h"
#include "ow_kunwind_proc.h"

#include "chain.h"

#define DEPTH 40

/* The original's structure as a 32-bit compiler laid it out. */
static struct {
	uint32_t max_entries, nr_entries;
	uint64_t *entries;
} bt;
static struct ow_frame frames[256];
static uint64_t entries[256];
static int passed, failed, dev, proc;

static void say(bool well, const char *what, long a)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - 32 bits: %s (%ld)\n", what, a);
}

static void leaf(void)
{
	struct ow_kunwind_unwind u = { .frames = (uintptr_t)frames,
				       .max = 256 };
	unsigned int i;

	say(ioctl(dev, OW_KUNWIND_UNWIND, &u) == 0, "unwind", errno);
	for (i = 0; i < u.nr; i++)
		entries[i] = frames[i].pc;
	say(kt_inside(entries, u.nr) == DEPTH + 1, "frames", u.nr);
	say(u.end == OW_END_OUTERMOST, "end", u.end);
	bt.max_entries = 256;
	bt.entries = entries;
	memset(entries, 0, sizeof(entries));
	say(ioctl(proc, OW_KUNWIND_PROC_UNWIND, &bt) == 0, "proc", errno);
	say(kt_inside(entries, bt.nr_entries) == DEPTH + 1, "entries",
	    bt.nr_entries);
}

/* The daemon sees this process as it is executed, and makes its table. */
static void await_table(void)
{
	struct ow_kunwind_unwind u = { .frames = (uintptr_t)frames,
				       .max = 256 };
	int i;

	for (i = 0; i < 600; i++) {
		if (ioctl(dev, OW_KUNWIND_UNWIND, &u) ||
		    u.end == OW_END_OUTERMOST)
			return;
		usleep(100000);
	}
}

int main(void)
{
	dev = open(OW_KUNWIND_DEVICE, O_RDWR);
	proc = open(OW_KUNWIND_PROC, O_RDWR);
	say(dev >= 0 && proc >= 0, "open", errno);
	say(ioctl(proc, OW_KUNWIND_PROC_INFO, NULL) == 0, "info", errno);
	await_table();
	kt_chain(DEPTH, leaf);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}

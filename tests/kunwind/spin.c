// SPDX-License-Identifier: BSD-2-Clause
/* Spins in a recursion for some seconds: spin SECONDS; 0: calls getppid(). */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#include "chain.h"

static time_t until;

static KT_NOINLINE void spin_inner(void)
{
	volatile unsigned int n;

	syscall(SYS_getppid);
	while (until && time(NULL) < until)
		for (n = 0; n < 100000; n++)
			;
}

/* Of this program, which a daemon makes: then its stacks are whole. */
static void wait_for_tables(void)
{
	enum ow_end end = OW_END_NOT_YET;
	int dev = ow_kunwind_open(NULL), tries = 30000;
	struct ow_frame frames[64];

	if (dev < 0)
		return;
	while (end != OW_END_OUTERMOST && tries-- > 0) {
		usleep(10000);
		ow_kunwind_unwind(dev, frames, 64, 0, &end, NULL);
	}
	close(dev);
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 1;

	wait_for_tables();
	until = seconds ? time(NULL) + seconds + 1 : 0;
	kt_chain(30, spin_inner);
	return 0;
}

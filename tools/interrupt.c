// SPDX-License-Identifier: BSD-2-Clause
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came, came_again, counts[NSIG], most_noted;

static void note(int signal_nr)
{
	came = 1;
	if (++counts[signal_nr] > 1)
		came_again = 1;
	if (counts[signal_nr] >= most_noted)
		signal(signal_nr, SIG_DFL);
}

void interrupt_catch(int most)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction before, action = { .sa_handler = note };
	size_t i;

	most_noted = most;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], NULL, &before);
		/* As nohup(1) has it. */
		if (before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

bool interrupt_came(void)
{
	return came;
}

bool interrupt_came_again(void)
{
	return came_again;
}

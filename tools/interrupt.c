// SPDX-License-Identifier: BSD-2-Clause
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void note(int signal_nr)
{
	(void)signal_nr;
	came = 1;
}

void interrupt_catch(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction before,
		action = { .sa_handler = note, .sa_flags = (int)SA_RESETHAND };
	size_t i;

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

// SPDX-License-Identifier: BSD-2-Clause
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "clockns.h"

#define AT_ONCE_NS 300000000

static volatile int wishes, most_noted;

/* The signal of the last wish, for the handler alone. */
static int last;
static uint64_t last_ns; /* CLOCK_MONOTONIC */

static void note(int number)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (wishes && number != last && now - last_ns < AT_ONCE_NS)
		return;
	last = number;
	last_ns = now;
	if (wishes < most_noted) {
		wishes++;
		return;
	}
	signal(number, SIG_DFL);
	raise(number);
}

void interrupt_catch(int most)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction before, action = { .sa_handler = note };
	size_t i;

	most_noted = most;
	sigemptyset(&action.sa_mask);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&action.sa_mask, signals[i]);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], NULL, &before);
		/* As nohup(1) has it. */
		if (before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

const volatile int *interrupt_wishes(void)
{
	return &wishes;
}

bool interrupt_came(void)
{
	return wishes > 0;
}

bool interrupt_came_again(void)
{
	return wishes > 1;
}

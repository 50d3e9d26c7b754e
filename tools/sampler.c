// SPDX-License-Identifier: BSD-2-Clause
#include "sampler.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "clockns.h"

#define SECOND 1000000000ULL

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_nr)
{
	(void)signal_nr;
	is_interrupted = 1;
}

/*
 * The first signal ends the sampling, the second one the program.  A write that
 * waits for its reader goes on; sleeping does not.
 */
static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
#define NR_SIGNALS (sizeof(signals) / sizeof(signals[0]))

static void catch_signals(struct sigaction *before)
{
	struct sigaction action = { .sa_handler = interrupt,
				    .sa_flags = (int)SA_RESETHAND |
						SA_RESTART };
	size_t i;

	is_interrupted = 0;
	for (i = 0; i < NR_SIGNALS; i++) {
		sigaction(signals[i], NULL, &before[i]);
		/* As nohup(1) has it. */
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

static void restore_signals(const struct sigaction *before)
{
	size_t i;

	for (i = 0; i < NR_SIGNALS; i++)
		sigaction(signals[i], &before[i], NULL);
}

static void sleep_until(uint64_t when)
{
	const struct timespec t = { (time_t)(when / SECOND),
				    (long)(when % SECOND) };

	while (!is_interrupted &&
	       clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
}

/* 0, or a negative code and why. */
static int note(struct sampler *s, struct ow_capture *c)
{
	struct ow_capture_stats st;

	ow_capture_stats(c, &st);
	if (s->is_measured &&
	    (!costs_note(&s->costs[SAMPLER_PAUSE], st.freeze_ns) ||
	     !costs_note(&s->costs[SAMPLER_HYPERCALLS], st.hypercalls) ||
	     !costs_note(&s->costs[SAMPLER_MAPPINGS], st.mappings))) {
		s->why =
			(struct ow_error){ OW_CODE_MEMORY, 0, "out of memory" };
		return -OW_CODE_MEMORY;
	}
	s->nr++;
	return 0;
}

/* When the deadline of that number is; a period is no whole number of ns. */
static uint64_t deadline(const struct sampler *s, uint64_t begin,
			 uint64_t number)
{
	return begin + number / s->frequency * SECOND +
	       number % s->frequency * SECOND / s->frequency;
}

/* The first one that isn't over; those before it are missed. */
static uint64_t next_deadline(struct sampler *s, uint64_t begin,
			      uint64_t *number)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), first = ++*number;
	uint64_t over = (now - begin) / SECOND * s->frequency +
			(now - begin) % SECOND * s->frequency / SECOND;

	if (over >= first) {
		*number = over + 1;
		s->nr_missed += *number - first;
		if (s->missed)
			s->missed(s->arg, now - deadline(s, begin, first));
	}
	return deadline(s, begin, *number);
}

static bool goes_on(const struct sampler *s, uint64_t next, uint64_t begin)
{
	if (is_interrupted || (s->most && s->nr >= s->most))
		return false;
	return !s->duration_ns || next - begin < s->duration_ns;
}

static int run(struct sampler *s, struct ow_capture *c)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), next = begin, number = 0;
	struct sample sample = { .capture = c };
	int failed;

	do {
		sleep_until(next);
		if (is_interrupted)
			return 0;
		clock_gettime(CLOCK_REALTIME, &sample.time);
		failed = ow_capture_again(c, &s->why);
		if (failed)
			return failed;
		sample.number = s->nr;
		failed = note(s, c);
		if (failed)
			return failed;
		if (!s->take(s->arg, &sample))
			return 0;
		next = next_deadline(s, begin, &number);
	} while (goes_on(s, next, begin));
	return 0;
}

int sampler_run(struct sampler *s, struct ow_capture *c)
{
	struct sigaction before[NR_SIGNALS];
	int failed;

	catch_signals(before);
	failed = run(s, c);
	restore_signals(before);
	return failed;
}

void sampler_free(struct sampler *s)
{
	int i;

	for (i = 0; i < SAMPLER_NR_COSTS; i++)
		costs_free(&s->costs[i]);
	s->nr = 0;
}

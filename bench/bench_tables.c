// SPDX-License-Identifier: BSD-2-Clause
/* Making compact tables: how fast, and how large they are beside the CFI. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "error.h"
#include "object.h"
#include "tablegen.h"

#define ROWS_TARGET 5e6 /* a second */

static uint64_t generate(const struct ow_object *obj,
			 struct ow_table_stats *stats)
{
	struct bench_meter m = { 0 };
	struct ow_error err;
	uint8_t *bytes;
	size_t size;

	bench_begin(&m);
	bytes = ow_table_generate(obj, &size, stats, NULL, &err);
	bench_end(&m);
	if (!bytes)
		bench_die("%s", err.msg);
	free(bytes);
	return m.ns;
}

/* Print the line of one file; return its rows a second. */
static double measure(const char *path)
{
	struct ow_error err;
	struct ow_object *obj = ow_object_open(path, &err);
	struct ow_table_stats stats;
	double ns[BENCH_REPEATS], rate, median;
	const char *name = strrchr(path, '/');
	size_t i;

	if (!obj || ow_object_load_cfi(obj, &err))
		bench_die("%s", err.msg);
	for (i = 0; i < BENCH_REPEATS; i++)
		ns[i] = (double)generate(obj, &stats);
	median = bench_median(ns, BENCH_REPEATS);
	rate = stats.cfi_rows / median * 1e9;
	printf("%-24s %9llu %9llu %8.2f %10.2f %9.1f%% %8llu\n",
	       name ? name + 1 : path, (unsigned long long)stats.cfi_rows,
	       (unsigned long long)stats.rows, median / 1e6, rate / 1e6,
	       100.0 * stats.size / stats.cfi_size,
	       (unsigned long long)stats.escapes);
	ow_object_close(obj);
	return rate;
}

int main(int argc, char **argv)
{
	double rate, least = INFINITY;
	int i;

	printf("\nMaking compact tables; their size beside .eh_frame and "
	       ".eh_frame_hdr\n%-24s %9s %9s %8s %10s %10s %8s\n",
	       "", "CFI rows", "rows", "ms", "Mrows/s", "size", "escapes");
	bench_rouse_cpu();
	for (i = 1; i < argc; i++) {
		rate = measure(argv[i]);
		if (rate < least)
			least = rate;
	}
	printf("target: >= %.0f million rows a second: %.2f at least, %s\n",
	       ROWS_TARGET / 1e6, least / 1e6,
	       bench_verdict(least >= ROWS_TARGET));
	return 0;
}

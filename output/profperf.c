// SPDX-License-Identifier: BSD-2-Clause
/*
 * As "perf script" prints samples.  Times are made up, so that equal stacks
 * follow one another at the frequency that they were taken at.
 */
#include <string.h>

#include "profile.h"
#include "stackview.h"
#include "textfit.h"

/* With more than these, or of so many bytes, equal ones are one, of a longer period. */
#define MOST_SAMPLES 10000000

/* Bytes of a line at most, but for its names. */
#define THREAD_LINE 128 /* with the empty line that ends the sample */
#define FRAME_LINE  64

static const char *const events[PROFILE_NR_KINDS] = {
	[PROFILE_CPU] = "cpu-clock",
	[PROFILE_OFF_CPU] = "off-cpu",
	[PROFILE_FAULTS] = "page-faults",
	[PROFILE_SYSCALLS] = "raw_syscalls:sys_enter",
};

/* As perf calls what is mapped there. */
static const char *object_of(const struct profile *p,
			     const struct profile_frame *f)
{
	return f->is_kernel ? "[kernel.kallsyms]" :
	       f->module    ? profile_text(p, f->module) :
			      "[unknown]";
}

static void put_frame(FILE *out, const struct profile *p,
		      const struct profile_frame *f)
{
	fprintf(out, "\t%16llx ", (unsigned long long)f->pc);
	ow_view_put_clean(out, f->function ? profile_text(p, f->function) :
					     "[unknown]");
	if (f->function && f->is_inline) {
		fputs(" (inlined)\n", out);
		return;
	}
	if (f->function)
		fprintf(out, "+0x%llx", (unsigned long long)f->offset);
	fputs(" (", out);
	ow_view_put_clean(out, object_of(p, f));
	fputs(")\n", out);
}

/* Bytes up to a blank that would end the name for a reader, or begins it. */
static size_t part_of_comm(const char *at, const char *comm)
{
	const char *s;

	for (s = at; *s; s++)
		if (*s == ' ' && (s == comm || (s[1] >= '0' && s[1] <= '9')))
			break;
	return (size_t)(s - at);
}

/*
 * Readers take the first number after a blank for the pid: stackcollapse-perf.pl has
 * (\S.+?)\s+(\d+).  Such blanks of the name itself are written as '_'.
 */
static void put_comm(FILE *out, const char *comm)
{
	const char *at = comm;
	size_t size;

	while (*at) {
		size = part_of_comm(at, comm);
		ow_view_put_clean_part(out, at, size);
		at += size;
		if (*at) {
			putc('_', out);
			at++;
		}
	}
}

static void put_sample(FILE *out, const struct profile *p,
		       const struct profile_stack *s, uint64_t time,
		       uint64_t period)
{
	uint32_t i;

	put_comm(out, profile_text(p, s->comm));
	fprintf(out, " %d/%d %llu.%06llu: %10llu %s: \n", s->pid, s->tid,
		(unsigned long long)(time / 1000000000),
		(unsigned long long)(time % 1000000000 / 1000),
		(unsigned long long)period, events[s->kind % PROFILE_NR_KINDS]);
	for (i = 0; i < s->nr; i++)
		put_frame(out, p, &p->frames[p->ids[s->first + i]]);
	putc('\n', out);
}

/* How many are printed of a stack: what waits is one, however often it came. */
static uint64_t nr_samples(const struct profile_stack *s)
{
	return s->kind == PROFILE_OFF_CPU ? 1 : s->count;
}

/* All samples of a stack, or one for all; returns the time of the last. */
static uint64_t put_stack(FILE *out, const struct profile *p,
			  const struct profile_stack *s, uint64_t time,
			  bool one_by_one)
{
	uint64_t apart = 1000000000 / (p->frequency ? p->frequency : 99);
	uint64_t period = s->kind == PROFILE_CPU ? apart : 1;
	uint64_t n = nr_samples(s);

	if (s->kind == PROFILE_OFF_CPU) {
		period = s->value;
	} else if (!one_by_one && n) {
		if (__builtin_mul_overflow(period, n, &period))
			period = UINT64_MAX;
		n = 1;
	}
	for (; n > 0 && !ferror(out); n--)
		put_sample(out, p, s, time += apart, period);
	return time;
}

/* Bytes that the frame's names take, once each. */
static uint64_t names_size(const struct profile *p,
			   const struct profile_frame *f)
{
	return profile_text_size(p, f->function) +
	       profile_text_size(p, f->module) +
	       profile_text_size(p, f->build_id) +
	       profile_text_size(p, f->file);
}

/* Bytes of a sample's lines, at most. */
static uint64_t stack_size(const struct profile *p,
			   const struct profile_stack *s)
{
	uint64_t size = THREAD_LINE + profile_text_size(p, s->comm);
	uint32_t i;

	for (i = 0; i < s->nr; i++)
		size += FRAME_LINE +
			names_size(p, &p->frames[p->ids[s->first + i]]);
	return size;
}

/* What there is to print. */
struct amount {
	uint64_t samples, bytes;
	uint64_t bytes_once; /* if the samples of a stack are one */
};

static struct amount amount_of(const struct profile *p)
{
	const struct profile_stack *s, *end = p->stacks + p->nr_stacks;
	struct amount a = { 0 };
	uint64_t size, nr, all;

	for (s = p->stacks; s < end; s++) {
		size = stack_size(p, s);
		nr = nr_samples(s);
		if (__builtin_mul_overflow(size, nr, &all))
			all = UINT64_MAX;
		a.samples = profile_sum(a.samples, nr);
		a.bytes = profile_sum(a.bytes, all);
		a.bytes_once = profile_sum(a.bytes_once, nr ? size : 0);
	}
	return a;
}

/* A stack whose samples are one. */
static struct textfit_item item_of(const void *of, size_t i)
{
	const struct profile *p = of;
	const struct profile_stack *s = &p->stacks[i];

	return (struct textfit_item){
		.size = nr_samples(s) ? stack_size(p, s) : 0,
		.owner = s->owner,
	};
}

static bool write_perf(FILE *out, const struct profile *p,
		       const struct profile_options *o)
{
	struct textfit fit = { .nr = p->nr_stacks, .of = p, .item = item_of };
	const struct amount amount = amount_of(p);
	uint64_t most = profile_most_text(o);
	bool one_by_one = amount.samples <= MOST_SAMPLES &&
			  amount.bytes <= most;
	bool good = amount.bytes_once <= most || textfit_share(&fit, o);
	uint64_t time = 0;
	uint32_t i;

	for (i = 0; good && i < p->nr_stacks; i++)
		if (textfit_has(&fit, i))
			time = put_stack(out, p, &p->stacks[i], time,
					 one_by_one);
	textfit_deinit(&fit);
	return good;
}

const struct profile_writer profile_perf = {
	.name = "perf",
	.suffix = ".perf",
	.what = "as perf script prints, for what reads that",
	.cut = "stacks",
	.write = write_perf,
};

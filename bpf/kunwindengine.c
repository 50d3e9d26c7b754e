// SPDX-License-Identifier: BSD-2-Clause
/*
 * The engine whose walks are the kunwind module's, in place of the kernel's own:
 * samples have a call chain, and nothing is copied.
 */
#include <stdio.h>
#include <unistd.h>

#include "chainwalk.h"
#include "error.h"
#include "ow_kunwind.h"
#include "perfsampling.h"

#define HOOK       "/sys/module/kunwind/parameters/hook"
#define MOST       "/proc/sys/kernel/perf_event_max_stack"
#define USUAL_MOST 127 /* Linux, PERF_MAX_STACK_DEPTH */

struct engine {
	struct ow_perfsampling by;
	size_t most; /* frames of a call chain */
};

/* The first character of a file, or -1. */
static int first_of(const char *path)
{
	FILE *f = fopen(path, "re");
	int c = f ? getc(f) : -1;

	if (f)
		fclose(f);
	return c;
}

/* Without the module, or its hook, chains are what frame pointers lead to. */
static int check_module(struct ow_error *err)
{
	if (access(OW_KUNWIND_DEVICE, F_OK))
		return ow_fail_kunwind(err, OW_CODE_UNSUPPORTED,
				       "engine kunwind", " hook=1");
	if (first_of(HOOK) != 'Y')
		return ow_fail(
			err, OW_CODE_UNSUPPORTED,
			"engine kunwind needs the kunwind module's hook, "
			"which is off: echo 1 >" HOOK);
	return 0;
}

/* As many frames as are wanted and the kernel has room for. */
static uint16_t most_frames(const struct ow_recorder *r)
{
	unsigned int most = USUAL_MOST;
	FILE *f = fopen(MOST, "re");

	if (f && fscanf(f, "%u", &most) != 1)
		most = USUAL_MOST;
	if (f)
		fclose(f);
	return (uint16_t)(most < r->options.max_frames ? most :
							 r->options.max_frames);
}

static size_t walk(struct ow_recorder *r, const struct ow_perfsample *s,
		   struct ow_image *image, size_t first, enum ow_end *end)
{
	struct engine *e = r->priv;

	if (!image || !s->nr_user)
		return 0;
	return ow_chainwalk_run(&e->by.walks, image, s->user, s->nr_user,
				s->nr_kernel + s->nr_user >= e->most, first,
				end);
}

static int engine_open(struct ow_recorder *r, struct ow_error *err)
{
	int failed = check_module(err);
	struct engine *e;

	if (!failed)
		failed = ow_perfsampling_open(r, sizeof(*e), "kunwind", err);
	if (failed)
		return failed;
	e = r->priv;
	e->by.walk = walk;
	e->most = most_frames(r);
	e->by.attr.sample_max_stack = (uint16_t)e->most;
	return ow_perfsampling_begin(r, err);
}

const struct ow_engine_ops ow_kunwind_engine = {
	.open = engine_open,
	OW_PERFSAMPLING_OPS,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/* A stranger's program, of what make install installs: its own stack. */
#include <stdio.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#define DEPTH 10

static int dev;

static __attribute__((noinline, noclone)) int recurse(int depth)
{
	struct ow_frame frames[64];
	struct ow_error err;
	enum ow_end end;
	int nr;

	if (depth > 0)
		return recurse(depth - 1) | !depth;
	nr = ow_kunwind_unwind(dev, frames, 64, 0, &end, &err);
	return nr <= DEPTH || end != OW_END_OUTERMOST;
}

int main(void)
{
	struct ow_error err;
	int failed;

	dev = ow_kunwind_open(&err);
	if (dev < 0 || ow_kunwind_follow(dev, 0, 0, &err)) {
		puts(err.msg);
		return 2;
	}
	failed = recurse(DEPTH);
	printf("%d passed, %d failed\n", !failed, failed);
	return failed;
}

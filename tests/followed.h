/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting until the kunwind module has all that it needs of the caller. */
#ifndef OW_TEST_FOLLOWED_H
#define OW_TEST_FOLLOWED_H

#include <stdbool.h>
#include <unistd.h>

#include <outwind/kunwind.h>

/* For a minute at most; false: nobody follows this process. */
static inline bool wait_until_followed(void)
{
	struct ow_frame frames[128];
	int dev = ow_kunwind_open(NULL), tries;
	enum ow_end end = OW_END_NOT_YET;

	for (tries = 0; dev >= 0 && tries < 3000; tries++) {
		if (ow_kunwind_unwind(dev, frames, 128, 0, &end, NULL) > 0 &&
		    end == OW_END_OUTERMOST)
			break;
		usleep(20000);
	}
	if (dev >= 0)
		close(dev);
	return end == OW_END_OUTERMOST;
}

#endif /* OW_TEST_FOLLOWED_H */

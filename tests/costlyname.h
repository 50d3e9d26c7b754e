/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that take long to demangle. */
#ifndef OW_TEST_COSTLYNAME_H
#define OW_TEST_COSTLYNAME_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include <outwind/outwind.h>

#include "demangle.h"

/* Take all the time that names of a user's processes have. */
static inline void costlyname_use_up(uid_t uid)
{
	char name[1024], *to, *text;

	for (unsigned int i = 0; i < 100000; i++) {
		to = name + sprintf(name, "_Z");
		for (int k = 0; k < 480; k++)
			to += sprintf(to, "cv");
		sprintf(to, "7f%06u", i);
		if (ow_demangle(name, uid, &text) == -OW_CODE_TIMEOUT)
			return;
		free(text);
	}
}

#endif /* OW_TEST_COSTLYNAME_H */

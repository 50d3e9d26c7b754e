/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* /dev/kunwind (uapi/ow_kunwind.h). */
#ifndef KW_DEVICE_H
#define KW_DEVICE_H

#include <linux/types.h>

/* The mode of the files that have the calls: module parameter "unprivileged". */
umode_t kw_device_mode(void);

int kw_device_init(void);
void kw_device_exit(void);

#endif /* KW_DEVICE_H */

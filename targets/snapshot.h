/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OW_SNAPSHOT_H
#define OW_SNAPSHOT_H

#include "capture.h"

/*
 * A capture of a snapshot's sections, which come from malloc() and are the
 * capture's from now on, also on failure.  path is for messages.
 */
struct ow_capture *ow_snapshot_take(uint8_t *bytes, size_t size,
				    const char *path, const char *exe,
				    const struct ow_capture_options *options,
				    struct ow_error *err);

#endif /* OW_SNAPSHOT_H */

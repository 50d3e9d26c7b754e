/* SPDX-License-Identifier: BSD-2-Clause */
/* A logger for Xen's libraries, whose own words would come beside ours. */
#ifndef OW_XENSILENT_H
#define OW_XENSILENT_H

#include <stdarg.h>

#include <xentoollog.h>

extern struct xentoollog_logger ow_xen_silent;

#endif /* OW_XENSILENT_H */

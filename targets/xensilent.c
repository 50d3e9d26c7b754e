// SPDX-License-Identifier: BSD-2-Clause
#include "xensilent.h"

static void say_nothing(struct xentoollog_logger *logger,
			xentoollog_level level, int errnoval,
			const char *context, const char *format, va_list al)
{
	(void)logger;
	(void)level;
	(void)errnoval;
	(void)context;
	(void)format;
	(void)al;
}

static void show_nothing(struct xentoollog_logger *logger, const char *context,
			 const char *doing_what, int percent,
			 unsigned long done, unsigned long total)
{
	(void)logger;
	(void)context;
	(void)doing_what;
	(void)percent;
	(void)done;
	(void)total;
}

static void keep_it(struct xentoollog_logger *logger)
{
	(void)logger;
}

struct xentoollog_logger ow_xen_silent = { say_nothing, show_nothing, keep_it };

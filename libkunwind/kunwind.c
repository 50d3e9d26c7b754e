// SPDX-License-Identifier: BSD-2-Clause
/* The original libkunwind's functions, over /dev/kunwind and its own device. */
#include <outwind/kunwind.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ow_kunwind_proc.h"

struct kunwind_handle {
	int dev;  /* holds this process' tables */
	int proc; /* what stacks are asked of */
};

struct kunwind_backtrace *kunwind_backtrace_new(int max_entries)
{
	struct kunwind_backtrace *bt;

	if (max_entries <= 0)
		return NULL;
	bt = calloc(1, sizeof(*bt));
	if (!bt)
		return NULL;
	bt->entries = calloc((size_t)max_entries, sizeof(*bt->entries));
	if (!bt->entries) {
		free(bt);
		return NULL;
	}
	bt->max_entries = (uint32_t)max_entries;
	return bt;
}

void kunwind_backtrace_free(struct kunwind_backtrace *bt)
{
	if (!bt)
		return;
	free(bt->entries);
	free(bt);
}

/* 0, or what kunwind_init_proc_info() returns. */
static int begin(struct kunwind_handle *h)
{
	h->proc = open(OW_KUNWIND_PROC, O_RDWR | O_CLOEXEC);
	if (h->proc < 0)
		return errno;
	h->dev = ow_kunwind_open(NULL);
	if (h->dev < 0)
		return errno ? errno : ENODEV;
	if (ow_kunwind_follow(h->dev, 0, 0, NULL))
		return -1;
	return ioctl(h->proc, OW_KUNWIND_PROC_INFO, NULL);
}

int kunwind_init_proc_info(struct kunwind_handle **handle,
			   struct proc_info *info)
{
	struct kunwind_handle *h = malloc(sizeof(*h));
	int failed;

	(void)info;
	if (!h)
		return -ENOMEM;
	*h = (struct kunwind_handle){ -1, -1 };
	failed = begin(h);
	if (failed) {
		kunwind_close(h);
		return failed;
	}
	*handle = h;
	return 0;
}

int kunwind_open(struct kunwind_handle **handle)
{
	return kunwind_init_proc_info(handle, NULL);
}

int kunwind_backtrace(struct kunwind_handle *handle,
		      struct kunwind_backtrace *bt)
{
	/* What was loaded since then. */
	ow_kunwind_serve(handle->dev, NULL, NULL, NULL, NULL);
	return ioctl(handle->proc, OW_KUNWIND_PROC_UNWIND, bt);
}

void kunwind_close(struct kunwind_handle *handle)
{
	int saved = errno;

	if (!handle)
		return;
	if (handle->proc >= 0)
		close(handle->proc);
	if (handle->dev >= 0)
		close(handle->dev);
	free(handle);
	errno = saved;
}

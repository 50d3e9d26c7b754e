/* SPDX-License-Identifier: BSD-2-Clause */
/* File systems that wait for a server: which ones, by device. */
#ifndef OW_SERVEDFS_H
#define OW_SERVEDFS_H

#include <stdint.h>
#include <sys/types.h>

enum ow_servedfs {
	OW_SERVEDFS_LOCAL,  /* its files are there */
	OW_SERVEDFS_REMOTE, /* a read may wait for long, but a signal ends it */
	OW_SERVEDFS_LAYERED, /* as the file systems that it lies over */
	OW_SERVEDFS_USER,    /* FUSE, or not known: not even SIGKILL may */
};

/*
 * Tell of the file system of a device (as makedev() has it) that process pid has
 * something mapped from, by our mountinfo or else the process's (proc_pid_mountinfo(5));
 * no file system is asked.  The kinds are LOCAL, REMOTE and USER.
 */
enum ow_servedfs ow_servedfs_of(pid_t pid, uint64_t dev);

/* Find the device in the text of a mountinfo. */
enum ow_servedfs ow_servedfs_find(const char *mountinfo, uint64_t dev);

#endif /* OW_SERVEDFS_H */

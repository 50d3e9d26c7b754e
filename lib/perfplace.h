/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a process keeps its map for perf: in its own /tmp, under the pid that it
 * has itself, or in ours.  It is found while the process runs, and leads there
 * also afterwards.  Its /tmp may be of a server that does not answer.
 */
#ifndef OW_PERFPLACE_H
#define OW_PERFPLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OW_PERFPLACE_PATH 96

struct ow_perfplace {
	int tmp;        /* its own /tmp, or -1 */
	pid_t opener;   /* the process that has tmp open */
	bool is_silent; /* what serves its /tmp did not answer, or isn't asked */
	uint64_t near; /* device of its /tmp, which no server has; 0: not known */
	pid_t pid, inner; /* inner: in its own namespace */
	uid_t uid;        /* who may have made the file, other than root */
};

/*
 * Return false if there is no such process.  Of one that the kernel does not tell of in
 * time, a place that is_silent is left, and a line says so.  Without tmp, which is only taken if
 * that asks no server, the map is found while the process runs.
 */
bool ow_perfplace_init(struct ow_perfplace *p, pid_t pid);

/*
 * Open the map and tell its path, for people, in OW_PERFPLACE_PATH bytes; -1 if
 * there is none that is to be trusted: a regular file that the process' user or
 * root owns.  For work that a delegate does (reach.h).  Once ow_reach_is_spent(), a
 * /tmp that a server may have is left out.
 */
int ow_perfplace_open(struct ow_perfplace *p, char *path);

void ow_perfplace_deinit(struct ow_perfplace *p);

#endif /* OW_PERFPLACE_H */

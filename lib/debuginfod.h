/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug files of debuginfod's servers, as debuginfod(8) has them.
 *
 * A process of its own asks, by libdebuginfod: that is loaded nowhere else, as it brings
 * libcurl and all that hangs on it, and a wait that it can't end (a look-up of a
 * server's name) is ended with the process.
 *
 * Which build-ids are asked for is up to any user whose process is looked at, so there
 * are limits for all that one client asks: the time of waits, the time of
 * downloads, and the number of files that are asked for, which is that of the files
 * that libdebuginfod makes in its cache for those that the servers don't have.
 */
#ifndef OW_DEBUGINFOD_H
#define OW_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

struct ow_debuginfod;

/*
 * Return a client of the servers in DEBUGINFOD_URLS, which asks nothing yet; NULL: no
 * memory.  A client is for one thread at a time.
 */
struct ow_debuginfod *ow_debuginfod_create(void);

/*
 * Call progress now and then while files are asked for, once that takes a second in
 * all: with how many were asked for, and the bytes that came; with 0 files when a
 * wait, of which it was called, is over.
 */
void ow_debuginfod_set_progress(struct ow_debuginfod *d,
				void (*progress)(void *arg, uint64_t files,
						 uint64_t bytes),
				void *arg);

/*
 * Return the path of the debug file with that build-id, which is in libdebuginfod's
 * cache; to be freed.  NULL: the servers don't have it, or it is left out, which
 * ow_left_out() tells; of is the object that it is the debug file of, for people.
 */
char *ow_debuginfod_find(struct ow_debuginfod *d, const char *of,
			 const uint8_t *build_id, size_t size);

/* End the process that asks, too.  NULL does nothing. */
void ow_debuginfod_destroy(struct ow_debuginfod *d);

#endif /* OW_DEBUGINFOD_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/* Metadata in packets, as LTTng writes it: babeltrace2 2.0 never ends where one
   is cut short. */
#ifndef OW_CTFMETADATA_H
#define OW_CTFMETADATA_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Return true if the packets of the metadata in a trace's folder are whole; else why, of
 * size bytes, says what is wrong, with the folder's name for people.
 */
bool ctf_metadata_check(const char *folder, const char *name, char *why,
			size_t size);

/*
 * Does a trace say that another tracer than the kernel's made it?  The first part of
 * its metadata is looked at, where a tracer writes this before anything of programs.
 */
bool ctf_metadata_is_users(const char *folder);

#endif /* OW_CTFMETADATA_H */

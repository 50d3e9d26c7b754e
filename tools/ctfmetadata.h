/* SPDX-License-Identifier: BSD-2-Clause */
/* Metadata in packets, as LTTng writes it: babeltrace2 2.0 never ends where one
   is cut short. */
#ifndef OW_CTFMETADATA_H
#define OW_CTFMETADATA_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Return true if a trace's folder has only files that can be read without waiting,
 * and the packets of its metadata are whole; else why, of size bytes, says what is
 * wrong.
 */
bool ctf_metadata_check(const char *folder, char *why, size_t size);

#endif /* OW_CTFMETADATA_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/* Metadata in packets, as LTTng writes it: babeltrace2 2.0 never ends where one
   is cut short. */
#ifndef OW_CTFMETADATA_H
#define OW_CTFMETADATA_H

#include <stdbool.h>
#include <stddef.h>

/* Are the packets of a trace's folder whole?  If not, why, of size bytes, says. */
bool ctf_metadata_check(const char *folder, char *why, size_t size);

#endif /* OW_CTFMETADATA_H */

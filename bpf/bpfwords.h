/* SPDX-License-Identifier: BSD-2-Clause */
/* What libbpf says, which is kept and never printed: it tells more than errno. */
#ifndef OW_BPFWORDS_H
#define OW_BPFWORDS_H

/* Listen from here on, for this whole process, and forget what was said. */
void ow_bpfwords_listen(void);

/* The first line of what it said first since, or "". */
const char *ow_bpfwords_said(void);

#endif /* OW_BPFWORDS_H */

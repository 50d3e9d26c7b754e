/* SPDX-License-Identifier: GPL-2.0-only */
/* The events as LTTng knows them. */
#ifndef LK_PROBE_H
#define LK_PROBE_H

int lk_probe_init(void);
void lk_probe_exit(void);

#endif /* LK_PROBE_H */

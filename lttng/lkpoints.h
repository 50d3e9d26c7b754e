/* SPDX-License-Identifier: GPL-2.0-only */
/* Where stacks are taken: as the module's parameters say. */
#ifndef LK_POINTS_H
#define LK_POINTS_H

int lk_points_init(void);
void lk_points_exit(void);

#endif /* LK_POINTS_H */

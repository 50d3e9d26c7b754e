/* SPDX-License-Identifier: GPL-2.0-only */
/* What processes have mapped, told while somebody records kunwind_map. */
#ifndef LK_MAPS_H
#define LK_MAPS_H

int lk_maps_init(void);
void lk_maps_exit(void);

#endif /* LK_MAPS_H */

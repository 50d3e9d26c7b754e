/* SPDX-License-Identifier: BSD-2-Clause */
/* Ending by SIGINT, SIGTERM or SIGHUP in good order. */
#ifndef OW_INTERRUPT_H
#define OW_INTERRUPT_H

#include <stdbool.h>

/* From now on so many of each such signal are noted, and the next one ends us. */
void interrupt_catch(int most);

bool interrupt_came(void);

/* Return true if one of them came again: what takes long is to be left out. */
bool interrupt_came_again(void);

#endif /* OW_INTERRUPT_H */

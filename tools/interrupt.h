/* SPDX-License-Identifier: BSD-2-Clause */
/* Ending by SIGINT, SIGTERM or SIGHUP in good order. */
#ifndef OW_INTERRUPT_H
#define OW_INTERRUPT_H

#include <stdbool.h>

/* From now on the first such signal is noted, and the second one ends us. */
void interrupt_catch(void);

bool interrupt_came(void);

#endif /* OW_INTERRUPT_H */

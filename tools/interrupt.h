/* SPDX-License-Identifier: BSD-2-Clause */
/* Ending by SIGINT, SIGTERM or SIGHUP in good order. */
#ifndef OW_INTERRUPT_H
#define OW_INTERRUPT_H

#include <stdbool.h>

/*
 * From now on so many wishes to end are noted, and the next signal ends us.  Each
 * signal is a wish, but for signals that differ and come at once: make(1) sends
 * SIGTERM after a terminal's SIGINT.
 */
void interrupt_catch(int most);

/* How many wishes were noted so far. */
const volatile int *interrupt_wishes(void);

bool interrupt_came(void);

/* Return true if there was a second wish: what takes long is to be left out. */
bool interrupt_came_again(void);

/*
 * Between these, the first thread writes to where it may wait without end: a pipe
 * that nobody reads, or a file system that doesn't answer.  A signal that is caught
 * is noted at the last end; but where one write goes on for another second after it,
 * the signal ends us.
 */
void interrupt_begin_write(void);
void interrupt_end_write(void);

/* End the thread that looks at writes, before the program ends (ow_delegate_exit()). */
void interrupt_end(void);

#endif /* OW_INTERRUPT_H */

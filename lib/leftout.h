/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OW_LEFTOUT_H
#define OW_LEFTOUT_H

/*
 * Note, once, that something of the file at path is left out; what says of what,
 * and why ("its DWARF takes too long").  ow_left_out() tells of it.  May be called
 * by several threads at once.
 */
void ow_leave_out(const char *path, const char *what);

#endif /* OW_LEFTOUT_H */

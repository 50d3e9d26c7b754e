/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many bytes of the instructions of large FDEs, and operations of long expressions,
 * may be executed for one process, or one user: they run anew for each address that is
 * looked up and for each frame, and anybody can write a file with such for all of its
 * code.  An operation counts as a byte, which takes about 10 ns.
 */
#ifndef OW_CFIWORK_H
#define OW_CFIWORK_H

#define OW_CFIWORK_MOST     ((int64_t)64 << 20)
#define OW_CFIWORK_A_SECOND ((int64_t)1 << 20)
#define OW_CFIWORK_SHARES   4 /* a walk may execute one part of what is left */

#endif /* OW_CFIWORK_H */

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Print what a kernel's own checks report in its log on standard input, with some
# lines of each; exit with 1 if there is anything.
awk '
/cut here|BUG:|WARNING:|Oops|KASAN|UBSAN|ODEBUG|refcount_t:|general protection/ ||
/INFO: (task|rcu|possible|trying|lockdep)|suspicious RCU|soft lockup|corruption/ ||
/possible (recursive|circular|irq)|inconsistent lock|sleeping function|while atomic/ {
    found++
    left = 40
}
left-- > 0 && printed++ < 200
END { exit found > 0 }'

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# That reports.sh recognises what kernels report, and nothing else.
here=$(dirname "$0")
# shellcheck source=tests/kunwind/say.sh
. "$(dirname "$0")/say.sh"

# As kernels of 6.1 print them.
while read -r line; do
    [ "$(printf '[    0.1] a line\n[    0.2] %s\n[    0.3] behind\n' "$line" |
        sh "$here/reports.sh" | wc -l)" -eq 2 ]
    say $? "not recognised: $line"
    ! echo "[    0.1] $line" | sh "$here/reports.sh" >/dev/null
    say $? "no failure: $line"
done <<'END'
------------[ cut here ]------------
WARNING: CPU: 0 PID: 1 at kernel/sched/core.c:9 f+0x1/0x2
WARNING: possible recursive locking detected
WARNING: possible circular locking dependency detected
WARNING: inconsistent lock state
WARNING: suspicious RCU usage
BUG: KASAN: slab-use-after-free in f+0x1/0x2 [kunwind]
BUG: sleeping function called from invalid context at mm/slab.h:1
BUG: scheduling while atomic: a/1/0x00000002
BUG: unable to handle page fault for address: ffff888000000000
BUG: using smp_processor_id() in preemptible [00000000] code: a/1
UBSAN: array-index-out-of-bounds in a.c:1:2
ODEBUG: free active (active state 0) object type: work_struct
refcount_t: underflow; use-after-free.
list_add corruption. prev->next should be next
general protection fault, probably for non-canonical address 0x1: 0000
Oops: 0000 [#1] PREEMPT SMP
INFO: task a:1 blocked for more than 120 seconds.
INFO: rcu_preempt detected stalls on CPUs/tasks:
INFO: trying to register non-static key.
watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [a:1]
END

printf '%s\n' '[    0.1] Linux version 6.1' '[    0.2] rcu: INFO' \
    '[    0.3] kunwind: loading out-of-tree module taints kernel.' \
    '[    0.4] livepatch: enabling patch' | sh "$here/reports.sh"
say $? "a log without reports"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

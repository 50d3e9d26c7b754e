#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# In a guest whose kernel checks itself: that what is wrong is reported, and that
# reports are recognised.  usage: wrong.sh BUILD
build=$1
reports="$(dirname "$0")/reports.sh"
# shellcheck source=tests/kunwind/say.sh
. "$(dirname "$0")/say.sh"

# Lockdep tells of one circle, and of nothing where something else was reported that
# may have broken it.
while read -r what text; do
    dmesg -C
    insmod "$build/kwtest-$(uname -r)/kwwrong.ko" "what=$what"
    rmmod kwwrong
    dmesg | grep -q "$text"
    say $? "$what: no '$text'"
    ! dmesg | sh "$reports" >/dev/null
    say $? "$what: not recognised"
done <<END
sleep-in-atomic BUG: sleeping function called
rcu-unlocked suspicious RCU usage
lock-order possible circular locking
use-after-free KASAN: .*use-after-free
out-of-bounds KASAN: .*out-of-bounds
END
dmesg -C
echo "kunwind: nothing wrong" >/dev/kmsg
dmesg | sh "$reports"
say $? "a log without reports"
echo "$passed passed, $failed failed"

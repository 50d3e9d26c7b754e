#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Boot User-Mode Linux with the module, and once more with kunwind built in, and
# compare stacks there.  usage: uml.sh BUILD SERIES...
set -u
build=$(realpath "$1")
shift
here=$(realpath "$(dirname "$0")")
status=0
fail() {
    echo "0 passed, 1 failed"
    status=1
}

# What runs in it; stress is by system calls alone, as it has no NMIs to unwind in.
cat >"$build/lab/uml.sh" <<END
run() {
    echo "# \$(uname -r): \$*"
    timeout -k 10 "\$@" && return
    echo "# ended with \$?"
    echo "0 passed, 1 failed"
}
export IN_UML=1 LD_BIND_NOW= PLUGIN=$build/kunwind/plugin.so
[ -e /dev/kunwind ] || insmod "\$1" unprivileged=1 || exit 1
run 300 $build/kunwind/limits
run 300 $build/kunwind/locks
for p in pie no-pie lld static; do
    run 300 $build/kunwind/stacks-\$p
done
run 300 $build/kunwind/original 100
run 300 $build/kunwind/permit
run 300 $build/kunwind/unfollow
run 300 $build/kunwind/sharing
run 300 $build/kunwind/stress 5
run 300 $build/kunwind/fuzz 2 1
run 300 $build/kunwind/left
[ ! -e /sys/module/kunwind/refcnt ] || rmmod kunwind || exit 1
END

for series; do
    for linux in linux-m linux-y; do
        linux=$build/lab/uml-$series/$linux
        APPEND=kunwind.unprivileged=1 bash "$here/../../lab/kernel/umlrun.sh" -t 3600 "$linux" \
            "sh $build/lab/uml.sh $build/lab/uml-$series/kunwind.ko" \
            >"$linux.log" 2>&1 || fail
        cat "$linux.log"
        ! grep -qE '[1-9][0-9]* failed' "$linux.log" || status=1
        if grep -q 'kunwind: no kprobes' "$linux.console" &&
            sh "$here/reports.sh" <"$linux.console"; then
            echo "1 passed, 0 failed"
        else
            fail
        fi
    done
done
exit $status

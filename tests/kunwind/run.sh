#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Boot each kernel and run the tests of kunwind there.
# usage: run.sh BUILD KVER...
set -u
build=$(realpath "$1")
shift
here=$(realpath "$(dirname "$0")")
seconds=${KUNWIND_SECONDS:-60}
if [ $# -eq 0 ]; then
    echo "no headers of a kernel: see scripts/deps.sh"
    echo "0 passed, 1 failed"
    exit 1
fi
status=0
fail() {
    echo "0 passed, 1 failed"
    status=1
}
for kver; do
    export KVER="$kver" LAB="$build/lab" OUT="$build/lab/out"
    # A guest that hangs ends before the stage of make check does, and says where.
    log=$build/lab/kunwind-$kver.log memory=1024 limit=$((4 * seconds + 1200))
    unset APPEND
    case $kver in
    # Its checks take memory; each report is told.
    *-debug)
        memory=3072 limit=$((2 * seconds + 5400))
        export APPEND=kasan_multi_shot
        ;;
    *)
        bash "$here/../../lab/kernel/get-kernel.sh" || {
            echo "no kernel $kver"
            fail
            continue
        }
        ;;
    esac
    bash "$here/../../lab/kernel/vmrun.sh" -m $memory \
        -t $limit -- \
        "sh $here/guest.sh $build $seconds" >"$log" 2>&1 || fail
    cat "$log"
    ! grep -qE '[1-9][0-9]* failed' "$log" || status=1
    if sed '/wrong on purpose/,$d' "$OUT/console-$kver.log" | sh "$here/reports.sh"; then
        echo "1 passed, 0 failed"
    else
        fail
    fi
done
exit $status

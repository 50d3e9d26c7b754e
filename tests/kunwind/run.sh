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
for kver; do
    export KVER="$kver" LAB="$build/lab"
    if ! bash "$here/../../lab/kernel/get-kernel.sh"; then
        echo "no kernel $kver"
        echo "0 passed, 1 failed"
        status=1
        continue
    fi
    bash "$here/../../lab/kernel/vmrun.sh" -t $((2 * seconds + 5400)) -- \
        "sh $here/guest.sh $build $seconds" >"$build/lab/kunwind-$kver.log" 2>&1
    rc=$?
    cat "$build/lab/kunwind-$kver.log"
    if [ $rc -ne 0 ] || grep -qE '[1-9][0-9]* failed' "$build/lab/kunwind-$kver.log"; then
        status=1
        [ $rc -eq 0 ] || echo "0 passed, 1 failed"
    fi
done
exit $status

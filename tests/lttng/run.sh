#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Boot a kernel, trace there with LTTng, and look at the traces here.
# usage: run.sh BUILD KVER [patched]
set -u
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
calls=${LTTNG_CALLS:-1500} what=${3-}
export KVER="${2-}" LAB="$build/lab"
if [ -z "$KVER" ]; then
    echo "no headers of a kernel: see scripts/deps.sh"
    echo "0 passed, 1 failed"
    exit 1
fi
kept=$LAB/out/lttng script="guest.sh $build $calls"
if [ "$what" = patched ]; then
    kept=$LAB/out/lttng-patched script="patched.sh $build $calls"
fi
mkdir -p "$kept"
bash "$here/../../lab/kernel/vmrun.sh" -s -t 3600 -- \
    "bash $here/$script $kept $what" || {
    echo "0 passed, 1 failed"
    exit 1
}
python3 -B "$here/check.py" "$kept" "$calls" "$build/bin/outwind" ${what:+"$what"}

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Boot each kernel with a counter of instructions in place of a clock, and count
# what kunwind costs there.  usage: bench/kunwind.sh BUILD KVER...
set -eu
build=$(realpath "$1")
shift
here=$(realpath "$(dirname "$0")")
[ $# -gt 0 ] || { echo "no headers of a kernel: see scripts/deps.sh" >&2; exit 1; }
for kver; do
    export KVER="$kver" LAB="$build/lab"
    bash "$here/../lab/kernel/get-kernel.sh"
    echo "# Linux $kver"
    bash "$here/../lab/kernel/vmrun.sh" -i -t 600 -- "set -e
        insmod $build/kmod-$kver/kunwind.ko
        insmod $build/kwbench-$kver/kwbench.ko
        $build/kunwind/bench_kunwind"
done

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# libunwind's interface over outwind beside libunwind 1.6.2 of Debian: registers
# of local stacks, of processes and of core files; and what only ours has to do.
# usage: check-compat.sh BUILT-TESTS FOLDER-OF-OUR-LIBRARIES LIVE-PROGRAMS [SECONDS]
set -u
tests=$1 ours=$2 programs=$3 seconds=${4:-3}
theirs=$(dirname "$(ldconfig -p | sed -n 's/.*libunwind-x86_64.so.8 .*=> //p' |
    head -n 1)")
tmp=$(mktemp -d)
status=0
# shellcheck source=scripts/targets.sh
. scripts/targets.sh

# shellcheck disable=SC2317 # by trap
end_all() {
    end_targets
    rm -rf "$tmp"
}
trap end_all EXIT
trap 'exit 1' INT TERM

try() {
    echo "# $*"
    "$@" || status=1
}

[ -e "$theirs/libunwind.so.8" ] || {
    echo "no libunwind to compare with"
    exit 1
}
try "$tests/localunwind"
try qemu-aarch64 -L /usr/aarch64-linux-gnu "$tests/localunwind-aarch64"
try "$tests/localdiff" "$ours/libunwind.so.8" "$theirs/libunwind.so.8"

# The same stacks by accessors of the caller's own, with and without a cache.
try "$tests/../bench/bench_compat" "$ours" "$theirs" check

# Every symbol of theirs is there, but what the manual says isn't, or what only
# libunwind itself uses.
defined() {
    nm -D --defined-only "$1" | awk '{ print $3 }' | sort
}
for so in libunwind.so.8 libunwind-x86_64.so.8 libunwind-ptrace.so.0 \
    libunwind-coredump.so.0; do
    defined "$theirs/$so" | grep -vE '_Unwind_|_dwarf_find_unwind_table|_get_elf_image|_get_exe_image_path|^_Read|_UPT_reg_offset|_UCD_get_(mapinfo|threadinfo)' >"$tmp/theirs"
    defined "$ours/$so" >"$tmp/ours"
    missing=$(comm -13 "$tmp/ours" "$tmp/theirs")
    if [ -z "$missing" ] && [ -s "$tmp/theirs" ]; then
        echo "1 passed, 0 failed"
    else
        echo "$so lacks $missing"
        echo "0 passed, 1 failed"
        status=1
    fi
done

start_target "$programs/chain-pie"
start_target "$programs/chain-no-pie"
# Not lld's: libunwind 1.6.2 finds no unwind information in what it links.
start_target "$programs/chain-clang"
start_target "$programs/shapes" deep 200
start_target "$programs/shapes" realign
start_target "$programs/shapes" callback
start_target "$programs/throwing" destructor
start_target "$programs/signals" nested
start_target "$programs/signals" altstack
start_target python3 -c 'import time
print("ready", flush=True)
def f(n): return sorted([2, 1], key=lambda x: f(n - 1) if n else time.sleep(9999))
f(20)'
start_target sleep 9999
wait_for_targets
# shellcheck disable=SC2086
try "$tests/remotediff" "$ours" "$theirs" $target_pids
for pid in $target_pids; do
    # The innermost frame of each is in a system call, so it stays the same.
    gcore -o "$tmp/core" "$pid" >/dev/null 2>&1
    try "$tests/remotediff" "$ours" "$theirs" "$pid=$tmp/core.$pid"
done

# Xen's says what it lacks, and can be given back what it hasn't.
try "$tests/xenabsent"

# What is made while it samples: exceptions, libraries coming and going, threads.
try "$tests/stress" "$seconds" "$tests/stress_a.so" "$tests/stress_b.so"
exit $status

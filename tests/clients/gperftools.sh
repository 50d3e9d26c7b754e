#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gperftools, built from Debian's source with these headers and libraries: its own
# tests of stacks, and profiles of a program whose stacks are known.
# usage: gperftools.sh FOLDER PREFIX [all]: also its heap profiler and the tests
# of its CPU profiler, which take longer.
# shellcheck disable=SC2317 # functions that step and try run
set -u
work=$1 prefix=$2 all=${3:-}
# shellcheck source=tests/clients/common.sh
. tests/clients/common.sh

fetch google-perftools
build_in gperftools
step configure cmake_with_ours -Dgperftools_enable_libunwind=ON
step make ninja -j2 -C "$build" profiler stacktrace_unittest getpc_test
step known gcc -O2 -g -fomit-frame-pointer tests/clients/known.c \
    -o "$build/known"
pprof=$source/src/pprof

runs_with_ours "$build/libprofiler.so"
try "its own stacktrace_unittest" timeout 900 "$build/stacktrace_unittest"
try "its own getpc_test" timeout 900 "$build/getpc_test"

# Function names of every stack, and its count.  Without the option callers that
# all samples share are taken for the signal handler's, and left out.
stacks() {
    perl "$pprof" --collapsed --no-auto-signal-frm "$@" 2>"$work/last.log" |
        sed 's/<[0-9a-f]*>//g; s/\.constprop\.[0-9]*//g'
}

rm -f "$work"/cpu.prof* "$work"/heap.*
LD_PRELOAD=$build/libprofiler.so CPUPROFILE=$work/cpu.prof \
    "$build/known" cpu 1 >"$work/last.log" 2>&1
stacks "$build/known" "$work/cpu.prof" >"$work/cpu.stacks"
awk '/main;outer;middle;spin/ { k += $NF } { n += $NF }
    END { exit !(k >= 20 && k >= 0.95 * n) }' "$work/cpu.stacks"
say "CPU profile of a known program: nearly all samples have its stack" $?
[ "$all" = all ] || finish

step all ninja -j2 -C "$build" tcmalloc profiler1_unittest \
    profiler2_unittest profiler3_unittest profiler4_unittest
runs_with_ours "$build/libtcmalloc.so"
LD_PRELOAD=$build/libtcmalloc.so HEAPPROFILE=$work/heap \
    "$build/known" heap >"$work/last.log" 2>&1
stacks --inuse_space "$build/known" "$work/heap.0001.heap" >"$work/heap.stacks"
grep -q 'main;outer;middle;keep 12345000$' "$work/heap.stacks"
say "heap profile of a known program" $?

profiler_tests() {
    BINDIR=$build PPROF_PATH=$pprof timeout 1800 \
        sh "$source/src/tests/profiler_unittest.sh"
}
try "its own profiler_unittest.sh" profiler_tests
finish

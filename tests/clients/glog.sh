#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# glog, built from Debian's source with these headers and libraries: its own tests
# of stack traces and of the trace that its signal handler writes.
# usage: glog.sh FOLDER PREFIX
set -u
work=$1 prefix=$2
# shellcheck source=tests/clients/common.sh
. tests/clients/common.sh

fetch google-glog
build_in glog
# Without PIE, so that addresses can be named; glog's own names are wrong where a
# program has thread-local data.
step configure cmake_with_ours -DWITH_GTEST=OFF -DWITH_GFLAGS=OFF \
    -DCMAKE_EXE_LINKER_FLAGS=-no-pie \
    -DUnwind_INCLUDE_DIR="$headers" -DUnwind_LIBRARY="$ours/libunwind.so"
step make ninja -j2 -C "$build" stacktrace_unittest signalhandler_unittest

runs_with_ours "$build/stacktrace_unittest"
try "glog's own stacktrace_unittest" timeout 900 "$build/stacktrace_unittest"

# Functions of a trace, from the inside out, as addr2line names them; a call of
# abort() may be the last instruction of one.
functions() {
    sed -n 's/^    @ *\(0x[0-9a-f]*\) .*/\1/p' "$1" |
        while read -r pc; do printf '0x%x\n' "$((pc - 1))"; done |
        xargs addr2line -f -e "$build/signalhandler_unittest" |
        awk 'NR % 2' | tr '\n' ' '
}

# What its signalhandler_unittest.sh asks for.  Not its division by zero: gcc 12
# makes one of a number that doesn't trap.
dies() {
    GOOGLE_LOG_DIR=$build timeout 900 "$build/signalhandler_unittest" "$1" \
        >"$work/last.log" 2>&1
    grep -q 'Aborted at [0-9]' "$work/last.log" &&
        grep -q "$2" "$work/last.log" &&
        functions "$work/last.log" | grep -q ' main .*_start '
    say "glog's own signalhandler_unittest: $1" $?
}
dies segv SIGSEGV
dies dump_to_stdout SIGABRT
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# glog, built from Debian's source with these headers and libraries: its own tests
# of stack traces and of the trace that its signal handler writes.
# usage: glog.sh FOLDER PREFIX
# shellcheck disable=SC2317 # functions that step and try run
set -u
work=$1 prefix=$2
# shellcheck source=tests/clients/common.sh
. tests/clients/common.sh

fetch google-glog
build_in glog
step configure cmake_with_ours -DWITH_GTEST=OFF -DWITH_GFLAGS=OFF \
    -DUnwind_INCLUDE_DIR="$headers" -DUnwind_LIBRARY="$ours/libunwind.so"
step make ninja -j2 -C "$build" stacktrace_unittest signalhandler_unittest

runs_with_ours "$build/libglog.so"
try "glog's own stacktrace_unittest" timeout 100 "$build/stacktrace_unittest"

# It looks for its program where libtool would have put it.
signal_tests() {
    mkdir -p "$build/.libs" && cd "$build" &&
        ln -sf ../signalhandler_unittest ../libglog.so.1 .libs &&
        timeout 100 sh "$source/src/signalhandler_unittest.sh"
}
try "glog's own signalhandler_unittest.sh" signal_tests
finish

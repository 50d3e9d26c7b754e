#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a sample costs, here and by perf: record.sh BUILD.  Needs root and perf.
set -eu

build=$1
hz=999
seconds=3
dir=$(mktemp -d)
"$build/live/busy" >/dev/null &
target=$!
trap 'kill $target; rm -rf "$dir"' EXIT
sleep 0.2

row() {
    printf '| %-28s | %8s | %12s | %10s | %10s | %8s |\n' "$@"
}

ours() {
    "$build/bin/outwind" record -F $hz -d $seconds -o /dev/null --stats "$@" \
        $target 2>"$dir/said"
    row "outwind $*" \
        "$(awk '/samples by/ { print $1 }' "$dir/said")" \
        "$(awk '/left the kernel/ { print $1 }' "$dir/said")" \
        "$(awk '/^programs:/ { print $2 }' "$dir/said")" \
        "$(awk '/^programs:/ { print $6 }' "$dir/said")" \
        "$(awk '/^verifier:/ { print $2 }' "$dir/said")"
}

theirs() {
    perf record -q -e cpu-clock -F $hz "$@" -p $target -o "$dir/data" -- \
        sleep $seconds >/dev/null 2>&1
    n=$(perf script -i "$dir/data" -F event 2>/dev/null | grep -c cpu-clock)
    size=$(stat -c %s "$dir/data")
    row "perf $*" "$n" "$((size / (n ? n : 1)))" - - -
}

row "$hz Hz, two busy threads" samples "bytes each" "ns a run" \
    "a frame" verified
row --- ---: ---: ---: ---: ---:
ours
ours --no-kernel
ours --engine=perf
theirs --call-graph dwarf
theirs --call-graph fp

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
trap 'kill $target 2>/dev/null || :; rm -rf "$dir"' EXIT
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

# What a sample costs by itself, and what each frame adds, by stacks that differ in
# nothing but their depth: a line through them.  The fewer samples a second, the
# colder are the caches.  The target is 40 ns for what a frame adds.
one_depth() {
    "$build/bench/depths" "$2" &
    loop=$!
    sleep 0.2
    "$build/bin/outwind" record -F "$1" -d $seconds -o /dev/null --stats \
        $loop 2>"$dir/said"
    kill $loop
    awk '/frames a sample/ { frames = $1 }
        /^programs:/ { print frames, frames * $6 }' "$dir/said"
}

by_depth() {
    for depth in 1 8 32 128 512; do
        one_depth "$1" $depth
    done | awk -v hz="$1" '
        { frames = frames " " $1 "|"; ns = ns sprintf(" %d |", $2)
          n++; x += $1; y += $2; xx += $1 * $1; xy += $1 * $2 }
        END {
            slope = (n * xy - x * y) / (n * xx - x * x)
            printf "| %s |%s %.0f | %.1f |\n", hz, ns, (y - slope * x) / n,
                slope
        }'
}

kill $target
wait $target 2>/dev/null || :
printf '\n| Hz, ns a sample in | 1 function | 8 | 32 | 128 | 512 | '
printf 'a sample by itself | and a frame |\n'
echo '| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
by_depth 99
by_depth 999
by_depth 9999

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs as Debian has built them for its libunwind, run with these libraries by
# LD_LIBRARY_PATH, beside themselves with Debian's: strace, heaptrack, tcmalloc.
# usage: prebuilt.sh FOLDER PREFIX PROGRAMS
set -u
work=$1 prefix=$2 programs=$3
# shellcheck source=tests/clients/common.sh
. tests/clients/common.sh

build_in prebuilt
step known gcc -O2 -g -fomit-frame-pointer tests/clients/known.c \
    -o "$build/known"

side_name() {
    if [ "$1" = "$ours" ]; then echo ours; else echo theirs; fi
}

# with LIBRARIES COMMAND...
with() {
    libraries=$1
    shift
    LD_LIBRARY_PATH=$libraries timeout 900 "$@" >"$work/last.log" 2>&1
}

# takes FILE: its libunwind is ours when it is told so.
takes() {
    LD_LIBRARY_PATH=$ours ldd "$1" | grep libunwind >"$work/last.log"
    [ -s "$work/last.log" ] && ! grep -v "$ours/" "$work/last.log"
    say "$(basename "$1") takes these libraries" $?
}

# same NAME: of what ran with ours and with theirs; not empty.
same() {
    diff "$build/theirs.out" "$build/ours.out" >"$work/last.log" &&
        [ -s "$build/ours.out" ]
    say "$1" $?
    head -n 10 "$work/last.log"
}

takes "$(command -v strace)"
for side in "$ours" "$theirs"; do
    out=$build/$(side_name "$side")
    with "$side" strace -E LD_LIBRARY_PATH -f -k -o "$out.trace" "$programs/throwing" --help
    sed -n 's/^ > //p' "$out.trace" >"$out.out"
done
same "strace -k: $(wc -l <"$build/ours.out") frames"

preload=$(dpkg -L libheaptrack | grep preload.so)
takes "$preload"
for side in "$ours" "$theirs"; do
    out=$build/$(side_name "$side")
    rm -f "$out".heap*
    with "$side" heaptrack -o "$out.heap" "$build/known" heap
    heaptrack_print -p 0 -a 0 -T 0 --flamegraph-cost-type leaked \
        -F "$out.all" -f "$out".heap.* >"$work/last.log" 2>&1
    sed -n 's/ ([^)]*)//g; /keep/p' "$out.all" >"$out.out"
done
grep -qE 'main;outer;middle;keep[^;]*; 12345000$' "$build/ours.out"
say "heaptrack has the known stack and its bytes" $?
same "heaptrack: the same with both"

tcmalloc=$(dpkg -L libgoogle-perftools4 | grep 'libtcmalloc\.so\.4$')
takes "$tcmalloc"
for side in "$ours" "$theirs"; do
    out=$build/$(side_name "$side")
    rm -f "$out".prof*
    with "$side" env LD_PRELOAD="$tcmalloc" HEAPPROFILE="$out.prof" \
        "$build/known" heap
    # Addresses but for the pages, which differ from run to run.
    sed -n '/12345000/{/^heap/d;s/0x[0-9a-f]*\([0-9a-f]\{3\}\)/\1/g;p}' \
        "$out.prof.0001.heap" >"$out.out"
done
same "tcmalloc: the same heap profile with both"
finish

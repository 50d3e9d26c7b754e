#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# strace, built from Debian's source with these headers and libraries: its own
# tests of stack traces, and its stacks beside those of Debian's strace.
# usage: strace.sh FOLDER PREFIX PROGRAMS
# shellcheck disable=SC2317 # functions that step and try run
set -u
work=$1 prefix=$2 programs=$3
# shellcheck source=tests/clients/common.sh
. tests/clients/common.sh

# Its own copy of Linux's headers, as those of the system may be newer.
configure() {
    cd "$build" && "$source/configure" --enable-bundled=yes --with-libunwind \
        --without-libdw --disable-mpers --disable-gcc-Werror \
        --disable-dependency-tracking CFLAGS='-O1' \
        CPPFLAGS="-I$headers" LDFLAGS="$link"
}

fetch strace
build_in strace
step configure configure
step make make -j2 -C "$build/src"
step tests make -j2 -C "$build/tests" stack-fcall stack-fcall-attach \
    stack-fcall-mangled set_ptracer_any

runs_with_ours "$build/src/strace"
# own TEST: in the environment that its make check gives it.
own() {
    cd "$build/tests" &&
        srcdir=$source/tests CC=gcc STRACE_ARCH=x86_64 \
            STRACE_NATIVE_ARCH=x86_64 SIZEOF_LONG=8 SIZEOF_KERNEL_LONG_T=8 \
            MIPS_ABI='' timeout 900 sh "$source/tests/$1.test"
}

for t in strace-k strace-k-p strace-k-demangle; do
    try "strace's own $t" own $t
done

# Frames as module, function and offset; no two runs have the same addresses.
frames() {
    sed -n 's/^ > //p; s/^\([a-z_0-9]*\)(.*/\1/p' "$1"
}

# Every system call of a program, with its stack.  What the program does must not
# depend on chance.
trace() {
    # shellcheck disable=SC2086
    PERL_HASH_SEED=0 setarch -R "$2" -k -o "$work/trace" $3 >/dev/null 2>&1
    frames "$work/trace" >"$work/$1.frames"
}

# compare COMMAND, of words.
compare() {
    trace ours "$build/src/strace" "$1"
    trace theirs strace "$1"
    lines=$(grep -c '(' "$work/ours.frames")
    diff "$work/theirs.frames" "$work/ours.frames" >"$work/last.log" &&
        [ "$lines" -ge 20 ]
    say "$lines frames of '$1' as Debian's strace has them" $?
    head -n 10 "$work/last.log"
}

compare 'ls /'
compare 'perl -MPOSIX -e print(strftime(1,gmtime(0)))'
compare "$programs/throwing --help"
finish

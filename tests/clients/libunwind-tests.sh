#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# libunwind's own tests, of Debian's source package, built as they are against
# these headers and libraries: all that its make check runs on x86-64, but those
# of its internals (check-namespace) and of libunwind-setjmp.
# usage: libunwind-tests.sh FOLDER PREFIX
# shellcheck disable=SC2317 # functions that step and try run
set -u
work=$1 prefix=$2
# shellcheck source=tests/clients/common.sh
. tests/clients/common.sh

config() {
    for name in EXECINFO_H SYS_PTRACE_H DECL_PTRACE_CONT \
        DECL_PTRACE_SINGLESTEP DECL_PTRACE_SYSCALL DECL_PTRACE_TRACEME; do
        echo "#define HAVE_$name 1"
    done >"$build/config.h"
}

# compile NAME LIBRARIES SOURCE...; of its own headers only compiler.h, last.
compile() {
    out=$build/$1 libs=$2
    shift 2
    case $1 in *.cxx) cc=g++ ;; *) cc=gcc ;; esac
    files=
    for file; do files="$files $source/tests/$file"; done
    # shellcheck disable=SC2086
    $cc -O1 -w -D_GNU_SOURCE -DHAVE_CONFIG_H -I"$build" -I"$headers" \
        -idirafter "$source/include" $files -o "$out" $link $libs \
        -lpthread -ldl
}

compile_all() {
    set -e
    local='-lunwind'
    any='-lunwind-generic -lunwind'
    for t in concurrent exc resume-sig resume-sig-rt nomalloc; do
        compile "Gtest-$t" "$any" "Gtest-$t.c"
        compile "Ltest-$t" "$local" "Ltest-$t.c"
    done
    for t in bt trace; do
        compile "Gtest-$t" "$any" "Gtest-$t.c" ident.c
        compile "Ltest-$t" "$local" "Ltest-$t.c" ident.c
    done
    for t in Ltest-varargs Ltest-nocalloc Lrs-race test-async-sig \
        test-flush-cache; do
        compile "$t" "$local" "$t.c"
    done
    for t in test-init-remote test-mem test-reg-state test-proc-info \
        test-strerror x64-unwind-badjmp-signal-frame Ltest-mem-validate; do
        compile "$t" "$any" "$t.c"
    done
    compile Gtest-init "$any" Gtest-init.cxx
    compile Ltest-init "$local" Ltest-init.cxx
    compile Ltest-cxx-exceptions "$local" Ltest-cxx-exceptions.cxx
    for t in G L; do
        compile "${t}x64-test-dwarf-expressions" "$any" \
            "${t}x64-test-dwarf-expressions.c" x64-test-dwarf-expressions.S
    done
    compile Ltest-init-local-signal "$any" Ltest-init-local-signal.c \
        Ltest-init-local-signal-lib.c
    compile test-static-link "$any" test-static-link-loc.c \
        test-static-link-gen.c
    compile test-ptrace "-lunwind-ptrace $any" test-ptrace.c
    compile test-ptrace-misc '' test-ptrace-misc.c ident.c
    compile mapper '' mapper.c
    compile crasher '' crasher.c
    compile test-coredump-unwind "-lunwind-coredump $any" \
        test-coredump-unwind.c
}

# Every test says by its exit status; stdin away from those that would read it.
in_build() {
    cd "$build" && timeout 900 "$@" </dev/null
}

fetch libunwind
build_in libunwind-tests
step config config
step compile compile_all

for file in "$build"/[GL]test-* "$build"/[GL]x64-* "$build"/Lrs-race \
    "$build"/test-* "$build"/x64-*; do
    t=$(basename "$file")
    case $t in
    *.log | test-ptrace-misc | test-coredump-unwind) continue ;;
    esac
    try "libunwind's own $t" in_build "./$t"
done
for t in run-ptrace-mapper run-ptrace-misc run-coredump-unwind; do
    try "libunwind's own $t" in_build sh "$source/tests/$t"
done
# Its &> is bash's.
try "libunwind's own run-coredump-unwind-mdi" in_build \
    bash "$source/tests/run-coredump-unwind" -minidebuginfo
runs_with_ours "$build/test-ptrace"
finish

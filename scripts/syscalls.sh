#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Names of system calls by number, for each architecture, from the kernel's
# headers: syscalls.sh CC > header.  An architecture whose header is not here
# has no names.
set -eu

cc=$1

# AArch64 takes the generic numbers, with these of the older calls
# (arch/arm64/include/uapi/asm/unistd.h of Linux 6.1).
arm64='-D__ARCH_WANT_RENAMEAT -D__ARCH_WANT_NEW_STAT
    -D__ARCH_WANT_SET_GET_RLIMIT -D__ARCH_WANT_TIME32_SYSCALLS
    -D__ARCH_WANT_SYS_CLONE3 -D__ARCH_WANT_MEMFD_SECRET'

# $1 the table's name, $2 the header, then flags of the compiler.
table() {
    name=$1 header=$2
    shift 2
    echo "static const char ${name}_names[][SYSCALL_NAME_SIZE] = {"
    if echo "#include <$header>" | "$cc" -E -dM "$@" - >"$tmp/macros" \
        2>/dev/null; then
        {
            echo "#include <$header>"
            sed -n 's/^#define __NR_\([a-z0-9_]*\) .*/name_is \1 __NR_\1/p' \
                "$tmp/macros"
        } | "$cc" -E -P "$@" - |
            sed 's/ (0x40000000 + \([0-9]*\))$/ \1/' |
            sed -n 's/^name_is \([a-z0-9_]*\) \([0-9]*\)$/\2 \1/p' |
            grep -v -x -E '[0-9]+ (syscalls|arch_specific_syscall)' |
            sort -n -u -k 1,1 | sed 's/^\([0-9]*\) \(.*\)/\t[\1] = "\2",/'
    fi
    echo '	"" };'
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
echo '/* Made by scripts/syscalls.sh. */'
table x86_64 asm/unistd_64.h
table x32 asm/unistd_x32.h -D__X32_SYSCALL_BIT=0x40000000
table i386 asm/unistd_32.h
# shellcheck disable=SC2086
table aarch64 asm-generic/unistd.h $arm64

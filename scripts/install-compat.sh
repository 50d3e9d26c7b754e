#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Install libunwind's interface into a folder of its own, so that nothing of the
# system is shadowed.  usage: install-compat.sh BUILT DESTDIR PREFIX LIBDIR
set -eu
built=$1 dest=$2 prefix=$3 libdir=$4
lib=$dest$libdir/outwind
include=$dest$prefix/include/outwind/compat

install -d "$lib/pkgconfig" "$include"
for so in "$built"/libunwind*.so.[0-9]; do
    install -m 755 "$so" "$lib"
    name=$(basename "$so")
    ln -sf "$name" "$lib/${name%.[0-9]}"
done
ln -sf "$(basename "$(readlink "$built/libunwind-generic.so")")" \
    "$lib/libunwind-generic.so"
install -m 644 include/compat/*.h "$include"

# pc NAME LIBRARY REQUIRES DESCRIPTION
pc() {
    sed -e "s|@PREFIX@|$prefix|" -e "s|@LIBDIR@|$libdir|" \
        -e "s|@NAME@|$1|" -e "s|@LIBRARY@|$2|" -e "s|@REQUIRES@|$3|" \
        -e "s|@DESCRIPTION@|$4|" -e '/^Requires: $/d' \
        compat/libunwind.pc.in >"$lib/pkgconfig/$1.pc"
}
pc libunwind unwind '' "libunwind's interface, local"
pc libunwind-generic unwind-generic libunwind "libunwind's interface, remote"
pc libunwind-ptrace unwind-ptrace 'libunwind-generic libunwind' \
    'accessors for traced processes'
pc libunwind-coredump unwind-coredump 'libunwind-generic libunwind' \
    'accessors for core files'
pc libunwind-xen unwind-xen 'libunwind-generic libunwind' \
    'accessors for Xen domains'

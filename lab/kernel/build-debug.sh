#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build-debug.sh SERIES: build a small kernel of Debian's source of that series, 6.1
# for one, with KASAN, lockdep and their like (debug.config), as vmrun.sh boots it:
# KVER=SERIES-debug.  Kept below LAB; the first time takes two processors ten minutes.
series=$1
export KVER=$series-debug
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
here=$(realpath "$(dirname "$0")")
build=$LAB/build-$KVER

kernel() {
    env -u MAKEFLAGS make -s -C "$LAB/linux-$series" O="$build" \
        KERNELRELEASE="$KVER" "$@"
}

bash "$here/get-source.sh" "$series"
rm -rf "$KROOT"
mkdir -p "$build" "$KROOT"
configure "$here/debug.config" "$build" kernel
kernel -j2 bzImage modules
kernel INSTALL_MOD_PATH="$KROOT" modules_install
cp "$build/arch/x86/boot/bzImage" "$KROOT/vmlinux" # QEMU takes both
ln -s "$build" "$KROOT/build"
touch "$KROOT/.done"

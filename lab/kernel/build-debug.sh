#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build-debug.sh SERIES: build a small kernel of Debian's source with KASAN, lockdep
# and their like (debug.config), for vmrun.sh: KVER=SERIES-debug.  Kept below LAB;
# the first time takes half an hour of a processor.
export KVER=$1-debug
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
here=$(realpath "$(dirname "$0")")
build=$LAB/build-$KVER
made=$(cat "$here/debug.config" "$0" | sha256sum)
[ "$(cat "$KROOT/.done" 2>/dev/null)" != "$made" ] || exit 0

bash "$here/get-source.sh" "$1"
rm -rf "$KROOT"
mkdir -p "$build" "$KROOT"
kernel() { make -s -C "$LAB/linux-$1" O="$build" KERNELRELEASE="$KVER" "${@:2}"; }
kernel "$1" KCONFIG_ALLCONFIG="$here/debug.config" allnoconfig
# An option that isn't there, or that another rules out, is no longer a check.
grep '^CONFIG_.*=' "$here/debug.config" | grep -v '=n$' | while read -r option; do
    grep -qxF "$option" "$build/.config" || echo "not in this kernel: $option"
done | tee "$build/refused"
[ ! -s "$build/refused" ]
kernel "$1" -j2 vmlinux modules
kernel "$1" INSTALL_MOD_PATH="$KROOT" modules_install
cp "$build/vmlinux" "$KROOT/vmlinux"
strip -g "$KROOT/vmlinux"
ln -s "$build" "$KROOT/build"
printf '%s\n' "$made" >"$KROOT/.done"

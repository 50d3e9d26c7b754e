# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What the scripts here share; sourced, not run.
#   KVER  Debian's kernel that a guest runs, e.g. 6.1.0-56-amd64
#   LAB   where kernels are unpacked and guests write; kept
set -euo pipefail
lab_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LAB=${LAB:-$lab_top/build/lab}
KVER=${KVER:?which kernel? KVER=6.1.0-56-amd64 for one}
export KROOT=$LAB/kernel-$KVER
OUT=${OUT:-$LAB/out}
mkdir -p "$LAB" "$OUT"

# download PACKAGE: have Debian's package, once, in $LAB/dl, and go there.  What an
# interrupted download leaves has the whole's name: only whole ones get there.
download() {
    local part
    mkdir -p "$LAB/dl"
    cd "$LAB/dl" || return
    ! ls "$1"_*.deb >/dev/null 2>&1 || return 0
    part=$(mktemp -d "$LAB/dl/part.XXXXXX")
    (cd "$part" && apt-get -o APT::Sandbox::User=root download -qq "$1") || return
    mv "$part"/*.deb .
    rmdir "$part"
}

# configure WANTED BUILD MAKE...: by the options of a file and no others, with the
# command that makes the kernel.  One that isn't there, or that another rules out,
# fails.
configure() {
    local wanted=$1 build=$2 refused
    shift 2
    "$@" KCONFIG_ALLCONFIG="$wanted" allnoconfig
    refused=$(grep '^CONFIG_.*=[^n]' "$wanted" | grep -vxFf "$build/.config" || true)
    [ -z "$refused" ] || {
        printf '%s\n' "$KVER: not in this kernel:" "$refused" >&2
        return 1
    }
}

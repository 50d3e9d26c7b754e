#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Unpack (not install) the headers of Debian's arm64 kernel KVER below LAB/arm64;
# what they share with other architectures, and the tools, are this machine's.
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
top=$LAB/arm64 release=${KVER%-arm64}
headers=$top/usr/src/linux-headers-$KVER
[ ! -e "$headers/.done" ] || exit 0
common=/usr/src/linux-headers-$release-common
[ -e "$common" ] || {
    echo "no $common: linux-headers-amd64 is of another version" >&2
    exit 1
}

# An apt of our own, so that this machine's needs no other architecture.
foreign() {
    "$@" -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o APT::Sandbox::User=root -o Dir::State="$top/apt" \
        -o Dir::Cache="$top/apt" -o Dir::State::status=/dev/null -q=2
}
rm -rf "$top"
mkdir -p "$top"/apt/{lists,archives}/partial "$top/usr/lib"
foreign apt-get update
(cd "$top" && foreign apt-get download "linux-headers-$KVER")
dpkg -x "$top"/linux-headers-*.deb "$top"
rm -rf "$top/apt" "$top"/*.deb
kbuild=$(readlink -f "$common/scripts")
ln -s "${kbuild%/scripts}" "$top/usr/lib/"
[ -d "$headers/scripts" ]
touch "$headers/.done"

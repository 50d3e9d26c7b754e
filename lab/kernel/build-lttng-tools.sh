#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build-lttng-tools.sh PATCH
# Fetch the source of Debian's lttng-tools, apply PATCH, build its client, session
# and consumer daemons, and install them into LAB/lttng-tools, which they are for.
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
patch=$(realpath "$1")
top=$LAB/lttng-tools apt=$LAB/lttng-apt
# where this machine has the package itself from, and which it is
read -r version url suite < <(apt-cache policy lttng-tools |
    awk '/Candidate:/ { v = $2 } $2 ~ /^http/ { sub("/.*", "", $3); print v, $2, $3; exit }')
key="$version $(sha256sum <"$patch")"
if [ -e "$top/.done" ] && [ "$(cat "$top/.done")" = "$key" ]; then
    touch "$top/.done"
    exit 0
fi

# An apt of our own, so that this machine's needs no sources.
rm -rf "$top" "$apt"
mkdir -p "$apt"/{lists,archives}/partial "$apt/etc" "$top"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb-src [signed-by=$keys] $url $suite main" >"$apt/etc/sources.list"
source_of() {
    apt-get -o APT::Sandbox::User=root -o Dir::State="$apt" -o Dir::Cache="$apt" \
        -o Dir::State::status=/dev/null -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::sourcelist="$apt/etc/sources.list" -q=2 "$@"
}
source_of update
(cd "$apt" && source_of source "lttng-tools=$version" >/dev/null)
cd "$apt"/ltt-control-*/ || exit
patch -s -p1 <"$patch"

run() {
    "$@" >>"$top/build.log" 2>&1 || {
        tail -n 20 "$top/build.log"
        exit 1
    }
}
run ./configure -q --prefix="$top" --disable-static --without-lttng-ust \
    --disable-man-pages --disable-extras --disable-bin-lttng-relayd \
    --disable-bin-lttng-crash CFLAGS="-O0 -w"
run make -s -j2 -C include
run make -s -j2 -C src install
rm -rf "$apt"
echo "$key" >"$top/.done"

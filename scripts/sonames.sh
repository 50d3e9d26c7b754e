#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# sonames.sh CC OPTIONS...: a header that says by which names programs
# that are linked by these options ask for their libraries:
# #define OW_LIBXENCTRL "libxenctrl.so.4.17"
set -eu
cc=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
echo '' >"$tmp/empty.c"
# shellcheck disable=SC2086
$cc -shared -fPIC -nostdlib -Wl,--no-as-needed "$tmp/empty.c" "$@" -o "$tmp/linked"
readelf -d "$tmp/linked" |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    awk '{ stem = $0; sub(/\.so.*/, "", stem)
        print "#define OW_" toupper(stem) " \"" $0 "\"" }'

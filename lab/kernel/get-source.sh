#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# get-source.sh SERIES: unpack (not install) Debian's source of Linux SERIES, 6.1
# for one, as LAB/linux-SERIES.
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
series=$1
[ ! -e "$LAB/linux-$series/.done" ] || exit 0

tarball=/usr/src/linux-source-$series.tar.xz
if [ ! -e "$tarball" ]; then
    download "linux-source-$series"
    dpkg --fsys-tarfile linux-source-"${series}"_*.deb |
        tar -xf - --strip-components=3 "./usr/src/linux-source-$series.tar.xz"
    tarball=$LAB/dl/linux-source-$series.tar.xz
fi
rm -rf "$LAB/linux-$series"
mkdir "$LAB/linux-$series"
tar -xf "$tarball" -C "$LAB/linux-$series" --strip-components=1
touch "$LAB/linux-$series/.done"

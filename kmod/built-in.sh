#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Put kunwind into a kernel's source tree, so that CONFIG_KUNWIND=y or =m builds
# it there.  usage: built-in.sh PATH-TO-LINUX
# Once more: what changed here is copied again.
set -eu
if [ $# -ne 1 ] || [ ! -f "$1/drivers/Kconfig" ]; then
    echo "usage: built-in.sh PATH-TO-LINUX" >&2
    exit 64
fi
top=$(cd "$(dirname "$0")/.." && pwd)
drivers=$1/drivers
to=$drivers/kunwind

rm -rf "$to"
mkdir -p "$to"
cp -r "$top/core" "$top/uapi" "$top/kmod" "$to"
mv "$to/kmod/Kconfig" "$to"
# shellcheck disable=SC2016
echo 'obj-$(CONFIG_KUNWIND) += kmod/' >"$to/Makefile"
# shellcheck disable=SC2016
grep -q kunwind "$drivers/Makefile" ||
    echo 'obj-$(CONFIG_KUNWIND) += kunwind/' >>"$drivers/Makefile"
# User-Mode Linux has a list of its own.
for list in "$drivers/Kconfig" "$1/arch/um/drivers/Kconfig"; do
    [ -f "$list" ] || continue
    grep -q kunwind "$list" || echo 'source "drivers/kunwind/Kconfig"' >>"$list"
done

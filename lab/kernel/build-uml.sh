#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build-uml.sh SERIES: build User-Mode Linux of Debian's source of that series, with
# kunwind put into its tree by kmod/built-in.sh: LAB/uml-SERIES/linux-m and kunwind.ko,
# and linux-y, which has it built in.  The source and what is built are kept.
series=$1
export KVER=$series-uml
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
here=$(realpath "$(dirname "$0")")
tree=$LAB/linux-$KVER build=$LAB/build-$KVER to=$LAB/uml-$series

bash "$here/get-source.sh" "$series"
if [ ! -e "$tree" ]; then
    rm -rf "$tree.new"
    cp -al "$LAB/linux-$series" "$tree.new"
    # A host's registers may take more than was thought of: AMX's are 11 KiB.
    sed -i 's/DEFINE_LONGS(HOST_FP_SIZE, 2696)/DEFINE_LONGS(HOST_FP_SIZE, 12288)/' \
        "$tree.new/arch/x86/um/user-offsets.c"
    mv "$tree.new" "$tree"
fi
# Of their own, where all else is the same files.
for list in drivers/Makefile drivers/Kconfig arch/um/drivers/Kconfig; do
    cp "$LAB/linux-$series/$list" "$tree/$list.new"
    mv "$tree/$list.new" "$tree/$list"
done
sh "$here/../../kmod/built-in.sh" "$tree"

kernel() {
    env -u MAKEFLAGS make -s -C "$tree" O="$build" ARCH=um KERNELRELEASE="$KVER" "$@"
}

mkdir -p "$build" "$to"
for as in y m; do
    { cat "$here/uml.config" && echo "CONFIG_KUNWIND=$as"; } >"$build/wanted"
    configure "$build/wanted" "$build" kernel
    kernel -j2 linux modules
    cp "$build/linux" "$to/linux-$as"
done
cp "$build/drivers/kunwind/kmod/kunwind.ko" "$to/"

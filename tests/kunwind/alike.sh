#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Run the test of files that are alike, on a btrfs.  usage: alike.sh BUILD
set -u
build=$1
image=/run/kunwind-btrfs

if ! command -v mkfs.btrfs >/dev/null; then
    echo "# no mkfs.btrfs here"
    exit
fi
for m in loop btrfs; do
    modprobe -d "$build/lab/kernel-$(uname -r)" $m
done
truncate -s 128M $image
mkdir $image.d
if ! mkfs.btrfs -q $image >/dev/null || ! mount -o loop $image $image.d; then
    echo "# no btrfs here"
    exit
fi
timeout 300 "$build/kunwind/alike" $image.d || echo "0 passed, 1 failed"
umount $image.d
rm -r $image $image.d

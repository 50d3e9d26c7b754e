#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# guest-check.sh OUTWIND DIR: outwind's stacks of a real kernel's dumps against
# gdb's.  DIR gets Debian's packages of the kernel (300 MB) and the dumps, and
# keeps them.
set -eu

outwind=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
mkdir -p "$2"
cd "$2"
if [ ! -e vmlinux ]; then
    release=$(apt-cache depends linux-image-cloud-amd64 |
        sed -n 's/.*Depends: linux-image-//p')
    apt-get -o APT::Sandbox::User=root download -qq \
        "linux-image-$release" "linux-image-$release-dbg"
    for deb in linux-image-*.deb; do
        dpkg --fsys-tarfile "$deb" | tar xf - --wildcards --no-anchored \
            "vmlinu[xz]-$release" qemu_fw_cfg.ko || :
    done
    rm -f linux-image-*.deb
    mv "boot/vmlinuz-$release" vmlinuz
    find ./lib -name qemu_fw_cfg.ko -exec mv {} fw_cfg.ko \;
    mv "usr/lib/debug/boot/vmlinux-$release" vmlinux
fi
[ -e guest-irq.core ] ||
    sh "$here/guest-dump.sh" vmlinuz fw_cfg.ko vmlinux .
python3 "$here/guest_check.py" "$outwind" .

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build-lttng.sh [PATCH]
# Unpack (not install) the source of Debian's lttng-modules-dkms below LAB and
# build it against the headers of KVER: LAB/lttng-KVER.  The modules, and veth of
# the kernel, are put into LAB/lttng-root-KVER/lib/modules, for modprobe.  With
# PATCH applied, into folders of names with -unw.
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
patch=${1:+$(realpath "$1")}
src=$LAB/lttng${1:+-unw}-$KVER
headers=/usr/src/linux-headers-$KVER
root=$LAB/lttng${1:+-unw}-root-$KVER
key=$(cat ${patch:+"$patch"} /dev/null | sha256sum)
if [ -e "$src/.done" ] && [ "$(cat "$src/.done")" = "$key" ]; then
    touch "$src/.done"
    exit 0
fi

download lttng-modules-dkms
rm -rf "$src" "$src.unpack" "$root"
dpkg -x lttng-modules-dkms_*.deb "$src.unpack"
mv "$src.unpack"/usr/src/lttng-modules-* "$src"
rm -rf "$src.unpack"
cd "$src" || exit
[ -z "$patch" ] || patch -s -p1 <"$patch"

# Of the probes these will do.  (That of timers does not compile: Debian's 6.1 has
# had hrtimer_start() with one more argument since a stable update.)
cat >>src/probes/Kbuild <<'END'
obj-$(CONFIG_LTTNG) := lttng-probe-sched.o lttng-probe-statedump.o \
    lttng-kprobes.o lttng-kretprobes.o lttng-uprobes.o
END
make -s -j2 -C "$headers" M="$PWD" CONFIG_LTTNG=m modules >build.log 2>&1 || {
    tail -n 20 build.log
    exit 1
}

extra=$root/lib/modules/$KVER/extra
mkdir -p "$extra"
find . -name '*.ko' -exec cp {} "$extra" \;
find "$KROOT/lib/modules/$KVER/kernel" -name 'veth.ko*' -exec cp {} "$extra" \;
strip -g "$extra"/*.ko
# without these, lttng-sessiond finds no module at all
cp "$KROOT/lib/modules/$KVER"/modules.{builtin,builtin.modinfo,order} "$extra/.."
depmod -b "$root" "$KVER"
echo "$key" >.done

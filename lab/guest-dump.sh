#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# guest-dump.sh KERNEL MODULE VMLINUX OUT: boot a Linux kernel (bzImage) in QEMU, without
# virtualisation hardware, one CPU idle and one busy in the kernel, and let QEMU
# dump it: OUT/guest.core of physical memory, OUT/guest-paging.core with virtual
# addresses, OUT/guest-bare.core without VMCOREINFO, OUT/guest.kdump compressed.
# OUT/guest-irq.core was taken in an interrupt's softirq, on a stack of its own.
# MODULE is its qemu_fw_cfg.ko, through which it hands VMCOREINFO over.
set -eu

# Commands of QEMU's monitor at a socket, one an argument.
talk() {
    python3 - "$@" <<'END'
import socket
import sys

s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
for command in ['', *sys.argv[2:]]:
    if command:
        s.sendall(command.encode() + b'\n')
    if command == 'quit':
        while s.recv(65536):
            pass
        break
    got = b''
    while not got.endswith(b'(qemu) '):
        got += s.recv(65536)
    text = got.decode(errors='replace')
    if 'rror' in text:
        sys.exit(text)
END
}

if [ "$1" = --dump ]; then
    talk "$2" "dump-guest-memory $3"
    exit 0
fi
kernel=$1 module=$2 vmlinux=$3 out=$(realpath -m "$4")
work=$(mktemp -d)
qemu=
trap '[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || :; rm -rf "$work"' EXIT

mkdir -p "$work/root/bin" "$work/root/proc" "$work/root/sys" "$out"
cp "$(command -v busybox)" "$work/root/bin/busybox"
cp "$module" "$work/root/fw_cfg.ko"
cat >"$work/root/init" <<'END'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox insmod /fw_cfg.ko
/bin/busybox mkdir -p /dev
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox dd if=/dev/zero of=/dev/null bs=4M &
echo READY >/dev/ttyS0
exec /bin/busybox sleep 1000
END
chmod +x "$work/root/init"
(cd "$work/root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/initrd"

# boot EXTRA: start QEMU and wait until the guest is at work.
boot() {
    rm -f "$work/console" "$work/monitor"
    # shellcheck disable=SC2086
    qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max -smp 2 \
        -m 192 -display none -nodefaults -no-reboot $1 \
        -serial "file:$work/console" \
        -monitor "unix:$work/monitor,server=on,wait=off" \
        -kernel "$kernel" -initrd "$work/initrd" \
        -append "console=ttyS0 panic=-1 mitigations=off $2" </dev/null &
    qemu=$!
    i=0
    until grep -q READY "$work/console" 2>/dev/null; do
        i=$((i + 1))
        if [ $i -gt 240 ] || ! kill -0 "$qemu"; then
            tail -n 20 "$work/console" >&2
            exit 1
        fi
        sleep 0.5
    done
    sleep 1
}

# Commands of the monitor; then QEMU ends.
monitor() {
    talk "$work/monitor" "$@" quit
    wait "$qemu" || :
    qemu=
}

boot "-device vmcoreinfo" ""
monitor stop "dump-guest-memory $out/guest.core" \
    "dump-guest-memory -p $out/guest-paging.core" \
    "dump-guest-memory -z $out/guest.kdump"
boot "" ""
monitor stop "dump-guest-memory $out/guest-bare.core"

# Without KASLR, so that gdb knows where to stop.
boot "-gdb unix:$work/gdb,server=on,wait=off" nokaslr
gdb -batch -nx -ex 'set confirm off' -ex "target remote $work/gdb" \
    -ex 'hbreak __do_softirq' -ex continue \
    -ex "shell sh $0 --dump $work/monitor $out/guest-irq.core" "$vmlinux"
kill "$qemu"
wait "$qemu" || :
qemu=

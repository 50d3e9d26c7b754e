#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# vmrun-arm64.sh [-t SECONDS] XEN-FOLDER SHARE COMMAND
# Boot the arm64 kernel that lab/xen has unpacked, without Xen, in QEMU with the
# files of that lab's initramfs, and run COMMAND in SHARE, a folder of this
# machine, which is /host there.  Prints what it prints; exits with its status,
# 124 after SECONDS, 125 if the guest died.
set -euo pipefail
limit=120
while getopts t: o; do
    case $o in
    t) limit=$OPTARG ;;
    *) exit 64 ;;
    esac
done
shift $((OPTIND - 1))
xen=$1 share=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/root"
cat >"$work/root/init" <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ TERM=dumb
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for m in /modules/*; do
    case $m in *xen*) ;; *) insmod "$m" || echo "init: no $m" ;; esac
done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 host /host || poweroff -f
cd /host
sh /command >/host/output 2>&1
echo $? >/host/status
sync
poweroff -f
END
chmod +x "$work/root/init"
printf '%s\n' "$*" >"$work/root/command"
(cd "$work/root" && find . | cpio --quiet -o -H newc -R 0:0) >"$work/init.cpio"
cat "$xen/initramfs.cpio" "$work/init.cpio" >"$work/initrd"
rm -f "$share/status" "$share/output"

status=0
# in the caller's process group, to end with it
timeout --foreground -k 5 "$limit" qemu-system-aarch64 -machine virt,gic-version=3 \
    -accel tcg,thread=multi -cpu max,pauth-impdef=on -smp 2 -m 1024 \
    -display none -nodefaults -no-reboot -monitor none \
    -serial "file:$work/console" -kernel "$xen/linux" -initrd "$work/initrd" \
    -fsdev "local,id=host,path=$share,security_model=none" \
    -device virtio-9p-device,fsdev=host,mount_tag=host \
    -append "console=ttyAMA0 panic=-1 oops=panic watchdog_thresh=60 \
rcupdate.rcu_cpu_stall_timeout=240 workqueue.watchdog_thresh=240" </dev/null || status=$?
[ ! -e "$share/output" ] || cat "$share/output"
if [ ! -s "$share/status" ]; then
    [ "$status" = 124 ] || status=125
    echo "vmrun-arm64: no end ($status); the guest's console:" >&2
    tail -n 40 "$work/console" >&2
    exit "$status"
fi
exit "$(cat "$share/status")"

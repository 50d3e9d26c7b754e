#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# vmrun.sh [-is] [-c CPUS] [-m MIB] [-t SECONDS] -- COMMAND
# Boot Debian's kernel KVER in QEMU, without virtualisation hardware, and run
# COMMAND (a line of sh) there as root.  The guest's root is this machine's,
# read-only with what is written kept in memory; OUT is shared.  Prints what the
# command prints; exits with its status, 124 after SECONDS, 125 if the guest
# died, as it does where a CPU is stuck within the kernel for two minutes.  The
# guest kernel's console goes to OUT/console-KVER.log.  With -i there is one CPU,
# whose time stamp counter counts instructions.  With -s the CPUs take turns: a
# guest that patches its kernel as it runs it, as tracepoints do, may be stuck where
# QEMU 7.2 translates for one CPU what another is just writing.
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
cpus=2 mem=1024 limit=120
accel=(-accel 'tcg,thread=multi,tb-size=512' -cpu max)
while getopts isc:m:t: o; do
    case $o in
    s) accel=(-accel 'tcg,thread=single,tb-size=512' -cpu max) ;;
    i)
        # copies by rep movsb would be an instruction a byte
        accel=(-accel 'tcg,thread=single,tb-size=512'
            -icount 'shift=0,sleep=off' -cpu 'max,-erms,-fsrm')
        cpus=1
        ;;
    c) cpus=$OPTARG ;;
    m) mem=$OPTARG ;;
    t) limit=$OPTARG ;;
    *) exit 64 ;;
    esac
done
shift $((OPTIND - 1))
console=$OUT/console-$KVER.log
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is needed before the root is there.
root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,mods,new,low,upp}
cp "$(command -v busybox)" "$root/bin/busybox"
"$root/bin/busybox" --list | grep -vx busybox | while read -r applet; do
    ln -s busybox "$root/bin/$applet"
done
# modprobe lists what a module needs before the module
mapfile -t mods < <(for m in virtio_pci 9pnet_virtio 9p overlay; do
    modprobe -d "$KROOT" -S "$KVER" --show-depends "$m"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }')
[ ${#mods[@]} -eq 0 ] || cp "${mods[@]}" "$root/mods/"
printf '%s\n' "$*" >"$root/cmd"

{
    cat <<'END'
#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
END
    for m in "${mods[@]}"; do
        echo "insmod /mods/${m##*/} || echo 'insmod ${m##*/} failed'"
    done
    cat <<END
o=trans=virtio,version=9p2000.L,msize=512000,access=any
mount -t 9p -o ro,cache=loose,\$o hostroot /low &&
    mount -t tmpfs upp /upp && mkdir /upp/u /upp/w &&
    mount -t overlay -o lowerdir=/low,upperdir=/upp/u,workdir=/upp/w o /new ||
    echo 'no root'
for d in proc sys dev; do mount --move /\$d /new/\$d; done
mount -t tracefs t /new/sys/kernel/tracing
mount -t debugfs d /new/sys/kernel/debug
mkdir -p /new/dev/shm /new/dev/pts "/new$OUT"
mount -t tmpfs shm /new/dev/shm
mount -t devpts pts /new/dev/pts
mount -t tmpfs run /new/run
# no thousands of files for perf to look at over 9p
mount -t tmpfs none /new/lib/modules
mount -t 9p -o rw,cache=none,\$o out "/new$OUT"
cp /cmd /report /new/run/
exec switch_root /new /bin/sh /run/report
END
} >"$root/init"
cat >"$root/report" <<'END'
export HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb
stty -F /dev/ttyS1 raw -echo
ip link set lo up 2>/dev/null
sh /run/cmd >/dev/ttyS1 2>&1 </dev/null
printf '\nGUEST-STATUS %d\n' $? >/dev/ttyS1
sync
busybox poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/initrd"

status=0
share=local,security_model=none,multidevs=remap
# in the caller's process group, to end with it
timeout --foreground -k 5 "$limit" qemu-system-x86_64 \
    -machine q35,vmport=off "${accel[@]}" \
    -smp "$cpus" -m "$mem" -display none -nodefaults -no-reboot -monitor none \
    -serial "file:$console" -serial "file:$work/serial" \
    -kernel "$KROOT/vmlinux" -initrd "$work/initrd" \
    -virtfs "$share,path=/,mount_tag=hostroot,readonly=on" \
    -virtfs "$share,path=$OUT,mount_tag=out" \
    -append "console=ttyS0 panic=-1 oops=panic mitigations=off \
tsc=reliable no_timer_check loglevel=7 watchdog_thresh=60 softlockup_panic=1 \
rcupdate.rcu_cpu_stall_timeout=240 sysctl.kernel.hung_task_timeout_secs=600 \
workqueue.watchdog_thresh=240 \
${APPEND:-}" </dev/null || status=$?
sed '/^GUEST-STATUS [0-9]*$/d' "$work/serial"
if [ "$status" = 124 ]; then
    echo "vmrun: not done after $limit s; the guest's console:" >&2
    tail -n 40 "$console" >&2
    exit 124
fi
status=$(sed -n 's/^GUEST-STATUS \([0-9]*\)$/\1/p' "$work/serial" | tail -n 1)
if [ -z "$status" ]; then
    echo "vmrun: the guest died; its console:" >&2
    tail -n 40 "$console" >&2
    exit 125
fi
exit "$status"

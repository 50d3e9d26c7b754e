#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# All tests of kunwind that run in a guest.  usage: guest.sh BUILD SECONDS
set -u
build=$1 seconds=$2
kver=$(uname -r)
export PLUGIN="$build/kunwind/plugin.so"
export LD_BIND_NOW=

begin() { echo "# $kver: $*"; }

# Run a program that tells its counts; what didn't come to its end failed, too.
run() { # SECONDS COMMAND...
    timeout -k 10 "$@"
    ended=$?
    [ $ended -eq 0 ] || echo "# $2 ended with $ended
0 passed, 1 failed"
}

begin probes
sh "$(dirname "$0")/probes.sh" "$build"
begin device
sh "$(dirname "$0")/device.sh" "$build/kmod-$kver/kunwind.ko"
[ -e /dev/kunwind ] || exit 1
begin limits
modprobe -d "$build/lab/kernel-$kver" fuse
run 1200 "$build/kunwind/limits"
begin locks
run 1200 "$build/kunwind/locks"
begin alike
sh "$(dirname "$0")/alike.sh" "$build"
begin crowd
run 1200 "$build/kunwind/crowd"
for p in pie no-pie lld static; do
    [ -x "$build/kunwind/stacks-$p" ] || continue
    begin "stacks-$p"
    run 1200 "$build/kunwind/stacks-$p"
done
begin original
run 1200 "$build/kunwind/original" 100
begin "a program of what is installed"
LD_LIBRARY_PATH="$build/kunwind/root/lib" run 1200 "$build/kunwind/outside"
begin permit
run 1200 "$build/kunwind/permit"
begin unfollow
run 1200 "$build/kunwind/unfollow"
begin "the first thread is gone"
run 1200 "$build/kunwind/firstgone"
begin shares
run 1200 "$build/kunwind/shares"
begin payers
run 1200 "$build/kunwind/payers"
begin sharing
run 1200 "$build/kunwind/sharing"
begin contexts
taskset -c 0 insmod "$build/kwtest-$kver/kwtest.ko" || echo "0 passed, 1 failed"
run 1200 taskset -c 0 "$build/kunwind/contexts"
begin generations
run 1200 taskset -c 0 "$build/kunwind/generations" "$build/kunwind"
begin "stress, unwound in interrupts"
echo -1 >/sys/module/kwtest/parameters/pid
run $((seconds + 1200)) "$build/kunwind/stress" "$seconds"
begin fuzz
run $((seconds + 1200)) "$build/kunwind/fuzz" $((seconds / 6 + 1)) \
    "$(tr -d . </proc/uptime | cut -d " " -f 1)"
rmmod kwtest || echo "0 passed, 1 failed"
begin "what is left"
run 1200 "$build/kunwind/left"
begin hook
sh "$(dirname "$0")/hook.sh" "$build"
begin "a virtual CPU, hooked"
modprobe -d "$build/lab/kernel-$kver" kvm-amd
echo 1 >/sys/module/kunwind/parameters/hook
run 600 "$build/kunwind/vcpu"
echo 0 >/sys/module/kunwind/parameters/hook
begin record
run 900 python3 -B "$(dirname "$0")/record.py" "$build"
# A kernel that checks itself is built without what BPF needs.
if [ -e /sys/kernel/btf/vmlinux ]; then
    begin bpf
    run 900 python3 -B "$(dirname "$0")/bpf.py" "$build"
fi

# All is given back.
begin "the end"
rmmod kunwind && echo "1 passed, 0 failed" || echo "0 passed, 1 failed"
case $kver in
*-debug)
    begin "what is wrong is reported"
    echo "kunwind: wrong on purpose from here on" >/dev/kmsg
    run 1200 sh "$(dirname "$0")/wrong.sh" "$build"
    ;;
esac

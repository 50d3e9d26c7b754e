#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a guest: make tests/data/lttng, traces of tiny by both ways, no more than that.
# usage: capture.sh BUILD OUT
set -eu
build=$1 out=$2
kver=$(uname -r)
points=/sys/module/lttng_kunwind/parameters

hostname guest
mount --bind "$build/lab/lttng-root-$kver/lib/modules" /lib/modules
mkdir -p /run/bin
cp "$build/lttng/tiny" /run/bin/tiny
insmod "$build/kmod-$kver/kunwind.ko" hook=1
modprobe lttng-tracer
insmod "$build/lttng-$kver/lttng-kunwind.ko"
lttng-sessiond -d --kmod-probes=sched
"$build/bin/outwind" kunwindd >/run/kunwindd.out 2>&1 &
until grep -q following /run/kunwindd.out; do sleep 0.2; done

session() {
    lttng -q create "$1" --output="/run/$1"
    lttng -q enable-channel -k c --subbuf-size=4k --num-subbuf=64
    lttng -q enable-event -k -c c kunwind_map --filter 'path == "/run/bin/*"'
    lttng -q enable-event -k -c c 'kunwind_exec,kunwind_fork'
}

session context
# shellcheck disable=SC2016
lttng -q enable-event -k -c c --syscall lseek,nanosleep \
    --filter '$ctx.procname == "tiny"'
lttng -q enable-event -k -c c sched_switch \
    --filter 'prev_comm == "tiny" || next_comm == "tiny"'
lttng -q add-context -k -c c -t callstack-user -t pid -t tid -t procname
lttng -q start
/run/bin/tiny
lttng -q stop
lttng -q destroy context

echo lseek,nanosleep >$points/syscalls
echo 1 >$points/sched_switch
session probe
lttng -q enable-event -k -c c 'kunwind_callstack' --filter 'comm == "tiny"'
# shellcheck disable=SC2016
lttng -q enable-event -k -c c 'kunwind_syscall_exit' \
    --filter '$ctx.procname == "tiny"'
lttng -q enable-event -k -c c sched_switch --filter 'next_comm == "tiny"'
lttng -q start
/run/bin/tiny
lttng -q stop
lttng -q destroy probe

rm -rf "$out"
mkdir -p "$out/root/run/bin"
cp /run/bin/tiny "$out/root/run/bin"
cp -r /run/context /run/probe "$out"

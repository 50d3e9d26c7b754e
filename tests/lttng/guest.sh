#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a guest: sessions of LTTng, whose traces are kept to be looked at outside.
# usage: guest.sh BUILD CALLS OUT [relay]
set -u
build=$1 calls=$2 out=$3 relay=${4-}
kver=$(uname -r)
hook=/sys/module/kunwind/parameters/hook
points=/sys/module/lttng_kunwind/parameters
begun=$(cut -d. -f1 /proc/uptime)

say() { echo "# $(($(cut -d. -f1 /proc/uptime) - begun)) s: $*"; }

fail() {
    echo "not ok - $*"
    exit 1
}

# session NAME: a new one, which writes to /run/NAME
session() {
    lttng -q create "$1" --output="/run/$1" || fail "create $1"
}

# End the session and keep its trace.
finish() {
    lttng -q stop || fail "stop $1"
    lttng -q destroy "$1" || fail "destroy $1"
    cp -r "/run/$1" "$out/" || fail "keep $1"
    say "$1 done"
}

hostname guest
mount --bind "$build/lab/lttng-root-$kver/lib/modules" /lib/modules
rm -rf "${out:?}"/*
insmod "$build/kmod-$kver/kunwind.ko" || fail "load kunwind"
modprobe lttng-tracer || fail "load lttng-tracer"
insmod "$build/lttng-$kver/lttng-kunwind.ko" || fail "load lttng-kunwind"
lttng-sessiond -d --kmod-probes=sched || fail "lttng-sessiond"
say "lttng-sessiond is up"
lttng list -k 2>/dev/null | grep kunwind >"$out/events.txt"

# The stock context, as it is: along frame pointers.
session stock
lttng -q enable-event -k --syscall lseek
lttng -q add-context -k -t callstack-user -t pid -t tid -t procname
lttng -q start
"$build/lttng/calls" 300 "$out/stock.log" deaf || fail "calls, stock"
finish stock

# The same, redirected.
"$build/bin/outwind" kunwindd >/run/kunwindd.out 2>&1 &
daemon=$!
until grep -q following /run/kunwindd.out; do
    kill -0 $daemon || fail "$(cat /run/kunwindd.out)"
    sleep 0.2
done
say "kunwindd is ready"
echo 1 >$hook
session hooked
lttng -q enable-event -k --syscall lseek
lttng -q enable-event -k 'kunwind_map,kunwind_exec,kunwind_fork'
lttng -q add-context -k -t callstack-user -t pid -t tid -t procname
lttng -q start
"$build/lttng/calls" "$calls" "$out/hooked.log" || fail "calls, hooked"
finish hooked
echo 0 >$hook

# Events of its own, without the hook.
echo lseek >$points/syscalls
session probe
lttng -q enable-event -k 'kunwind_*'
lttng -q start
"$build/lttng/calls" "$calls" "$out/probe.log" || fail "calls, probe"
finish probe

# Filters, by number and by name of the point; 39 is getpid.
echo "lseek,39" >$points/syscalls
session filtered
lttng -q enable-event -k kunwind_callstack \
    --filter 'point == 0 && nr == 8 && comm == "calls"' || fail "filter"
lttng -q start
"$build/lttng/calls" 200 "$out/filtered.log" || fail "calls, filtered"
finish filtered

# Whoever runs as a timer ticks.
echo >$points/syscalls
echo 200 >$points/timer_hz
session timer
lttng -q enable-event -k kunwind_callstack
lttng -q start
"$build/lttng/calls" "$calls" "$out/timer.log" || fail "calls, timer"
finish timer
echo 0 >$points/timer_hz

# One command for it all; its own kunwindd is the only one.
kill $daemon
wait $daemon
OUTWIND="$build/bin/outwind" timeout 1200 "$(dirname "$0")/../../examples/locate-syscalls" \
    -e syscall_entry_lseek -- "$build/lttng/tiny" >"$out/locate.txt" ||
    fail "locate-syscalls"
say "locate-syscalls done"

# Streams of two machines.
if [ "$relay" ]; then
    "$build/bin/outwind" kunwindd >/dev/null 2>&1 &
    daemon=$!
    echo lseek >$points/syscalls
    bash "$(dirname "$0")/relay.sh" "$build" "$calls" "$out" || fail "relay"
    say "relay done"
    echo >$points/syscalls
    kill $daemon
    wait $daemon
fi
lttng-sessiond --version >/dev/null
kill "$(cat /var/run/lttng/lttng-sessiond.pid)"
while [ -e /var/run/lttng/lttng-sessiond.pid ]; do sleep 0.1; done
rmmod lttng-kunwind || fail "unload lttng-kunwind"
rmmod kunwind || fail "unload kunwind"
if dmesg | grep -E 'cut here|BUG:|Oops|refcount_t:|INFO: (task|rcu)|possible (recursive|circular)'; then
    dmesg | grep -A 40 -E 'cut here|BUG:|Oops' | head -n 80
    fail "the kernel complains"
fi
say "the end"

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a guest: sessions of LTTng, whose traces are kept to be looked at outside.
# usage: guest.sh BUILD CALLS OUT
set -u
build=$1 calls=$2 out=$3
begun=$(cut -d. -f1 /proc/uptime)

# shellcheck source=/dev/null
. "$(dirname "$0")/../../lab/kernel/guest-lttng.sh"

say() { echo "# $(($(cut -d. -f1 /proc/uptime) - begun)) s: $*"; }

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

rm -rf "${out:?}"/*
lttng_up
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
kunwindd_up
say "kunwindd is ready"
hook 1
session hooked
lttng -q enable-event -k --syscall lseek
lttng -q enable-event -k 'kunwind_map,kunwind_exec,kunwind_fork'
lttng -q add-context -k -t callstack-user -t pid -t tid -t procname
lttng -q start
"$build/lttng/calls" "$calls" "$out/hooked.log" || fail "calls, hooked"
finish hooked
hook 0

# Events of its own, without the hook.
points syscalls lseek
session probe
lttng -q enable-event -k 'kunwind_*'
lttng -q start
"$build/lttng/calls" "$calls" "$out/probe.log" || fail "calls, probe"
finish probe

# All mappings, beside a user who has very many; and what tells them is killed.
mkfifo /run/mappers.in /run/mappers.out
python3 -B "$(dirname "$0")/mappers.py" 300 20 </run/mappers.in >/run/mappers.out &
mappers=$!
exec 7>/run/mappers.in
read -r mapped </run/mappers.out
[ "$mapped" = mapped ] || fail "mappers"
session dumped
lttng -q enable-event -k kunwind_map
lttng -q start
sleep 1
begin=$(date +%s%N)
points statedump 1
dumped=$((($(date +%s%N) - begin) / 1000000))
points statedump 1 &
sleep 2
begin=$(date +%s%N)
kill -KILL $!
wait $! 2>/dev/null
killed=$((($(date +%s%N) - begin) / 1000000))
echo "# all mappings after $dumped ms; killed after $killed ms"
[ $dumped -lt 25000 ] || fail "statedump takes $dumped ms"
[ $killed -lt 2000 ] || fail "statedump ends $killed ms after SIGKILL"
dmesg | grep 'lacks mappings of .* whose user has very many' | head -n 1
exec 7>&-
wait $mappers
finish dumped

# A child that is forked before its parent is told of, as the users of a namespace that
# root made come first: they aren't root.
unshare -U -r python3 -B "$(dirname "$0")/mappers.py" 300 20 stay \
    </run/mappers.in >/run/mappers.out &
mappers=$!
exec 7>/run/mappers.in
read -r mapped </run/mappers.out
[ "$mapped" = mapped ] || fail "mappers, in a user namespace"
mkfifo /run/forker.in /run/forker.out
python3 -B "$(dirname "$0")/forker.py" 70000 </run/forker.in >/run/forker.out &
forker=$!
exec 8>/run/forker.in 9</run/forker.out
read -r ready <&9
[ "$ready" = ready ] || fail "forker"
session users
lttng -q enable-event -k kunwind_map
lttng -q start
sleep 2
echo >&8
read -r child <&9
echo "$child" >"$out/born.pid"
sleep 15
exec 7>&- 8>&- 9<&-
wait $mappers $forker
finish users

# A child that has its parent's memory, and executes something in the midst of its dump.
# Beside it, a process lives on without its first thread.
python3 -c 'import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)' &
headless=$!
until grep -q "^State:.Z" /proc/$headless/status; do sleep 0.1; done
echo $headless >"$out/headless.pid"
"$build/lttng/vforker" 70000 </run/forker.in >/run/forker.out &
forker=$!
exec 8>/run/forker.in 9</run/forker.out
read -r child <&9
echo "$child" >"$out/vforked.pid"
session vforked
lttng -q enable-event -k 'kunwind_map,kunwind_exec,kunwind_fork'
lttng -q start
sleep 4
echo >&8
sleep 2
exec 8>&- 9<&-
wait $forker
kill -KILL $headless
wait $headless 2>/dev/null
finish vforked

# Filters, by number and by name of the point; 39 is getpid.
points syscalls "lseek,39"
session filtered
lttng -q enable-event -k kunwind_callstack \
    --filter 'point == 0 && nr == 8 && comm == "calls"' || fail "filter"
lttng -q start
"$build/lttng/calls" 200 "$out/filtered.log" || fail "calls, filtered"
finish filtered

# Whoever runs as a timer ticks.
points syscalls ''
points timer_hz 200
session timer
lttng -q enable-event -k kunwind_callstack
lttng -q start
"$build/lttng/calls" "$calls" "$out/timer.log" || fail "calls, timer"
finish timer
points timer_hz 0

# One command for it all; its own kunwindd is the only one.
kunwindd_down
OUTWIND="$build/bin/outwind" timeout 1200 "$(dirname "$0")/../../examples/locate-syscalls" \
    -e syscall_entry_lseek -- "$build/lttng/tiny" >"$out/locate.txt" ||
    fail "locate-syscalls"
say "locate-syscalls done"

# Streams of two machines.
kunwindd_up
points syscalls lseek
bash "$(dirname "$0")/relay.sh" "$build" "$calls" "$out" || fail "relay"
say "relay done"
points syscalls ''
kunwindd_down
lttng_down
say "the end"

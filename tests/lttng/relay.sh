#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a guest, all modules loaded and kunwindd running: two machines, which are
# namespaces of network, names and files, stream to one lttng-relayd; while they do,
# "outwind report" reads one of them live.  usage: relay.sh BUILD CALLS OUT
set -u
build=$1 calls=$2 out=$3

fail() {
    echo "not ok - relay: $*"
    exit 1
}

# until_there FILE...: for as long as that may take
until_there() {
    local tries=0 f
    for f; do
        until [ -s "$f" ]; do
            tries=$((tries + 1))
            [ $tries -lt 6000 ] || fail "no $f"
            sleep 0.2
        done
    done
}

# machine NAME NUMBER: its network; 10.0.NUMBER.1 is here, .2 is there.
machine() {
    ip netns add "$1"
    ip link add "$1" type veth peer name eth0 netns "$1"
    ip addr add "10.0.$2.1/24" dev "$1"
    ip link set "$1" up
    ip netns exec "$1" ip link set lo up
    ip netns exec "$1" ip addr add "10.0.$2.2/24" dev eth0
    ip netns exec "$1" ip link set eth0 up || fail "network of $1"
}

# trace NAME NUMBER: what runs on a machine of its own.
trace() {
    hostname "$1"
    mount -t tmpfs run /run
    mkdir -p /run/bin
    ln -s "$build/lttng/calls" "/run/bin/calls-$1"
    lttng-sessiond -d --kmod-probes=sched || fail "lttng-sessiond of $1"
    lttng -q create live --live --set-url="net://10.0.$2.1" ||
        fail "session of $1"
    # By its name: which session is the current one is told by a file that both
    # machines have.
    lttng -q enable-event -s live -k 'kunwind_map,kunwind_exec,kunwind_fork'
    lttng -q enable-event -s live -k kunwind_callstack \
        --filter "comm == \"calls-$1\""
    lttng -q start live || fail "start of $1"
    echo yes >"$out/started-$1"
    # A reader gets what comes once it is there: something has to come.
    until [ -e "$out/go" ]; do
        "/run/bin/calls-$1" 1 /dev/null deaf
        sleep 0.2
    done
    "/run/bin/calls-$1" "$calls" "$out/relay-$1.log" || fail "calls-$1"
    # What is left is sent before the session is gone.
    lttng -q stop live
    lttng -q destroy live || fail "end of $1"
    kill "$(cat /run/lttng/lttng-sessiond.pid)"
}

if [ $# -eq 5 ]; then
    trace "$4" "$5"
    exit
fi
modprobe veth || fail "no veth"
machine east 1
machine west 2
mkdir -p /run/relay
machines=()
lttng-relayd -o /run/relay &
relayd=$!
for m in "east 1" "west 2"; do
    # shellcheck disable=SC2086
    set -- "$1" "$2" "$3" $m
    # /var/run is a link to /run
    ip netns exec "$4" unshare --uts --mount \
        bash "$0" "$build" "$calls" "$out" "$4" "$5" &
    machines+=($!)
done
until_there "$out/started-east" "$out/started-west"
"$build/bin/outwind" report -e 'syscall_entry_lseek' \
    net://localhost/host/east/live >"$out/live.txt" 2>"$out/live.err" &
live=$!
until_there "$out/live.txt"
: >"$out/go"
wait $live
echo "$?" >"$out/live.status"
for m in "${machines[@]}"; do wait "$m" || fail "a machine failed"; done
cp -r /run/relay "$out/"
kill $relayd
wait $relayd
ip netns del east
ip netns del west
rm -f "$out/go" "$out"/started-*

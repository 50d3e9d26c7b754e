# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What scripts share that trace with LTTng in a guest; sourced, not run.
#   build    the build folder
#   patched  -unw for LTTng with the patches of lttng/patches, or empty
build=${build:?} patched=${patched-}
kver=$(uname -r)
[ -z "$patched" ] || PATH=$build/lab/lttng-tools/bin:$PATH

# What the module's parameters say: hook 0|1, points NAME VALUE.
hook() { echo "$1" >/sys/module/kunwind/parameters/hook; }
points() { echo "$2" >"/sys/module/lttng_kunwind/parameters/$1"; }

fail() {
    echo "not ok - $*"
    exit 1
}

kunwind_in() {
    insmod "$build/kmod-$kver/kunwind.ko" || fail "load kunwind"
    modprobe lttng-tracer || fail "load lttng-tracer"
    insmod "$build/lttng-$kver/lttng-kunwind.ko" || fail "load lttng-kunwind"
}

# lttng_up [COMMAND...]: all modules, and the session daemon, run by COMMAND
lttng_up() {
    hostname guest
    mount --bind "$build/lab/lttng$patched-root-$kver/lib/modules" /lib/modules
    kunwind_in
    "$@" lttng-sessiond -d --kmod-probes=sched || fail "lttng-sessiond"
}

# kunwindd_up [COMMAND...]: daemon is its pid
kunwindd_up() {
    "$@" "$build/bin/outwind" kunwindd >/run/kunwindd.out 2>&1 &
    daemon=$!
    until grep -q following /run/kunwindd.out; do
        kill -0 $daemon || fail "$(cat /run/kunwindd.out)"
        sleep 0.2
    done
}

kunwindd_down() {
    kill "$daemon"
    wait "$daemon"
}

# The session daemon ends, no module is in use, and the kernel is content.
lttng_down() {
    kill "$(cat /var/run/lttng/lttng-sessiond.pid)"
    while [ -e /var/run/lttng/lttng-sessiond.pid ]; do sleep 0.1; done
    rmmod lttng-kunwind || fail "unload lttng-kunwind"
    rmmod kunwind || fail "unload kunwind"
    if dmesg | grep -E 'cut here|BUG:|Oops|refcount_t:|INFO: (task|rcu)|possible (recursive|circular)'; then
        dmesg | grep -A 40 -E 'cut here|BUG:|Oops' | head -n 80
        fail "the kernel complains"
    fi
}

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# In a guest: what perf and ftrace see of a program without frame pointers, with
# the kernel's walkers as they are and redirected.  usage: hook.sh BUILD
set -u
build=$1
param=/sys/module/kunwind/parameters/hook
trace=/sys/kernel/tracing
# shellcheck source=tests/kunwind/say.sh
. "$(dirname "$0")/say.sh"

# How many samples of the spinning program reach its main(), of how many.  Few a
# second, and of user mode only: where a sample takes long, as here, many would
# leave no time for what is sampled; and no kernel's symbols are needed.
full_stacks() {
    taskset -c 0 timeout -k 5 600 perf record -q -B -N -e cpu-clock:u -F 97 -g \
        -o /run/perf.data "$build/kunwind/spin" 1 >/dev/null 2>&1
    timeout -k 5 600 perf script -i /run/perf.data -F ip,sym 2>/dev/null |
        awk 'BEGIN { RS = "" } /spin_inner/ { all++ } /spin_inner/ && /[ \t]main/ { n++ }
            END { print n + 0, all + 0 }'
}

# The same, until there are enough of them to tell.
enough_stacks() {
    full=0 all=0 tries=0
    while [ $all -le 20 ] && [ $tries -lt 10 ]; do
        tries=$((tries + 1))
        # shellcheck disable=SC2046
        set -- $(full_stacks)
        full=$((full + $1)) all=$((all + $2))
    done
    echo "$full $all"
}

"$build/bin/outwind" kunwindd >/run/kunwindd.out 2>&1 &
daemon=$!
i=0
until grep -q following /run/kunwindd.out || [ $i -gt 6000 ]; do
    i=$((i + 1))
    sleep 0.2
done
cat /run/kunwindd.out

# A live patch of one of the functions that the hook redirects.
patch=/sys/kernel/livepatch/kwpatch
until_patch() { # COMMAND...: wait, as a patch takes its time
    i=0
    until "$@" || [ $i -gt 6000 ]; do
        i=$((i + 1))
        sleep 0.2
    done
}
settled() { [ "$(cat $patch/transition)" = 0 ]; }
gone() { [ ! -e $patch ]; }
patched() {
    if [ ! -d /sys/kernel/livepatch ]; then
        echo "# no live patches here"
        return
    fi
    insmod "$build/kwtest-$(uname -r)/kwpatch.ko"
    say $? "a live patch is there"
    until_patch settled
    # not the shell's own, which doesn't say why
    ! env echo 1 2>/run/refused >$param && grep -q busy /run/refused
    say $? "refused where a live patch has a function"
    [ "$(cat $param)" = N ] &&
        ! grep -q perf_callchain_user $trace/enabled_functions
    say $? "and none is redirected"
    echo 0 >$patch/enabled
    until_patch gone
    rmmod kwpatch
    say $? "the live patch goes"
}

[ "$(cat $param)" = N ]
say $? "the hook is off"
patched
"$build/kunwind/bpfstack" 0
without=$(enough_stacks)
[ "$(echo 1 >$param && cat $param)" = Y ]
say $? "the hook goes on"
grep -q perf_callchain_user $trace/enabled_functions &&
    grep -q stack_trace_save_user $trace/enabled_functions
say $? "both walkers are redirected"
"$build/kunwind/bpfstack" 1
with=$(enough_stacks)
echo "# samples with main() of all: $without as it was, $with hooked"
# shellcheck disable=SC2086
set -- $without $with
[ "$1" -lt $(($2 / 10 + 1)) ]
say $? "without it, few stacks are full"
[ "$4" -gt 20 ] && [ $(($3 * 100)) -ge $(($4 * 95)) ]
say $? "with it, they are"

echo 1 >$trace/options/userstacktrace
echo >$trace/trace
echo 1 >$trace/events/syscalls/sys_enter_getppid/enable
"$build/kunwind/spin" 0
echo 0 >$trace/events/syscalls/sys_enter_getppid/enable
deep=$(grep -c ' => ' $trace/trace)
echo "# ftrace: $deep frames"
[ "$deep" -ge 8 ] # as many as it keeps
say $? "ftrace's user stacks are full"
echo 0 >$trace/options/userstacktrace

# 32-bit programs, by the daemon's tables.
if [ -x "$build/kunwind/compat" ]; then
    "$build/kunwind/compat"
fi

if [ -d /sys/kernel/livepatch ]; then
    ! insmod "$build/kwtest-$(uname -r)/kwpatch.ko" 2>/dev/null
    say $? "a live patch is refused where the hook is"
fi

[ "$(echo 0 >$param && cat $param)" = N ]
say $? "the hook goes off"
! grep -q perf_callchain_user $trace/enabled_functions
say $? "nothing is redirected any more"

# Unloaded while it is in use by perf.
timeout -k 5 1300 perf record -q -B -N -a -e cpu-clock -F 199 -g \
    -o /run/all.data "$build/kunwind/spin" 1200 >/dev/null 2>&1 &
perf=$!
until [ -s /run/all.data ] || ! kill -0 $perf; do
    sleep 0.2
done
for i in 1 2 3 4 5 6; do
    echo 1 >$param
    sleep 0.3
    echo 0 >$param
done
echo 1 >$param
sleep 0.5
kill $daemon
(sleep 120 && kill -KILL $daemon) &
limit=$!
wait $daemon
say $? "the daemon ends well"
kill $limit
rmmod kunwind
say $? "unloaded while perf runs"
insmod "$build/kmod-$(uname -r)/kunwind.ko" hook=1
say $? "loaded again, hooked"
sleep 0.5
rmmod kunwind
say $? "and unloaded"
kill -0 $perf
say $? "perf ran all the time"
kill $perf 2>/dev/null
wait $perf 2>/dev/null
insmod "$build/kmod-$(uname -r)/kunwind.ko"
echo "$passed passed, $failed failed"

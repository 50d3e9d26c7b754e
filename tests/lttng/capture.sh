#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a guest: make tests/data/lttng, traces of tiny by both ways, no more than that.
# usage: capture.sh BUILD OUT
set -eu
build=$1 out=$2
# shellcheck source=/dev/null
. "$(dirname "$0")/../../lab/kernel/guest-lttng.sh"

mkdir -p /run/bin
cp "$build/lttng/tiny" /run/bin/tiny
lttng_up
kunwindd_up
hook 1

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

points syscalls lseek,nanosleep
points sched_switch 1
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

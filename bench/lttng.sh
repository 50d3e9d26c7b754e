#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a guest: the same system calls under each way of tracing, ROUNDS x CALLS of
# them, twice; what lttng.py makes a table of is left in OUT.  Where there is one CPU,
# which counts instructions, without perf.
# usage: lttng.sh BUILD OUT ROUNDS CALLS
set -u
build=$1 out=$2 rounds=$3 calls=$4
last=$(nproc) # a mask, too: of one CPU, or of the second of two
# shellcheck source=/dev/null
. "$(dirname "$0")/../lab/kernel/guest-lttng.sh"

# program fp|omit [followed]: alone on its CPU, under the way that is set up
program() {
    taskset "$last" "$build/bench/lttng_calls_$1" "$rounds" "$calls" ${2:+"$2"} ||
        fail "lttng_calls_$1"
}

# traced WAY fp|omit followed|'' SYSCALL-CONTEXT...: events of each call
traced() {
    local way=$1 kind=$2 followed=$3 trace=/run/trace/$1.$turn
    shift 3
    lttng -q create "$way" --output="$trace" || fail "create"
    if [ "$way" = event ]; then
        # in a channel of their own, so that their bytes are known
        lttng -q enable-channel -k stacks && lttng -q enable-channel -k exits &&
            lttng -q enable-event -k -c stacks kunwind_callstack &&
            lttng -q enable-event -k -c exits kunwind_syscall_exit
    else
        lttng -q enable-event -k --syscall lseek
    fi || fail "enable-event"
    [ $# = 0 ] || lttng -q add-context -k "$@" || fail "add-context"
    lttng -q start || fail "start"
    program "$kind" "$followed" >>"$out/$way.ns"
    lttng stop >>"$out/$way.log" 2>&1 || fail "stop"
    lttng -q destroy || fail "destroy"
    cp -r "$trace" "$out/" || fail "keep $way"
}

under_perf() {
    taskset 1 perf record -q -e syscalls:sys_enter_lseek \
        -e syscalls:sys_exit_lseek --call-graph dwarf -m 4M -o /run/perf.data \
        -- taskset "$last" "$build/bench/lttng_calls_omit" "$rounds" "$calls" \
        >>"$out/perf.ns" 2>>"$out/perf.log" || fail "perf record"
    python3 -B "${0%.sh}.py" perf /run/perf.data >"$out/perf.$turn"
    rm /run/perf.data
}

rm -rf "${out:?}"/*
lttng_up taskset 1
kunwindd_up taskset 1

for turn in 1 2; do
    program omit >>"$out/none-omit.ns"
    program fp >>"$out/none-fp.ns"
    traced plain-omit omit ''
    traced plain-fp fp ''
    traced fp fp '' -t callstack-user
    hook 1
    traced hook omit followed -t callstack-user
    hook 0
    points syscalls lseek
    traced event omit followed
    points syscalls ''
    [ "$last" = 1 ] || under_perf
    echo "# turn $turn of 2 done"
done

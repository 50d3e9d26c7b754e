#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compare the registers of every frame of some programs with libunwind's.
# usage: check-regs.sh REGDIFF FOLDER-OF-LIVE-PROGRAMS
set -eu
regdiff=$1
programs=$2
pids=

end_all() {
    for pid in $pids; do
        kill -KILL "$pid" 2>/dev/null || true
    done
}
trap end_all EXIT

start() {
    "$@" >/dev/null 2>&1 </dev/null &
    pids="$pids $!"
}

start "$programs/chain-pie"
start "$programs/chain-static"
start "$programs/chain-lld"
start "$programs/shapes" deep 300
start "$programs/shapes" realign
start "$programs/shapes" callback
start "$programs/throwing" destructor
start "$programs/signals" nested
start python3 -c 'import time
def f(n): return sorted([2, 1], key=lambda x: f(n - 1) if n else time.sleep(60))
f(30)'
start node -e 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'
start sleep 60
sleep 1
# shellcheck disable=SC2086
"$regdiff" $pids

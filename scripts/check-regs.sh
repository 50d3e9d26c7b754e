#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compare the registers of every frame of some programs with libunwind's.
# usage: check-regs.sh REGDIFF FOLDER-OF-LIVE-PROGRAMS
set -eu
regdiff=$1
programs=$2
# shellcheck source=scripts/targets.sh
. scripts/targets.sh
trap end_targets EXIT

start_target "$programs/chain-pie"
start_target "$programs/chain-static"
start_target "$programs/chain-lld"
start_target "$programs/shapes" deep 300
start_target "$programs/shapes" realign
start_target "$programs/shapes" callback
start_target "$programs/throwing" destructor
start_target "$programs/signals" nested
start_target python3 -c 'import time
print("ready", flush=True)
def f(n): return sorted([2, 1], key=lambda x: f(n - 1) if n else time.sleep(9999))
f(30)'
start_target node -e 'require("fs").writeSync(1, "ready\n")
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'
start_target sleep 9999
wait_for_targets
# shellcheck disable=SC2086
"$regdiff" $target_pids

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Show the stacks of a real program.  usage: demo.sh OUTWIND
set -eu
outwind=$1
# shellcheck source=scripts/targets.sh
. scripts/targets.sh
trap end_targets EXIT

if command -v python3 >/dev/null; then
    start_target python3 -c '
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("ready", flush=True)
sorted([2, 1], key=lambda x: time.sleep(60))'
else
    start_target sleep 60
fi
victim=$!
wait_for_targets
echo "\$ outwind stack --stats $victim"
"$outwind" stack --stats "$victim"
echo
echo "\$ outwind stack -f folded $victim"
"$outwind" stack -f folded "$victim"

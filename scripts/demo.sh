#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Show the stacks of a real program.  usage: demo.sh OUTWIND
set -eu
outwind=$1
victim=
trap '[ -z "$victim" ] || kill "$victim" 2>/dev/null' EXIT

if command -v python3 >/dev/null; then
    python3 -c '
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print(threading.active_count(), "threads", flush=True)
sorted([2, 1], key=lambda x: time.sleep(60))' >/dev/null &
else
    sh -c 'read line' </dev/zero &
fi
victim=$!
sleep 1
echo "\$ outwind stack --stats $victim"
"$outwind" stack --stats "$victim"
echo
echo "\$ outwind stack -f folded $victim"
"$outwind" stack -f folded "$victim"

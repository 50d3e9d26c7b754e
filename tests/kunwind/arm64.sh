#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Boot Debian's arm64 kernel with the module, and compare stacks there.
# usage: arm64.sh XEN-FOLDER SHARE
here=$(dirname "$0")
log=$(bash "$here/../../lab/kernel/vmrun-arm64.sh" -t 3600 "$1" "$2" '
    export PLUGIN=/host/plugin.so
    insmod kunwind.ko || exit 1
    ./stacks-pie; status=$?
    rmmod kunwind || exit 1
    ! dmesg | grep -E "cut here|BUG:|Oops|refcount_t:" || exit 1
    exit $status')
status=$?
printf '%s\n' "$log"
[ $status -eq 0 ] && exit 0
printf '%s\n' "$log" | grep -q '[1-9][0-9]* failed$' || echo "0 passed, 1 failed"
exit 1

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The programs ask nothing of the kernel that Linux 5.15 lacks, as bpf_loop is:
# check-bpf.sh OBJECT.  Helpers are numbered in the order of their age.
set -eu

last=175 # bpf_task_pt_regs; bpf_loop, of 5.17, is 181
llvm-objdump -d --no-show-raw-insn "$1" |
    awk -v last=$last '
        $2 == "call" && $3 ~ /^[0-9]+$/ {
            n++
            if ($3 > last) { print "helper " $3 " is newer than 5.15"; bad++ }
        }
        END { exit n < 100 || bad }'
llvm-objdump -dr --no-show-raw-insn "$1" | awk -f "$(dirname "$0")/bpfstack.awk"
# Functions of the kernel itself, which programs of later ones may call.
! llvm-readelf -S "$1" | grep -F .ksyms

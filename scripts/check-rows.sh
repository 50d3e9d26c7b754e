#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compare the rows of every ELF file below some folders with readelf's.
# usage: check-rows.sh ROWDIFF DIR...
set -eu
rowdiff=$1
shift
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# Hard links and ar archives aside: files that begin with the ELF magic.
# shellcheck disable=SC2016
find "$@" -xdev -type f -size +200c -links -3 -print0 |
    xargs -0 -n 64 -P "$(nproc)" sh -c '
        tool=$1
        shift
        for f; do
            case $(head -c 4 "$f" 2>/dev/null | od -An -tx1) in
            " 7f 45 4c 46") set -- "$@" "$f" ;;
            esac
            shift
        done
        [ $# -eq 0 ] || "$tool" "$@" || true' sh "$rowdiff" >"$out"

grep -v '^total ' "$out" | head -n 100 || true
awk '/^total / { objects += $2; rows += $4; escapes += $6
                 shadowed += $8; differences += $10
                 large += $12; size += $14; cfi += $16; signals += $18 }
END {
    printf "%d objects, %d rows compared by CFI and by table: %d differences", \
        objects, rows, differences
    printf " (%d addresses by the CFI behind the table, %d in trampolines of", \
        escapes, signals
    printf " signals that the table knows, %d in FDEs that", shadowed
    print " another FDE overlaps)"
    printf "tables have %.1f %% of the size of their CFI; %d, of objects with", \
        cfi ? 100 * size / cfi : 0, large
    print " little of it, more than 60 %"
    exit differences != 0 || rows == 0
}' "$out"

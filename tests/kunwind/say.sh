# shellcheck shell=sh disable=SC2034
# SPDX-License-Identifier: BSD-2-Clause
# Checks that are counted, in passed and failed; sourced.
passed=0 failed=0

say() { # STATUS WHAT
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok - $2"
    fi
}

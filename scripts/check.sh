#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Run stages of tests, each a make target, and add up what they say.
# usage: check.sh TARGET...
# A stage's last line "N passed, N failed[, N skipped]" counts so; one without
# counts as one test by its exit status.
set -u
make=${MAKE:-make}
# Of a stage.  check-xenlab ends its two boots within it, but not with XENLAB_SECONDS
# above 2, which may take hours: raise STAGE_SECONDS there.
limit=${STAGE_SECONDS:-1800}
logs=build/log
mkdir -p "$logs"
passed=0 failed=0 skipped=0

# What whoever starts this has set is not for tests to see.
umask 022
unset COLUMNS DEBUGINFOD_URLS GDBHISTFILE LANGUAGE LD_LIBRARY_PATH LD_PRELOAD LINES
rm -rf "$logs/cache"
export LC_ALL=C.UTF-8 XDG_CACHE_HOME="$PWD/$logs/cache"

# What waits for ever is ended, with all of its process group.
run() {
    env --default-signal timeout -k 30 "$limit" \
        "$make" --no-print-directory "$1" >"$logs/$1.log" 2>&1 </dev/null &
    running=$!
    wait $running
    status=$?
    case $status in
    124 | 137)
        end_rest
        echo "not done after $limit s" >>"$logs/$1.log"
        ;;
    esac
    running=
    return $status
}

# What is left of the group has been told to end, and has ten seconds to.
end_rest() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        kill -s 0 -- "-$running" 2>/dev/null || return 0
        sleep 1
    done
    kill -s KILL -- "-$running" 2>/dev/null
}

stop() { # SIGNAL
    trap '' INT TERM HUP
    if [ -n "$running" ]; then
        kill "$running" 2>/dev/null
        wait "$running"
        end_rest
    fi
    exit $((128 + $1))
}

running=
trap 'stop 1' HUP
trap 'stop 2' INT
trap 'stop 15' TERM

# A stage that fails has a second try, which is told: processes, and machines
# under emulation above all, may have been late.  The live tests have their own.
again() {
    [ "$1" != check-live ] || return 1
    mv "$logs/$1.log" "$logs/$1-first.log"
    run "$1" || return 1
    {
        sed -n "s/^not ok/unsteady: $1:/p" "$logs/$1-first.log"
        echo "unsteady: $1: failed at first"
    } >>"$logs/$1.log"
}

for stage; do
    printf '%-14s ' "$stage"
    begin=$(date +%s)
    run "$stage"
    status=$?
    if [ $status -ne 0 ] && again "$stage"; then
        status=0
    fi
    # All such lines of the stage: it may be several programs.
    counts=$(awk '/^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ {
        p += $1; f += $3; s += $5; n++ }
        END { print p + 0, f + 0, s + 0, n + 0 }' "$logs/$stage.log")
    read -r p f s n <<EOF
$counts
EOF
    if [ "$n" -eq 0 ]; then
        if [ $status -eq 0 ]; then p=1; else f=1; fi
    elif [ $status -ne 0 ] && [ "$f" -eq 0 ]; then
        f=1
    fi
    echo "$p passed, $f failed, $s skipped ($(($(date +%s) - begin)) s)"
    if [ "$f" -ne 0 ]; then
        grep -vE '^(ok|  (CC|LD)) ' "$logs/$stage.log" | tail -n 40 |
            sed 's/^/    /'
    fi
    grep -iE '^(ok .*)?# skip|^skip(ped)?:|^unsteady:' "$logs/$stage.log" | sed 's/^/    /'
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
if [ "$skipped" -ne 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]

# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs to be looked at, which are started and waited for; sourced.
target_pids='' # of all that were started
target_nr=0
targets_said=$(mktemp -d)

# What says "ready" when it is; sleep(1) says nothing.
start_target() {
    target_nr=$((target_nr + 1))
    [ "$1" != sleep ] || echo ready >"$targets_said/said-$target_nr"
    "$@" >>"$targets_said/said-$target_nr" 2>&1 </dev/null &
    ln -s "said-$target_nr" "$targets_said/$!"
    target_pids="$target_pids $!"
}

# Its first thread waits, in the program that it is to be.
target_rests() {
    grep -qs ready "$targets_said/$1" && ! cmp -s /proc/$$/exe "/proc/$1/exe" &&
        grep -q '^State:[[:space:]]*S' "/proc/$1/status"
}

wait_for_targets() {
    for target_pid in $target_pids; do
        target_tries=0
        until target_rests "$target_pid"; do
            target_tries=$((target_tries + 1))
            if [ $target_tries -gt 3000 ] || ! kill -0 "$target_pid"; then
                echo "process $target_pid doesn't become ready"
                cat "$targets_said/$target_pid"
                exit 1
            fi
            sleep 0.1
        done
    done
}

end_targets() {
    for target_pid in $target_pids; do
        kill -KILL "$target_pid" 2>/dev/null || :
    done
    rm -rf "$targets_said"
}

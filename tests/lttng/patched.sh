#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a guest: sessions of LTTng with the patches of lttng/patches, whose traces are
# kept to be looked at outside.
# usage: patched.sh BUILD CALLS OUT
set -u
build=$1 calls=$2 out=$3
# shellcheck disable=SC2034
patched=-unw
# shellcheck source=/dev/null
. "$(dirname "$0")/../../lab/kernel/guest-lttng.sh"

users() { cat /sys/module/kunwind/refcnt; }

# session NAME: each lseek() with the context
session() {
    lttng -q create "$1" --output="/run/$1" || fail "create $1"
    lttng -q enable-event -k --syscall lseek
    lttng -q enable-event -k 'kunwind_map,kunwind_exec,kunwind_fork'
    lttng -q add-context -k -t callstack-user-unw -t pid -t tid -t procname ||
        fail "add-context to $1"
}

# traced NAME COUNT [deep]: that many calls in the session that there is, its end
traced() {
    lttng -q start "$1" || fail "start $1"
    "$build/lttng/calls" "$2" "$out/$1.log" ${3:+"$3"} || fail "calls, $1"
    lttng -q stop "$1" || fail "stop $1"
    lttng -q destroy "$1" || fail "destroy $1"
    cp -r "/run/$1" "$out/" || fail "keep $1"
}

rm -rf "${out:?}"/*
lttng_up
kunwindd_up
lttng add-context --list >"$out/contexts.txt"

before=$(users)
session patched
echo "$(($(users) - before))" >"$out/held.txt"
lttng -q save patched --output-path=/run/saved || fail "save"
traced patched "$calls"
echo "$(($(users) - before))" >"$out/dropped.txt"

# What was saved is loaded.
lttng -q load --input-path=/run/saved --override-url=file:///run/loaded \
    --override-name=loaded patched || fail "load"
traced loaded 200

session deep
traced deep 20 deep

# Without the module, there is no such context.
kunwindd_down
rmmod lttng-kunwind || fail "unload lttng-kunwind"
rmmod kunwind || fail "unload kunwind"
lttng -q create alone --output=/run/alone || fail "create alone"
lttng -q enable-event -k --syscall lseek
lttng add-context -k -t callstack-user-unw >"$out/alone.txt" 2>&1
echo "$?" >>"$out/alone.txt"
dmesg | grep LTTng: >>"$out/alone.txt"
lttng -q destroy alone
kunwind_in
lttng_down

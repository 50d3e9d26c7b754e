#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The module isn't built for a kernel with CONFIG_PREEMPT_RT, and says so in one line.
# usage: rt.sh BUILD KVER
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1")/kmod-rt
# shellcheck source=tests/kunwind/say.sh
. "$(dirname "$0")/say.sh"

mkdir -p "$build"
ln -sf "$top"/kmod/* "$build/"
! env -u MAKEFLAGS make -s -C "/usr/src/linux-headers-$2" M="$build" OW_TOP="$top" \
    CONFIG_PREEMPT_RT=y modules >"$build/log" 2>&1
say $? "built for a kernel with CONFIG_PREEMPT_RT"
[ "$(grep -c "kunwind can't be built for a kernel with CONFIG_PREEMPT_RT" \
    "$build/log")" = 1 ]
say $? "the reason is told: $(cat "$build/log")"
[ -z "$(find "$build" -name '*.o')" ]
say $? "something was compiled"
grep -q 'depends on !PREEMPT_RT' "$top/kmod/Kconfig"
say $? "Kconfig offers it there"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

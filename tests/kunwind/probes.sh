#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# In a guest, where the module isn't loaded: its probes, and that it notices when they do
# not fire.  usage: probes.sh BUILD
set -u
module=$1/kmod-$(uname -r)/kunwind.ko
switch=/proc/sys/kernel/ftrace_enabled
# shellcheck source=tests/kunwind/say.sh
. "$(dirname "$0")/say.sh"

insmod "$module"
say $? "the module is loaded"
timeout -k 10 300 "$1/kunwind/probes" || failed=$((failed + 1))
rmmod kunwind
say $? "the module is unloaded"

# Probes of functions' entries are ftrace's.
echo 0 >$switch
insmod "$module"
say $? "the module is loaded, where no probe fires"
dmesg | grep -q 'kunwind: kprobes of this kernel do not fire'
say $? "the log says so"
rmmod kunwind
echo 1 >$switch
insmod "$module"
say $? "the module is loaded again"
[ "$(dmesg | grep -c 'kunwind: kprobes of this kernel do not fire')" = 1 ]
say $? "where probes fire, the log does not say so"
rmmod kunwind
echo "$passed passed, $failed failed"

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# In a guest: who may open the module's files, by its parameter; leaves it loaded, for
# everybody.  usage: device.sh KUNWIND.KO
set -u
module=$1
# shellcheck source=tests/kunwind/say.sh
. "$(dirname "$0")/say.sh"

modes() { stat -c %a /dev/kunwind /proc/kunwind_debug | tr '\n' ' '; }
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
# shellcheck disable=SC2016
opens() { as_nobody sh -c 'exec 3<>"$1"' sh "$1" 2>/dev/null; }

insmod "$module"
say $? "the module is loaded"
[ "$(modes)" = "660 660 " ]
say $? "root's alone by default: $(modes)"
for file in /dev/kunwind /proc/kunwind_debug; do
    ! opens $file
    say $? "nobody opens $file"
done
chgrp 65534 /dev/kunwind
opens /dev/kunwind
say $? "a group that it is given to can't open it"
rmmod kunwind
insmod "$module" unprivileged=1
say $? "the module is loaded again"
[ "$(modes)" = "666 666 " ]
say $? "everybody's by the parameter: $(modes)"
for file in /dev/kunwind /proc/kunwind_debug; do
    opens $file
    say $? "nobody can't open $file"
done
echo "$passed passed, $failed failed"

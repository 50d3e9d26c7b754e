#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# umlrun.sh [-t SECONDS] LINUX COMMAND
# Boot LINUX, which is User-Mode Linux, and run COMMAND (a line of sh) there as root.
# Its root is this machine's, read-only.  Prints what the command prints; exits with
# its status, 124 after SECONDS, 125 if the kernel died.  Its console goes to
# LINUX.console.  APPEND is a parameter more for it.
set -euo pipefail
limit=120
while getopts t: o; do
    case $o in
    t) limit=$OPTARG ;;
    *) exit 64 ;;
    esac
done
shift $((OPTIND - 1))
linux=$(realpath "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%s\n' "$*" >"$work/cmd"
cat >"$work/init" <<END
#!/bin/sh
export HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run
mount -t debugfs d /sys/kernel/debug
mount -t hostfs -o "$work" none /mnt
sh /mnt/cmd >/mnt/out 2>&1 </dev/null
echo \$? >/mnt/status
sync
busybox poweroff -f
END
chmod +x "$work/init"
status=0
# UML keeps its memory in a file that it executes.
tmp=/dev/shm
! grep -qE '^[^ ]+ /dev/shm [^ ]+ [^ ]*noexec' /proc/mounts || tmp=$work
# UML is several processes: a group of its own, which is ended as this is.
TMPDIR=$tmp timeout -k 5 "$limit" "$linux" mem=512M rootfstype=hostfs rootflags=/ \
    ro "init=$work/init" con=null con0=null,fd:1 ssl=null "umid=kunwind$$" \
    "uml_dir=$work/" panic=-1 ${APPEND:+"$APPEND"} </dev/null >"$linux.console" 2>&1 &
running=$!
trap 'kill "$running" || true; wait "$running" || true; exit 143' INT TERM HUP
wait "$running" || status=$?
trap - INT TERM HUP
[ ! -e "$work/out" ] || cat "$work/out"
if [ ! -s "$work/status" ]; then
    [ "$status" = 124 ] || status=125
    echo "umlrun: no end ($status); the console:" >&2
    tail -n 40 "$linux.console" >&2
    exit "$status"
fi
exit "$(cat "$work/status")"

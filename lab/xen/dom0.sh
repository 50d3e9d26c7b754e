#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs in dom0, by busybox: dom0.sh IMAGE FP_IMAGE HZ SECONDS NAME...  Starts the
# guest of NAME.cfg, and leaves in NAME/ what xenctx, outwind and uniprof say of it;
# and what they cost for those of NAME-1.cfg and NAME-4.cfg, of so many CPUs.
PATH=/host/bin:$PATH
export PATH XDG_CACHE_HOME=/tmp
own_image=$1 fp_image=$2 hz=$3 seconds=$4
shift 4

# QEMU's processor fails a program now and then, at random.
xl() {
    command xl "$@" || command xl "$@"
}

# Until so many of its CPUs are up, however slow the machine is.
until_up() {
    n=0
    until [ "$(xl vcpu-list "$1" | grep -c ' [r-][b-]- ')" -ge "$2" ] ||
        [ $((n += 1)) -gt 600 ]; do
        sleep 0.5
    done
}

# What is said of a guest that stands still, which must not go on meanwhile.
compare() {
    for i in 1 2 3 4; do
        xl pause "$1"
        for cpu in 0 1 2 3; do
            xenctx "$id" "$cpu" >"$1/$i.ctx$cpu" 2>&1
        done
        timeout 600 outwind stack --json -e "$image" "xen:$1" \
            >"$1/$i.json" 2>"$1/$i.err"
        echo $? >"$1/$i.status"
        for way in --backend=libxc --no-pause; do
            timeout 600 outwind stack --json $way -e "$image" "xen:$id" \
                >"$1/$i$way.json" 2>"$1/$i$way.err"
        done
        [ "$1" = pvh-32 ] || timeout 600 xen-stack "$id" "$image" 0 1 2 \
            >"$1/$i.walks" 2>"$1/$i.walks.err"
        echo $? >"$1/$i.walks.status"
        xl list "$1" >"$1/$i.list"
        xl unpause "$1"
        sleep 0.2
    done
}

# Many samples of a guest that runs, into memory first.
sample() {
    begin=$(date +%s)
    timeout 1800 uniprof -F "$hz" -T "$seconds" -e "$image" /tmp/trace "$id" \
        >"$1/trace.out" 2>"$1/trace.err"
    echo $? >"$1/trace.status"
    echo $(($(date +%s) - begin)) >"$1/trace.seconds"
    mv /tmp/trace "$1/trace"
    timeout 600 outwind record -F 99 -d 2 -f folded -e "$image" --stats "xen:$1" \
        >"$1/folded" 2>"$1/record.stats"
    echo $? >"$1/record.status"
    # Killed, it leaves a guest that runs.
    for signal in INT TERM HUP; do
        timeout -s $signal 1 \
            uniprof -F 1000 -T 1000 -e "$image" /dev/null "$id"
        xl list "$1" >"$1/after-$signal"
    done
}

# Pauses and hypercalls of warm samples, and xenctx's time for as many stacks.
measure() {
    xl create -q "$1-$2.cfg" >"$1/create-$2" 2>&1 || return
    id=$(xl domid "$1-$2")
    until_up "$1-$2" "$2"
    sleep 1
    for round in 1 2 3; do
        for how in fp cfi; do
            timeout 1200 outwind record -F 99 --samples=100 --unwind=$how \
                -e "$fp_image" --stats -f folded "xen:$id" \
                >"$1/$how-$2-$round.folded" 2>"$1/$how-$2-$round.stats"
        done
    done
    cut -d ' ' -f 1 /proc/uptime >"$1/xenctx-$2"
    for i in 1 2 3 4; do
        xenctx --all-vcpus "$id" >/tmp/xenctx || echo failed >>"$1/xenctx-$2"
    done
    cut -d ' ' -f 1 /proc/uptime >>"$1/xenctx-$2"
    xl destroy "$1-$2"
}

# A Linux guest, busy in its kernel, of the same kernel as dom0: so its names.
make_linux() {
    mkdir -p /tmp/root/bin /tmp/root/proc /tmp/root/dev
    cp /bin/busybox /tmp/root/bin/
    cat >/tmp/root/init <<'END'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
echo at-work >/dev/hvc0
while :; do
    /bin/busybox dd if=/dev/zero of=/dev/null bs=64k count=2000 2>/dev/null
    /bin/busybox cat /proc/kallsyms >/dev/null
done
END
    chmod +x /tmp/root/init
    (cd /tmp/root && find . | cpio -o -H newc) >linux.cpio 2>/dev/null
    cat /proc/kallsyms >kallsyms
}

sample_linux() {
    [ -e kallsyms ] || make_linux
    xl create -q "$1.cfg" >"$1/create" 2>&1
    until_up "$1" 2
    says "$1" at-work
    echo $? >"$1/works"
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        timeout 600 outwind stack --json -e linux --kallsyms=kallsyms \
            "xen:$1" >"$1/$i.json" 2>"$1/$i.err"
        sleep 0.1
    done
    # And by a file that says another place, which only the guest can put right.
    timeout 600 outwind stack --json -e linux-lower "xen:$1" \
        >"$1/lower.json" 2>"$1/lower.err"
    timeout 1200 outwind record -F 99 --samples=150 -e linux --kallsyms=kallsyms --stats \
        -o "$1/profile.owp" "xen:$1" 2>"$1/record.stats"
    echo $? >"$1/record.status"
    for format in folded json; do
        outwind report -f $format -o "$1/profile.$format" "$1/profile.owp"
    done
    xl list "$1" >"$1/list"
    xl destroy "$1"
}

# A line of that kind on the guest's console, in time.
says() {
    n=0
    until grep -q "$2" ".xenlab/guest-$1.log" 2>/dev/null; do
        [ $((n += 1)) -lt 6000 ] || return 1
        sleep 0.1
    done
}

# A boot loader that waits for a command: while it stands still, and afterwards.
compare_loader() {
    xl create -q "$1.cfg" >"$1/create" 2>&1
    id=$(xl domid "$1")
    says "$1" 'grub> '
    for i in 1 2; do
        xl pause "$1"
        xenctx -f -k 1 "$id" 0 >"$1/$i.ctx0" 2>&1
        for way in none image fp; do
            case $way in
                none) given='' ;;
                image) given="-e $1.bin" ;;
                fp) given="-e $1.bin --unwind=fp" ;;
            esac
            # shellcheck disable=SC2086
            timeout 600 outwind stack --json $given "xen:$1" \
                >"$1/$i.$way.json" 2>"$1/$i.$way.err"
            echo $? >"$1/$i.$way.status"
        done
        xl list "$1" >"$1/$i.list"
        xl unpause "$1"
    done
    # Of one that runs; and it still does what it is told.
    timeout 600 outwind stack -e "$1.bin" "xen:$1" >"$1/running" 2>&1
    xl list "$1" >"$1/after"
    # shellcheck disable=SC2016 # it is the guest's to expand
    printf 'set a=runs; echo ${a}-on\r' >"$(xenstore-read "/local/domain/$id/console/tty")"
    says "$1" runs-on
    echo $? >"$1/answer"
    xl destroy "$1"
}

# Where it shares a processor, what samples comes first.
xl sched-credit2 -d Domain-0 -w 65535 >sched 2>&1
for name; do
    mkdir -p "$name"
    case $name in
        linux-*)
            sample_linux "$name"
            continue
            ;;
        grub-*)
            compare_loader "$name"
            continue
            ;;
    esac
    image=$own_image
    [ "$name" != pvh-32 ] || image=guest-32.elf
    xl create -q "$name.cfg" >"$name/create" 2>&1 || continue
    id=$(xl domid "$name")
    until_up "$name" 3
    sleep 0.5
    compare "$name"
    sample "$name"
    xl list "$name" >"$name/list"
    xl vcpu-list "$name" >"$name/vcpus"
    xl destroy "$name"
    [ "$name" != pvh-32 ] || continue
    measure "$name" 1
    measure "$name" 4
done
command xl dmesg >xen.log

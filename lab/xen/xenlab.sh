#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Boots a real Xen hypervisor under QEMU (TCG, so no hardware virtualization is
# needed) with a Debian Linux dom0, runs one shell command in dom0, prints its
# output and exits with its status.
#
#   xenlab.sh [-a amd64|arm64] [-s SHARE] [-m MIB] [-c CPUS] [-t SECONDS]
#             [-i SECONDS] [COMMAND...]
#
# SHARE, a directory of this machine, is /host in dom0 (9p, read-write) and the
# command's working directory: put binaries and guest kernels there.  What the
# boot leaves is in SHARE/.xenlab: console, output, status, guest-NAME.log.
# A machine is ended after so many seconds (-t 300), or where no file there has
# changed for so many (-i 300, which is for a -t above it).
# Without a command it only fetches and builds.
#
# Needs qemu-system-x86 or qemu-system-arm, cpio, kmod and xz-utils.  All else
# comes by `apt-get download` and is unpacked below $XENLAB_CACHE (build/xen), not
# installed; $XENLAB_CACHE/ARCH/sysroot serves to compile for dom0.
set -euo pipefail

cache=${XENLAB_CACHE:-$(cd "$(dirname "$0")/../.." && pwd)/build/xen}
arch=amd64 share='' mem=2048 cpus=1 limit=300 idle_limit=300
while getopts a:s:m:c:t:i: o; do
    case $o in
        a) arch=$OPTARG ;; s) share=$OPTARG ;; m) mem=$OPTARG ;;
        c) cpus=$OPTARG ;; t) limit=$OPTARG ;; i) idle_limit=$OPTARG ;;
        *) exit 64 ;;
    esac
done
shift $((OPTIND - 1))

case $arch in
    amd64) triplet=x86_64-linux-gnu loader=ld-linux-x86-64.so.2 ;;
    arm64) triplet=aarch64-linux-gnu loader=ld-linux-aarch64.so.1 ;;
    *) echo "xenlab: no such architecture: $arch" >&2; exit 64 ;;
esac
top=$cache/$arch sys=$cache/$arch/sysroot

say() { echo "xenlab: $*" >&2; }

# An apt of our own for $arch, so that this machine's needs no other architecture.
apt() {
    local tool=$1
    shift
    "$tool" -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
        -o APT::Sandbox::User=root -o Dir::State="$top/apt" -o Dir::Cache="$top/apt" \
        -o Dir::State::status=/dev/null -q=2 "$@"
}

# Xen, its tools, and the libraries of these and of outwind, with what it takes to
# compile against them.
packages="xen-hypervisor-4.17-$arch xen-utils-4.17 xenstore-utils busybox-static
    libxen-dev libxenmisc4.17 libxencall1 libxendevicemodel1 libxenevtchn1
    libxenforeignmemory1 libxengnttab1 libxenhypfs1 libxenstore4 libxentoolcore1
    libxentoollog1 libyajl2 libuuid1 libfdt1 libgcc-s1 libc6 libelf1 libdw1
    liblzma5 libzstd1 zlib1g libbz2-1.0 liblz4-1 libelf-dev libdw-dev liblzma-dev
    libzstd-dev zlib1g-dev liblz4-dev libiberty-dev libbpf1"
# A guest that is compiled already.
[ "$arch" != amd64 ] || packages="$packages grub-xen-host"
fetched=$top/fetched-$(echo "$packages" | cksum | cut -d' ' -f1)

# The sysroot: Xen, its tools, libraries and headers, and dom0's kernel.
fetch() {
    [ -e "$fetched" ] && return
    say "fetching the $arch packages into $top"
    rm -rf "$top"
    mkdir -p "$top"/debs "$top"/apt/{lists,archives}/partial "$sys"
    apt apt-get update
    local kernel deb
    kernel=$(apt apt-cache depends "linux-image-$arch" |
        awk '$1 == "Depends:" { print $2 }')
    # shellcheck disable=SC2086
    (cd "$top/debs" && apt apt-get download "$kernel" $packages)
    local unused='./lib/modules/*/kernel'
    for deb in "$top"/debs/*.deb; do
        dpkg --fsys-tarfile "$deb" | tar -x -C "$sys" --exclude='./usr/share' \
            --exclude="$unused"/{sound,arch,crypto} \
            --exclude="$unused"/{'net/[a-z]*','fs/[a-eg-mo-z]*'} \
            --exclude="$unused/drivers/[a-uwyz]*"
    done
    rm -rf "$top/debs" "$top/apt"
    echo "${kernel#linux-image-}" >"$fetched"
}

# The kernel inside a bzImage, so that Xen need not unpack it under TCG.
unpack_kernel() {
    field() { od -An -t "u$2" -j "$1" -N "$2" "$image" | tr -d ' '; }
    local image=$1 start length
    start=$((($(field 497 1) + 1) * 512 + $(field 584 4)))
    length=$(($(field 588 4) - 4)) # the last four bytes are the unpacked size
    head -c $((start + length)) "$image" | tail -c +$((start + 1)) | xz -dc
}

build() {
    [ "$top/initramfs.cpio" -nt "$0" ] &&
        [ "$top/initramfs.cpio" -nt "$fetched" ] && return
    say "building the $arch initramfs"
    local release root=$top/initramfs lib=$top/initramfs/usr/lib tool n=100 module
    release=$(cat "$fetched")
    rm -rf "$root"
    mkdir -p "$root"/{dev,proc,sys,tmp,run/{lock,xen},host,etc/xen,modules,usr/bin} \
        "$root"/var/{lib/xen,log/xen} "$lib/$triplet" "$lib/xen-4.17"
    ln -s usr/bin "$root/bin"
    ln -s usr/bin "$root/sbin"
    ln -s usr/lib "$root/lib"
    ln -s usr/lib "$root/lib64"
    ln -s ../run "$root/var/run"
    ln -s ../run/lock "$root/var/lock"
    ln -s "$triplet/$loader" "$lib/$loader"
    cp -a "$sys"/{lib,usr/lib}/"$triplet"/lib*.so* "$lib/$triplet/"
    cp -L "$sys/lib/$triplet/$loader" "$lib/$triplet/"
    cp -a "$sys/usr/lib/xen-4.17/bin" "$lib/xen-4.17/"
    cp -a "$sys"/bin/busybox "$sys"/usr/bin/xenstore* "$root/usr/bin/"
    for tool in xl xenctx; do
        ln -s "../lib/xen-4.17/bin/$tool" "$root/usr/bin/$tool"
    done
    echo 'autoballoon="off"' >"$root/etc/xen/xl.conf"

    depmod -b "$sys" "$release"
    for module in xen-evtchn xen-gntdev xen-gntalloc xenfs \
        virtio_pci virtio_mmio 9pnet_virtio 9p; do
        modprobe -d "$sys" -S "$release" --show-depends "$module"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$top/modules"
    while read -r module; do
        cp "$module" "$root/modules/$((n++))-${module##*/}"
    done <"$top/modules"

    cat >"$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/lib/xen-4.17/bin HOME=/
mount -t devtmpfs dev /dev
mkdir -p /dev/pts
mount -t devpts pts /dev/pts # xenconsoled gives each guest a terminal
mount -t proc proc /proc
mount -t sysfs sys /sys
for m in /modules/*; do insmod "$m" || echo "init: cannot load $m"; done
mount -t xenfs xenfs /proc/xen
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 host /host ||
    { echo "init: no /host"; poweroff -f; }
cd /host
xenstored && xen-init-dom0 && xenconsoled --log=guest --log-dir=/host/.xenlab ||
    echo "init: the Xen daemons did not start"
>/host/.xenlab/up
sh /host/.xenlab/command >/host/.xenlab/output 2>&1
echo $? >/host/.xenlab/status
sync
poweroff -f
INIT
    chmod +x "$root/init"
    if [ "$arch" = amd64 ]; then
        zcat "$sys/boot/xen-4.17-amd64.gz" >"$top/xen"
        unpack_kernel "$sys/boot/vmlinuz-$release" >"$top/linux"
    else
        cp "$sys/boot/xen-4.17-arm64" "$top/xen"
        cp "$sys/boot/vmlinuz-$release" "$top/linux"
    fi
    (cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) >"$top/initramfs.part"
    mv "$top/initramfs.part" "$top/initramfs.cpio"
}

# Becomes QEMU.  What is taken from the amd64 CPU, QEMU 7.2's TCG gets wrong:
# smap, smep: an iret within ring 3 reads the stack as ring 0 (dom0 dies at once);
# monitor: mwait with ECX=1 faults (Xen dies when idle); rdtscp: a guest's leaves
# SVM with rdtsc's exit code (Linux PVH guests die).
# shellcheck disable=SC2054 # commas are of QEMU's options
boot() {
    local dom0=$((mem / 2)) args linux xen cpu
    linux="console=hvc0 quiet panic=-1 ${XENLAB_LINUX_ARGS:-}"
    xen="dom0_mem=${dom0}M,max:${dom0}M dom0_max_vcpus=1 guest_loglvl=all"
    xen="$xen ${XENLAB_XEN_ARGS:-}"
    case $arch in
        amd64)
            cpu=EPYC,+svm,-smap,-smep,-monitor,-rdtscp
            args=(qemu-system-x86_64 -machine q35
                -cpu "${XENLAB_CPU:-$cpu}" -kernel "$top/xen"
                -append "console=com1 com1=115200,8n1 spec-ctrl=no $xen"
                -initrd "$top/linux $linux,$top/initramfs.cpio"
                -device virtio-9p-pci,fsdev=host,mount_tag=host) ;;
        arm64)
            args=(qemu-system-aarch64
                -machine "virt,virtualization=on,gic-version=3"
                -cpu "${XENLAB_CPU:-cortex-a57}" -kernel "$top/xen"
                -append "console=dtuart dtuart=/pl011@9000000 $xen"
                -device "guest-loader,addr=0x4a000000,kernel=$top/linux,bootargs=$linux"
                -device "guest-loader,addr=0x50000000,initrd=$top/initramfs.cpio"
                -device virtio-9p-device,fsdev=host,mount_tag=host) ;;
    esac
    exec "${args[@]}" -accel tcg,thread=multi -m "$mem" -smp "$cpus" -nodefaults \
        -no-reboot -display none -serial "file:$state/console" \
        -fsdev "local,id=host,path=$share,security_model=none" \
        </dev/null >"$state/qemu" 2>&1
}

fetch
build
[ $# -gt 0 ] || exit 0

work='' qemu=''
# shellcheck disable=SC2317 # the trap below runs it
finish() {
    [ -z "$qemu" ] || end_qemu
    [ -z "$work" ] || rm -rf "$work"
}

# It may be past listening.
# shellcheck disable=SC2317
end_qemu() {
    kill "$qemu" 2>/dev/null || return 0
    for _ in {1..50}; do
        kill -0 "$qemu" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL "$qemu" 2>/dev/null || true
}
trap finish EXIT
trap 'exit 143' INT TERM
work=$(mktemp -d)
if [ -z "$share" ]; then share=$work/share; fi
state=$share/.xenlab
rm -rf "$state"
mkdir -p "$state"
printf '%s\n' "$*" >"$state/command"

start=$(date +%s%3N) up=''
took() {
    local ms=$(($(date +%s%3N) - start))
    echo "$((ms / 1000)).$((ms % 1000 / 100)) s"
}

# Has nothing changed for long?  It looks every ten seconds.
looked=$SECONDS changed=$SECONDS
touch "$work/seen"
is_idle() {
    ((SECONDS >= looked + 10)) || return 1
    looked=$SECONDS
    touch "$work/now"
    if [ -n "$(find "$share" -newer "$work/seen" -print -quit)" ]; then
        changed=$SECONDS
        mv "$work/now" "$work/seen"
    fi
    ((SECONDS >= changed + idle_limit))
}

boot &
qemu=$!
while kill -0 "$qemu" 2>/dev/null; do
    if [ -z "$up" ] && [ -e "$state/up" ]; then
        up=1
        say "dom0 up after $(took)"
    fi
    if (($(date +%s) - start / 1000 >= limit)); then
        say "no end after $limit s: stopping QEMU"
        break
    fi
    if is_idle; then
        say "nothing has changed for $idle_limit s: stopping QEMU"
        break
    fi
    sleep 0.1
done
[ ! -e "$state/output" ] || cat "$state/output"
if [ ! -s "$state/status" ]; then
    say "dom0 gave no status; the end of its console, and QEMU's messages:"
    tail -n 40 "$state/console" "$state/qemu" >&2 || true
    exit 70
fi
say "ended after $(took)"
exit "$(cat "$state/status")"

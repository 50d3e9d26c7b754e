#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Install what is missing of Debian's packages: deps.sh build|test
set -eu

build="gcc make pkg-config libc6-dev libelf-dev libdw-dev libdebuginfod-dev
    liblzma-dev
    zlib1g-dev libzstd-dev liblz4-dev libiberty-dev clang llvm
    libbpf-dev bpftool libxen-dev libbabeltrace2-dev"
test="$build binutils g++ gdb gdb-multiarch elfutils lld
    libclang-rt-14-dev clang-format shellcheck python3 strace valgrind
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user musl-tools
    libc6-dev-i386 lib32gcc-12-dev lib32stdc++-12-dev libc6-dbg
    libunwind-dev golang-go redis-server nginx-light postgresql-15 dwz zsh
    zstd lz4 xz-utils gzip qemu-system-x86 qemu-system-arm cpio kmod
    dpkg-dev cmake ninja-build bc bison flex gawk heaptrack libgoogle-perftools4
    linux-headers-amd64 linux-headers-6.12-amd64 seabios busybox-static
    linux-perf chromium lttng-tools babeltrace2 libpopt-dev liburcu-dev
    libxml2-dev libkmod-dev patch iproute2 btrfs-progs"

missing() {
    # shellcheck disable=SC2086
    dpkg-query -W -f '${Package} ${Status}\n' $1 2>/dev/null |
        awk '$4 == "installed" { print $1 }' | sort -u >"$have"
    for p in $1; do
        grep -qx "$p" "$have" || echo "$p"
    done
}

# A program that may be there from elsewhere, and the package that has it.
program() {
    command -v "$1" >/dev/null 2>&1 || echo "$2"
}

have=$(mktemp)
trap 'rm -f "$have"' EXIT
case ${1:-build} in
build) want=$(missing "$build") ;;
test)
    want=$(
        missing "$test"
        program node nodejs
        PATH=$PATH:$HOME/.cargo/bin program rustc rustc
        program java default-jre-headless
        program javac default-jdk-headless
    )
    ;;
*)
    echo "usage: deps.sh build|test" >&2
    exit 64
    ;;
esac
[ -n "$want" ] || exit 0

# shellcheck disable=SC2086
set -- $want
echo "installing: $*"
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "deps.sh: not root: run 'apt-get install $*' first" >&2
        exit 1
    fi
    sudo="sudo"
fi
# Servers must not start by themselves; some packages want no suggestions.
export DEBIAN_FRONTEND=noninteractive
${sudo:-} apt-get update -qq
${sudo:-} apt-get install -y -qq --no-install-recommends "$@" >/dev/null

# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
# What the tests of clients share; sourced.  Wants `work` (where sources and builds
# are kept) and `prefix` (where this project is installed).
# shellcheck disable=SC2034 # for those who source it

: "${work:?}" "${prefix:?}"
ours=$prefix/lib/outwind
theirs=$(dirname "$(ldconfig -p |
    sed -n 's/.*libunwind-x86_64.so.8 .*=> //p' | head -n 1)")
PKG_CONFIG_PATH=$ours/pkgconfig
export PKG_CONFIG_PATH
unset MAKEFLAGS MFLAGS MAKELEVEL
headers=$prefix/include/outwind/compat
link="-L$ours -Wl,-rpath,$ours"
passed=0 failed=0

# say NAME STATUS: count one test.
say() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok $1"
    else
        failed=$((failed + 1))
        echo "not ok $1"
    fi
}

# try NAME COMMAND...: it succeeds; what it printed is shown if not.
try() {
    name=$1
    shift
    ("$@") >"$work/last.log" 2>&1
    status=$?
    say "$name" $status
    [ $status -eq 0 ] || tail -n 20 "$work/last.log"
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

# A source package of this Debian, by its own sources list; the system's stays as
# it is.  $1: the package.  Sets source.
fetch() {
    source=$work/source/$1
    [ -e "$source/debian/changelog" ] && return
    rm -rf "$source"
    mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" \
        "$work/source"
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
        "http://deb.debian.org/debian $codename main" >"$work/apt/list"
    set -- "$1" -qq -o Dir::Etc::sourcelist="$work/apt/list" \
        -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$work/apt/lists" \
        -o Dir::Cache="$work/apt" -o APT::Sandbox::User=root
    package=$1
    shift
    if ! {
        apt-get "$@" update &&
            (cd "$work/source" && apt-get "$@" source --download-only "$package") &&
            dpkg-source --no-check -x "$work/source/$package"_*.dsc "$source"
    } >"$work/fetch.log" 2>&1; then
        tail -n 5 "$work/fetch.log"
        echo "skip: $package's source can't be had"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
    fi
}

# A folder to build in: what is there stays while the interface is the same.
# Sets build.
build_in() {
    build=$work/build/$1
    now=$(cat "$headers"/*.h "$ours"/pkgconfig/*.pc | cksum)
    if [ "$now" != "$(cat "$build/interface" 2>/dev/null)" ]; then
        rm -rf "$build"
        mkdir -p "$build"
        echo "$now" >"$build/interface"
    fi
}

# step NAME COMMAND...: a part of a build, done once; ends the test if it fails.
step() {
    done_file=$build/done-$1
    log=$build/$1.log
    [ -e "$done_file" ] && return
    shift
    if ("$@") >"$log" 2>&1; then
        touch "$done_file"
        return
    fi
    tail -n 20 "$log"
    say "build: $*" 1
    finish
}

# Is our library what a program runs with?
runs_with_ours() {
    ldd "$1" | grep libunwind >"$work/last.log"
    [ -s "$work/last.log" ] && ! grep -v "$ours/" "$work/last.log"
    say "$(basename "$1") runs with these libraries only" $?
}

# For cmake: source, to build, with this project's headers and libraries.
cmake_with_ours() {
    cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None \
        -DCMAKE_C_FLAGS="-O1 -g -I$headers" \
        -DCMAKE_CXX_FLAGS="-O1 -g -I$headers" -DCMAKE_BUILD_RPATH="$ours" \
        -DCMAKE_INCLUDE_PATH="$headers" -DCMAKE_LIBRARY_PATH="$ours" "$@"
}

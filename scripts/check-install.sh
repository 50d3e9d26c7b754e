#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Install into a folder and use what is there as a stranger would: the tool,
# and the library through pkg-config.  usage: check-install.sh VERSION
set -eu
version=$1
dir=$(mktemp -d)
# shellcheck source=scripts/targets.sh
. scripts/targets.sh
trap 'rm -rf "$dir"; end_targets' EXIT
${MAKE:-make} --no-print-directory -s install PREFIX="$dir/usr"

"$dir/usr/bin/outwind" --version | grep -qx "outwind $version"
"$dir/usr/bin/tbstack" --version | grep -qx "tbstack 1.0"
"$dir/usr/bin/symbolize" --version | grep -qx "symbolize (outwind) $version"
"$dir/usr/bin/uniprof" -V | grep -qx "uniprof version 1.2"
for page in outwind.1 outwind-stack.1 outwind-tables.1 outwind-rows.1 \
    tbstack.1 symbolize.1 uniprof.1 outwind-record.1 \
    outwind-report.1 outwind-top.1 outwind-syscalls.1 outwind-hostile.7 \
    outwind-xen.7; do
    man=$dir/usr/share/man/man${page##*.}/$page
    [ -s "$man" ]
    # groff says on stderr what it doesn't like in a page
    if command -v groff >/dev/null; then
        groff -t -man -Tutf8 -ww "$man" 2>&1 >/dev/null | grep . && exit 1
    fi
done

[ -s "$dir/usr/share/man/man3/libunwind-outwind.3" ]

# What bash and zsh find by a command's name.
for name in outwind tbstack symbolize uniprof; do
    [ -s "$dir/usr/share/bash-completion/completions/$name" ]
done
head -n 1 "$dir/usr/share/zsh/site-functions/_outwind" |
    grep -qx '#compdef outwind tbstack symbolize uniprof'

cat >"$dir/client.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <outwind/outwind.h>

int main(int argc, char **argv)
{
	struct ow_frame frames[64];
	struct ow_name name;
	struct ow_error err;
	enum ow_end end;
	size_t n, i;
	struct ow_capture *c = ow_capture_process(atoi(argv[argc - 1]), NULL,
						  &err);
	struct ow_symbolizer *s = c ? ow_symbolizer_create(c, 0, &err) : NULL;

	if (!s) {
		puts(err.msg);
		return 1;
	}
	n = ow_capture_walk(c, 0, frames, 64, &end, &err);
	for (i = 0; i < n; i++) {
		ow_symbolizer_name(s, &frames[i], &name, 1);
		puts(name.function ? name.function : "?");
	}
	ow_symbolizer_destroy(s);
	ow_capture_destroy(c);
	return end != OW_END_OUTERMOST;
}
EOF
export PKG_CONFIG_PATH="$dir/usr/lib/pkgconfig"
# shellcheck disable=SC2046
cc -Wall -Werror "$dir/client.c" -o "$dir/client" \
    $(pkg-config --cflags --libs outwind)
export LD_LIBRARY_PATH="$dir/usr/lib"
# It is the versioned library that the client asks for.
readelf -d "$dir/client" | grep -q 'liboutwind.so.0'

start_target sleep 9999
victim=$!
wait_for_targets
"$dir/client" "$victim" >"$dir/out"
head -n 1 "$dir/out" | grep -q clock_nanosleep
grep -q __libc_start "$dir/out"
"$dir/usr/bin/tbstack" "$victim" | grep -q "clock_nanosleep + 0x"

# libkunwind, here without the module.
# shellcheck disable=SC2046
cc -Wall -Werror tests/kunwind/outside.c -o "$dir/outside" \
    $(pkg-config --cflags --libs kunwind)
readelf -d "$dir/outside" | grep -q 'libkunwind.so.0'
if [ ! -e /dev/kunwind ]; then
    status=0
    "$dir/outside" >"$dir/out" || status=$?
    [ $status -eq 2 ] && grep -q '^libkunwind needs the kunwind module' "$dir/out"
fi

# libunwind's interface, chosen by PKG_CONFIG_PATH: a program for that builds as
# it is, and names the libraries that Debian's would.
cat >"$dir/unw.c" <<'EOF'
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	unw_addr_space_t as = unw_create_addr_space(&_UPT_accessors, 0);
	int pid = atoi(argv[argc - 1]);
	void *upt = _UPT_create(pid);
	unw_word_t off;
	unw_cursor_t c;
	char name[256];

	ptrace(PTRACE_ATTACH, pid, 0, 0);
	waitpid(pid, NULL, 0);
	if (unw_init_remote(&c, as, upt))
		return 1;
	do {
		if (unw_get_proc_name(&c, name, sizeof(name), &off) == 0)
			puts(name);
	} while (unw_step(&c) > 0);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	_UPT_destroy(upt);
	unw_destroy_addr_space(as);
	return 0;
}
EOF
export PKG_CONFIG_PATH="$dir/usr/lib/outwind/pkgconfig"
for name in libunwind libunwind-generic libunwind-coredump libunwind-xen; do
    pkg-config --exists --print-errors "$name >= 1.8"
done
# shellcheck disable=SC2046
cc -Wall -Werror "$dir/unw.c" -o "$dir/unw" \
    $(pkg-config --cflags --libs libunwind-ptrace)
[ "$(readelf -d "$dir/unw" |
    sed -n 's/.*NEEDED.*\[\(libunwind.*\)\]/\1/p' | sort | tr '\n' ' ')" = \
    "libunwind-ptrace.so.0 libunwind-x86_64.so.8 " ]
LD_LIBRARY_PATH="$dir/usr/lib/outwind" "$dir/unw" "$victim" >"$dir/out"
grep -qx 'clock_nanosleep' "$dir/out"
grep -qx '__libc_start_main' "$dir/out"
# The same program with the system's libunwind, if there is one.
if ldconfig -p | grep -q libunwind-ptrace.so.0; then
    LD_LIBRARY_PATH='' "$dir/unw" "$victim" >"$dir/theirs"
    cmp "$dir/out" "$dir/theirs"
fi

${MAKE:-make} --no-print-directory -s uninstall PREFIX="$dir/usr"
left=$(find "$dir/usr" -type f -o -type l)
[ -z "$left" ] || { echo "uninstall leaves $left"; exit 1; }
echo "1 passed, 0 failed"

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# That kstack.awk adds up what is taken of the stack.
# shellcheck disable=SC2016 # code has dollars
dir=$(dirname "$0")
# shellcheck source=tests/kunwind/say.sh
. "$dir/../tests/kunwind/say.sh"

# takes EXPECTED STATUS CODE: what is said of a function `outer`
takes()
{
	found=$(echo "$3" | awk -v from=outer -v read=target_read -v limit=200 \
		-v without="" -f "$dir/kstack.awk")
	[ "$?:$found" = "$2:$1" ]
	say $? "$1, not $found"
}

# The code of a function.  usage: code ADDRESS NAME INSN...
code()
{
	printf '%016x <%s>:\n' "$1" "$2"
	at=$1
	shift 2
	for insn; do
		printf '    %x:\t%s\n' "$at" "$insn"
		at=$((at + 4))
	done
}

takes '72 bytes: outer > inner' 0 "$(
	code 16 outer 'push   %rbx' 'sub    $0x10,%rsp' 'call   100 <inner>' \
		'add    $0x10,%rsp' 'pop    %rbx' ret
	code 256 inner 'sub    $0x20,%rsp' 'add    $0x20,%rsp' ret
)"

# As GCC writes 128, which doesn't fit into a byte: by its negative.
takes '160 bytes: outer > inner' 0 "$(
	code 16 outer 'push   %rbx' 'add    $0xffffffffffffff80,%rsp' \
		'call   100 <inner>' 'sub    $0xffffffffffffff80,%rsp' \
		'call   100 <inner>' 'pop    %rbx' ret
	code 256 inner 'push   %rbx' 'pop    %rbx' ret
)"

takes '280 bytes: outer' 1 "$(
	code 16 outer 'sub    $0x88,%rsp' 'sub    $0x88,%rsp' ret
)"
takes 'outer: -8 bytes after add    $0x10,%rsp' 1 "$(
	code 16 outer 'push   %rbx' 'add    $0x10,%rsp' ret
)"
takes 'outer is not there' 1 "$(code 16 other ret)"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

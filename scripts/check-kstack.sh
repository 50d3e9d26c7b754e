#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A walk in the kernel takes little of the stack that it finds there: by cached rows
# and tables, as nearly all do; and by all but an expression.  What a module's
# processes don't have is not followed.  usage: check-kstack.sh KUNWIND.KO...
set -u
dir=$(dirname "$0")
absent="ow_orc_row entered_row ow_cfi_find seek ow_cfa_begin"
# shellcheck source=tests/kunwind/say.sh
. "$dir/../tests/kunwind/say.sh"
if [ $# -eq 0 ]; then
	echo "# skip: no headers of a kernel to build the module with"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi

# deepest LIMIT WITHOUT
deepest()
{
	for from in kunwind_user_pcs kunwind_user_stack kw_walk_each; do
		objdump -drj .text --no-show-raw-insn "$ko" |
			awk -v from=$from -v read=target_read -v limit="$1" \
				-v without="$absent $2" \
				-f "$dir/kstack.awk"
		say $? "$from, within $1 bytes"
	done
}

for ko; do
	echo "# $ko"
	deepest 200 "take_step full_row ow_fallback_row ow_trampoline_row"
	deepest 360 run_expr
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every "quoted" include must name a module that stands above in ./layers.
# Beyond that order: targets know nothing of one another's kind, output and
# tools know the public API and each other only, how a list grows, how hashes are
# made, how memory is counted and texts are kept, how threads are started, and how
# what may not answer, and folders that others write to, are reached.
set -eu
awk '
FILENAME == "layers" { rank[$1] = FNR; next }
/^[ \t]*#[ \t]*include[ \t]*"/ {
	n = split(FILENAME, p, "/"); me = p[n]; sub(/\.[ch]$/, "", me)
	split($0, q, "\""); to = q[2]; sub(/.*\//, "", to); sub(/\.h$/, "", to)
	if (me == to) next
	if (!(me in rank) || !(to in rank) || rank[to] >= rank[me]) {
		printf "%s:%d: %s may not include %s\n", FILENAME, FNR, me, to
		bad = 1
	}
	if (to == "grow" || to == "hash" || to == "budget" || to == "intern" ||
	    to == "reach" || to == "threadstart" || to == "ownfolder") next
	if (p[1] == "tools" && rank[to] < rank["stackview"] ||
	    p[1] == "output" && rank[to] < rank["stackview"] ||
	    p[1] == "targets" && (to == "process" || to == "corefile")) {
		printf "%s:%d: %s/ may not include %s\n", FILENAME, FNR, p[1], to
		bad = 1
	}
}
END { exit bad }' layers core/*.[ch] lib/*.[ch] libkunwind/*.[ch] targets/*.[ch] bpf/*.[ch] output/*.[ch] tools/*.[ch] compat/*.[ch] kmod/*.[ch]

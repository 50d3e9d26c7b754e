#!/bin/sh
# Every "quoted" include must name a module that stands above in ./layers.
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
}
END { exit bad }' layers $(find core lib targets output -name '*.[ch]')

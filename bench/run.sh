#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Start what is looked at, run the benchmarks on it, and end it again.
# usage: bench/run.sh FOLDER-OF-THE-BUILT-PROGRAMS OUTWIND
set -eu

built=$1
outwind=$2
pg=$(find /usr/lib/postgresql -maxdepth 2 -name bin | sort -V | tail -n 1)
lib=$(dirname "$(ldd "$built/bench_walk" | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')")
tmp=$(mktemp -d)
started=

finish()
{
	for pid in $started; do
		kill -INT "$pid" 2>/dev/null || true
	done
	sleep 0.5
	for pid in $started; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	wait
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' INT TERM

# Run a program in the background; its id is in $pid.
start()
{
	"$@" </dev/null >"$tmp/log" 2>&1 &
	pid=$!
	started="$pid $started"
}

# A private server and three idle sessions.
start_postgres()
{
	mkdir "$tmp/db" "$tmp/socket"
	chmod 755 "$tmp"
	chown postgres: "$tmp/db" "$tmp/socket"
	as="setpriv --reuid=postgres --regid=postgres --clear-groups"
	$as "$pg/initdb" -D "$tmp/db" -A trust --no-sync >/dev/null
	# shellcheck disable=SC2086
	start $as "$pg/postgres" -D "$tmp/db" -k "$tmp/socket" -h ''
	server=$pid
	until psql -h "$tmp/socket" -U postgres -qc '' 2>/dev/null; do
		sleep 0.1
	done
	mkfifo "$tmp/idle"
	for _ in 1 2 3; do
		psql -h "$tmp/socket" -U postgres <>"$tmp/idle" \
			>/dev/null 2>&1 &
		started="$! $started"
	done
	sleep 1
	servers="$server $(pgrep -P "$server")"
}

first()
{
	# shellcheck disable=SC2086
	"$built/bench_first" "$1" "$tmp/cache" "$2" $3
}

echo "CPU: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
	"x $(nproc), $(uname -sr)"
"$built/bench_walk"

start "$built/small"
small=$pid
start /usr/bin/python3 bench/deep.py
python=$pid
start node bench/idle.js
node=$pid
start_postgres
first "a small program" 100 "$small"
first "postgres, idle" 400 "$servers"
first "python3, 17 threads" 0 "$python"
first "node, idle" 0 "$node"

"$built/bench_tables" "$lib/libc.so.6" "$lib/libstdc++.so.6" \
	"$(command -v gdb)" "$pg/postgres" "$(command -v node)"

python3 bench/freeze.py "$built" "$outwind" "$server:postgres, idle" \
	"$python:python3, 17 threads" "$node:node, idle"

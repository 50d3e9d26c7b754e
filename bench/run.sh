#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Start what is looked at, run the benchmarks on it, and end it again.
# usage: bench/run.sh BUILD-FOLDER
set -eu

built=$1/bench
outwind=$1/bin/outwind
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

# first NAME SET-UP-LIMIT WALK-LIMITED PIDS
first()
{
	# shellcheck disable=SC2086
	"$built/bench_first" "$1" "$tmp/cache" "$2" "$3" $4
}

# whole NAME LIMIT PID
whole()
{
	"$built/bench_whole" "$1" "$2" "$outwind" "$tmp/cache" "$3"
}

# The same for so many threads of 30 frames.
whole_threads()
{
	start "$built/threads" "$1" 30
	until grep -q ready "$tmp/log"; do
		sleep 0.1
	done
	whole "$1 threads of 30 frames" "$2" "$pid"
	kill -KILL "$pid"
}

echo "CPU: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
	"x $(nproc), $(uname -sr)"
"$built/bench_walk"
"$built/bench_compat" "$1/lib/compat" \
	"$(dirname "$(ldd "$built/bench_walk" | sed -n 's/.*libunwind-x86_64.so.8 => \([^ ]*\).*/\1/p')")"

start "$built/small"
small=$pid
start /usr/bin/python3 bench/deep.py
python=$pid
start node bench/idle.js
node=$pid
start_postgres
first "a small program" 100 0 "$small"
first "postgres, idle" 400 1 "$servers"
first "python3, 17 threads" 0 1 "$python"
first "node, idle" 0 1 "$node"

whole_threads 1 0
whole_threads 10 0
whole_threads 100 8
whole_threads 500 35
whole_threads 1000 0
whole "python3, 17 threads" 10 "$python"
whole "node, idle" 15 "$node"
whole "postgres, idle" 0 "$server"

"$built/bench_tables" "$lib/libc.so.6" "$lib/libstdc++.so.6" \
	"$(command -v gdb)" "$pg/postgres" "$(command -v node)"

python3 bench/freeze.py "$built" "$outwind" "$server:postgres, idle" \
	"$python:python3, 17 threads" "$node:node, idle"

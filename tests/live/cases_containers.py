# SPDX-License-Identifier: BSD-2-Clause
"""outwind record of containers, and within them."""

import json
import os
import re
import subprocess

from cases_record import (ENGINES, OURS, chains, container, need_bpf,
                          record_enough, wrong_step)
from harness import case, check, children_of, need_root

IN_CONTAINER = """
set -e
mount -t tmpfs none "$1"
cp "$2" "$1/hidden-busy"
exec "$1/hidden-busy"
"""


def start_container(context):
    """
    A program that only its own mount namespace has, in a pid namespace: as the
    other processes see it, its id and its path.
    """
    need_root()
    inside, command = container(context, IN_CONTAINER, 'busy')
    outer = context.start(command)
    pid, = children_of(outer.pid)
    path = os.path.join(inside, 'hidden-busy')
    check(os.readlink('/proc/%d/exe' % pid) == path and
          not os.path.exists(path), 'hidden', os.listdir(inside))
    return pid, path


@case('record: a program that only its container has', alone=True)
def record_container(context):
    need_bpf(context)
    pid, path = start_container(context)
    for engine in ENGINES:
        profile, _ = record_enough(context, 400, '-F', '997',
                                   '--engine=' + engine, pid)
        wrong = [w for w in (wrong_step(c) for c, _ in chains(profile)) if w]
        check(not wrong, 'wrong frames', wrong)
        mine = [f for f in profile['frames'] if f.get('function') in OURS]
        check(len({f['function'] for f in mine}) > 5, 'names', mine)
        check({f['module'] for f in mine} == {path}, 'path', mine[:3])
        check({s['pid'] for s in profile['stacks']} == {pid}, 'pid',
              profile['stacks'][:1])


# By numbers that /proc gives to other processes.
WITHOUT = """
"$1" >/dev/null &
for each in "stack" "snap -o $3/snap" "record -o $3/profile --engine=bpf" \\
        "record -o $3/profile --engine=perf" \\
        "record -o $3/profile --engine=ptrace"; do
    "$2" $each $! 2>"$3/said"
    echo $?: $(cat "$3/said")
done
"$4" $! 2>"$3/said"
echo $?: $(cat "$3/said")
kill -9 $!
"""


@case("record, stack: a PID namespace with another one's /proc")
def foreign_proc(context):
    need_bpf(context)
    done = subprocess.run(
        ['unshare', '--pid', '--fork', 'sh', '-c', WITHOUT, 'sh',
         context.program('busy'), context.outwind, context.tmp,
         context.tbstack], stdout=subprocess.PIPE, check=True)
    said = done.stdout.decode().splitlines()
    check(len(said) == 6 and all(
        re.fullmatch(r'[12]: [^:]*: /proc is of another PID namespace: mount it anew '
                     r'\(mount -t proc proc /proc; unshare has '
                     r'--mount-proc\)( \(thread 2\))?', line)
        for line in said), 'said', said)


WITHIN = """
set -e
mount -t proc none /proc
cd "$1"
"$2" >/dev/null &
echo $! >busy
export XDG_CACHE_HOME="$1"
"$3" record -F 997 -d 1 -o pid.json $!
"$3" record -F 997 -d 1 -o all.json -a
kill -9 $!
"$3" record --off-cpu -o waits.json -- sleep 0.3
"$3" syscalls -o calls -- "$4" twice 10 >/dev/null || test $? = 7
"""


@case('record: within a PID namespace', alone=True)
def record_within(context):
    """Processes are known there by numbers of its own."""
    need_bpf(context)
    need_root()
    inside, command = container(context, WITHIN, 'busy')
    context.run_tool([*command, context.outwind, context.program('callers')],
                     0)

    def profile(name):
        with open(os.path.join(inside, name + '.json'), encoding='utf-8') as f:
            return json.load(f)
    with open(os.path.join(inside, 'busy'), encoding='ascii') as f:
        busy = int(f.read())
    for name in ('pid', 'all'):
        mine = dict(profile(name))
        mine['stacks'] = [s for s in mine['stacks'] if s['pid'] == busy]
        wrong = [w for w in (wrong_step(c) for c, _ in chains(mine)) if w]
        check(not wrong, 'wrong frames', wrong)
        check(sum(s['count'] for s in mine['stacks']) > 40, name,
              len(mine['stacks']))
        check(len({s['pid'] for s in profile(name)['stacks']}) < 10,
              'only who is within', name)
    waits = profile('waits')
    nr = [i for i, f in enumerate(waits['frames'])
          if 'nanosleep' in f.get('function', '') and not f.get('kernel')]
    waited = sum(s['nanoseconds'] for s in waits['stacks']
                 if set(nr) & set(s['frames']))
    check(2.5e8 < waited < 1e9, 'the wait', waited)
    with open(os.path.join(inside, 'calls'), encoding='ascii') as f:
        calls = [l for l in f if re.match(r'\[\d+\] getppid\(\) = \d+ <', l)]
    check(len(calls) == 20 and all(int(l[1:l.index(']')]) < 100
                                   for l in calls), 'calls', calls)

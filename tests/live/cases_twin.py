# SPDX-License-Identifier: BSD-2-Clause
"""
The BPF walker, compiled for user space, gives the frames that core/ gives: of
processes, and of their snapshots.
"""

import os
import re

from cases_agree import (FIXTURES, PARTIAL, start_node, start_postgres,
                         start_python, start_redis)
from harness import case, check

SUM = re.compile(r'(\d+) stacks, (\d+) frames, (\d+) differ, (\d+) refused')


# A row that BPF can't execute: a CFA by an expression of the program's own.
REFUSED = ('asm',)


def compare(context, *what, refused=False):
    """The same frames, and no row that BPF can't execute, but where expected."""
    done = context.run_tool([context.twindiff, *map(str, what)], None)
    said = done.stdout.decode()
    check(done.returncode == 0, 'twindiff', (done.returncode, said[-1500:],
                                             done.stderr.decode()[-500:]))
    stacks, frames, _, left = map(int, SUM.search(said).groups())
    check(frames >= stacks, 'frames', said)
    check((left > 0) == refused, 'refused', said)
    return stacks, frames


def add_fixture(command):
    @case('twin: ' + command)
    def _(context):
        target = context.start(command.split())
        refused = command in REFUSED
        context.run('tables', target.pid)
        compare(context, '-t', target.pid, refused=refused)
        compare(context, target.pid, refused=refused)
        path = os.path.join(context.tmp, 'a.snap')
        context.run('snap', '-o', path, target.pid)
        compare(context, path, refused=refused)
        context.run('snap', '--redact', '-o', path, target.pid)
        compare(context, path, refused=refused)


MORE = ('chain-fp', 'chain-split', 'chain-debug-frame', 'chain-no-sections',
        'shapes-clang callback', 'shapes-clang realign', 'signals-musl altstack',
        'throwing-clang template', 'nocfi', 'inreg', 'chain-i386-no-pie',
        'shapes-i386 big', 'shapes-i386 alloca', 'signals-i386 plain',
        'signals-i386 siginfo', 'signals-i386 altstack', 'signals-i386 nested',
        'signals-i386 nested-altstack', 'signals-i386 null-call',
        'signals-i386 first-insn')

for each in FIXTURES + PARTIAL + MORE:
    add_fixture(each)


def add_running(command):
    @case('twin: %s, stopped anywhere' % command)
    def _(context):
        target = context.start(command.split())
        sums = [compare(context, target.pid) for _ in range(10)]
        context.note('%d frames' % sum(frames for _, frames in sums))


for each in ('spin', 'spin plt', 'spin clock', 'spin-cet plt', 'spin-now',
             'spin-clang plt', 'spin-i386', 'busy', 'busy-i386'):
    add_running(each)


def add_program(name, start):
    @case('twin: ' + name)
    def _(context):
        targets = start(context)
        pids = targets if isinstance(targets, list) else [targets.pid]
        stacks, frames = compare(context, *pids)
        context.note('%d walks, %d frames' % (stacks, frames))


add_program('python3', start_python)
add_program('node', start_node)
add_program('redis-server', start_redis)
add_program('postgres', start_postgres)

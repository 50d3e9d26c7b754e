# SPDX-License-Identifier: BSD-2-Clause
"""Code that another program's replaces at its address, while one looks at it."""

import os
import shutil
import time

from harness import case, check, need

LOOKS = 40


def start_execs(context):
    """Two programs that execute each other, at addresses that stay."""
    need('setarch')
    paths = [context.program('swapexec_' + which) for which in 'ab']
    target = context.start([shutil.which('setarch'), '-R', paths[0], paths[1],
                            paths[0]], ready=None)
    time.sleep(0.2)
    check(target.poll() is None, 'the programs have ended', target.poll())
    return target


def check_text(text, what):
    check(b'never' not in text, 'a function that never runs', (what, text))
    return b'spin' in text


def check_looks(context, pid, *options):
    """Each look tells the function that runs, or none; most tell it."""
    looks = [check_text(context.run('stack', *options, pid).stdout, options)
             for _ in range(LOOKS)]
    check(sum(looks) > LOOKS / 8, 'looks that tell what runs', looks)


@case('swaps: programs that execute each other')
def _(context):
    pid = start_execs(context).pid
    for options in ((), ('--one-at-a-time',), ('--gentle',), ('--proc-mem',)):
        check_looks(context, pid, *options)


@case('swaps: programs that execute each other, by tbstack and snap')
def _(context):
    pid = start_execs(context).pid
    snap = os.path.join(context.tmp, 'snap')
    for _ in range(LOOKS):
        check_text(context.run_tool([context.tbstack, str(pid)]).stdout,
                   'tbstack')
        if context.run('snap', '-o', snap, pid).returncode == 0:
            check_text(context.run('stack', snap).stdout, 'snap')


@case('swaps: code that is mapped in turns')
def _(context):
    for threads in ('0', '200'):
        pid = context.start(['swapcode', threads, '100000']).pid
        check_looks(context, pid)

# SPDX-License-Identifier: BSD-2-Clause
"""Limits that outwind itself runs under."""

import contextlib
import json
import os
import resource
import subprocess

from harness import (PATIENCE, Skip, case, check, check_unharmed, need_root,
                     task_states)

NO_PROCESS = "can't start a process: Resource temporarily unavailable\n"
CGROUPS = ('/sys/fs/cgroup/pids', '/sys/fs/cgroup')


def run_limited(command, prepare):
    """Run a tool in a process that prepare() limits before."""
    done = subprocess.run([str(part) for part in command], check=False,
                          capture_output=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, preexec_fn=prepare)
    check(done.returncode >= 0, 'died by a signal', done)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def make_cgroup(context):
    for place in CGROUPS:
        group = os.path.join(place, os.path.basename(context.tmp))
        with contextlib.suppress(OSError):
            os.mkdir(group)
            if os.path.exists(os.path.join(group, 'pids.max')):
                return group
            os.rmdir(group)
    raise Skip('no cgroup limits processes here')


@contextlib.contextmanager
def limited_cgroup(context, nr):
    """A cgroup of at most nr processes and threads; yield what enters it."""
    need_root()
    group = make_cgroup(context)
    try:
        with open(os.path.join(group, 'pids.max'), 'w', encoding='ascii') as f:
            f.write(str(nr))
        procs = os.open(os.path.join(group, 'cgroup.procs'), os.O_WRONLY)
        try:
            yield lambda: os.write(procs, b'0')
        finally:
            os.close(procs)
    finally:
        os.rmdir(group)


@case('limits: no process can be started')
def _(context):
    target = context.start(['faults', 'threads', '3'])
    pid = target.pid
    before = task_states(pid)
    snap = os.path.join(context.tmp, 'snap')
    for command in (
            [context.outwind, 'stack', pid],
            [context.outwind, 'stack', '--no-stop', pid],
            [context.outwind, 'snap', '-o', snap, pid],
            [context.outwind, 'tables', pid],
            [context.outwind, 'record', '--engine=ptrace', '-d1', '-p', pid]):
        with limited_cgroup(context, 1) as enter:
            done = run_limited(command, enter)
        check(done == (2, '', 'outwind: ' + NO_PROCESS), str(command), done)
    with limited_cgroup(context, 1) as enter:
        status, _, err = run_limited([context.tbstack, pid], enter)
    check(status == 1 and NO_PROCESS[:-1] in err, 'tbstack', (status, err))
    check(not os.path.exists(snap), 'a snapshot of nothing')
    check_unharmed(pid, before)


@case('limits: one process can be started, and that none')
def _(context):
    # Too many to look at each one's memory, so their stacks are read with care.
    target = context.start(['faults', 'threads', '300'])
    before = task_states(target.pid)
    with limited_cgroup(context, 2) as enter:
        status, out, err = run_limited(
            [context.outwind, 'stack', '--json', target.pid], enter)
    # On a machine that has much to do, it may take long enough to be looked for.
    check(status == 0 and all('no process could be started to find' in line
                              for line in err.splitlines()), 'stack', err)
    threads = json.loads(out)['threads']
    check(len(threads) == 301 and all(t['complete'] for t in threads),
          'stacks', out[:2000])
    snap = os.path.join(context.tmp, 'snap')
    with limited_cgroup(context, 2) as enter:
        status, _, err = run_limited(
            [context.outwind, 'snap', '-o', snap, target.pid], enter)
    check(status == 0 and '301 threads' in err and ' 0 KiB' not in err and
          'not be read' not in err, 'snap', (status, err))
    check_unharmed(target.pid, before)


@case('limits: recorders that can start no process more')
def _(context):
    target = context.start(['faults', 'threads', '3'])
    pid = target.pid
    for nr, command in (
            (1, ['record', '--engine=perf', '-d1', '-p', pid]),
            (2, ['record', '-d1', '-p', pid]),
            (2, ['syscalls', '-d1', pid]),
            (2, ['top', '-n1', pid])):
        with limited_cgroup(context, nr) as enter:
            done = run_limited([context.outwind, *command], enter)
        if 'needs BPF' in done[2]:
            raise Skip('no BPF here')
        check(done == (2, '', 'outwind: ' + NO_PROCESS), str(command), done)


def limit(which, most):
    return lambda: resource.setrlimit(which, (most, most))


@case('limits: few files can be open')
def _(context):
    target = context.start(['faults', 'threads', '1'])
    for nr in (4, 5, 6, 32):
        status, out, err = run_limited(
            [context.outwind, 'stack', target.pid],
            limit(resource.RLIMIT_NOFILE, nr))
        check('stay' in out if not err else status in (1, 2) and
              err.count('\n') == 1 and 'Too many open files' in err,
              'ulimit -n %d' % nr,
              (status, out, err))


@case('limits: a small stack')
def _(context):
    target = context.start(['faults', 'threads', '1'])
    small = limit(resource.RLIMIT_STACK, 64 << 10)
    for command in (['stack'], ['record', '-d1', '-p'], ['tables'],
                    ['record', '--engine=ptrace', '-d1', '-p'],
                    ['snap', '-o', os.path.join(context.tmp, 'snap')],
                    ['record', '--format=pprof', '-o',
                     os.path.join(context.tmp, 'pprof'), '-d1', '-p'],
                    ['syscalls', '-d1'], ['top', '-n1']):
        status, out, err = run_limited(
            [context.outwind, *command, target.pid], small)
        check(status == 0 or 'needs BPF' in err, '64 KiB',
              (command, status, out, err))


@case('limits: /proc is not mounted')
def _(context):
    need_root()
    target = context.start(['faults', 'threads', '1'])
    pid = str(target.pid)
    snap = os.path.join(context.tmp, 'snap')
    for command in (
            ['stack', pid], ['stack', '--no-stop', pid], ['tables', pid],
            ['snap', '-o', snap, pid], ['record', '-d1', '-a'],
            ['record', '-d1', '-p', pid], ['syscalls', '-d1', pid],
            ['record', '--engine=perf', '-d1', '-p', pid],
            ['record', '--engine=ptrace', '-d1', '-p', pid],
            ['top', '-n1', pid]):
        for hide in ('mount -t tmpfs none /proc', 'umount -l /proc'):
            done = run_limited(
                ['unshare', '-m', 'sh', '-c', hide + ' && exec "$@"', 'sh',
                 context.outwind, *command], None)
            if 'needs BPF' not in done[2]:
                check(done == (2, '', 'outwind: /proc is not mounted (mount '
                               '-t proc proc /proc)\n'), str(command), done)
    check(not os.path.exists(snap), 'a snapshot of nothing')

# SPDX-License-Identifier: BSD-2-Clause
"""What seldom happens: made to happen, or built."""

import contextlib
import ctypes
import json
import os
import re
import shutil
import stat
import struct

from cases_cores import CRASH, dump, need_plain_cores
from harness import (PATIENCE, START, Skip, case, check, check_names,
                     check_target, check_unharmed, copy_program, in_call,
                     names, task_states, wait_until)

CLONE = re.compile('(__)?clone3?')
STAYING = ['staying', 'start_thread', CLONE]
LEADER = ['stay', 'threads', 'main', START]
IN_OPEN = 0x20


def start_threads(context, nr):
    """A target whose threads all wait in pause(); their tids in order."""
    target = context.start(['faults', 'threads', str(nr)])
    tids = sorted(task_states(target.pid))
    wait_until(lambda: all(in_call(target.pid, tid) == 34 for tid in tids),
               'threads wait')
    return target, tids


def run_dying(context, target, tid, how, status):
    """Run outwind; that thread, or all, dies in its hands; stdout, stderr."""
    says = os.path.join(context.tmp, 'says')
    done = context.run('stack', '--json', target.pid, status=status, env={
        'LD_PRELOAD': context.program('dying.so'), 'DYING_TID': str(tid),
        'DYING_HOW': how, 'DYING_SAYS': says})
    check(os.path.exists(says), 'nobody asked for registers of %d' % tid)
    return done.stdout.decode(), done.stderr.decode()


def add_dying_thread(which, at):
    @case('faults: %s dies while it is stopped' % which)
    def _(context):
        target, tids = start_threads(context, 3)
        out, err = run_dying(context, target, tids[at], 'thread', 1)
        check(err == '', 'stderr', err)
        threads = json.loads(out)['threads']
        check([t['tid'] for t in threads] == tids, 'tids', threads)
        for i, thread in enumerate(threads):
            if i == at:
                check(thread.get('error') == 'thread exited while stopped' and
                      not thread.get('frames'), 'dead thread', thread)
                continue
            check_names(thread, STAYING if i else LEADER)
            check(thread['complete'], 'complete', thread)
        # A leader stays as a zombie until its process ends.
        before = {tid: 'S' if tid != tids[at] else 'Z' for tid in tids
                  if tid != tids[at] or at == 0}
        wait_until(lambda: task_states(target.pid) == before,
                   'the thread is gone')
        check_unharmed(target.pid, before)


for each_at, each_which in ((0, 'the leader'), (1, 'a thread'),
                            (3, 'the last thread')):
    add_dying_thread(each_which, each_at)


@case('faults: process dies while it is stopped')
def _(context):
    target, tids = start_threads(context, 3)
    out, err = run_dying(context, target, tids[0], 'process', 2)
    check(out == '' and err == 'outwind: process %d: thread exited while '
          'stopped\n' % target.pid, 'all', (out, err))
    check(target.wait(timeout=PATIENCE) == -9, 'target', target.returncode)
    # Registers of some were read, but not what their addresses mean.
    target, tids = start_threads(context, 3)
    out, err = run_dying(context, target, tids[2], 'process', 2)
    check(out == '' and err == 'outwind: process %d: thread exited while '
          'stopped\n' % target.pid, 'some', (out, err))
    check(target.wait(timeout=PATIENCE) == -9, 'target', target.returncode)


@case('faults: code that is mapped after that was listed')
def _(context):
    says = os.path.join(context.tmp, 'says')
    target = context.start(['late', context.program('late-inner.so'),
                            context.program('late-outer.so'), says])
    done = context.run('stack', '--json', target.pid, status=0, env={
        'LD_PRELOAD': context.program('late-hook.so'),
        'LATE_PID': str(target.pid), 'LATE_SAYS': says})
    thread = json.loads(done.stdout)['threads'][0]
    check_names(thread, ['stay', 'inner_enter', 'outer_enter', 'main', START])
    check(thread['complete'], 'complete', thread)


@case('faults: a program that is replaced by itself all the time')
def _(context):
    target = context.start(['again-static'])
    taken = 0
    for _ in range(300):
        done = context.run('stack', '--json', target.pid)
        check(done.returncode in (0, 1), 'status', done.stderr)
        taken += done.returncode == 0
    check(target.poll() is None, 'the program has ended')
    check(taken >= 30, 'hardly ever taken', taken)
    context.note('%d of 300 times taken whole' % taken)


@case('faults: stack pointer below what was touched of the main stack')
def _(context):
    target = context.start(['faults', 'untouched'])
    wait_until(lambda: in_call(target.pid, target.pid) == 34, 'it waits')
    check_target(context, target.pid, ['untouched', 'main', START])


@case('faults: a thread of a 64-bit process runs 32-bit code')
def _(context):
    target = context.start(['faults', '32-bits'])
    tids = sorted(task_states(target.pid))
    # pause() is 29 for i386.
    wait_until(lambda: in_call(target.pid, tids[1]) == 29, 'it waits')
    before = task_states(target.pid)
    stacks = context.stacks(target.pid, status=1)
    leader, other = stacks['threads']
    check_names(leader, ['stay', 'beside_32_bits', 'main', START])
    check(leader['complete'], 'complete', leader)
    check(other['tid'] == tids[1] and not other.get('frames') and
          other.get('error') == 'thread runs i386 code in a process of x86_64',
          'the other', other)
    check_unharmed(target.pid, before)


class Opens:
    """Tells whether anybody opens a file, by inotify(7)."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        check(libc.inotify_add_watch(self.fd, os.fsencode(path), IN_OPEN) >= 0,
              'inotify_add_watch', os.strerror(ctypes.get_errno()))

    def count(self):
        """How often, since the last time."""
        nr = at = 0
        with contextlib.suppress(BlockingIOError):
            events = os.read(self.fd, 65536)
            while at < len(events):
                mask, _, size = struct.unpack_from('III', events, at + 4)
                nr += bool(mask & IN_OPEN)
                at += 16 + size
        return nr

    def close(self):
        os.close(self.fd)


def watch(context, path):
    opens = Opens(path)
    context.stack.callback(opens.close)
    os.close(os.open(path, os.O_RDWR))
    check(opens.count() == 1, 'an open was not seen')
    return opens


def make_zero(context):
    """A /dev/zero of our own, that nobody else opens."""
    path = os.path.join(context.tmp, 'zero')
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
        os.close(os.open(path, os.O_RDWR))
    except OSError as why:
        raise Skip('no device node: %s' % why) from why
    return path


@case('faults: code in a mapping of a device, which is not opened')
def _(context):
    path = make_zero(context)
    target = context.start(['faults', 'device', path])
    opens = watch(context, path)
    stacks = context.stacks(target.pid, '-i', '-s', '-m', status=None)
    thread = stacks['threads'][0]
    check(names(thread)[0] is None and
          thread['frames'][0].get('module') == path, 'innermost frame', thread)
    check(thread['complete'] or path in thread['end_detail'], 'end', thread)
    check(opens.count() == 0, 'the device was opened')


def dump_of(context, program):
    """A core of a copy of a program, at a path that may be used again."""
    need_plain_cores()
    exe = copy_program(context.program(program), context.tmp + '/program')
    core = dump(context, [exe, '3'])
    return exe, core


@case('faults: core of a program that is a pipe now, or a device')
def _(context):
    exe, core = dump_of(context, 'crash')
    os.unlink(exe)
    os.mkfifo(exe)
    opens = watch(context, exe)
    for options in ([], ['-e', exe]):
        done = context.run('stack', '--json', *options, core, status=1)
        thread = json.loads(done.stdout)['threads'][0]
        check(names(thread)[0] is None and not thread['complete'], 'pipe',
              thread)
    check(opens.count() == 0, 'the pipe was opened')
    # As the core file itself.
    done = context.run('stack', exe, status=2)
    check(done.stderr.count(b'\n') == 1 and b'not a core file' in done.stderr,
          'pipe as core', done.stderr)
    check(opens.count() == 0, 'the pipe was opened as a core')
    os.rename(make_zero(context), exe)
    opens = watch(context, exe)
    done = context.run('stack', '--json', core, status=1)
    check(names(json.loads(done.stdout)['threads'][0])[0] is None, 'device',
          done.stdout)
    check(opens.count() == 0, 'the device was opened')


@case('faults: core of a program that lld linked, and was replaced')
def _(context):
    # Its code is not where the file's begin and the offset would have it.
    exe, core = dump_of(context, 'crash-lld')
    for options in ([], ['-e', exe]):
        done = context.run('stack', '--json', *options, core, status=0)
        check_names(json.loads(done.stdout)['threads'][0], CRASH)
    shutil.copy(context.program('crash-lld-other'), exe + '.new')
    os.rename(exe + '.new', exe)
    done = context.run('stack', '--json', core, status=1)
    thread = json.loads(done.stdout)['threads'][0]
    check(not set(names(thread)) & {'crash', 'leads_to_crash', 'sort', 'main'},
          'names of another build', names(thread))
    check('another build' in thread['end_detail'], 'end', thread)

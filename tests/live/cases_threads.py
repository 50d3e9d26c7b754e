# SPDX-License-Identifier: BSD-2-Clause
"""Many threads, odd threads, and being interrupted at any moment."""

import json
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import time

from cases_record import record, record_enough
from harness import (PATIENCE, START, case, check, check_names, check_target,
                     check_unharmed, children_of, end_process, names, stop,
                     task_states, tracers, wait_until)

THREADS = 500
CLONE = re.compile('(__)?clone3?')


class Heart:
    """The counters of threads.c's threads."""

    def __init__(self, path, nr):
        self.nr = nr
        with open(path, 'rb') as f:
            self.map = mmap.mmap(f.fileno(), nr * 4, prot=mmap.PROT_READ)

    def beats(self):
        return struct.unpack('%dI' % self.nr, self.map[:])

    def check(self, text):
        """Every thread goes on."""
        before = self.beats()
        wait_until(lambda: all(b != a for a, b in zip(before, self.beats())),
                   'all threads go on ' + text)


def start_many(context, nr=THREADS):
    path = os.path.join(context.tmp, 'heart')
    target = context.start(['threads', 'many', path, str(nr)])
    return target, Heart(path, nr)


@case('threads: 500 of them', alone=True)
def _(context):
    target, heart = start_many(context)
    done = context.run('stack', '--json', '--stats', target.pid, status=0)
    stacks = json.loads(done.stdout)
    context.note(done.stderr.decode().strip())
    check(len(stacks['threads']) == THREADS + 1, 'threads',
          len(stacks['threads']))
    for thread in stacks['threads'][1:]:
        check_names(thread, ['...', 'beat', 'beating', 'start_thread', CLONE])
    check_names(stacks['threads'][0], ['stay', 'many', 'main', START])
    heart.check('afterwards')
    check(tracers(target.pid) == '0', 'left traced')


def time_of_run(context, target):
    """How long outwind takes for it here and now, in seconds."""
    begun = time.monotonic()
    context.run('stack', target.pid, status=0)
    return time.monotonic() - begun


def interrupt(context, target, sig, delay):
    """Start outwind, end it by sig after delay seconds; its status."""
    tool = subprocess.Popen(
        [context.outwind, 'stack', str(target.pid)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(delay)
    tool.send_signal(sig)
    status = tool.wait(timeout=PATIENCE)
    check(status in (0, 1, -sig), 'status after %s' % sig, status)
    return status


def add_interrupt(sig):
    @case('threads: outwind gets %s at random moments' % sig.name, alone=True)
    def _(context):
        target, heart = start_many(context)
        chance = random.Random(int(sig))
        early = tried = 0
        longest = time_of_run(context, target)
        while tried < 100 or early <= 5:
            check(tried < 1000, 'too few were interrupted', (early, longest))
            tried += 1
            early += interrupt(context, target, sig,
                               chance.uniform(0, longest)) == -sig
            wait_until(lambda: tracers(target.pid) == '0', 'tracer is gone')
            wait_until(lambda: not set(task_states(target.pid).values()) &
                       set('Tt'), 'no thread is left stopped')
        heart.check('after %s' % sig.name)
        context.note('%d of %d were ended by it' % (early, tried))


for each in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
    add_interrupt(each)


@case('threads: stopped process stays stopped', alone=True)
def _(context):
    target, heart = start_many(context, 20)
    stop(target.pid)
    beats = heart.beats()
    for _ in range(5):
        context.run('stack', target.pid, status=0)
        # Let go, a thread goes on in the kernel until it has stopped again.
        wait_until(lambda: set(task_states(target.pid).values()) == {'T'},
                   'all are stopped')
    time.sleep(0.05)
    check(beats == heart.beats(), 'went on')
    context.run('stack', target.pid, status=0)
    target.send_signal(signal.SIGCONT)
    heart.check('after SIGCONT')


@case('threads: stopped process, outwind killed', alone=True)
def _(context):
    target, heart = start_many(context, 100)
    stop(target.pid)
    chance = random.Random(1)
    longest = time_of_run(context, target)
    for _ in range(30):
        interrupt(context, target, signal.SIGKILL, chance.uniform(0, longest))
        wait_until(lambda: tracers(target.pid) == '0', 'tracer is gone')
    wait_until(lambda: set(task_states(target.pid).values()) == {'T'},
               'all are stopped')
    beats = heart.beats()
    time.sleep(0.05)
    check(beats == heart.beats(), 'went on')
    target.send_signal(signal.SIGCONT)
    heart.check('after SIGCONT')


@case('threads: signals are not lost', alone=True)
def _(context):
    # SIGSTOP that arrives meanwhile stops the target all the same.
    target, heart = start_many(context, 50)
    chance = random.Random(2)
    longest = time_of_run(context, target)
    for _ in range(30):
        tool = subprocess.Popen(
            [context.outwind, 'stack', str(target.pid)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, longest))
        target.send_signal(signal.SIGSTOP)
        check(tool.wait(timeout=PATIENCE) in (0, 1), 'status',
              tool.returncode)
        wait_until(lambda: set(task_states(target.pid).values()) == {'T'},
                   'all threads stop')
        target.send_signal(signal.SIGCONT)
        heart.check('after SIGCONT')


@case('threads: two at a time', alone=True)
def _(context):
    target, heart = start_many(context, 100)
    for _ in range(10):
        tools = [subprocess.Popen([context.outwind, 'stack', str(target.pid)],
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
                 for _ in range(2)]
        statuses = [tool.wait(timeout=PATIENCE) for tool in tools]
        check(set(statuses) <= {0, 1, 2}, 'statuses', statuses)
    heart.check('afterwards')
    context.run('stack', target.pid, status=0)


@case('threads: leader has exited')
def _(context):
    target = context.start(['threads', 'leader'])
    wait_until(lambda: task_states(target.pid)[target.pid] == 'Z',
               'leader exits')
    before = task_states(target.pid)
    stacks = context.stacks(target.pid, status=1)
    check(len(stacks['threads']) == 2, 'threads', stacks)
    leader, other = stacks['threads']
    check('exited' in leader.get('error', ''), 'error', leader)
    check_names(other, ['stay', 'in_thread', 'staying', 'start_thread', CLONE])
    check(other['complete'], 'complete')
    check_unharmed(target.pid, before)


@case('threads: stack of its own')
def _(context):
    target = context.start(['threads', 'custom-stack'])
    stacks = check_target(context, target.pid)
    check_names(stacks['threads'][1],
                ['stay', 'in_thread', 'staying', 'start_thread', CLONE])
    check(stacks['threads'][1]['complete'], 'complete')


@case('threads: only some')
def _(context):
    target, _ = start_many(context, 5)
    tids = sorted(task_states(target.pid))
    stacks = context.stacks('%d/%d,%d' % (target.pid, tids[2], tids[4]))
    check([t['tid'] for t in stacks['threads']] == [tids[2], tids[4]], 'tids',
          [t['tid'] for t in stacks['threads']])
    stacks = context.stacks(target.pid, '-1')
    check([t['tid'] for t in stacks['threads']] == [target.pid], 'tids')
    stacks = context.stacks('%d/S' % target.pid)
    check(all(t['state'] == 'S' for t in stacks['threads']), 'states')
    stacks = context.stacks('%d/Z' % target.pid)
    check(stacks['threads'] == [], 'states')
    done = context.run('stack', '%d/1' % target.pid)
    check(done.returncode in (1, 2) and done.stderr.count(b'\n') == 1,
          'a thread of another process', (done.returncode, done.stderr))


@case('threads: parent that waits in vfork')
def _(context):
    # It can't be stopped before its child is gone, and must not be harmed.
    target = context.start(['threads', 'vfork'])
    child = children_of(target.pid)[0]
    context.stack.callback(end_process, child)
    done = context.run('stack', target.pid, status=2)
    check(b'did not stop in time' in done.stderr, 'reason', done.stderr)
    # Who waits for it can be ended, and then the parent is nobody's.
    for sig in (signal.SIGINT, signal.SIGTERM):
        waiter = subprocess.Popen([context.outwind, 'stack',
                                   '--stop-timeout=0', str(target.pid)],
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        context.stack.callback(waiter.communicate)
        wait_until(lambda: tracers(target.pid) != '0', 'the parent is traced')
        waiter.send_signal(sig)
        check(waiter.wait(timeout=PATIENCE) == -sig, 'status',
              waiter.returncode)
        wait_until(lambda: tracers(target.pid) == '0', 'it was let go')
    thread = context.stacks(child, status=0)['threads'][0]
    check(names(thread)[:3] == ['stay', 'wait_for_vfork', 'main'], 'child',
          names(thread))
    os.kill(child, signal.SIGKILL)
    check(target.wait(timeout=PATIENCE) == 10, 'parent went on',
          target.returncode)


def start_without_leader(context, scene):
    """The target, whose first thread has exited, and the number of the other one."""
    target = context.start(['threads', scene])
    wait_until(lambda: task_states(target.pid)[target.pid] == 'Z',
               'leader exits')
    return target, next(t for t in task_states(target.pid) if t != target.pid)


@case('threads: the leader has exited, the other one runs: not stopped')
def _(context):
    target, tid = start_without_leader(context, 'leader-spin')
    done = context.run('stack', '--no-stop', target.pid, status=2)
    check(done.stderr.decode() == 'outwind: process %d: thread %d is running: '
          'its stack can be taken only while it is stopped\n' %
          (target.pid, tid), 'message', done.stderr)


@case('threads: the leader has exited, and only it is asked for')
def _(context):
    target, _ = start_without_leader(context, 'leader')
    for way in ((), ('--one-at-a-time',), ('--gentle',), ('--no-stop',)):
        done = context.run('stack', '-1', *way, target.pid, status=2)
        check(done.stderr.decode() == 'outwind: process %d: thread has exited '
              '(zombie), it has no stack\n' % target.pid, 'message',
              done.stderr)


@case('threads: the leader has exited, the other one waits: none runs')
def _(context):
    target, _ = start_without_leader(context, 'leader')
    check(context.stacks('%d/R' % target.pid)['threads'] == [], 'none runs')
    profile, _ = record(context, '--engine=ptrace', '-d', '0.5', target.pid)
    check(profile['stacks'] == [], 'no stacks', profile['stacks'])
    target, tid = start_without_leader(context, 'leader-spin')
    profile, _ = record_enough(context, 1, '--engine=ptrace', '--per-thread',
                               target.pid)
    check({s['tid'] for s in profile['stacks']} == {tid}, 'whose stacks',
          profile['stacks'])


@case('threads: the id of one of them for its process')
def _(context):
    target, heart = start_many(context)
    for tid in list(task_states(target.pid))[1:4]:
        done = context.run('stack', '--json', tid, status=0)
        check(len(json.loads(done.stdout)['threads']) == THREADS + 1,
              'threads', done.stderr)
        # None of its other threads is another process.
        check(done.stderr == b'', 'what it says', done.stderr)
    heart.check('afterwards')


@case('threads: names of a process that executes other programs')
def _(context):
    ours = [context.program('turns-' + which) for which in 'ab']
    target = context.start(ours)
    told = 0
    for i in range(1200):
        options = ('--one-at-a-time',) if i % 2 else ()
        done = context.run('stack', '--json', *options, target.pid)
        if done.returncode:
            continue
        stacks = json.loads(done.stdout)
        (thread,) = stacks['threads']
        names_told = {name for name in names(thread)
                      if name in ('turn_a', 'turn_b')}
        if not names_told:
            continue
        told += 1
        (name,) = names_told
        check((os.path.basename(stacks['program']), thread['name']) ==
              (name.replace('turn_', 'turns-'),) * 2, 'names', stacks)
    check(told > 20, 'stacks', told)

# SPDX-License-Identifier: BSD-2-Clause
"""outwind record --off-cpu: where threads wait, and how long."""

import contextlib
import json
import os
import signal
import subprocess
import time

from cases_record import OUTERMOST, chains, need_bpf, record
from harness import (PATIENCE, VFORK, Skip, case, check, end_target, in_call,
                     wait_for_line, wait_until)

# x86-64's numbers.
READ, POLL = 0, 7
# What takes a sample where threads are switched, and is no part of stacks.
TRACING = ('bpf_', '__bpf_', '__traceiter_', 'trace_', 'perf_')


class Recording:
    """record --off-cpu of programs that are given, up to its end()."""

    def __init__(self, context, *options):
        self.path = os.path.join(context.tmp, 'waits.json')
        self.recorder = subprocess.Popen(
            [context.outwind, 'record', '--off-cpu', '-f', 'json', '-o',
             self.path, *map(str, options)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        context.stack.callback(self.recorder.stderr.close)
        context.stack.callback(end_target, self.recorder)
        wait_until(self.has_begun, 'the beginning of a recording')

    def has_begun(self):
        """All that is to be attached is, and then it polls."""
        check(self.recorder.poll() is None, 'the recorder ended')
        pid = self.recorder.pid
        for fd in os.listdir('/proc/%d/fdinfo' % pid):
            with contextlib.suppress(OSError):
                with open('/proc/%d/fdinfo/%s' % (pid, fd),
                          encoding='utf-8') as f:
                    if 'sched_switch' in f.read():
                        return in_call(pid, pid) == POLL
        return False

    def end(self):
        """The profile, and what was said."""
        self.recorder.send_signal(signal.SIGINT)
        _, said = self.recorder.communicate(timeout=PATIENCE)
        check(self.recorder.returncode == 0, 'status',
              (self.recorder.returncode, said))
        if b'who waited before' in said:
            raise Skip(said.decode().strip())
        with open(self.path, encoding='utf-8') as f:
            return json.load(f), said.decode()


class Waits:
    """The program of that name, at rest."""

    def __init__(self, context):
        need_bpf(context)
        fifo = os.path.join(context.tmp, 'orders')
        os.mkfifo(fifo)
        self.target = context.start(['waits', fifo])
        # It has it open itself, for reading and writing.
        self.orders = os.open(fifo, os.O_WRONLY)
        context.stack.callback(os.close, self.orders)
        self.await_reader()

    def await_reader(self):
        """It waits for orders, and runs no more: the kernel looks at that."""
        wait_until(lambda: in_call(self.target.pid, self.target.pid) == READ,
                   'a wait for orders')

    def order(self, letter):
        """
        Have it do something, and wait for orders again: when, at the earliest,
        it got it; its answer; and when, at the latest, it waited again.
        """
        before = time.monotonic_ns()
        os.write(self.orders, letter.encode())
        answer = wait_for_line(self.target, 'done')
        self.await_reader()
        return before, int(answer.split()[1]), time.monotonic_ns()


def time_in(profile, function):
    """How long was waited there, in nanoseconds; all such stacks are whole."""
    found = 0
    for chain, stack in chains(profile):
        if function in chain:
            check(stack['end'] == 'complete' and chain[-1] in OUTERMOST,
                  'a stack', (chain, stack))
            found += stack['nanoseconds']
    return found


def check_kernel(profile):
    """No frame is of who takes the samples; and switches begin in the kernel."""
    for stack in profile['stacks']:
        frames = [profile['frames'][i] for i in stack['frames']]
        names = [f.get('function') or '' for f in frames if f.get('kernel')]
        check(not any(n.startswith(TRACING) for n in names),
              'frames of who records', names)


@case('off CPU: waits from before recording began, and past its end',
      alone=True)
def waits_outlast(context):
    waits = Waits(context)
    recording = Recording(context, waits.target.pid)
    begun = time.monotonic_ns()
    time.sleep(0.05)
    woken, _, there = waits.order('t')
    time.sleep(0.05)
    end = time.monotonic_ns()
    profile, _ = recording.end()
    whole = profile['duration_ns']
    in_all = end - begun
    took = {f: time_in(profile, f) for f in ('waiting_here', 'waiting_there',
                                             'waiting_for_ever')}
    said = (took, whole, in_all)
    check(took['waiting_here'] >= woken - begun, 'begun before', said)
    check(took['waiting_there'] >= end - there, 'goes on', said)
    check(in_all <= took['waiting_for_ever'] <= whole, 'all the time', said)
    check(took['waiting_here'] + took['waiting_there'] <= whole, 'one thread',
          said)
    check_kernel(profile)
    context.note('%d, %d and %d of %d ms' % (
        *(t // 1000000 for t in took.values()), whole // 1000000))


@case('off CPU: no more than the program measures; threads that end',
      alone=True)
def waits_measured(context):
    waits = Waits(context)
    recording = Recording(context, waits.target.pid)
    _, measured, _ = waits.order('n')
    begun, _, ended = waits.order('s')
    # An ended thread waits for nothing, however long it is gone.
    time.sleep(2 * (ended - begun) / 1e9)
    profile, _ = recording.end()
    named = {}
    for stack in profile['stacks']:
        named[stack['thread']] = named.get(stack['thread'], 0) + \
            stack['nanoseconds']
    naps = sum(stack['nanoseconds'] for chain, stack in chains(profile)
               if 'nap_often' in chain and 'napping' in chain)
    check(0 < naps <= measured, 'naps', (naps, measured))
    check(named.get('short', 0) <= ended - begun, 'a thread that ended',
          (named, ended - begun))
    check_kernel(profile)
    context.note('naps: %d of %d us' % (naps // 1000, measured // 1000))


@case('off CPU: in vfork, where the return address is in a register',
      alone=True)
def waits_in_vfork(context):
    waits = Waits(context)
    pid = waits.target.pid
    recording = Recording(context, '--stats', pid)
    os.write(waits.orders, b'v')
    wait_until(lambda: in_call(pid, pid) == VFORK, 'a wait in vfork')
    begun = time.monotonic_ns()
    time.sleep(0.01)
    took = time.monotonic_ns() - begun
    waits.order('.')
    profile, said = recording.end()
    mine = [(chain, stack) for chain, stack in chains(profile)
            if stack['pid'] == pid]
    # Until the child is gone, and then for it; both of them wait in there.
    forking = [(chain, stack) for chain, stack in mine
               if chain[:1] in (['vfork'], ['__vfork'])]
    for chain, stack in forking:
        check(chain[1:3] == ['waiting_in_vfork', 'main'] and
              chain[-1] == '_start' and stack['end'] == 'complete', 'a stack',
              (chain, stack))
    waited = sum(stack['nanoseconds'] for _, stack in forking)
    check(took <= waited <= profile['duration_ns'], 'how long',
          (took, waited, said, mine))


@case('off CPU: a whole command', alone=True)
def waits_of_command(context):
    """What the command does, and not what it waited for before it began."""
    need_bpf(context)
    profile, _ = record(context, '--off-cpu', '--', 'sleep', '0.2')
    for stack in profile['stacks']:
        names = [profile['frames'][i].get('function') or ''
                 for i in stack['frames']]
        check(stack['thread'] != 'outwind' or
              not any('pipe_read' in n for n in names), 'before it began',
              names)
    slept = sum(stack['nanoseconds'] for chain, stack in chains(profile)
                if any(n and 'nanosleep' in n for n in chain))
    check(0 < slept <= profile['duration_ns'], 'how long',
          (slept, profile['duration_ns']))
    check_kernel(profile)


@case('off CPU: in code copied to memory of its own', alone=True)
def waits_remapped(context):
    need_bpf(context)
    target = context.start(['remapped', 'all'])
    profile, _ = record(context, '--off-cpu', '-d', '0.3', target.pid)
    for function in ('stay', 'link1', 'link2', 'link3', 'main'):
        check(time_in(profile, function) > 0, function, profile)


@case('off CPU: everyone', alone=True)
def waits_of_all(context):
    waits = Waits(context)
    profile, _ = record(context, '--off-cpu', '-a', '-d', '0.5')
    profile['stacks'] = [s for s in profile['stacks']
                         if s['pid'] == waits.target.pid]
    for function in ('waiting_here', 'waiting_for_ever'):
        check(0 < time_in(profile, function) <= profile['duration_ns'],
              function, profile)
    check_kernel(profile)


@case('off CPU: not with page faults')
def waits_refused(context):
    done = context.run('record', '--off-cpu', '--faults', '1', status=64)
    check(done.stderr.splitlines()[0] ==
          b'outwind: --off-cpu and --faults: one at a time, as a profile has '
          b'one unit', 'message', done.stderr)

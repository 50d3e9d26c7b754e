# SPDX-License-Identifier: BSD-2-Clause
"""outwind record of 32-bit programs, whose stacks the BPF programs walk, too."""

import json
import os
import re
import signal

from cases_offcpu import Recording
from cases_record import OUTERMOST, check_busy, need_bpf, record_enough
from harness import (case, check, in_call, need_root, task_states,
                     wait_until)

SAMPLES = re.compile(r'(\d+) samples.*?, (\d+) of them copied, (\d+) missed, '
                     r'(\d+) lost')


def is_stopped(pid):
    """All of its threads are, and run no more: the kernel looks at that."""
    return all(state == 'T' and in_call(pid, tid) is not None
               for tid, state in task_states(pid).items())


def waits_again(pid):
    return all(state == 'S' and in_call(pid, tid) is not None
               for tid, state in task_states(pid).items())


def callers(profile, pid):
    """By tid, what is below the innermost frames of all stacks; and the stack."""
    for stack in profile['stacks']:
        frames = [profile['frames'][i] for i in stack['frames']]
        if stack['pid'] == pid:
            yield stack['tid'], [int(f['pc'], 16) for f in frames
                                 if not f.get('kernel')][1:], stack


def add_resting(command):
    """
    A program at rest is stopped and goes on, so that a program of the kernel
    sees its threads wait, each in the same place as before.
    """
    @case('record: %s, the same frames as outwind stack' % command, alone=True)
    def _(context):
        need_bpf(context)
        target = context.start(command.split())
        # What both have mapped of one name, [vdso], isn't the same.
        other = context.start(['chain-pie'])
        stacks = {t['tid']: t for t in context.stacks(
            target.pid, status=None)['threads']}
        recording = Recording(context, '--stats', '--per-thread', other.pid,
                              target.pid)
        os.kill(target.pid, signal.SIGSTOP)
        wait_until(lambda: is_stopped(target.pid), 'a stop')
        os.kill(target.pid, signal.SIGCONT)
        wait_until(lambda: waits_again(target.pid), 'a wait')
        profile, said = recording.end()
        samples, copied, missed, lost = map(int, SAMPLES.search(said).groups())
        check(samples - copied >= 2 * len(stacks) and missed + lost == 0,
              'samples by programs of the kernel', said)
        seen = set()
        for tid, pcs, stack in callers(profile, target.pid):
            frames = stacks[tid]['frames']
            check(pcs == [int(f['pc'], 16) for f in frames[1:]] and
                  (stack['end'] == 'complete') == stacks[tid]['complete'],
                  'a stack', (pcs, stack, stacks[tid]))
            seen.add(tid)
        check(seen == set(stacks), 'all threads', (seen, list(stacks)))
        context.note('%d samples, %d frames' % (
            samples, sum(len(t['frames']) for t in stacks.values())))


for each in ('chain-i386', 'chain-i386-no-pie', 'chain-i386-static',
             'chain-i386-stackrealign', 'shapes-i386 realign',
             'shapes-i386 alloca', 'shapes-i386 callback', 'shapes-i386 big',
             'signals-i386 plain', 'signals-i386 siginfo',
             'signals-i386 altstack', 'signals-i386 nested',
             'signals-i386 null-call', 'signals-i386 first-insn'):
    add_resting(each)


@case('record: every frame is right, of a 32-bit program', alone=True)
def record_narrow(context):
    need_bpf(context)
    target = context.start(['busy-i386'])
    profile, said = record_enough(context, 1000, '-F', '1000', '--stats',
                                  target.pid)
    # A C library without symbols tells no name of where threads begin.
    # Its memcpy() pushes eax, of which its CFI doesn't tell: 0.6 %.
    context.note('%d samples' % check_busy(profile, OUTERMOST | {None}, 0.02))
    check('0 missed, 0 lost' in said, 'something was missed', said)


@case('record: every frame is right, of a 32-bit program, by perf and by ptrace',
      alone=True)
def record_narrow_otherwise(context):
    need_root()
    target = context.start(['busy-i386'])
    for engine in ('perf', 'ptrace'):
        profile, _ = record_enough(context, 300, '-F', '1000', '--engine',
                                   engine, target.pid)
        context.note('%s: %d samples' % (engine, check_busy(
            profile, OUTERMOST | {None}, 0.03)))


@case('record: a code segment that a program has made', alone=True)
def record_foreign(context):
    need_root()
    target = context.start(['foreign'])
    for engine in ('bpf', 'perf', 'ptrace'):
        if engine == 'bpf':
            need_bpf(context)
        profile, _ = record_enough(context, 20, '-F', '100', '--engine',
                                   engine, target.pid)
        seen = {(stack['end'], sum(not profile['frames'][i].get('kernel')
                                   for i in stack['frames']))
                for stack in profile['stacks']
                if stack['tid'] != target.pid}
        check(seen == {('unsupported unwind information for pc', 0)},
              'stacks by ' + engine, seen)


@case('record: who waits in a code segment that a program has made')
def record_foreign_wait(context):
    need_bpf(context)
    target = context.start(['foreign', 'wait'])
    path = os.path.join(context.tmp, 'waits.json')
    context.run('record', '--off-cpu', '--per-thread', '-d', '0.5', '-p',
                target.pid, '-f', 'json', '-o', path, status=0)
    with open(path, encoding='utf-8') as f:
        profile = json.load(f)
    seen = {(stack['end'], sum(not profile['frames'][i].get('kernel')
                               for i in stack['frames']))
            for stack in profile['stacks'] if stack['tid'] != target.pid}
    check(seen == {('unsupported unwind information for pc', 0)}, 'stacks',
          seen)

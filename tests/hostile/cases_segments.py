# SPDX-License-Identifier: BSD-2-Clause
"""Code in a segment whose base isn't 0: its pc is a false address."""

import itertools
import json
import os
import signal
import subprocess

from harness import (PATIENCE, case, check, check_unharmed, names, need,
                     need_root, task_states, wait_until)

PROGRAMS = ('ownsegment', 'ownsegment-i386')
NO_KERNEL_STACKS = ('setpriv', '--inh-caps=-sys_admin',
                    '--bounding-set=-sys_admin')
WAYS = ((), ('--one-at-a-time',), ('--gentle',), ('--no-stop',))


def check_main(thread, options, is_known=True):
    """
    The program's own code.  Of a thread that has made its call by syscall, root
    knows without a stop that it is there.
    """
    stopped = options in WAYS[:2 if is_known else 3]
    check(names(thread)[:2] == ['wait_here', 'main'], 'the main thread',
          (options, thread))
    check(thread['certain'] == (stopped or is_known) and
          thread['stopped'] == stopped, 'how it was taken', (options, thread))


def check_there(thread, options, reason):
    """Nothing is told of where the thread is that can't be known."""
    check('frames' not in thread and reason in thread['error'],
          'the thread in the segment', (options, thread))


def each_look(context, target, prefix=()):
    """For each way (options, main thread, thread in the segment)."""
    before = task_states(target.pid)
    for options in WAYS:
        done = subprocess.run([*prefix, context.outwind, 'stack', '--json',
                               *options, str(target.pid)],
                              capture_output=True, timeout=PATIENCE,
                              check=False)
        yield options, *json.loads(done.stdout)['threads']
    check_unharmed(target.pid, before)


def add_seem(program, prefix=()):
    """Its pc is behind a call's instruction, which it has not made its call by."""
    is_known = program == PROGRAMS[0] and not prefix

    @case('segments: a thread that seems to wait in a call, %s%s' %
          (program, ', no kernel stacks' if prefix else ''))
    def _(context):
        need_root()
        target = context.start([program, 'seem'])
        for options, main, there in each_look(context, target, prefix):
            check_main(main, options, is_known)
            if '--no-stop' in options and not is_known:
                check(not there['certain'], 'certain', there)
            else:
                check_there(there, options, 'has to be stopped'
                            if '--no-stop' in options else 'thread runs')


def add_wait(program):
    @case('segments: a thread that waits in a segment of its own, ' + program)
    def _(context):
        target = context.start([program, 'wait'])
        for options, main, there in each_look(context, target):
            check_main(main, options, program == PROGRAMS[0])
            check_there(there, options, 'has to be stopped'
                        if '--no-stop' in options else 'thread runs')


def add_spin(program):
    @case('segments: a thread that runs in a segment of its own, ' + program)
    def _(context):
        target = context.start([program, 'spin'])
        for options, main, there in each_look(context, target):
            check_main(main, options, program == PROGRAMS[0])
            check_there(there, options, 'thread is running'
                        if '--no-stop' in options else 'thread runs')


def add_stopped(program):
    """Where it stands in no call the kernel's word can't be looked at."""
    @case('segments: a thread that is stopped in one, ' + program)
    def _(context):
        target = context.start([program, 'spin'])
        os.kill(target.pid, signal.SIGSTOP)
        wait_until(lambda: set(task_states(target.pid).values()) == {'T'},
                   'a stop')
        for options, main, there in each_look(context, target):
            check(names(main)[:2] == ['wait_here', 'main'], 'the main thread',
                  (options, main))
            if '--no-stop' in options:
                check(not there['certain'], 'certain', there)
            else:
                check_there(there, options, 'thread runs')


for each_program in PROGRAMS:
    add_wait(each_program)
    add_spin(each_program)
    add_stopped(each_program)
    add_seem(each_program)
    add_seem(each_program, NO_KERNEL_STACKS)


@case('segments: code that is written to after its call was made')
def _(context):
    need_root()
    for how, prefix, options in itertools.product(
            ('anonymous', 'file'), ((), NO_KERNEL_STACKS), WAYS):
        # A stop has the call made again, by the new code.
        target = context.start(['rewrittencall', how])
        done = subprocess.run([*prefix, context.outwind, 'stack', '-S',
                               '--json', *options, str(target.pid)],
                              capture_output=True, timeout=PATIENCE,
                              check=False)
        call = json.loads(done.stdout)['threads'][1]['syscall']
        is_known = not prefix or options in WAYS[:2]
        check(call.get('abi') == ('i386' if is_known else 'unknown') and
              call.get('name') == ('pause' if is_known else None),
              'the call', (how, prefix, options, call))


@case('segments: a core file of a thread in a segment of its own')
def _(context):
    need('gcore')
    target = context.start([PROGRAMS[1], 'wait'])
    prefix = os.path.join(context.tmp, 'core')
    subprocess.run(['gcore', '-o', prefix, str(target.pid)],
                   capture_output=True, check=False)
    done = context.run('stack', '--json', '--core',
                       '%s.%d' % (prefix, target.pid), status=1)
    found = {t['tid']: t for t in json.loads(done.stdout)['threads']}
    check(names(found.pop(target.pid))[:2] == ['wait_here', 'main'],
          'the main thread', done.stdout)
    for there in found.values():
        check('frames' not in there and 'thread ran' in there['error'],
              'the thread in the segment', there)

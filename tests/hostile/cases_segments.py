# SPDX-License-Identifier: BSD-2-Clause
"""Code in a segment whose base isn't 0: its pc is a false address."""

import json
import os
import signal
import subprocess

from harness import (case, check, check_unharmed, names, need, task_states,
                     wait_until)

PROGRAMS = ('ownsegment', 'ownsegment-i386')
WAYS = ((), ('--one-at-a-time',), ('--gentle',), ('--no-stop',))


def check_main(thread, options):
    """The program's own code is known as the kernel tells it."""
    check(names(thread)[:2] == ['wait_here', 'main'], 'the main thread',
          (options, thread))
    check(thread['certain'] and
          thread['stopped'] == (options in WAYS[:2]), 'how it was taken',
          (options, thread))


def check_there(thread, options, reason):
    """Nothing is told of where the thread is that can't be known."""
    check('frames' not in thread and reason in thread['error'],
          'the thread in the segment', (options, thread))


def each_look(context, target):
    """For each way (options, main thread, thread in the segment)."""
    before = task_states(target.pid)
    for options in WAYS:
        threads = context.stacks(target.pid, *options, status=None)['threads']
        yield options, *threads
    check_unharmed(target.pid, before)


def add_wait(program):
    @case('segments: a thread that waits in a segment of its own, ' + program)
    def _(context):
        target = context.start([program, 'wait'])
        for options, main, there in each_look(context, target):
            check_main(main, options)
            check_there(there, options, 'has to be stopped'
                        if '--no-stop' in options else 'thread runs')


def add_spin(program):
    @case('segments: a thread that runs in a segment of its own, ' + program)
    def _(context):
        target = context.start([program, 'spin'])
        for options, main, there in each_look(context, target):
            check_main(main, options)
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
            check_main(main, options)
            if '--no-stop' in options:
                check(not there['certain'], 'certain', there)
            else:
                check_there(there, options, 'thread runs')


for each_program in PROGRAMS:
    add_wait(each_program)
    add_spin(each_program)
    add_stopped(each_program)


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

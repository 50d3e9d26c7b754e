# SPDX-License-Identifier: BSD-2-Clause
"""Threads that the kernel has started in a process: they have no stack there."""

import json
import os
import re

from cases_freeze import WAYS, snapshots
from cases_record import ENGINES, need_bpf, record_enough
from harness import (START, Skip, case, check, check_names, check_unharmed,
                     names, task_states, wait_until)

WORKER = 'a worker of io_uring: it has no stack in the program'
STOPPINGS = ((), ('--one-at-a-time',), ('--gentle',), ('--no-stop',))


def start(context, scene):
    """The target, and the number of the thread that the kernel has started in it."""
    target = context.start(['uring', scene])
    if 'refused' in target.said:
        raise Skip('io_uring is not allowed here')
    wait_until(lambda: len(task_states(target.pid)) == 2, 'worker starts')
    return target, next(t for t in task_states(target.pid) if t != target.pid)


def check_worker(thread, tid):
    check(thread['tid'] == tid and thread['complete'] and
          thread['frames'] == [] and thread['end'] == WORKER,
          'worker', thread)


def check_stacks(context, target, tid, scene):
    before = task_states(target.pid)
    for options in STOPPINGS:
        main, worker = context.stacks(target.pid, *options)['threads']
        check_names(main, ['stay', 'have_' + scene, 'main', START])
        check_worker(worker, tid)
        text = context.run('stack', *options, target.pid,
                           status=0).stdout.decode()
        check('\n    no stack: %s\n' % WORKER in text, 'text', text)
    check_unharmed(target.pid, before)


def add_scene(scene):
    @case('workers: of io_uring, which %ss: stack' % scene)
    def _(context):
        target, tid = start(context, scene)
        check_stacks(context, target, tid, scene)


add_scene('wait')
add_scene('burn')


@case('workers: alone')
def _(context):
    target, tid = start(context, 'wait')
    for options in STOPPINGS:
        (worker,) = context.stacks('%d/%d' % (target.pid, tid),
                                   *options)['threads']
        check_worker(worker, tid)


@case('workers: none is stopped')
def _(context):
    target, tid = start(context, 'burn')
    for way in WAYS:
        for snap in snapshots(context, way, target.pid, 5):
            check(not snap['error'], way, snap['error'])
            worker = next(t for t in snap['threads'] if t['tid'] == tid)
            check(not worker['stopped'] and worker['why'] == WORKER, way,
                  worker)


@case('workers: formats of stacks alone')
def _(context):
    target, _ = start(context, 'wait')
    for form in ('folded', 'eu', 'gdb', 'tbstack'):
        done = context.run('stack', '-f', form, target.pid, status=0)
        check(not done.stderr, form + ': stderr', done.stderr)
        check(b'stay' in done.stdout, form, done.stdout)
        check(b'Backtrace stopped' not in done.stdout, form, done.stdout)


@case('workers: snapshots')
def _(context):
    target, tid = start(context, 'wait')
    path = os.path.join(context.tmp, 'a.snap')
    for options in ((), ('--redact',)):
        done = context.run('snap', *options, '-o', path, target.pid, status=0)
        check(done.stderr.count(b'\n') == 1, 'lines on stderr', done.stderr)
        done = context.run('stack', '--json', path, status=0)
        main, worker = json.loads(done.stdout)['threads']
        check('main' in names(main), 'main thread', main)
        check_worker(worker, tid)


@case('workers: tbstack')
def _(context):
    target, tid = start(context, 'wait')
    done = context.run_tool([context.tbstack, str(target.pid)], 0)
    text = done.stdout.decode()
    check(not done.stderr, 'stderr', done.stderr)
    check(re.search(r'-  thread 2 \(%d\)  -+\n(?! \S)' % tid, text) and
          'breaks' not in text, 'output', text)


def add_engine(engine):
    @case('workers: record, engine ' + engine)
    def _(context):
        if engine != 'ptrace':
            need_bpf(context)
        target, tid = start(context, 'burn')
        profile, said = record_enough(context, 30, '--per-thread',
                                      '--engine=' + engine, target.pid)
        check('left out' not in said, 'left out', said)
        for stack in profile['stacks']:
            user = [i for i in stack['frames']
                    if not profile['frames'][i].get('kernel')]
            check(stack['tid'] != tid or
                  (user == [] and stack['end'] == 'complete'),
                  'stack of the worker', stack)
        check(any(s['tid'] == tid for s in profile['stacks']), 'no worker',
              profile['stacks'])


for each in ENGINES:
    add_engine(each)

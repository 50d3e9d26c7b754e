# SPDX-License-Identifier: BSD-2-Clause
"""Code that JITs made, crossed by its frame pointers, named by perf maps."""

import os
import shutil
import subprocess

from cases_agree import check_agreement
from harness import PATIENCE, case, check, names, need, wait_until


def start_node(context, scene):
    need('node')
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          'programs', 'jit.js')
    # It leaves a log where it runs.
    target = context.start([shutil.which('node'), '--perf-basic-prof', script,
                            scene], cwd=context.tmp)
    context.stack.callback(remove_map, target.pid)
    return target


def remove_map(pid):
    path = '/tmp/perf-%d.map' % pid
    if os.path.exists(path):
        os.unlink(path)


def check_jit_thread(thread, wanted):
    got = names(thread)
    check(thread['complete'], 'incomplete', (thread.get('end_detail'), got))
    check(got[-1] == '_start' or 'clone' in got[-1], 'outermost', got)
    at = -1
    for part in wanted:
        found = [i for i, n in enumerate(got) if i > at and n and part in n]
        check(found, 'no frame of ' + part, got)
        at = found[0]


@case('JIT: node, in C++ called from JavaScript')
def _(context):
    target = start_node(context, 'block')
    thread = context.stacks(target.pid, status=0)['threads'][0]
    check_jit_thread(thread, ('Builtin_AtomicsWait', 'blockOuter',
                              'Builtins_JSEntry', 'node::Start', '_start'))
    perf = [f for f in thread['frames'] if '/perf-' in f.get('module', '')]
    check(perf, 'no frame named by the perf map')


@case('JIT: node, in compiled JavaScript')
def _(context):
    target = start_node(context, 'spin')

    def look():
        thread = context.stacks(target.pid, '-1', status=0)['threads'][0]
        check_jit_thread(thread, ('Builtins_JSEntry', 'node::Start', '_start'))
        return any(n and 'spinOuter' in n for n in names(thread))

    # It may compile for a while, or be told to run later.
    look_until(look, 21, 'spinOuter was seen')


@case('JIT: node agrees with gdb and eu-stack')
def _(context):
    target = start_node(context, 'block')
    check_agreement(context, target.pid, jit=True)


def look_until(look, times, text):
    """Look at something until as often as wanted it was what is looked for."""
    seen = [0]

    def seen_enough():
        seen[0] += look()
        return seen[0] >= times

    wait_until(seen_enough, '%s %d times' % (text, times))


def start_java(context):
    need('java')
    context.program('Jit.class')
    target = context.start(
        [shutil.which('java'), '-XX:+PreserveFramePointer', '-Xmx64m',
         '-XX:-UsePerfData' if not shutil.which('jcmd') else '-Xshare:auto',
         '-cp', context.programs, 'Jit'])
    context.stack.callback(remove_map, target.pid)
    return target


@case('JIT: java')
def _(context):
    target = start_java(context)
    for _ in range(30):
        stacks = context.stacks(target.pid, status=0)
        main = stacks['threads'][1]
        check_jit_thread(main, ('JavaCalls::call_helper', 'JavaMain',
                                'start_thread'))
        for thread in stacks['threads']:
            check(thread['complete'], 'incomplete',
                  (thread['name'], thread.get('end_detail')))
    need('jcmd')
    remove_map(target.pid)
    subprocess.run(['jcmd', str(target.pid), 'Compiler.perfmap'],
                   capture_output=True, timeout=PATIENCE, check=True)
    wait_until(lambda: os.path.exists('/tmp/perf-%d.map' % target.pid),
               'perf map')

    def look():
        thread = context.stacks(target.pid, status=0)['threads'][1]
        return any(n and 'Jit.spin' in n for n in names(thread))

    look_until(look, 6, 'frames were named by the perf map')


@case('JIT: java agrees with gdb and eu-stack')
def _(context):
    target = start_java(context)
    check_agreement(context, target.pid, jit=True)

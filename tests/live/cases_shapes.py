# SPDX-License-Identifier: BSD-2-Clause
"""Frames of unusual shapes, signals, exceptions, code sampled as it runs."""

import ctypes
import os
import re
import signal
import time

from harness import (OUTERMOST, PATIENCE, START, Skip, case, check,
                     check_names, check_target, match, names, task_states,
                     wait_until)

TRAMPOLINE = re.compile(r'__restore_rt|__restore|__kernel_(rt_)?sigreturn')

SHAPES = {
    'big': ['stay', 'big_frame', 'big_caller', 'main', START],
    'alloca': ['stay', 'with_alloca', 'alloca_caller', 'main', START],
    'realign': ['stay', 'realigned', 'realigned_alloca', 'main', START],
    'noreturn': ['stay', 'never_back', 'calls_noreturn', 'main', START],
    'tail': ['stay', 'tail_target', re.compile('main|tail_caller'), '...',
             '_start'],
    'callback': ['stay', 'compare', '...', re.compile('(__)?qsort(_r)?'),
                 'main', START],
}


def add_shape(program, scene, expected):
    @case('shape: %s in %s' % (scene, program))
    def _(context):
        if program == 'shapes-i386' and scene == 'callback':
            expected[3] = None  # no symbols of libc's own functions there
        target = context.start([program, scene])
        check_target(context, target.pid, expected)


for each_program in ('shapes', 'shapes-clang', 'shapes-i386'):
    for each_scene, each_list in SHAPES.items():
        add_shape(each_program, each_scene, list(each_list))


@case('shape: coroutine')
def _(context):
    # Its caller is made up by makecontext(): no tool gets further.
    target = context.start(['shapes', 'coroutine'])
    thread = context.stacks(target.pid, status=None)['threads'][0]
    check(names(thread)[:2] == ['stay', 'coroutine'], 'names', names(thread))
    check('main' not in names(thread), 'frames of another stack')
    # Of what makecontext() makes up, a table says no more than the CFI.
    context.run('tables', target.pid)
    again = context.stacks(target.pid, status=None)['threads'][0]
    for each in thread, again:
        for frame in each['frames']:
            del frame['how']
    check(again == thread, 'by tables', again)


def add_depth(program, depth, options):
    @case('shape: %d frames deep in %s' % (depth, program))
    def _(context):
        target = context.start([program, 'deep', str(depth)])
        stacks = check_target(context, target.pid, options=options)
        got = names(stacks['threads'][0])
        check(got[:depth + 1] == ['stay'] + ['dive'] * depth, 'names',
              got[:10] + [len(got)])
        check(got[depth + 1] == 'main', 'names', got[depth:])


for each_program in ('shapes', 'shapes-i386'):
    add_depth(each_program, 1000, ())
    add_depth(each_program, 5000, ('-n', '0'))


@case('shape: more frames than the limit')
def _(context):
    target = context.start(['shapes', 'deep', '5000'])
    thread = context.stacks(target.pid, status=1)['threads'][0]
    check(len(thread['frames']) == 1024, 'frames', len(thread['frames']))
    check(not thread['complete'] and 'limit' in thread['end'], 'end',
          thread['end'])
    thread = context.stacks(target.pid, '-n', '7', status=0)['threads'][0]
    check(names(thread) == ['stay'] + ['dive'] * 6, 'names', names(thread))


FAULT = ['store_to_null', 'main', START]
SIGNALS = {
    'plain': ['stay', 'on_signal', TRAMPOLINE] + FAULT,
    'altstack': ['stay', 'on_signal', TRAMPOLINE] + FAULT,
    'nested': ['stay', 'on_signal', TRAMPOLINE, 'divide', 'on_first_of_two',
               TRAMPOLINE] + FAULT,
    'nested-altstack': ['stay', 'on_signal', TRAMPOLINE, 'divide',
                        'on_first_of_two', TRAMPOLINE] + FAULT,
    'null-call': ['stay', 'on_signal', TRAMPOLINE, None, 'call_null', 'main',
                  START],
    'first-insn': ['stay', 'on_signal', TRAMPOLINE, 'first_insn', 'main',
                   START],
}


def add_signal(program, scene, expected):
    @case('signal: %s in %s' % (scene, program))
    def _(context):
        target = context.start([program, scene])
        if 'musl' in program:  # no CFI in its start-up code
            thread = context.stacks(target.pid, status=1)['threads'][0]
            check_names(thread, expected[:-1] + ['...'])
        else:
            thread = check_target(context, target.pid, expected)['threads'][0]
        marked = [f.get('function') for f in thread['frames']
                  if f.get('signal')]
        wanted = [n for n in names(thread) if n and TRAMPOLINE.fullmatch(n)]
        check(marked == wanted, 'frames marked as signal frames', marked)
        if scene == 'null-call':
            frame = thread['frames'][3]
            check(int(frame['pc'], 16) == 0, 'pc of the call to nowhere',
                  frame)


for each_program in ('signals', 'signals-static', 'signals-musl'):
    for each_scene, each_list in SIGNALS.items():
        add_signal(each_program, each_scene, each_list)


@case('signal: thread on an alternate stack')
def _(context):
    target = context.start(['signals', 'thread-altstack'])
    stacks = check_target(context, target.pid)
    check_names(stacks['threads'][1],
                ['stay', 'on_signal', TRAMPOLINE, 'store_to_null', 'in_thread',
                 'start_thread', re.compile('(__)?clone3?')])
    check(stacks['threads'][1]['complete'], 'complete')
    for way in ('--gentle', '--no-stop'):
        check_names(context.stacks(target.pid, way)['threads'][1],
                    names(stacks['threads'][1]))


@case('signal: thread of 32 bits on an alternate stack')
def _(context):
    target = context.start(['signals-i386', 'thread-altstack'])
    for options in ((), ('--one-at-a-time',)):
        thread = context.stacks(target.pid, *options)['threads'][1]
        # Debian strips its C library of the names of those that start it.
        check(names(thread)[:5] == ['stay', 'on_signal', '__kernel_sigreturn',
                                    'store_to_null', 'in_thread'], 'names',
              names(thread))
        check(thread['complete'], 'complete', options)


def add_coroutine(program, trampoline):
    @case('signal: in a coroutine, on an alternate stack, ' + program)
    def _(context):
        target = context.start([program, 'coroutine'])
        # What makecontext() makes up as the caller has no CFI.
        for way in ((), ('--gentle',), ('--no-stop',)):
            thread = context.stacks(target.pid, *way, status=None)['threads'][0]
            check(match(names(thread)[:5], ['stay', 'on_signal', trampoline,
                                            'store_to_null', 'coroutine']),
                  'names', (way, names(thread), thread.get('end_detail')))


add_coroutine('signals', TRAMPOLINE)
add_coroutine('signals-i386', '__kernel_sigreturn')


@case('signal: stack overflow')
def _(context):
    target = context.start(['signals', 'overflow'])
    stacks = check_target(context, target.pid, options=('-n', '0'))
    got = names(stacks['threads'][0])
    overs = got.count('run_over')
    check(overs > 1000, 'frames of run_over', overs)
    check(match(got, ['stay', 'on_signal', TRAMPOLINE] +
                ['run_over'] * overs + ['main', START]), 'names',
          got[:5] + got[-5:])


GUARD = re.compile(r'\(anonymous namespace\)::Guard::~Guard\(\)')
HERE = '(anonymous namespace)::'
EXCEPTIONS = {
    'destructor': ['stay(int)', GUARD, HERE + 'guarded(int)',
                   HERE + 'catcher(int)', re.compile('main(.cold)?'), START],
    'catch': ['stay(int)', HERE + 'in_catch(int)',
              re.compile('main(.cold)?'), START],
    'terminate': ['stay(int)', HERE + 'on_terminate()', '...', '__cxa_throw',
                  HERE + 'thrower(int)', HERE + 'uncaught(int)', 'main',
                  START],
    'forced': ['stay(int)', re.compile(r'.*on_unwind\(.*\)'), '...',
               '_Unwind_ForcedUnwind', HERE + 'forced(int)', 'main', START],
    'template': [
        'stay(int)',
        re.compile(r'int \(anonymous namespace\)::Outer<long>::'
                   r'inner<unsigned char>\(unsigned char, long\)'),
        re.compile(r'\(anonymous namespace\)::templated\(int\)::.*'),
        HERE + 'templated(int)', 'main', START],
}


def add_exception(program, scene, expected):
    @case('exception: %s in %s' % (scene, program))
    def _(context):
        target = context.start([program, scene])
        check_target(context, target.pid, expected)


for each_program in ('throwing', 'throwing-clang', 'throwing-static'):
    for each_scene, each_list in EXCEPTIONS.items():
        add_exception(each_program, each_scene, each_list)

LIBC = ctypes.CDLL(None, use_errno=True)
SINGLESTEP, DETACH, SEIZE, INTERRUPT = 9, 17, 0x4206, 0x4207
WAIT_ALL = 0x40000000

SAMPLES = 150
# More instructions than a loop of spin_plt() has.
STEPS = 40


def look(context, pid, below):
    """Names of the frames that main()'s callee `below` calls; the innermost."""
    thread = context.stacks(pid, status=None)['threads'][0]
    got = names(thread)
    check(thread['complete'], 'incomplete', (got, thread.get('end_detail'),
                                             thread['frames'][0]))
    check(got[-1] in OUTERMOST and 'main' in got, 'names', got)
    at = got.index('main')
    check(got[at - 1] == below, 'called by main', got)
    return got[:at - 1], thread['frames'][0]


def sample(context, pid, below, wanted=None):
    """
    Look at a program as it runs.  How far it gets between two looks is not
    known: on until what is wanted was seen.
    """
    seen = []
    begun = time.monotonic()
    while len(seen) < SAMPLES or wanted and not wanted(seen):
        check(time.monotonic() - begun < PATIENCE, 'too little seen',
              {tuple(got) for got, _ in seen})
        seen.append(look(context, pid, below))
    return seen


def trace(request, pid, what):
    """Call ptrace(2) without an argument."""
    check(LIBC.ptrace(request, pid, None, None) == 0, what,
          os.strerror(ctypes.get_errno()))


def step(pid):
    """Let a stopped program execute one instruction; it is stopped again."""
    trace(SEIZE, pid, 'seize')
    trace(INTERRUPT, pid, 'interrupt')
    os.waitpid(pid, WAIT_ALL)
    stopped = False
    while not stopped:
        trace(SINGLESTEP, pid, 'step')
        _, status = os.waitpid(pid, WAIT_ALL)
        # A stop that tells of an event has the event above the signal.
        stopped = status >> 8 == signal.SIGTRAP
    trace(DETACH, pid, 'detach')
    wait_until(lambda: task_states(pid)[pid] == 'T', 'stopped again')


def steps(context, pid, below):
    """
    Look at each instruction in turn: a processor may never be interrupted at
    some of these.
    """
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: task_states(pid)[pid] == 'T', 'stopped')
    seen = []
    for _ in range(STEPS):
        seen.append(look(context, pid, below))
        step(pid)
    return seen


def add_spin(program):
    @case('running: prologues and epilogues in ' + program)
    def _(context):
        target = context.start([program])
        allowed = ([], ['spin_once'], ['pushes', 'spin_once'],
                   ['leaf', 'pushes', 'spin_once'])
        seen = sample(context, target.pid, 'spin', lambda seen: {
            'pushes', 'leaf'} <= {got[0] for got, _ in seen if got})
        for got, frame in seen:
            check(got in allowed, 'names', (got, frame))

    @case('running: PLT stubs in ' + program)
    def _(context):
        target = context.start([program, 'plt'])
        seen = sample(context, target.pid, 'spin_plt')
        stepped = steps(context, target.pid, 'spin_plt')
        for got, frame in seen + stepped:
            check(got in ([], ['tiny'], ['tiny@plt']) or
                  ('now' in program and got == [None]), 'names', (got, frame))
        check('now' in program or
              any(got == ['tiny@plt'] for got, _ in stepped), 'no stub',
              [got for got, _ in stepped])


for each_program in ('spin', 'spin-cet', 'spin-now', 'spin-clang',
                     'spin-i386'):
    add_spin(each_program)


@case('running: vDSO')
def _(context):
    target = context.start(['spin', 'clock'])
    seen = sample(context, target.pid, 'spin_clock')
    inside = [got for got, frame in seen
              if frame.get('module') == '[vdso]']
    if not inside:
        raise Skip('no sample was in the vDSO: the clock is a system call')
    for got in inside:
        check(got[0] and 'clock_gettime' in got[0] or got[0] is None, 'names',
              got)
    context.note('%d of %d samples in the vDSO' % (len(inside), SAMPLES))

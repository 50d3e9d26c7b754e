# SPDX-License-Identifier: BSD-2-Clause
"""tbstack: every line of its output, its messages and its statuses."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from harness import (START, case, check, check_unharmed, children_of,
                     copy_for_all, copy_program, end_process, match, need,
                     need_root, stop, task_states, tracers, wait_for_rest,
                     wait_until)
from tbformat import Output

CHAIN = ['stay'] + ['link%d' % i for i in range(12, 0, -1)] + ['main', START]
CLONE = re.compile('(__)?clone3?')


def run(context, *arguments, status=0, said=''):
    """Run tbstack; its output, read, once status and stderr are as wanted."""
    done = context.run_tool([context.tbstack, *map(str, arguments)], status)
    errors = done.stderr.decode()
    if isinstance(said, re.Pattern):
        check(said.fullmatch(errors), 'stderr', repr(errors))
    else:
        check(errors == said, 'stderr', repr(errors))
    words = [str(a) for a in arguments]
    return Output(done.stdout.decode(), '--show-rsp' in words,
                  '--show-state' in words)


def check_text(frame, name):
    """A frame's text is what a name of JSON's wants."""
    function, module = name.get('function'), name.get('module')
    if function:
        wanted = function
        if name['offset']:
            wanted += ' + %#x' % name['offset']
    elif not module:
        wanted = '?'
    elif module.startswith('['):
        wanted = '?? ' + module
    else:
        wanted = '?? (%s)' % os.path.basename(module)
    check(frame.text == wanted, 'text of a frame', (frame.text, wanted))


def check_against_outwind(context, pid, *options, status=0):
    """tbstack tells of a target at rest what outwind stack tells; Output."""
    wait_for_rest(pid)
    before = task_states(pid)
    stacks = context.stacks(pid, '--raw', status=status)
    wait_for_rest(pid)
    shown = run(context, pid, '--show-rsp', '--show-state', *options,
                status=status)
    wait_for_rest(pid)
    plain = run(context, pid, *options, status=status)
    check(len(shown.threads) == len(stacks['threads']) == len(plain.threads),
          'threads', len(shown.threads))
    for i, thread in enumerate(stacks['threads']):
        mine, bare = shown.threads[i], plain.threads[i]
        # A thread may wake for a moment, on its own account.
        check((mine.number, mine.tid) == (i + 1, thread['tid']) and
              {mine.state, thread['state']} <= set('RSD'), 'heading',
              (mine.number, mine.tid, mine.state, thread['state']))
        check((bare.number, bare.tid, bare.state, bare.end) ==
              (mine.number, mine.tid, None, mine.end), 'without state',
              (bare.number, bare.tid))
        check(mine.end == ('' if thread['complete'] else 'break'), 'end',
              mine.end)
        check([(f.pc, f.sp) for f in mine.frames] ==
              [(int(f['pc'], 16), int(f['sp'], 16))
               for f in thread['frames']], 'addresses', i)
        check([(f.pc, f.text, f.interrupted) for f in mine.frames] ==
              [(f.pc, f.text, f.interrupted) for f in bare.frames],
              'without rsp', i)
        for k, frame in enumerate(mine.frames):
            check_text(frame, thread['frames'][k])
            check(frame.interrupted == (
                k > 0 and thread['frames'][k - 1].get('signal', False)),
                  '<signal handler called>', k)
    check(plain.summary and shown.summary, 'summary')
    check(plain.summary['us'] > 0 and plain.summary['bytes'] > 0, 'summary',
          plain.summary)
    check_unharmed(pid, before)
    return plain


def add_agreement(title, command):
    @case('tbstack: like outwind: ' + title)
    def _(context):
        target = context.start(command)
        check_against_outwind(context, target.pid)


for each in ('chain-pie', 'chain-no-pie', 'chain-static', 'chain-lld',
             'chain-lld-separate-code', 'chain-noseparate-code',
             'chain-stripped', 'chain-debug-frame', 'chain-i386'):
    add_agreement(each, [each])
for each in ('altstack', 'nested', 'thread-altstack', 'first-insn'):
    add_agreement('signals ' + each, ['signals', each])
add_agreement('throwing template', ['throwing', 'template'])
add_agreement('custom stack', ['threads', 'custom-stack'])

PYTHON = '''
import threading, time
def deep(n):
    return deep(n - 1) if n else time.sleep(1000)
for n in (5, 50, 90):
    threading.Thread(target=deep, args=(n,), daemon=True).start()
print("ready", flush=True)
time.sleep(1000)
'''


@case('tbstack: like outwind: python3 with threads')
def _(context):
    target = context.start([sys.executable, '-c', PYTHON])
    output = check_against_outwind(context, target.pid)
    check(len(output.threads) == 4, 'threads', len(output.threads))


@case('tbstack: like outwind: node')
def _(context):
    need('node')
    target = context.start(
        [shutil.which('node'), '-e',
         'setInterval(() => {}, 100000); console.log("ready")'])
    check_against_outwind(context, target.pid)


@case('tbstack: id of a thread that is no leader')
def _(context):
    target = context.start(['threads', 'many', context.tmp + '/heart', '3'])
    wanted = [(t.number, t.tid) for t in run(context, target.pid).threads]
    output = run(context, wanted[2][1])
    check([(t.number, t.tid) for t in output.threads] == wanted, 'threads')


@case('tbstack: names, and where there is none')
def _(context):
    target = context.start(['chain-lld'])
    thread = run(context, target.pid).threads[0]
    check(match(thread.names(), CHAIN), 'names', thread.names())
    target = context.start(['chain-stripped'])
    texts = [f.text for f in run(context, target.pid).threads[0].frames]
    check(texts.count('?? (chain-stripped)') > 12, 'texts', texts)
    raw = context.start(['throwing', 'template'])
    names = run(context, raw.pid).threads[0].names()
    check(any(n and n.startswith('_ZN12_GLOBAL__N_1') for n in names),
          'raw names', names)


@case('tbstack: an offset of zero is not shown')
def _(context):
    target = context.start(['signals', 'first-insn'])
    thread = run(context, target.pid).threads[0]
    hit = [f for f in thread.frames if f.interrupted]
    check([f.text for f in hit] == ['first_insn'], 'interrupted frame',
          [f.text for f in thread.frames])


@case('tbstack: signal handlers')
def _(context):
    target = context.start(['signals', 'nested-altstack'])
    thread = run(context, target.pid).threads[0]
    marks = [f.function for f in thread.frames if f.interrupted]
    check(marks == ['divide', 'store_to_null'], 'interrupted', marks)
    check(thread.names()[-1] == '_start' and thread.end == '', 'end',
          thread.names())


@case('tbstack: deleted program')
def _(context):
    copy = copy_program(context.program('chain-pie'), context.tmp)
    bare = copy_program(context.program('chain-stripped'), context.tmp)
    target, stripped = context.start([copy]), context.start([bare])
    os.unlink(copy)
    os.unlink(bare)
    for options in ([], ['--ignore-deleted']):
        thread = run(context, target.pid, *options).threads[0]
        check(match(thread.names(), CHAIN), 'names', thread.names())
        check_against_texts(context, stripped.pid, options)
    # What took its place is never read.
    shutil.copy(context.program('shapes'), copy)
    for options in ([], ['--ignore-deleted']):
        thread = run(context, target.pid, *options).threads[0]
        check(match(thread.names(), CHAIN), 'names, replaced',
              thread.names())


def check_against_texts(context, pid, options):
    texts = [f.text for f in run(context, pid, *options).threads[0].frames]
    check(texts.count('?? (chain-stripped is deleted)') > 12, 'texts', texts)


@case('tbstack: stack that breaks')
def _(context):
    target = context.start(['chain-pie'])
    plain = run(context, target.pid, '--stack-size=256', status=1)
    check(plain.threads[0].end == 'break' and
          1 < len(plain.threads[0].frames) < 14, 'frames',
          len(plain.threads[0].frames))
    # Above the stack pointer, that is; a red zone lies below.
    check(256 <= plain.summary['bytes'] <= 256 + 128, 'bytes', plain.summary)
    nr = len(plain.threads[0].frames)
    verbose = run(context, target.pid, '--stack-size', '0x100', '--verbose',
                  '--show-rsp', status=1,
                  said=re.compile(r'unwind step failed: n=%d rc=-8 \(thread %d: '
                                  r'memory of the frame could not be read .*'
                                  r'\)\n' % (nr - 1, target.pid)))
    check(verbose.threads[0].end == 'break', 'end')
    nocfi = context.start(['nocfi'])
    check(run(context, nocfi.pid, status=1).threads[0].end == 'break', 'end')
    run(context, nocfi.pid, '--verbose', status=1,
        said=re.compile(r'unwind step failed: n=\d+ rc=-10 \(thread %d: no '
                        r'unwind information .*\)\n' % nocfi.pid))


@case('tbstack: return address to nowhere')
def _(context):
    target = context.start(['shapes', 'smashed'])
    output = run(context, target.pid, status=1,
                 said=re.compile(r'cannot find region of memory containing '
                                 r'0x[0-9a-f]+\n'))
    thread = output.threads[0]
    check([f.function for f in thread.frames] == ['stay', 'smashed', None] and
          thread.frames[2].text == '?' and thread.end == 'break', 'frames',
          [f.text for f in thread.frames])
    run(context, target.pid, '--verbose', status=1,
        said='cannot find region of memory containing %#x\n'
             'unwind step failed: n=2 rc=-6 (thread %d: pc is in no executable '
             'mapping at %#x)\n' % (thread.frames[2].pc, target.pid,
                                    thread.frames[2].pc))


@case('tbstack: stack size')
def _(context):
    target = context.start(['chain-pie'])
    sizes = [run(context, target.pid, *options).summary['bytes']
             for options in ([], ['--stack-size=0'], ['--stack-size=1048576'],
                             ['--stack-size', '0x100000'])]
    check(len(set(sizes)) == 1, 'sizes', sizes)
    # The default is what this process may have, whatever the target may.
    script = 'ulimit -S -s "$1" && exec "$2" "$3"'
    most = resource.getrlimit(resource.RLIMIT_STACK)[1]
    for kib in ('unlimited', '8192'):
        if kib == 'unlimited' and most != resource.RLIM_INFINITY:
            context.note('no unlimited stack here')
            continue
        done = context.run_tool(['sh', '-c', script, 'sh', kib,
                                 context.tbstack, str(target.pid)], 0)
        check(Output(done.stdout.decode()).summary['bytes'] == sizes[0],
              'ulimit -s ' + kib)


@case('tbstack: stack that is too long')
def _(context):
    target = context.start(['signals', 'overflow'])
    for options in ([], ['--show-rsp', '--verbose']):
        thread = run(context, target.pid, *options).threads[0]
        check(thread.end == 'long' and len(thread.frames) == 1024, 'frames',
              (thread.end, len(thread.frames)))


@case('tbstack: chunks and summary')
def _(context):
    target = context.start(['threads', 'many', context.tmp + '/heart', '5'])
    plain = run(context, target.pid)
    output = run(context, target.pid, '--verbose')
    check(plain.chunks == [] and len(output.chunks) == 6, 'chunks',
          output.chunks)
    check(sum(end - start for start, end in output.chunks) ==
          output.summary['bytes'], 'bytes', output.summary)
    sp = run(context, target.pid, '--show-rsp')
    stacks = [sp.threads[0].frames[0].sp]
    for at in stacks:
        check(any(start <= at < end for start, end in output.chunks),
              'a chunk holds each stack', hex(at))


READINGS = {'process_vm_readv': [], 'mem': ['--proc-mem'],
            'PTRACE_PEEKDATA': ['--ptrace']}


@case('tbstack: ways to read')
def _(context):
    need('strace')
    target = context.start(['threads', 'custom-stack'])
    wanted = None
    for kind, options in READINGS.items():
        log = os.path.join(context.tmp, 'strace')
        done = context.run_tool(
            ['strace', '-f', '-o', log, context.tbstack, str(target.pid),
             '--show-rsp', *options], 0)
        output = Output(done.stdout.decode(), with_sp=True)
        got = [(f.pc, f.sp, f.text) for t in output.threads for f in t.frames]
        wanted = wanted or got
        check(got == wanted, 'stacks by ' + kind, got)
        check(output.summary['bytes'] > 0, 'bytes', output.summary)
        check_calls(log, kind, target.pid)


def check_calls(log, kind, pid):
    """The stacks are read in this way, and in no other."""
    with open(log, encoding='utf-8', errors='replace') as f:
        calls = f.read()
    mem = re.search(r'openat\(.*"/proc/%d/(task/\d+/)?mem"' % pid, calls)
    used = {'process_vm_readv': 'process_vm_readv(' in calls,
            'mem': mem is not None,
            'PTRACE_PEEKDATA': re.search(r'ptrace\(PTRACE_PEEK\w+', calls)
            is not None}
    check(used == {way: way == kind for way in READINGS}, 'calls for ' + kind,
          used)


@case('tbstack: threads by id and by number')
def _(context):
    target = context.start(['threads', 'many', context.tmp + '/heart', '5'])
    pid = target.pid
    tids = [t.tid for t in run(context, pid).threads]
    check(tids == sorted(task_states(pid)), 'tids', tids)

    def shown(text, *options):
        output = run(context, '%d/%s' % (pid, text), *options)
        check(output.summary, 'summary')
        check(all(t.end == '' and t.frames for t in output.threads), 'stacks')
        return [(t.number, t.tid) for t in output.threads]

    check(shown(tids[3]) == [(4, tids[3])], 'one id')
    check(shown('%d,%d,%d' % (tids[4], pid, tids[2]), '--show-state') ==
          [(5, tids[4]), (1, pid), (3, tids[2])], 'ids, in their order')
    check(shown('2') == [(2, tids[1])], 'one number')
    check(shown('6,1,3') == [(6, tids[5]), (1, pid), (3, tids[2])],
          'numbers, in their order')
    for text, bad in (('%d,2' % pid, 2), ('2,%d' % pid, 2), ('7', 7),
                      ('0', 0), ('1,7', 7), ('%d,4194303' % pid, 4194303),
                      ('99999999999', 2147483647)):
        output = run(context, '%d/%s' % (pid, text), status=1,
                     said='unexpected thread %d\n' % bad)
        check(not output.threads and not output.summary, 'output')


SPIN = '''
import os, threading, time
def spin():
    print("ready", threading.get_native_id(), flush=True)
    while True:
        pass
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
threading.Thread(target=spin, daemon=True).start()
time.sleep(1000)
'''


@case('tbstack: threads by state')
def _(context):
    target = context.start([sys.executable, '-c', SPIN])
    pid, spinner = target.pid, int(target.said.split()[1])

    def run_at_rest(*args):
        """What was let go runs for a moment."""
        wait_until(lambda: {s for tid, s in task_states(pid).items()
                            if int(tid) != spinner} == {'S'}, 'at rest')
        return run(context, *args)

    everything = run_at_rest(pid, '--show-state').threads
    check([t.number for t in everything] == [1, 2, 3], 'numbers')
    check([t.state for t in everything] == ['S', 'S', 'R'], 'states',
          [t.state for t in everything])
    running = run_at_rest('%d/R' % pid, '--show-state')
    check([(t.number, t.tid, t.state) for t in running.threads] ==
          [(1, spinner, 'R')], 'R', running.threads)
    check(running.summary, 'summary')
    asleep = run_at_rest('%d/SD' % pid)
    check([(t.number, t.tid) for t in asleep.threads] ==
          [(1, pid), (2, everything[1].tid)], 'SD')
    check(asleep.summary['bytes'] < run(context, pid).summary['bytes'],
          'only their stacks are copied')
    for letters in ('Z', 'x', 'DTtZ'):
        output = run(context, '%d/%s' % (pid, letters), '--verbose')
        check(output.lines == [], 'output', output.lines)
    both = run(context, '%d/RSRS' % pid)
    check([t.tid for t in both.threads] == [t.tid for t in everything], 'RS')


USAGE = re.compile(r'((?s:.*))usage:    (\S+) <pid>\n'
                   r'          \2 <pid>/<tid1>,\.\.\.,<tidn>\n'
                   r'          \2 <pid>/RS\n\n(?s:.*)')
OPTIONS = ('help', 'ignore-deleted', 'use-waitpid-timeout', 'proc-mem',
           'ptrace', 'show-rsp', 'show-state', 'stack-size', 'stop-timeout',
           'verbose', 'version')
MISUSED = (
    ([], ''), (['0'], 'invalid pid 0\n'), (['nobody'], 'invalid pid nobody\n'),
    (['--', '-5'], 'invalid pid -5\n'), (['1/'], 'empty thread list\n'),
    (['1/,'], "invalid thread list string ','\n"),
    (['1/2,R'], "invalid thread list string '2,R'\n"),
    (['1/2,3,2'], 'duplicate thread 2\n'),
    (['1', '2'], 'unknown command line argument 2\n'),
    (['--nonsense', '1'], "NAME: unrecognized option '--nonsense'\n"),
    (['--s', '1'], re.compile(r"NAME: option '--s' is ambiguous.*\n")),
    (['-x', '1'], "NAME: invalid option -- 'x'\n"),
    (['1', '--stack-size'], "NAME: option '--stack-size' requires an "
     'argument\n'),
    (['--verbose=1', '1'], "NAME: option '--verbose' doesn't allow an "
     'argument\n'),
)
REFUSED = (
    (['--stack-size=1M', '1'], 'invalid value of option stack-size: 1M\n'),
    (['1', '--stack-size', '-1'], 'invalid value of option stack-size: -1\n'),
    (['--stop-timeout=-1', '1'], 'invalid value of stop-timeout: -1\n'),
    (['1', '--stop-timeout', 'x'], 'invalid value of stop-timeout: x\n'),
)


@case('tbstack: usage errors')
def _(context):
    for arguments, said in MISUSED:
        done = context.run_tool([context.tbstack, *arguments], 2)
        text = done.stderr.decode().replace(context.tbstack, 'NAME')
        found = USAGE.fullmatch(text)
        check(found and not done.stdout, 'usage', (arguments, text))
        if isinstance(said, re.Pattern):
            check(said.fullmatch(found.group(1)), 'message', text)
        else:
            check(found.group(1) == said, 'message', text)
    for arguments, said in REFUSED:
        check(run(context, *arguments, status=2, said=said).lines == [],
              'output')


@case('tbstack: help and version')
def _(context):
    done = context.run_tool([context.tbstack, '--help'], 0)
    text = done.stderr.decode()
    check(not done.stdout and USAGE.fullmatch(text).group(1) == '', 'help',
          text)
    for option in OPTIONS:
        check(re.search(r'^(options:|        )  --%s ' % option, text, re.M),
              'help tells of --' + option, text)
    done = context.run_tool([context.tbstack, '--version'], 0)
    check((done.stdout, done.stderr) == (b'tbstack 1.0\n', b''), 'version',
          (done.stdout, done.stderr))
    with open('/dev/full', 'wb') as full:
        done = subprocess.run([context.tbstack, '--version'], stdout=full,
                              stderr=subprocess.PIPE, check=False)
    check((done.returncode, done.stderr) ==
          (1, b'write output: No space left on device\n'), 'full disk', done)


@case('tbstack: options after the pid, abbreviated')
def _(context):
    target = context.start(['chain-pie'])
    done = context.run_tool([context.tbstack, str(target.pid), '--show-r',
                             '--verb', '--show-s', '--stop', '500', '--ig',
                             '--use'], 0)
    output = Output(done.stdout.decode(), with_sp=True, with_state=True)
    check(output.chunks and output.threads[0].state == 'S' and
          match(output.threads[0].names(), CHAIN), 'output', done.stdout)


@case('tbstack: processes that are none')
def _(context):
    gone = subprocess.Popen(['true'])
    gone.wait()
    output = run(context, gone.pid, status=1, said='No such process\n')
    check(output.lines == [], 'output', output.lines)
    target = context.start(['threads', 'zombie'])
    pid = int(re.search(r'pid (\d+)', target.said).group(1))
    output = run(context, pid, status=1,
                 said=re.compile(r'attach: No such process: .*zombie.*\n'))
    check(output.lines == [], 'output', output.lines)
    output = run(context, '%d/R' % pid)
    check(output.lines == [], 'output', output.lines)


@case('tbstack: verbose failure lists the maps')
def _(context):
    need('strace')
    target = context.start(['chain-pie'])
    tracer = subprocess.Popen(['strace', '-o', '/dev/null', '-p',
                               str(target.pid)], stderr=subprocess.DEVNULL)
    context.stack.callback(tracer.wait)
    context.stack.callback(tracer.terminate)
    wait_until(lambda: tracers(target.pid) == str(tracer.pid),
               'strace attaches')
    said = (r'attach: Operation not permitted: .*traced by process %d.*\n'
            % tracer.pid)
    output = run(context, target.pid, status=1, said=re.compile(said))
    check(output.lines == [], 'output', output.lines)
    with open('/proc/%d/maps' % target.pid, encoding='utf-8') as f:
        maps = f.read()
    run(context, target.pid, '--verbose', status=1,
        said=re.compile(said + 'maps of %d:\n' % target.pid +
                        re.escape(maps)))


@case('tbstack: process of another user')
def _(context):
    need('setpriv')
    need_root()
    target = context.start(['chain-pie'])
    tool = copy_for_all(context, context.tbstack)
    done = context.run_tool(
        ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups',
         tool, str(target.pid)], 1)
    check((done.stdout, done.stderr) == (b'', b'Operation not permitted\n'),
          'output', done)


@case('tbstack: leader has exited')
def _(context):
    target = context.start(['threads', 'leader'])
    wait_until(lambda: task_states(target.pid)[target.pid] == 'Z',
               'leader exits')
    before = task_states(target.pid)
    output = run(context, target.pid, '--show-state', status=1,
                 said=re.compile(r'attach: No such process: .*exited.*\n'))
    leader, other = output.threads
    check((leader.number, leader.state, leader.frames, leader.end) ==
          (1, 'Z', [], 'break'), 'leader', leader.names())
    check(match(other.names(), ['stay', 'in_thread', 'staying',
                                'start_thread', CLONE]) and other.end == '',
          'other', other.names())
    check(output.summary, 'summary')
    check_unharmed(target.pid, before)
    output = run(context, '%d/%d' % (target.pid, other.tid))
    check([(t.number, t.tid) for t in output.threads] == [(2, other.tid)],
          'the other one alone')


@case('tbstack: stop timeout')
def _(context):
    # A parent in vfork can't be stopped before its child is gone.
    target = context.start(['threads', 'vfork'])
    child = children_of(target.pid)[0]
    context.stack.callback(end_process, child)
    for options, said in (
            ([], 'timeout waiting for thread %d to stop\n' % target.pid),
            (['--use-waitpid-timeout'], 'timeout on waitpid\n')):
        output = run(context, target.pid, '--stop-timeout=100', *options,
                     status=1, said=said)
        check(output.lines == [], 'output', output.lines)
    waiter = subprocess.Popen([context.tbstack, '--stop-timeout=0',
                               str(target.pid)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    context.stack.callback(waiter.wait)
    context.stack.callback(waiter.kill)
    time.sleep(1.5)
    check(waiter.poll() is None, '0 is for ever',
          waiter.communicate() if waiter.poll() is not None else '')
    os.kill(child, signal.SIGKILL)
    waiter.communicate()
    check(waiter.returncode in (0, 1), 'status', waiter.returncode)


@case('tbstack: stopped process stays stopped')
def _(context):
    target = context.start(['threads', 'many', context.tmp + '/heart', '3'])
    stop(target.pid)
    output = run(context, target.pid, '--show-state')
    check([t.state for t in output.threads] == ['T'] * 4, 'states')
    wait_until(lambda: set(task_states(target.pid).values()) == {'T'},
               'all are stopped again')
    check(len(run(context, '%d/T' % target.pid).threads) == 4, 'T')


COMING_AND_GOING = '''
import threading, time
print("ready", flush=True)
while True:
    threads = [threading.Thread(target=time.sleep, args=(0.0005,))
               for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
'''


@case('tbstack: threads that come and go')
def _(context):
    target = context.start([sys.executable, '-c', COMING_AND_GOING])
    gone = 0
    for _ in range(40):
        done = context.run_tool([context.tbstack, str(target.pid)])
        output = Output(done.stdout.decode())
        check(output.threads[0].tid == target.pid and output.summary,
              'leader', done.stdout)
        check(done.returncode == int(any(t.end for t in output.threads)),
              'status', (done.returncode, done.stderr))
        said = done.stderr.decode().splitlines()
        check(all(line.startswith('PTRACE_ATTACH: No such process: ')
                  for line in said), 'stderr', said)
        without = [t.tid for t in output.threads if not t.frames]
        check(len(without) == len(said), 'a message for each', said)
        gone += len(without)
        # Code of clone3 around the call has no unwind information.
        for thread in output.threads:
            check(not thread.end or not thread.frames or
                  CLONE.match(thread.names()[-1] or ''), 'a stack breaks',
                  [f.text for f in thread.frames])
    context.note('%d threads were gone' % gone)

# SPDX-License-Identifier: BSD-2-Clause
"""What is printed: the kernel's side of threads, and the formats of others."""

import difflib
import json
import os
import re
import subprocess
import sys

from harness import (PATIENCE, case, check, copy_for_all, need, need_root,
                     task_states, traceable, wait_until)

# Debian's files are in /usr/lib, also where they are named by /lib.
MERGED = re.compile(r'(?<= )/lib(?=/)')
SLEEPER = '''
import ctypes, os, sys, threading, time
threading.Thread(target=os.read, args=(os.pipe()[0], 4321)).start()
threading.Thread(target=time.sleep, args=(3600,)).start()
print('ready', flush=True)
ctypes.CDLL(None).pause()
'''


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True,
                          timeout=PATIENCE, check=False,
                          stdin=subprocess.DEVNULL,
                          env={k: v for k, v in os.environ.items()
                               if k != 'DEBUGINFOD_URLS'})


def lines_of(context, pid, *options):
    return context.run('stack', *options, pid,
                       status=0).stdout.decode().splitlines()


def wait_for_sleep(pid, tid):
    """Let go, a thread runs for a moment until it waits again."""
    wait_until(lambda: task_states(pid)[tid] == 'S', '%d waits' % tid)


def syscall_of(pid, tid):
    """Number and arguments, as strings, as /proc has them."""
    wait_for_sleep(pid, tid)
    with open('/proc/%d/task/%d/syscall' % (pid, tid), encoding='utf-8') as f:
        words = f.read().split()
    return int(words[0]), ['0' if w == '0x0' else w for w in words[1:7]]


def kernel_stack_of(pid, tid):
    wait_for_sleep(pid, tid)
    with open('/proc/%d/task/%d/stack' % (pid, tid), encoding='utf-8') as f:
        return [line.split('] ', 1)[1] for line in f.read().splitlines()]


def wchan_of(pid, tid):
    wait_for_sleep(pid, tid)
    with open('/proc/%d/task/%d/wchan' % (pid, tid), encoding='utf-8') as f:
        return f.read()


@case('in the kernel: JSON')
def _(context):
    need_root()
    target = context.start([sys.executable, '-c', SLEEPER])
    threads = context.stacks(target.pid, '-k', '-S', '-w')['threads']
    check(len(threads) == 3, 'threads', threads)
    names = []
    for thread in threads:
        number, args = syscall_of(target.pid, thread['tid'])
        names.append(thread['syscall'].pop('name'))
        check(thread['syscall'] == {'number': number, 'args': args},
              'system call', thread['syscall'])
        check(thread['wchan'] == wchan_of(target.pid, thread['tid']), 'wchan',
              thread['wchan'])
        check(thread['kernel_stack'] ==
              kernel_stack_of(target.pid, thread['tid']), 'kernel stack',
              thread['kernel_stack'])
        check(thread['stopped'] and thread['certain'] and
              'unknown_because' not in thread, 'state', thread)
    check(names == ['pause', 'read', 'clock_nanosleep'], 'names', names)
    check(int(threads[1]['frames'][0]['pc'], 16) and
          '0x10e1' in syscall_of(target.pid, threads[1]['tid'])[1],
          'read of 4321 bytes', threads[1])


@case('in the kernel: text')
def _(context):
    need_root()
    target = context.start([sys.executable, '-c', SLEEPER])
    plain = lines_of(context, target.pid)
    _, args = syscall_of(target.pid, target.pid)
    extra = ['    in pause(%s)' % ', '.join(args),
             '    waits in ' + wchan_of(target.pid, target.pid)]
    extra += ['    kernel: ' + line
              for line in kernel_stack_of(target.pid, target.pid)]
    check(lines_of(context, '%d/%d' % (target.pid, target.pid), '-S', '-w',
                   '-k')[:2 + len(extra)] == plain[:2] + extra, 'lines',
          lines_of(context, target.pid, '-S', '-w', '-k')[:12])
    for options, nr in (('-S', 1), ('-w', 1)):
        lines = lines_of(context, target.pid, options)
        check(len(lines) == len(plain) + 3 * nr, options, lines)


@case('in the kernel: not by ordinary users')
def _(context):
    need_root()
    user = {'user': 65534, 'group': 65534, 'extra_groups': []}
    chain = copy_for_all(context, context.program('chain-pie'))
    target = context.start([chain], env=traceable(context), **user)
    done = subprocess.run([context.outwind, 'stack', '-k', '-w', '--json',
                           str(target.pid)], capture_output=True, check=False,
                          timeout=PATIENCE, **user)
    check(done.returncode == 0, 'status', done)
    thread = json.loads(done.stdout)['threads'][0]
    check('kernel_stack' not in thread and
          thread['unknown_because'] == 'Permission denied' and
          thread['wchan'] == wchan_of(target.pid, target.pid), 'thread',
          thread)
    done = subprocess.run([context.outwind, 'stack', '-k', str(target.pid)],
                          capture_output=True, check=False,
                          timeout=PATIENCE, **user)
    check(done.returncode == 0 and done.stdout.decode().splitlines()[2] ==
          '    kernel stack: not available: Permission denied', 'text', done)


@case('in the kernel: 32-bit system calls by their own names')
def _(context):
    target = context.start(['chain-i386'])
    thread = context.stacks(target.pid, '-S')['threads'][0]
    number, args = syscall_of(target.pid, target.pid)
    check(thread['syscall'] == {'number': number, 'name': 'pause',
                                'args': args} and number == 29, 'syscall',
          thread['syscall'])


INT80 = {'number': 256, 'name': 'epoll_wait', 'abi': 'i386'}


def check_int80(thread, how):
    args = thread['syscall'].pop('args')
    check(thread['syscall'] == INT80 and args[2:4] == ['0x1', '0xffffffff'],
          'syscall ' + how, (thread['syscall'], args))


@case('in the kernel: 32-bit system calls of a 64-bit program')
def _(context):
    target = context.start(['int80'])
    wait_for_sleep(target.pid, target.pid)
    for options in ((), ('--no-stop',), ('--gentle',)):
        thread = context.stacks(target.pid, '-S', *options)['threads'][0]
        check_int80(thread, repr(options))
        wait_for_sleep(target.pid, target.pid)
    out = os.path.join(context.tmp, 'int80.snap')
    context.run('snap', '-o', out, target.pid, status=0)
    check_int80(context.stacks(out, '-S')['threads'][0], 'in a snapshot')
    wait_for_sleep(target.pid, target.pid)
    lines = lines_of(context, target.pid, '-S')
    check(re.fullmatch(r'    in epoll_wait\(.*\), a call of i386', lines[2]),
          'text', lines[:4])


@case('in the kernel: a running thread is in no system call')
def _(context):
    target = context.start(['spin'])
    for _ in range(20):
        thread = context.stacks(target.pid, '-S', '-w')['threads'][0]
        check(thread['syscall'] is None and thread['wchan'] == '', 'thread',
              thread)
    lines = lines_of(context, target.pid, '-S', '-w')
    check(lines[2:4] == ['    in no system call', '    waits nowhere'],
          'lines', lines[:5])


def rename(line):
    """Of two symbols of an address, or one with a version, the plain one."""
    return re.sub(r'(__libc_start_main)(_impl|@@?GLIBC\S+)', r'\1', line)


def eu_lines(pid, *options):
    """What eu-stack says, less what differs by intention."""
    done = run('eu-stack', '-n', '0', *options, '-p', pid)
    return [rename(line) for line in done.stdout.decode().splitlines()]


def drop_unseen(mine, theirs):
    """
    Without the frame of clone3, which has no caller by its CFI: eu-stack ends
    before it.
    """
    return [line for line in mine
            if not re.search(r' clone3?( |$)', line) or line in theirs]


EU_OPTIONS = ([], ['-q'], ['-m'], ['-a'], ['-b'], ['-m', '-b', '-a'],
              ['-r'], ['-1'])


def add_eu(command, options=EU_OPTIONS, gives_up=False):
    @case('style eu: ' + command)
    def _(context):
        need('eu-stack')
        target = context.start(command.split())
        for each in options:
            theirs = eu_lines(target.pid, *each)
            mine = drop_unseen(lines_of(context, target.pid, '--style=eu',
                                        '-n', '0', *each), theirs)
            check(len(theirs) > 3, 'eu-stack', theirs)
            mine = mine[:len(theirs)] if gives_up else mine
            check(mine == theirs, 'lines with %s' % each,
                  '\n' + '\n'.join(difflib.unified_diff(
                      theirs, mine, 'eu-stack', 'outwind', lineterm='')))


add_eu('chain-pie', EU_OPTIONS + (['-s'], ['-i'], ['-i', '-s', '-m'],
                                   ['-v'], ['-v', '-b']))
add_eu('chain-static-pie')
add_eu('chain-i386', gives_up=True)
add_eu('signals nested')
add_eu('throwing template')
add_eu('shapes callback', EU_OPTIONS + (['-s'],))


@case('style eu: reasons are on stderr')
def _(context):
    target = context.start(['chain-pie'])
    done = context.run('stack', '--style=eu', '-n', '2', target.pid, status=0)
    lines = done.stdout.decode().splitlines()
    check(len(lines) == 4 and lines[:2] == [
        'PID %d - process' % target.pid, 'TID %d:' % target.pid], 'lines',
          lines)
    check(done.stderr.decode() ==
          'outwind: thread %d: more frames than 2\n' % target.pid, 'stderr',
          done.stderr)
    done = context.run('stack', '--style=eu', '--stack-size=256', target.pid,
                       status=1)
    check(done.stderr.startswith(b'outwind: thread %d: ' % target.pid) and
          b'stack ends' not in done.stdout, 'reason', done)


@case('style eu: a core file')
def _(context):
    need('gcore', 'eu-stack')
    target = context.start(['chain-pie'])
    core = os.path.join(context.tmp, 'core')
    run('gcore', '-o', core, target.pid)
    core += '.%d' % target.pid
    exe = context.program('chain-pie')
    theirs = [rename(line) for line in run(
        'eu-stack', '--core', core, '-e', exe).stdout.decode().splitlines()]
    check(theirs and theirs[0] == 'PID %d - core' % target.pid, 'eu-stack',
          theirs)
    for arguments in ([core, exe], ['--core', core, exe],
                      ['--core=' + core, '-e', exe], ['-e', exe, core]):
        mine = context.run('stack', '--style=eu', *arguments,
                           status=0).stdout.decode().splitlines()
        check(mine == theirs, 'lines', (arguments, mine, theirs))


def gdb_lines(pid):
    """From gdb's first thread on, as outwind can say it."""
    done = run('gdb', '-nx', '-p', pid, '-batch', '-ex',
               'set debuginfod enabled off', '-ex', 'thread apply all bt')
    text = done.stdout.decode()
    text = text[text.index('\nThread '):]
    lines = []
    for line in text.splitlines():
        if line.startswith('[Inferior') or line.startswith('warning'):
            continue
        # What libthread_db knows, and what parameters are.
        line = re.sub(r'\(process (\d+) ', r'(LWP \1 ', line)
        line = re.sub(r'\(Thread 0x[0-9a-f]+ (\(LWP \d+\))', r'\1', line)
        line = re.sub(r'^(Thread \d+ \(LWP \d+)\) ', r'\1 ', line)
        line = re.sub(r'^(#\d+ .*?) \(.*\)(?= at | from |$)', r'\1 ()', line)
        lines.append(rename(MERGED.sub('/usr/lib', line)))
    return lines


def add_gdb(command):
    @case('style gdb: ' + command)
    def _(context):
        need('gdb')
        target = context.start(command.split())
        theirs = gdb_lines(target.pid)
        mine = lines_of(context, target.pid, '--style=gdb')
        # Whether a pc begins a line, gdb tells by leaving it out.
        check(len(theirs) > 3 and len(mine) == len(theirs), 'lines',
              (mine, theirs))
        for ours, other in zip(mine, theirs):
            if not re.match(r'#\d+ +0x', other):
                ours = re.sub(r'^(#\d+ +)0x[0-9a-f]+ in ', r'\1', ours)
            check(ours == other, 'line', '\n%s\n%s' % (ours, other))


for each in ('chain-pie', 'chain-static', 'chain-i386', 'chain-stripped',
             'chain-no-pie', 'signals nested'):
    add_gdb(each)


def fold_gdb(lines):
    """
    As FlameGraph's stackcollapse-gdb.pl understands them: a line that begins
    with "Thread" begins a stack; frames are "#N word word word word" divided
    by single spaces, and the name is the third word where the first is an
    address, else the first.
    """
    stacks, current = [], []
    for line in lines:
        found = re.match(r'#[0-9]* *([^ ]*) ([^ ]*) ([^ ]*) ([^ ]*)', line)
        if line.startswith('Thread'):
            current = []
        elif found:
            is_pc = re.search('0x[a-zA-Z0-9]*', found.group(1))
            current.append(found.group(3 if is_pc else 1))
        elif current:
            stacks.append(current)
            current = []
    return stacks + ([current] if current else [])


def fold_eu(lines):
    """
    As FlameGraph's stackcollapse-elfutils.pl understands them: "TID number"
    begins a stack; frames are "#N 0xHEX NAME", or without a name.
    """
    stacks = []
    for line in lines:
        if line.startswith('TID '):
            stacks.append([])
        found = re.match(r'#[0-9]* *0x[0-9a-f]*( (.*))?', line)
        if found:
            stacks[-1].append(found.group(2) or '[unknown]')
    return stacks


@case('styles as flame graph scripts read them')
def _(context):
    target = context.start([sys.executable, '-c', SLEEPER])
    wait_until(lambda: all(t['syscall'] for t in context.stacks(
        target.pid, '-S')['threads']), 'all threads wait')
    threads = context.stacks(target.pid)['threads']
    check(len(threads) == 3, 'threads', threads)
    mine = [[f.get('function') for f in t['frames']] for t in threads]
    eu = fold_eu(lines_of(context, target.pid, '--style=eu'))
    check(eu == [[name or '[unknown]' for name in stack] for stack in mine],
          'eu', (eu, mine))
    inlined = context.stacks(target.pid, '-i')['threads']
    mine = [[f.get('function') or '??' for f in t['frames']]
            for t in reversed(inlined)]
    if 'main' in mine[-1]:
        mine[-1] = mine[-1][:mine[-1].index('main') + 1]
    gdb = fold_gdb(lines_of(context, target.pid, '--style=gdb'))
    check(gdb == mine, 'gdb', (gdb, mine))


@case('styles: a name can not steer the terminal')
def _(context):
    script = ('import ctypes, time; '
              'ctypes.CDLL(None).prctl(15, b"\\x1b[31m\\xc2\\x9b\\"\\n"); '
              'print("ready", flush=True); time.sleep(3600)')
    target = context.start([sys.executable, '-c', script])
    lines = lines_of(context, target.pid, '--style=gdb')
    check(lines[1] == 'Thread 1 (LWP %d "?[31m?"?"):' % target.pid, 'gdb',
          lines[1])
    lines = lines_of(context, target.pid, '--style=eu')
    check(lines[:2] == ['PID %d - process' % target.pid,
                        'TID %d:' % target.pid], 'eu', lines[:2])


@case('styles by name')
def _(context):
    target = context.start(['chain-pie'])
    for name, first in (('text', b'PID %d - /'), ('outwind', b'PID %d - /'),
                        ('json', b'{"pid":%d,'), ('folded', b'chain-pie;_st'),
                        ('gdb', b'\nThread 1 (LWP %d "chain-pie"):\n#0  0x'),
                        ('eu', b'PID %d - process\n')):
        first = first % target.pid if b'%' in first else first
        outputs = [context.run('stack', *how, target.pid, status=0).stdout
                   for how in (['-f', name], ['--style=' + name],
                               ['--format', name])]
        check(outputs[0].startswith(first), name, outputs[0][:60])
        check(outputs[0] == outputs[1] == outputs[2], name, outputs)


@case('activations')
def _(context):
    target = context.start(['chain-pie'])
    plain = lines_of(context, target.pid)
    for option in ('-a', '--activation', '--activation-args'):
        lines = lines_of(context, target.pid, option)
        want = plain[:2] + [
            re.sub(r'^(#\d+ +\w+)', r'\1' + (' - 1' if i else '    '), line)
            for i, line in enumerate(plain[2:])]
        check(lines == want, option, lines)

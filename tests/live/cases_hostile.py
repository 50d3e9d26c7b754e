# SPDX-License-Identifier: BSD-2-Clause
"""Targets that can't be looked at: one clear line, and the right status."""

import os
import re
import shutil
import signal
import subprocess

from harness import (PATIENCE, Skip, case, check, copy_for_all, copy_program,
                     need, need_root, task_states, traceable, tracers,
                     wait_until)


def check_refused(context, pid, *words, status=2):
    done = context.run('stack', pid, status=status)
    text = (done.stderr + done.stdout).decode()
    check(status != 2 or done.stderr.count(b'\n') == 1, 'lines on stderr',
          done.stderr)
    check(all(re.search(word, text) for word in words), 'message', text)
    context.note(text.strip().splitlines()[-1])


@case('refused: no such process')
def _(context):
    gone = subprocess.Popen(['true'])
    gone.wait()
    check_refused(context, gone.pid, 'no process %d' % gone.pid)
    check_refused(context, 2 ** 31 - 1, 'no process')


@case('refused: kernel thread')
def _(context):
    if not os.path.exists('/proc/2/comm') or os.path.exists('/proc/2/exe'):
        raise Skip('no kernel thread 2 here')
    check_refused(context, 2, 'kernel thread')
    done = context.run('record', '-d', 1, '-p', 2)
    if b'BPF' not in done.stderr:
        check(done.stderr == b'outwind: process 2 (kthreadd) is a kernel thread, it '
              b'has no user stack\n', 'record', done.stderr)


@case('refused: zombie')
def _(context):
    target = context.start(['threads', 'zombie'])
    pid = int(re.search(r'pid (\d+)', target.said).group(1))
    check_refused(context, pid, 'zombie')


@case('refused: outwind itself')
def _(context):
    script = 'exec "$0" stack $$'
    done = subprocess.run(['sh', '-c', script, context.outwind],
                          capture_output=True, timeout=PATIENCE, check=False)
    check(done.returncode in (1, 2), 'status', done.returncode)
    check(done.stdout + done.stderr, 'says nothing')


def check_traced(context, tracer_command, ready):
    target = context.start(['chain-pie'])
    tracer = subprocess.Popen(
        [c.replace('PID', str(target.pid)) for c in tracer_command],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: tracers(target.pid) == str(tracer.pid), ready)
        done = context.run('stack', target.pid)
        text = (done.stdout + done.stderr).decode()
        check(done.returncode in (1, 2), 'status', done.returncode)
        check('traced by process %d' % tracer.pid in text, 'message', text)
        check(tracers(target.pid) == str(tracer.pid), 'tracer went away')
    finally:
        tracer.terminate()
        try:
            tracer.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            tracer.kill()
            tracer.wait()
        tracer.stdin.close()
    wait_until(lambda: tracers(target.pid) == '0', 'tracer ends')
    context.run('stack', target.pid, status=0)


@case('refused: traced by strace')
def _(context):
    need('strace')
    check_traced(context, ['strace', '-o', '/dev/null', '-p', 'PID'],
                 'strace attaches')


@case('refused: traced by gdb')
def _(context):
    need('gdb')
    check_traced(context, ['gdb', '-nx', '-q', '-p', 'PID'], 'gdb attaches')


def trace(context, pid):
    """A tracer of a process that others trace now and then."""
    while True:
        tracer = context.start(['/usr/bin/strace', '-q', '-o', '/dev/null',
                                '-p', str(pid)], ready=None)
        wait_until(lambda: tracers(pid) == str(tracer.pid) or
                   tracer.poll() is not None, 'it is traced')
        if tracer.poll() is None:
            return tracer


@case('refused: traced, by the engine that stops processes')
def _(context):
    need('strace')
    busy = context.start(['spin'])
    command = [context.outwind, 'record', '--engine=ptrace', '-F', '999', '-o',
               '/dev/null', '-p', str(busy.pid), '-d']
    tool = context.start(command + ['6'], ready=None, stderr=subprocess.PIPE)
    wait_until(lambda: tracers(busy.pid) != '0', 'it is sampled')
    tracer = trace(context, busy.pid)
    reason = ('process %d: thread is being traced by process %d: end that first'
              % (busy.pid, tracer.pid))
    said = tool.communicate(timeout=PATIENCE)[1].decode()
    check(tool.returncode == 0 and
          'outwind: samples of %s: left out\n' % reason in said,
          'what is missing is told', said)
    # Beside others, which have theirs.
    other = context.start(['busy'])
    path = os.path.join(context.tmp, 'both')
    done = context.run('record', '--engine=ptrace', '-p',
                       '%d,%d' % (busy.pid, other.pid), '-d', '1', '-f',
                       'folded', '-o', path, status=0)
    check('outwind: samples of %s: left out\n' % reason in done.stderr.decode(),
          'what is missing is told', done)
    with open(path, encoding='utf-8') as f:
        check(all(line.startswith('busy;') for line in f.readlines() or ['']),
              'the other process')
    # From the start, nothing can be had of it.
    done = context.run_tool(command + ['1'], status=2)
    check(done.stderr.decode() == 'outwind: %s\n' % reason, 'refused', done)


@case('refused: process of another user')
def _(context):
    need('setpriv')
    need_root()
    target = context.start(['chain-pie'])
    tool = copy_for_all(context, context.outwind)
    done = subprocess.run(
        ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups',
         tool, 'stack', str(target.pid)], capture_output=True,
        timeout=PATIENCE, check=False)
    check(done.returncode == 2, 'status', done.returncode)
    check(done.stderr.count(b'\n') == 1 and b'run as' in done.stderr,
          'message', done.stderr)
    context.note(done.stderr.decode().strip())
    check(task_states(target.pid) == {target.pid: 'S'}, 'state')


def for_nobody(context):
    """outwind and a program where nobody may run them, and what runs as nobody."""
    need('setpriv')
    need_root()
    return (copy_for_all(context, context.outwind),
            copy_for_all(context, context.program('chain-pie')),
            [shutil.which('setpriv'), '--reuid', '65534', '--regid', '65534',
             '--clear-groups'])


@case('another user: own process, without privileges')
def _(context):
    tool, chain, user = for_nobody(context)
    target = context.start([*user, chain], env=traceable(context))
    done = subprocess.run([*user, tool, 'stack', str(target.pid)],
                          capture_output=True, timeout=PATIENCE, check=False,
                          env={'PATH': os.environ['PATH']})
    check(done.returncode == 0, 'status', done.stderr)
    check(b'link12' in done.stdout and b'_start' in done.stdout, 'names',
          done.stdout)
    # Deleted, and no right to look at /proc/PID/map_files.
    os.unlink(chain)
    done = subprocess.run([*user, tool, 'stack', str(target.pid)],
                          capture_output=True, timeout=PATIENCE, check=False)
    check(done.returncode == 0, 'status, deleted', done.stdout + done.stderr)
    check(b'link12' in done.stdout, 'names, deleted', done.stdout)


@case('another user: own process that may not be traced')
def _(context):
    tool, chain, user = for_nobody(context)
    target = context.start([*user, chain],
                           env=dict(traceable(context), UNTRACEABLE='1'))
    done = subprocess.run([*user, tool, 'stack', str(target.pid)],
                          capture_output=True, timeout=PATIENCE, check=False)
    check(done.returncode == 2, 'status', done.returncode)
    check(b'may not trace it, run as root' in done.stderr, 'message',
          done.stderr)


@case('names that would steer a terminal')
def _(context):
    evil = os.path.join(context.tmp, 'a"\\;b\n\x1b[31m\udcff\tc')
    copy_program(context.program('chain-pie'), evil)
    target = context.start([evil])
    for options in ((), ('-v',), ('-l',), ('-f', 'folded')):
        out = context.run('stack', *options, target.pid, status=0).stdout
        bad = set(out) & (set(range(32)) - {10} | {127})
        check(not bad, 'control characters with %s' % (options,), bad)
        check(b'\nc' not in out and b'\n[31m' not in out, 'a line was split',
              out[:300])
    stacks = context.stacks(target.pid)
    check(stacks['program'].startswith(context.tmp + '/a"\\;b\n\x1b[31m'),
          'program', stacks['program'])
    check(stacks['threads'][0]['name'].startswith('a"\\;b\n\x1b[31m'), 'name',
          stacks['threads'][0]['name'])
    check(len(context.run('stack', '-f', 'folded', target.pid).stdout
              .splitlines()) == 1, 'folded lines')


@case('target ends while it is looked at', alone=True)
def _(context):
    for i in range(40):
        target = context.start(['chain-pie'])
        tool = subprocess.Popen([context.outwind, 'stack', str(target.pid)],
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        if i % 2:
            target.send_signal(signal.SIGKILL)
        else:
            target.terminate()
        out, err = tool.communicate(timeout=PATIENCE)
        check(tool.returncode in (0, 1, 2), 'status', tool.returncode)
        check(tool.returncode != 2 or err, 'no message', out)
        check(target.wait(timeout=PATIENCE) == (-9 if i % 2 else -15),
              'target', target.returncode)


@case('threads come and go while they are looked at', alone=True)
def _(context):
    script = ('import threading,sys\n'
              'def f(n):\n'
              ' t=threading.Thread(target=f,args=(n,)); t.start()\n'
              'for i in range(4): f(i)\n'
              'print("ready", flush=True)\n')
    target = context.start(['/usr/bin/python3', '-c', script])
    for _ in range(60):
        done = context.run('stack', target.pid)
        check(done.returncode in (0, 1), 'status', done.stderr)
    check(target.poll() is None, 'target ended', target.returncode)
    wait_until(lambda: not set(task_states(target.pid).values()) & set('Tt'),
               'no thread is left stopped')


@case('hostile: control characters of the C1 set in a name')
def _(context):
    target = context.start(['between', b'x\xc2\x9b31m\x9bRED'])
    for options in ([], ['-f', 'folded']):
        done = context.run('stack', *options, target.pid, status=0)
        check(b'x?31m?RED' in done.stdout and b'\x9b' not in done.stdout,
              'name', done.stdout[:200])

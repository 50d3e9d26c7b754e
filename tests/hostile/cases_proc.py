# SPDX-License-Identifier: BSD-2-Clause
"""Processes of which the kernel does not answer while it waits for a server."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

from attackers import NOBODY
from cases_objects import Done
from harness import (PATIENCE, Skip, case, check, need_root, task_states,
                     wait_for_line, wait_until)

LONGEST = 25  # s, for a tool that gives up: each call may take 2 s
MS = (0, 5, 10, 20, 40, 80)  # in code of no object, before
USER = [shutil.which(NOBODY[0]), *NOBODY[1:]]


class Stuck:
    """A process that waits in the kernel, and the server that it waits for."""

    def __init__(self, context, how, name='', before='-', user=()):
        need_root()
        if not os.path.exists('/dev/fuse'):
            raise Skip('/dev/fuse is not here')
        place = os.path.join(context.tmp, how + name)
        os.mkdir(place)
        os.chmod(context.tmp, 0o755)
        # Whoever looks at the child waits: the harness doesn't, to see it rest.
        server = context.start([*user, context.program('fusestack'), how, before,
                                place], ready=None)
        said = wait_for_line(server, 'ready')
        self.pid = int(re.search(r'ready (\d+)', said).group(1))


def run_in_time(command):
    """What a tool says that must end by itself, whatever it ends by."""
    try:
        return subprocess.run([str(part) for part in command],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        check(False, '%s does not end' % ' '.join(map(str, command)))


def end_in_time(command, number):
    """A signal ends the tool, which waits for the kernel by then."""
    with subprocess.Popen([str(part) for part in command],
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as tool:
        try:
            time.sleep(0.5)
            tool.send_signal(number)
            check(tool.wait(timeout=PATIENCE) in (-number, 0, 1, 2), 'status',
                  tool.returncode)
        except subprocess.TimeoutExpired:
            check(False, '%s does not end' % ' '.join(map(str, command)))
        finally:
            tool.kill()


def looks_at(context, pid):
    """All ways to look at one process."""
    snap = os.path.join(context.tmp, 'snap')
    stack = [context.outwind, 'stack']
    yield stack + [pid]
    yield stack + ['--syscall', '--wchan', '--kernel', pid]
    yield stack + ['--no-stop', pid]
    yield stack + ['--gentle', '--proc-mem', pid]
    yield [context.outwind, 'snap', '-o', snap, pid]
    yield [context.outwind, 'tables', pid]
    yield [context.tbstack, pid]
    yield [context.tbstack, '--verbose', '%d/RSD' % pid]


def check_looks(context, how):
    stuck = Stuck(context, how)
    for command in looks_at(context, stuck.pid):
        done = run_in_time(command)
        check(done.stderr.count(b'\n') >= 1, 'a line on stderr',
              (command, done))
        for number in (signal.SIGINT, signal.SIGTERM):
            end_in_time(command, number)


@case('proc: a program is executed, and the kernel closes a file for ever')
def _(context):
    check_looks(context, 'flush')


@case('proc: a program is executed for ever, while others are looked at')
def _(context):
    """Of those it takes a while, so that sharers of their memory are looked for."""
    Stuck(context, 'flush')
    target = context.start(['longnames', 'wait', '80'])
    for _ in range(4):
        done = run_in_time([context.outwind, 'stack', '-q', target.pid])
        check(done.returncode == 0 and done.stdout.count(b'TID ') == 81, 'stacks',
              (done.returncode, done.stderr))


@case('proc: programs are executed for ever, more than are waited for')
def _(context):
    """Whether the memory has sharers can't be found out then, and is not made up."""
    for number in range(4):
        Stuck(context, 'flush', str(number))
    target = context.start(['longnames', 'wait', '80'])
    done = run_in_time([context.outwind, 'stack', '-q', target.pid])
    check(done.returncode == 0 and done.stdout.count(b'TID ') == 81, 'stacks',
          (done.returncode, done.stderr))
    check(done.stderr.count(b'could not be found out in time') == 1, 'a line',
          done.stderr)


@case('proc: thousands of processes, none of which shares the memory', alone=True)
def _(context):
    context.start(['manychildren', '10000'])
    target = context.start(['longnames', 'wait', '80'])
    for _ in range(10):
        done = run_in_time([context.outwind, 'stack', '-q', target.pid])
        check(done.returncode == 0 and done.stdout.count(b'TID ') == 81, 'stacks',
              (done.returncode, done.stderr))
        check(b'another process shares' not in done.stderr, 'a sharer',
              done.stderr)


GROUPS = """
import os, sys
os.setgroups(range(100000, 100000 + 65536))
os.setgid(65534)
os.setuid(65534)
os.execv(sys.argv[1], sys.argv[1:])
"""


@case('proc: threads that do not stop, of a process of 65,536 groups', alone=True)
def test_groups(context):
    """The kernel takes 25 ms for each status: 86 s, while threads stood still."""
    need_root()
    # To see each thread come to rest takes its status.
    target = context.start([sys.executable, '-c', GROUPS,
                            context.program('tickedthreads'), '2000', '4'],
                           ready=None)
    wait_for_line(target, 'ready')
    wait_until(lambda: list(task_states(target.pid).values()).count('D') == 500,
               'threads wait')
    done = Done(context, 'stack', '-q', target.pid)
    check(done.status == 1, 'status', done.stderr)
    late = len(re.findall('did not stop in time', done.stdout))
    told = len(re.findall('in time, it is in an uninterr', done.stdout))
    check(late == 500 and 0 < told <= late, 'reasons', (late, told))
    target.send_signal(signal.SIGUSR1)
    target.wait()
    stood = int(target.stdout.readline())
    context.note('%d ms, %.1f s of CPU' % (stood, done.cpu))
    check(stood < 1500, 'ms', stood)
    check(done.cpu < 4, 'seconds', done.cpu)


@case('proc: threads that are traced from their start on by who looks')
def _(context):
    target = context.start(['tracedbirths', 'threads'])
    seen = 0
    for _ in range(60):
        done = run_in_time([context.outwind, 'stack', target.pid])
        told = done.stdout + done.stderr
        check(b'traced by' not in told, 'it traces them itself', told)
        seen += told.count(b' born ')
    check(seen, 'threads that were born')


@case('proc: a process that has lost its memory, but has not ended')
def _(context):
    """It waits for another one of its namespace, whose parent is not in there."""
    need_root()
    target = context.start(['lingerer', 'kworker/1:2'])
    pid = int(re.search(r'ready (\d+)', target.said).group(1))
    line = b'process %d (kworker/1:2) is ending, its memory is gone' % pid
    snap = os.path.join(context.tmp, 'lost.snap')
    for command in (['stack'], ['stack', '--no-stop'], ['snap', '-o', snap],
                    ['tables'], ['record', '-d', '1', '-f', 'folded', '-o', '-',
                                 '-p']):
        done = run_in_time([context.outwind, *command, pid])
        check(done.returncode == 2 and line in done.stderr, 'why', done)


@case('proc: a lock on mappings that is never let go')
def _(context):
    check_looks(context, 'fault')


def check_record(context, how):
    """The recorder ends in time, and sees the others."""
    stuck = Stuck(context, how)
    command = [context.outwind, 'record', '-f', 'folded', '-o', '-']
    probe = context.run('record', '-f', 'folded', '-o', '-', '--', 'true')
    if probe.returncode:
        raise Skip(probe.stderr.decode().strip())
    busy = context.start(['bystander'], ready=None)
    done = run_in_time(command + ['-d', 1, '-a'])
    check(done.returncode == 0, 'status', done)
    check(b'bystander;' in done.stdout and b'inner' in done.stdout,
          'stacks of others', done.stdout)
    check(b'the kernel did not answer' in done.stderr, 'who is left out',
          done.stderr)
    done = run_in_time(command + ['-d', 1, '-p', stuck.pid])
    check(done.stderr.count(b'\n') >= 1, 'a line on stderr', done)
    check(busy.poll() is None, 'the other process')
    end_in_time(command + ['-a'], signal.SIGINT)


@case('proc: a recorder beside a program that is executed for ever')
def _(context):
    check_record(context, 'flush')


@case('proc: a program is executed for ever once it has been looked at')
def _(context):
    """Names of its code are asked for after it was let go."""
    for number in range(8):
        stuck = Stuck(context, 'flush', str(number), 'traced', USER)
        done = run_in_time([context.outwind, 'stack', stuck.pid])
        check(done.returncode in (0, 1, 2), 'status', done)
        check(done.stderr or b'TID ' in done.stdout, 'stacks', done)


def record_samples(context, engine, before):
    """What is said by a recorder, beside processes that hang once it knows them."""
    need_root()
    busy = context.start(['bystander'], ready=None)
    path = os.path.join(context.tmp, 'profile')
    command = [context.outwind, 'record', '-a', '--engine=' + engine, '-f',
               'folded', '-o', path]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as tool:
        try:
            time.sleep(1)
            for number in range(len(MS)):
                Stuck(context, 'flush', engine + str(number),
                      before(number), USER)
            time.sleep(4)
            tool.send_signal(signal.SIGINT)
            said = tool.communicate(timeout=LONGEST)[1]
        except subprocess.TimeoutExpired:
            check(False, '%s does not end' % ' '.join(command))
        finally:
            tool.kill()
    check(busy.poll() is None, 'the other process')
    check(tool.returncode == 0, 'status', (tool.returncode, said))
    with open(path, 'rb') as profile:
        got = profile.read()
    check(b'bystander;' in got and b'inner' in got, 'stacks of others', got)
    return said


@case('proc: a recorder of programs that are executed for ever')
def _(context):
    """They have been sampled before, and code of theirs is to be named."""
    for engine in ('bpf', 'perf'):
        record_samples(context, engine, lambda n: 'record%d' % MS[n])


@case('proc: a recorder of children of which each executes a program for ever')
def _(context):
    """Whether they share their parent's memory is not told."""
    record_samples(context, 'perf', lambda _: 'forks')


@case('proc: a program is executed for ever before its threads are watched')
def _(context):
    """Another process keeps the recorder for half a second, when it knows the first."""
    need_root()
    busy = context.start(['bystander'], ready=None)
    other = Stuck(context, 'flush')
    for number, ahead in enumerate((0.8, 1, 1.2, 1.4)):
        first = Stuck(context, 'flush', str(number), 'record0', USER)
        time.sleep(ahead)
        done = run_in_time([context.outwind, 'record', '--engine=perf', '-f',
                            'folded', '-o', '-', '-d', 2, '-p', '%d,%d,%d' % (
                                first.pid, other.pid, busy.pid)])
        check(done.returncode == 1, 'status', done)
        check(b'bystander;' in done.stdout, 'stacks of others', done)
        check(done.stderr.count(b'the kernel did not answer in time') >= 1,
              'a line', done.stderr)


@case('proc: a recorder beside a lock on mappings')
def _(context):
    check_record(context, 'fault')


def check_beside(context, command, pids):
    """One of the processes is left out, and the others are seen."""
    done = run_in_time(command + [','.join(map(str, pids)), '-d', 2])
    check(done.returncode == 1, 'status', done)
    check(done.stderr.count(b'the kernel did not answer in time') == 1,
          'a line', done.stderr)
    return done.stdout


@case('proc: processes by number, one of which holds a lock on its mappings')
def _(context):
    probe = context.run('record', '-f', 'folded', '-o', '-', '--', 'true')
    if probe.returncode:
        raise Skip(probe.stderr.decode().strip())
    stuck = Stuck(context, 'fault')
    busy = context.start(['bystander'], ready=None)
    for engine in ('bpf', 'perf', 'ptrace'):
        command = [context.outwind, 'record', '--engine=' + engine, '-f',
                   'folded', '-o', '-', '-p']
        for pids in ((stuck.pid, busy.pid), (busy.pid, stuck.pid)):
            got = check_beside(context, command, pids)
            check(b'bystander;' in got and b'inner' in got, 'its stacks', got)
        done = run_in_time(command + [stuck.pid, '-d', 1])
        check(done.returncode == 2 and done.stderr.count(b'\n') == 1, 'alone',
              done)


@case('proc: a command that makes the tool its tracer')
def _(context):
    need_root()
    program = context.program('traceme')
    path = os.path.join(context.tmp, 'traced')
    for tool in (['record', '--engine=bpf'], ['record', '--engine=perf'],
                 ['record', '--engine=ptrace'], ['syscalls']):
        done = context.run(*tool, '-o', path, '--', program)
        check(b'went on' in done.stdout, 'it ends first', (tool, done))
        check(tool[0] == 'record' or done.returncode == 3, 'status',
              (tool, done))

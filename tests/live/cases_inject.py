# SPDX-License-Identifier: BSD-2-Clause
"""
Each system call of the tool fails, each in its turn, or is the last one.

strace makes them fail, once the libraries are there: their loading is not
ours.  OUTWIND_ALL_FAULTS=1 (make check-faults) leaves none out.
"""

import collections
import json
import mmap
import os
import re
import resource
import signal
import subprocess

from cases_freeze import OPTIONS, Record, is_waiting, tgkill
from harness import (PATIENCE, case, check, need, task_states, tracers,
                     wait_for_rest, wait_until)

ALL = bool(os.environ.get('OUTWIND_ALL_FAULTS'))
WAITS = ('epoll_wait', 'recv', 'pause')

# What each can fail with; the first ones are tried always.  brk is left out:
# glibc's own malloc() crashes where the first ones fail.
ERRORS = {
    'clone3': ('EAGAIN', 'ENOMEM', 'EPERM'),
    'close': ('EIO', 'EINTR'),
    'fcntl': ('EINVAL',),
    'getdents64': ('EIO', 'ENOENT', 'ENOMEM'),
    'madvise': ('ENOMEM',),
    'mmap': ('ENOMEM',),
    'mprotect': ('ENOMEM',),
    'mremap': ('ENOMEM',),
    'munmap': ('ENOMEM',),
    'newfstatat': ('ENOMEM', 'EACCES'),
    'openat2': ('EMFILE', 'ENOSYS', 'EPERM', 'EACCES', 'ENOENT'),
    'openat': ('EMFILE', 'ENOENT', 'EACCES', 'EINTR', 'ENOMEM'),
    'pread64': ('EIO', 'EINTR', 'ESRCH'),
    'process_vm_readv': ('EFAULT', 'ENOMEM', 'EPERM', 'ESRCH', 'ENOSYS'),
    'ptrace': ('ESRCH', 'EPERM', 'EIO'),
    'read': ('EIO', 'EINTR', 'ESRCH'),
    'readlink': ('ENOENT', 'EACCES', 'ENOMEM'),
    'rt_sigtimedwait': ('EINTR', 'EAGAIN'),
    'wait4': ('ECHILD', 'EINTR'),
    'write': ('EIO', 'ENOSPC', 'EPIPE'),
}
# Whatever happens to these is in or near the freeze.
NEAR = {'clone', 'clone3', 'getdents64', 'process_vm_readv', 'ptrace', 'wait4',
        'rt_sigtimedwait', 'write'}
# How often these are made differs from run to run: so does where files are mapped.
POLLS = {'madvise', 'wait4', 'rt_sigtimedwait', 'sched_yield'}


class Trial:
    """A target, and runs of the tool on it of which something is broken."""

    def __init__(self, context, program, way):
        need('strace')
        self.context = context
        self.way = way
        self.record = Record(os.path.join(context.tmp, 'record'))
        self.target = context.start([program, self.record.path, *WAITS])
        self.tids = set(task_states(self.target.pid))
        status, out, _, trace = self.run()
        check(status == 0, 'status of a run that nothing is done to', status)
        self.whole = self.frames(out)
        check(set(self.whole) == self.tids, 'threads', self.whole)
        self.calls = self.count(trace)

    @staticmethod
    def count(trace):
        """How often the busiest thread makes each call."""
        counts = collections.Counter(re.findall(
            r'^(\d+) +(?:<\.\.\. )?(\w+)(?=\()', trace, re.M))
        most = collections.Counter()
        for (_, name), n in counts.items():
            most[name] = max(most[name], n)
        return most

    @staticmethod
    def frames(out):
        return {t['tid']: [f['pc'] for f in t.get('frames', ())]
                for t in json.loads(out)['threads']}

    def run(self, inject=None, paths=(), room=None):
        """
        The tool's status, output, messages, and the trace of it.  What is
        injected is for calls about these paths only; room is the memory that
        it may take beyond what it has when its libraries are loaded.
        """
        log = os.path.join(self.context.tmp, 'strace.out')
        env = dict(os.environ, LD_PRELOAD=self.context.program('held.so'))
        tool = subprocess.Popen(
            [self.context.outwind, 'stack', '--json', *OPTIONS[self.way],
             str(self.target.pid)], env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        tracer = None
        try:
            wait_until(lambda: task_states(tool.pid)[tool.pid] == 'T',
                       'tool is held')
            tracer = subprocess.Popen(
                ['strace', '-f', '-qq', '-o', log, '-p', str(tool.pid)] +
                (['-e', 'inject=' + inject] if inject else []) +
                [arg for path in paths for arg in ('-P', path)],
                stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_until(lambda: tracers(tool.pid) == str(tracer.pid) or
                       tracer.poll() is not None, 'strace attaches')
            check(tracer.poll() is None, 'strace', tracer.returncode)
            if room is not None:
                limit_memory(tool.pid, room)
            tool.send_signal(signal.SIGCONT)
            out, err = tool.communicate(timeout=PATIENCE)
            tracer.wait(timeout=PATIENCE)
        finally:
            for process in filter(None, (tool, tracer)):
                process.kill()
                process.wait()
            tool.stdout.close()
            tool.stderr.close()
        with open(log, encoding='utf-8', errors='replace') as f:
            return tool.returncode, out, err.decode(), f.read()

    def check_alone(self, what):
        """Whatever became of the tool: the target is as it was."""
        wait_until(lambda: tracers(self.target.pid) == '0', 'no tracer')
        wait_until(lambda: set(task_states(self.target.pid).values()) ==
                   {'S'}, 'threads wait again after ' + what)
        check(set(task_states(self.target.pid)) == self.tids, 'threads', what)

    def check_end(self, what, status, out, err):
        """A documented status, and nothing wrong said with it."""
        where = '%s: status %d, %r' % (what, status, err)
        check(status in (0, 1, 2), 'status', where)
        if status == 2:
            check(err.count('\n') == 1 and err.startswith('outwind'),
                  'one line', where)
            return
        if not out and status == 1:
            check(err.count('\n') == 1, 'one line', where)
            return
        threads = {t['tid']: t for t in json.loads(out)['threads']}
        check(set(threads) <= self.tids, 'threads', where)
        whole = True
        for tid, thread in threads.items():
            got = [f['pc'] for f in thread.get('frames', ())]
            want = self.whole[tid]
            check(got == want[:len(got)], 'frames', (where, got, want))
            check(thread.get('error') or got, 'neither frames nor a reason',
                  where)
            check(not thread.get('complete') or got == want, 'not complete',
                  (where, thread))
            whole &= got == want
        check(status == 1 or whole and set(threads) == self.tids,
              'status 0, but something is missing', where)

    def finish(self):
        """Its threads still run, and wait for what they waited for."""
        for name in WAITS:
            tid, _, _, handled, _ = self.record.read()[name]
            wait_until(lambda: is_waiting(self.target.pid, tid),
                       name + ' waits')
            tgkill(self.target.pid, tid, signal.SIGUSR1)
            wait_until(lambda: self.record.read()[name][3] == handled + 1,
                       name + ' is broken off')
        wait_for_rest(self.target.pid)
        if self.way in ('gentle', 'no-stop'):
            for name, (_, returns, broken, handled, wrong) in \
                    self.record.read().items():
                check(returns == broken == handled and not wrong,
                      name + ' was broken off', (returns, broken, handled))


def limit_memory(pid, room):
    with open('/proc/%d/statm' % pid, encoding='ascii') as f:
        most = int(f.read().split()[0]) * mmap.PAGESIZE + room
    resource.prlimit(pid, resource.RLIMIT_AS, (most, most))


def chosen(calls):
    """(call, error, number) of what is to fail."""
    for call, count in sorted(calls.items()):
        errors = ERRORS.get(call, ())
        for number in range(1, count + 1):
            for i, error in enumerate(errors):
                if ALL or (call in NEAR and i < 2) or (
                        i == number % len(errors) and number % 2):
                    yield call, error, number


def add_faults(program, way):
    @case('inject: calls fail, %s, %s' % (program, way))
    def _(context):
        trial = Trial(context, program, way)
        statuses = collections.Counter()
        for call, error, number in chosen(trial.calls):
            what = '%s:error=%s:when=%d' % (call, error, number)
            status, out, err, trace = trial.run(what)
            check('INJECTED' in trace or call in POLLS, 'nothing failed',
                  what)
            trial.check_end(what, status, out, err)
            trial.check_alone(what)
            statuses[status] += 1
        trial.finish()
        context.note('calls that failed: %d, statuses %s' %
                     (sum(statuses.values()), dict(sorted(statuses.items()))))

    @case('inject: killed at each call, %s, %s' % (program, way))
    def _(context):
        trial = Trial(context, program, way)
        kills = 0
        for call, count in sorted(trial.calls.items()):
            for number in range(1, count + 1):
                if not ALL and call not in NEAR:
                    continue
                what = '%s:signal=SIGKILL:when=%d' % (call, number)
                status, _, _, _ = trial.run(what)
                check(status == -signal.SIGKILL or
                      call in POLLS and status == 0, 'not killed',
                      (what, status))
                trial.check_alone(what)
                kills += 1
        trial.finish()
        context.note('killed: %d times' % kills)


for each in OPTIONS:
    add_faults('calls', each)


@case('inject: memory runs out')
def _(context):
    trial = Trial(context, 'calls', 'all')
    statuses = []
    for step in range(40):
        # As much as a thread with its stack and heap takes is 72 MiB.
        room = step << 16 if step < 20 else (step - 19) << 23
        what = 'room for %d KiB' % (room >> 10)
        status, out, err, _ = trial.run(room=room)
        trial.check_end(what, status, out, err)
        trial.check_alone(what)
        statuses.append(status)
    check(statuses[0] == 2 and statuses[-1] == 0, 'statuses', statuses)
    trial.finish()
    context.note('statuses: ' + ''.join(map(str, statuses)))


def task_files(trial, name):
    return ['%d/%s' % (tid, name) for tid in trial.tids]


@case('inject: a kernel that does not count turns')
def _(context):
    trial = Trial(context, 'calls', 'no-stop')
    status, out, _, trace = trial.run('openat:error=ENOENT',
                                      task_files(trial, 'schedstat'))
    check(trace.count('INJECTED') == len(trial.tids), 'injected', trace)
    check(status == 0 and trial.frames(out) == trial.whole, 'frames', out)


@case('inject: a kernel that does not tell where threads wait')
def _(context):
    trial = Trial(context, 'calls', 'gentle')
    paths = task_files(trial, 'syscall')
    status, out, _, trace = trial.run('openat:error=ENOENT', paths)
    check(trace.count('INJECTED') >= len(trial.tids), 'injected', trace)
    check(status == 0 and trial.frames(out).keys() == trial.whole.keys(),
          'gentle', out)
    trial.way = 'no-stop'
    status, out, err, _ = trial.run('openat:error=ENOENT', paths)
    check(status == 2 and "this kernel doesn't tell" in err, 'no-stop',
          (status, err))
    # A file that can't be opened once is tried again.
    status, out, _, trace = trial.run('openat:error=EMFILE:when=2', paths)
    check(status == 0 and trace.count('INJECTED') == 1 and
          trial.frames(out) == trial.whole, 'opened again', (status, out))
    trial.finish()

# SPDX-License-Identifier: BSD-2-Clause
"""Ways to hold threads still: what they show, and what the target sees."""

import ctypes
import json
import os
import re
import signal
import struct
import subprocess

import cases_agree
from harness import (PATIENCE, Failure, Skip, case, check, check_unharmed, names,
                     settle, task_states, time_of, wait_for_rest, wait_until)

WAYS = ('all', 'one-at-a-time', 'gentle', 'no-stop')
OPTIONS = {'all': (), 'one-at-a-time': ('--one-at-a-time',),
           'gentle': ('--gentle',), 'no-stop': ('--no-stop',)}
LIBC = ctypes.CDLL(None, use_errno=True)
SYS_TGKILL = 234  # x86-64
UNKNOWN = 'a register that the frame needs is not known'


def snapshots(context, way, pid, count=1, stack_size=0):
    """What the library tells, as often as asked for."""
    done = subprocess.run(
        [context.program('snapshots'), way, str(count), str(pid),
         str(stack_size)], capture_output=True, timeout=PATIENCE, check=False)
    check(done.returncode == 0, 'snapshots', (done.returncode, done.stderr))
    return [json.loads(line) for line in done.stdout.splitlines()]


def snapshot(context, way, pid):
    """A single one: its threads by tid; None if without a stop all ran."""
    one = snapshots(context, way, pid)[0]
    if way == 'no-stop' and 'thread is running' in one['error']:
        return None
    check(not one['error'], 'no snapshot', one['error'])
    return {thread['tid']: thread for thread in one['threads']}


def settled(pid):
    """The states of its threads, when no more of them are started."""
    settle(pid)
    return task_states(pid)


def is_narrow(pid):
    """A 32-bit program: int $0x80 doesn't tell, without a stop, where a thread is."""
    with open('/proc/%d/exe' % pid, 'rb') as f:
        return f.read(5) == b'\x7fELF\x01'


def compare_ways(context, pid):
    """
    Every way gives the frames that the plain stop gives, of each thread that
    is at rest; without a stop, maybe only the first of them, with the reason.
    Returns the number of threads, and of those that end early.
    """
    todo = set(task_states(pid))
    threads, early, narrow = len(todo), [], is_narrow(pid)
    for _ in range(500):
        before = snapshot(context, 'all', pid)
        taken = [snapshot(context, way, pid) for way in WAYS[1:]]
        after = snapshot(context, 'all', pid)
        for tid in list(todo) if all(taken) else []:
            want = before[tid]
            if want['frames'] != after[tid]['frames']:
                continue
            got = [snap[tid] for snap in taken]
            # It ran meanwhile.
            if not got[2]['frames'] if narrow else (
                    not got[2]['certain'] or got[1]['stopped']):
                continue
            check(want['certain'] and want['stopped'], 'plain stop', want)
            check(got[0]['certain'] and got[0]['stopped'], 'one at a time',
                  got[0])
            check(got[0]['frames'] == want['frames'], 'one at a time differs',
                  (got[0]['frames'], want['frames']))
            check(got[1]['certain'], 'gently', got[1])
            check(not got[2]['stopped'], 'stopped', got[2])
            for one in got[1:]:
                n = len(one['frames'])
                check(n > 0 and one['frames'] == want['frames'][:n],
                      'frames differ', (one['frames'], want['frames']))
                check(n == len(want['frames']) or one['end'] == UNKNOWN,
                      'ends early without the reason', one)
            if len(got[2]['frames']) < len(want['frames']):
                early.append((tid, got[2], want))
            todo.discard(tid)
        if not todo:
            return threads, early
    raise Failure('threads never at rest: %s' % todo)


def add_compared(name, start):
    @case('freeze: every way gives the same frames, %s' % name)
    def _(context):
        target = start(context)
        pids = target if isinstance(target, list) else [target.pid]
        threads, early = 0, []
        for pid in pids:
            before = settled(pid)
            nr, some = compare_ways(context, pid)
            threads += nr
            early += some
            check_unharmed(pid, before)
        context.note('threads that end early without a stop: %d of %d' %
                     (len(early), threads))
        for tid, got, want in early:
            context.note('%d: %d of %d frames, %s' %
                         (tid, len(got['frames']), len(want['frames']),
                          got['detail']))


add_compared('python3', cases_agree.start_python)
add_compared('node', cases_agree.start_node)
add_compared('redis-server', cases_agree.start_redis)
add_compared('nginx', cases_agree.start_nginx)
add_compared('postgres', cases_agree.start_postgres)
for each in ('calls', 'calls-i386'):
    add_compared(each, lambda context, program=each: context.start(
        [program, os.path.join(context.tmp, 'record')]))
for each in ('pie', 'O0', 'fp', 'i386', 'i386-stackrealign', 'clang',
             'musl', 'split'):
    add_compared('chain-' + each, lambda context, program='chain-' + each:
                 context.start([program]))


class Record:
    """What the calls of calls.c's threads gave."""

    FORMAT = struct.Struct('16siIIIi')

    def __init__(self, path):
        self.path = path
        self.pid = None

    def read(self):
        """{name: (tid, returns, broken, handled, wrong)} of those there."""
        with open(self.path, 'rb') as f:
            rows = self.FORMAT.iter_unpack(f.read())
        return {row[0].rstrip(b'\0').decode(): row[1:] for row in rows
                if row[1]}

    def check(self, broken, text):
        """
        Each thread's call was broken off that often (by name, else 0), by a
        handler each time, and did not return else.
        """
        # When they wait again, all of that is counted.
        for name, row in self.read().items():
            wait_until(lambda: is_waiting(self.pid, row[0]), name + ' waits')
        for name, row in self.read().items():
            n = broken.get(name, 0)
            check(row[1:] == (n, n, n, 0), '%s, %s' % (name, text),
                  'returns, broken off, handled, other: %s, not %d' %
                  (row[1:], n))


def start_calls(context, program):
    record = Record(os.path.join(context.tmp, 'record'))
    target = context.start([program, record.path])
    record.pid = target.pid
    names = record.read()
    check(len(names) >= 22 and all(row[1] == 0 for row in names.values()),
          'calls wait', names)
    if 'io_uring' not in names:
        context.note('no io_uring here')
    return target, record


def start_snapshots(context, way, pid):
    """Snapshots of the target all the time; the process, to be ended."""
    taker = subprocess.Popen(
        [context.program('snapshots'), way, '1000000', str(pid)],
        stdout=subprocess.DEVNULL)
    context.stack.callback(end_snapshots, taker)
    return taker


def end_snapshots(taker):
    taker.kill()
    taker.wait()


def is_waiting(pid, tid):
    with open('/proc/%d/task/%d/stat' % (pid, tid), 'rb') as f:
        return f.read().rpartition(b') ')[2][:1] == b'S'


def send_handled(target, record, sig, names, times):
    """A signal with a handler to threads that wait, one after another."""
    handled = max(record.read()[name][2] for name in names)
    for n in range(handled + 1, handled + times + 1):
        for name in names:
            tid = record.read()[name][0]
            wait_until(lambda: is_waiting(target.pid, tid), name + ' waits')
            tgkill(target.pid, tid, sig)
        wait_until(lambda: all(record.read()[name][2] >= n for name in names),
                   'all calls are broken off')


def tgkill(pid, tid, sig):
    if LIBC.syscall(SYS_TGKILL, pid, tid, sig):
        raise OSError(ctypes.get_errno(), 'tgkill')


def add_calls(program, way):
    @case('freeze: no call is broken off, %s, %s' % (program, way))
    def _(context):
        target, record = start_calls(context, program)
        before = task_states(target.pid)
        for _ in range(20):
            context.run('stack', '-q', *OPTIONS[way], target.pid)
        snapshots(context, way, target.pid, 200)
        record.check({}, 'left alone')
        check_unharmed(target.pid, before)

    @case('freeze: signals break calls off, %s, %s' % (program, way))
    def _(context):
        target, record = start_calls(context, program)
        taker = start_snapshots(context, way, target.pid)
        names = sorted(record.read())
        send_handled(target, record, signal.SIGUSR1, names, 10)
        record.check(dict.fromkeys(names, 10), 'SIGUSR1')
        masked = ['epoll_pwait', 'sigsuspend']
        send_handled(target, record, signal.SIGUSR2, masked, 10)
        want = dict(dict.fromkeys(names, 10), epoll_pwait=20, sigsuspend=20)
        record.check(want, 'SIGUSR2 by a temporary mask')
        check(taker.poll() is None, 'snapshots ended')


for each in ('calls', 'calls-i386'):
    for how in WAYS:
        add_calls(each, how)


@case('freeze: a call by int $0x80 in a 64-bit program is not broken off')
def freeze_int80(context):
    for way in WAYS:
        target = context.start(['int80'])
        wait_for_rest(target.pid)
        for _ in range(5):
            context.run('stack', '-q', *OPTIONS[way], target.pid)
            wait_for_rest(target.pid)
        check(target.poll() is None, 'it goes on waiting', way)


def stop_and_go(target, times):
    for _ in range(times):
        target.send_signal(signal.SIGSTOP)
        wait_until(lambda: set(task_states(target.pid).values()) <= set('Tt'),
                   'all threads stop')
        target.send_signal(signal.SIGCONT)
        wait_until(lambda: not set(task_states(target.pid).values()) &
                   set('Tt'), 'all threads go on')


def add_stopped(program):
    @case('freeze: SIGSTOP and SIGCONT, ' + program)
    def _(context):
        target, record = start_calls(context, program)
        stop_and_go(target, 5)
        alone = {n: row[1] for n, row in record.read().items() if row[1]}
        context.note('broken off by SIGSTOP alone: ' + ', '.join(alone))
        for way in WAYS:
            taker = start_snapshots(context, way, target.pid)
            stop_and_go(target, 10)
            check(taker.poll() is None, 'snapshots ended')
            end_snapshots(taker)
        wait_for_rest(target.pid)
        after = record.read()
        for name, (_, returns, broken, handled, wrong) in after.items():
            check(returns == broken and not handled and not wrong, name,
                  after[name])
            check(name in alone or not returns, name + ' was broken off',
                  after[name])


for each in ('calls', 'calls-i386'):
    add_stopped(each)

PAIR = re.compile(r'(\w+) rounds (\d+) sum (\d+) lost (\d+) broken (\d+)')


def check_load(target):
    """End it; no wake-up was lost, and all that it did is right."""
    # Whoever still can goes on.
    run = time_of(target.pid)
    wait_until(lambda: time_of(target.pid) > run + 0.2, 'the load goes on')
    target.send_signal(signal.SIGTERM)
    os.set_blocking(target.stdout.fileno(), True)
    pairs = PAIR.findall(target.stdout.read().decode())
    check(target.wait(timeout=PATIENCE) == 0 and len(pairs) == 6, 'load',
          pairs)
    for name, *numbers in pairs:
        rounds, total, lost, broken = map(int, numbers)
        check(rounds > 100, name + ' came to a halt', numbers)
        check(total == rounds * rounds, name + ' has wrong answers', numbers)
        check(lost == 0, name + ' lost a wake-up', numbers)
        check(broken == 0, name + ' was broken off', numbers)


def add_load(program, counts):
    @case('freeze: %d snapshots in a row of %s' %
          (sum(counts.values()), program), alone=True)
    def _(context):
        # Idle threads make the time longer that the others are stopped.
        target = context.start([program, '50'])
        taken = certain = 0
        for way, count in counts.items():
            for snap in snapshots(context, way, target.pid, count):
                check(not snap['error'], 'no snapshot', snap['error'])
                check(len(snap['threads']) == 63, 'threads',
                      len(snap['threads']))
                taken += sum(t['captured'] for t in snap['threads'])
                certain += sum(t['certain'] for t in snap['threads'])
                check(way == 'no-stop' or
                      all(t['certain'] for t in snap['threads']),
                      'not certain', way)
                for thread in snap['threads']:
                    check(thread['captured'] or 'running' in thread['why'],
                          'not captured', thread)
        context.note('stacks: %d, certain: %d' % (taken, certain))
        check_load(target)


add_load('load', {'all': 300, 'one-at-a-time': 100, 'gentle': 400,
                  'no-stop': 200})
add_load('load-i386', {'all': 50, 'one-at-a-time': 50, 'gentle': 50,
                       'no-stop': 50})


@case('freeze: leader has exited')
def _(context):
    target = context.start(['threads', 'leader'])
    wait_until(lambda: task_states(target.pid)[target.pid] == 'Z',
               'leader exits')
    for way in WAYS:
        threads = snapshot(context, way, target.pid)
        leader = threads.pop(target.pid)
        check(not leader['captured'] and not leader['certain'] and
              leader['why'] == 'thread has exited (zombie), it has no stack',
              'leader, ' + way, leader)
        (other,) = threads.values()
        check(other['certain'] and not other['end'] and
              other['stopped'] == (way in ('all', 'one-at-a-time')),
              'other thread, ' + way, other)


def make_cgroup(context, top, freezer):
    """A cgroup below a folder where those of that freezer are; a file of it by name."""
    name = os.path.join(top, 'outwind-test-%d' % os.getpid())
    try:
        os.mkdir(name)
    except OSError as error:
        raise Skip('no cgroup can be made here') from error
    context.stack.callback(os.rmdir, name)
    if not os.path.exists(os.path.join(name, freezer)):
        raise Skip('no %s here' % freezer)
    return lambda file: os.path.join(name, file)


def write_file(path, text):
    with open(path, 'w', encoding='ascii') as f:
        f.write(text)


def read_file(path):
    with open(path, encoding='ascii') as f:
        return f.read()


@case('freeze: a process in a frozen cgroup')
def _(context):
    file = make_cgroup(context, '/sys/fs/cgroup/freezer', 'freezer.state')
    target = context.start(['chain-pie'])
    write_file(file('cgroup.procs'), str(target.pid))
    write_file(file('freezer.state'), 'FROZEN')
    try:
        wait_until(lambda: read_file(file('freezer.state')) == 'FROZEN\n',
                   'it is frozen')
        done = context.run('stack', target.pid, status=2)
        check(done.stderr.decode() == 'outwind: process %d: thread did not '
              'stop in time, its cgroup is frozen\n' % target.pid, 'message',
              done.stderr)
        thread = context.stacks(target.pid, '--no-stop')['threads'][0]
        check(thread['certain'] and 'main' in names(thread), 'stack', thread)
    finally:
        write_file(file('freezer.state'), 'THAWED')
        target.kill()
        target.wait()


@case('freeze: a process whose cgroup has used up its CPU time')
def _(context):
    file = make_cgroup(context, '/sys/fs/cgroup/cpu', 'cpu.cfs_quota_us')
    write_file(file('cpu.cfs_period_us'), '1000000')
    write_file(file('cpu.cfs_quota_us'), '2000')
    target = context.start(['spin'])
    write_file(file('cgroup.procs'), str(target.pid))
    try:
        looks = [context.run('stack', '--one-at-a-time', target.pid)
                 for _ in range(8)]
        late = [look.stderr for look in looks if b' main ' not in look.stdout]
        check(not late, 'not waited for', late)
        # Who says how long to wait is told why that did not do.
        lines = [context.run('stack', '--stop-timeout=1', target.pid).stderr
                 for _ in range(20)]
        check(any(b'it got no CPU' in line for line in lines), 'reason', lines)
    finally:
        target.kill()
        write_file(file('cpu.cfs_quota_us'), '-1')
        target.wait()


@case('freeze: a process in a frozen cgroup of the second version')
def _(context):
    top = os.path.join(context.tmp, 'cgroups')
    os.mkdir(top)
    if subprocess.run(['unshare', '--mount', 'mount', '-t', 'cgroup2', 'none',
                       top], capture_output=True, check=False).returncode:
        raise Skip('no cgroups of the second version here')
    subprocess.run(['mount', '-t', 'cgroup2', 'none', top], check=True)
    context.stack.callback(subprocess.run, ['umount', top], check=True)
    file = make_cgroup(context, top, 'cgroup.freeze')
    target = context.start(['chain-pie'])
    write_file(file('cgroup.procs'), str(target.pid))
    write_file(file('cgroup.freeze'), '1')
    try:
        wait_until(lambda: 'frozen 1' in read_file(file('cgroup.events')),
                   'it is frozen')
        thread = context.stacks(target.pid)['threads'][0]
        check(thread['complete'] and 'main' in names(thread), 'stack', thread)
        wait_until(lambda: 'frozen 1' in read_file(file('cgroup.events')),
                   'it is frozen again')
    finally:
        write_file(file('cgroup.freeze'), '0')
        target.kill()
        target.wait()


@case('freeze: a thread that runs')
def _(context):
    target = context.start(['spin'])
    for way in WAYS[:3]:
        for snap in snapshots(context, way, target.pid, 10):
            (thread,) = snap['threads']
            check(thread['captured'] and thread['certain'] and
                  thread['stopped'] and not thread['end'], way, thread)
    for snap in snapshots(context, 'no-stop', target.pid, 10):
        check(not snap['threads'] and 'thread is running' in snap['error'],
              'no-stop', snap)


@case('freeze: 10,000 threads', alone=True)
def _(context):
    target = context.start(['faults', 'threads', '9999'])
    if 'only' in target.said:
        raise Skip(target.said.strip())
    wait_until(lambda: set(task_states(target.pid).values()) == {'S'},
               'threads wait')
    before = task_states(target.pid)
    check(len(before) == 10000, 'threads', len(before))
    for way in WAYS:
        stacks = context.stacks(*OPTIONS[way], target.pid)
        threads = {t['tid']: t for t in stacks['threads']}
        check(set(threads) == set(before), 'threads, ' + way, len(threads))
        shapes = {tuple(f.get('function') for f in t.get('frames', ()))
                  for t in threads.values()}
        check(len(shapes) == 2, 'leader and others, ' + way, shapes)
        check(all(t.get('complete') for t in threads.values()), 'complete',
              way)
    check_unharmed(target.pid, before)

# SPDX-License-Identifier: BSD-2-Clause
"""Reads that wait for what is stopped, or for a server that does not answer."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from harness import (PATIENCE, Skip, case, check, check_unharmed, children_of,
                     in_call, need_root, task_states, tracers, wait_until)

NOT_SERVED = r'not served within \d+ ms'
GIVEN_UP = 3  # s, after which no tool waits for a child any more
SLOW_ANSWERS = 100  # most that are waited for: 20 s of 0.3 s, and what runs on then
LONG = 1000 * PATIENCE  # ms, for what must not be what ends a wait


def start_uffd(context, whose, how, more=0):
    if os.geteuid() != 0:
        raise Skip('needs root for userfaultfd')
    return context.start(['uffdstack', whose, how, str(more)])


def start_fuse(context, *how, place=None, unnumbered=False):
    need_root()
    if not os.path.exists('/dev/fuse'):
        raise Skip('/dev/fuse is not here')
    place = place or os.path.join(context.tmp, 'mount')
    os.mkdir(place)
    return context.start(['fusestack', *how, place] +
                         ['unnumbered'] * unnumbered)


def check_stacks(context, target, *options, whole, cut):
    """So many stacks are whole, and so many cut short; all are unharmed."""
    before = task_states(target.pid)
    stacks = context.stacks(target.pid, *options, status=1 if cut else 0)
    check(all('complete' in t for t in stacks['threads']), 'threads', stacks)
    ends = [re.search(NOT_SERVED, t.get('end_detail', '')) is not None
            for t in stacks['threads']]
    check(sum(t['complete'] for t in stacks['threads']) == whole,
          'whole stacks', stacks)
    check(sum(ends) == cut, 'stacks that tell what was not served', stacks)
    check_unharmed(target.pid, before)


@case('waits: userfaultfd, the main stack')
def _(context):
    target = start_uffd(context, 'main', 'never')
    for options in ((), ('--one-at-a-time',), ('--no-stop',),
                    ('--proc-mem',)):
        # The kernel refuses the file's read at once, without a wait.
        cut = 0 if '--proc-mem' in options else 1
        before = task_states(target.pid)
        done = context.run('stack', *options, target.pid, status=1)
        check(len(re.findall(NOT_SERVED, done.stdout.decode())) == cut,
              'reason', done.stdout)
        check(done.stderr.count(b'could not be read within 1000 ms') == cut,
              'line on stderr', done.stderr)
        check(b'start_thread' in done.stdout, 'the other stack', done.stdout)
        check_unharmed(target.pid, before)


@case('waits: userfaultfd, served by a thread that is stopped')
def _(context):
    """What a first try asked for may be there in the second one."""
    for more in (0, 40):
        target = start_uffd(context, 'main', 'serve', more)
        before = task_states(target.pid)
        done = context.run('stack', target.pid)
        check(done.returncode in (0, 1), 'status', done.stderr)
        check(done.stdout.count(b'start_thread') == more + 1, 'other stacks',
              done.stdout)
        check(done.returncode == 0 or
              len(re.findall(NOT_SERVED, done.stdout.decode())) == 1,
              'reason', done.stdout)
        check_unharmed(target.pid, before)


@case('waits: userfaultfd, one of many stacks')
def _(context):
    for more in (3, 40):
        target = start_uffd(context, 'other', 'never', more)
        check_stacks(context, target, whole=more + 2, cut=1)


@case('waits: userfaultfd, snapshot and tbstack')
def _(context):
    target = start_uffd(context, 'other', 'never')
    before = task_states(target.pid)
    snap = os.path.join(context.tmp, 'snap')
    done = context.run('snap', '-o', snap, target.pid, status=0)
    check(b'could not be read within 1000 ms' in done.stderr, 'snap says so',
          done.stderr)
    done = context.run('stack', snap, status=1)
    check(done.stdout.count(b'start_thread') == 1 and b'main' in done.stdout,
          'stacks of the snapshot', done.stdout)
    check_unharmed(target.pid, before)
    target = start_uffd(context, 'other', 'never')
    before = task_states(target.pid)
    done = context.run_tool([context.tbstack, str(target.pid)])
    check(b'could not be read within 1000 ms' in done.stderr,
          'tbstack says so', done.stderr)
    check(b'start_thread' in done.stdout, 'stacks of tbstack', done.stdout)
    check_unharmed(target.pid, before)


@case('waits: signals on their way while a read waits')
def _(context):
    """Who holds them does not read itself, so that it need not be ended."""
    if os.geteuid() != 0:
        raise Skip('needs root for userfaultfd')
    target = context.start(['heldsignals'])
    for _ in range(8):
        done = context.run('stack', '-q', target.pid)
        check(done.stdout.count(b'\n#0 ') == 3, 'stacks', done.stdout)
    target.terminate()
    check(target.wait() == 0, 'signals were lost')


@case('waits: served while the threads run')
def _(context):
    """No stop, no deadlock: what is read is there."""
    target = start_uffd(context, 'main', 'serve')
    done = context.run('stack', '--no-stop', '--read-timeout=%d' % LONG,
                       target.pid)
    # The thread that serves may be found running.
    check(done.stdout.count(b'not stopped, certain\n#0 ') >= 1 and
          b'stack ends here' not in done.stdout, 'served', done.stdout)


HIDDEN = ['wait_hidden', 'call_wait', 'run_coroutine']


def check_hidden(context, how, nr, is_read):
    """The stacks of such threads are read, in each way, or end where they begin."""
    target = context.start(['hiddenstack', how, str(nr)])
    before = task_states(target.pid)
    for options in ((), ('--gentle',), ('--no-stop',), ('--one-at-a-time',),
                    ('--proc-mem',)):
        done = context.run('stack', '-f', 'json', *options, target.pid)
        threads = json.loads(done.stdout)['threads'][1:]
        names = [[f.get('function') for f in t['frames']] for t in threads]
        check(len(names) == nr, 'threads', done.stdout)
        if is_read:
            check(all(n[:3] == HIDDEN for n in names), 'names', names)
        else:
            check(all(n == HIDDEN[:1] for n in names) and
                  not any(t['complete'] for t in threads), 'names', names)
    check_unharmed(target.pid, before)
    return target


@case('waits: stacks that their threads may not read')
def _(context):
    for how, nr in (('none', 1), ('none', 40), ('write', 3)):
        target = check_hidden(context, how, nr, True)
        snap = os.path.join(context.tmp, 'snap')
        context.run('snap', '-o', snap, target.pid, status=0)
        done = context.run('stack', snap)
        check(done.stdout.count(b' run_coroutine + ') == nr,
              'stacks of the snapshot', done.stdout)


@case('waits: a guard, and a file, are not read as such stacks')
def _(context):
    for how in ('guard', 'file'):
        for nr in (1, 40):
            check_hidden(context, how, nr, False)


@case('waits: stacks in one large mapping that their threads may not read')
def _(context):
    """What is asked of a stack has a limit, wherever its base seems to be."""
    target = context.start(['widestack', '64', '256'])
    before = task_states(target.pid)
    for options in ((), ('--one-at-a-time',)):
        done = context.run('stack', '-f', 'json', *options, target.pid)
        threads = json.loads(done.stdout)['threads']
        check(len(threads) == 257 and all(t['frames'] for t in threads),
              'threads', done.stdout[:1000])
        check_unharmed(target.pid, before)


@case('waits: more stacks that may not be read than there is time for')
def _(context):
    nr = 2000
    target = context.start(['hiddenstack', 'none', str(nr)])
    before = task_states(target.pid)
    done = context.run('stack', '--freeze-limit=1', target.pid)
    left = re.search(r'there was no time to look for (\d+) stacks of its '
                     r'threads, which the process may not read',
                     done.stderr.decode())
    check(left and 0 < int(left.group(1)) < nr, 'left', done.stderr)
    check(done.stdout.count(b' call_wait + ') == nr - int(left.group(1)),
          'stacks', (left.group(1), done.stdout.count(b' call_wait + ')))
    check(done.stdout.count(b'TID ') == nr + 1, 'threads', done.stdout[-1000:])
    done = context.run('stack', '--freeze-limit=60000', target.pid)
    check(done.stdout.count(b' call_wait + ') == nr, 'all', done.stderr)
    check_unharmed(target.pid, before)


@case('waits: stacks that may not be read, of a memory that changes',
      alone=True)
def _(context):
    """Each question waits for who changes it: threads stood still for 14 s."""
    target = context.start(['hiddenlock', '4000', '4'])
    done = context.run('stack', '-q', target.pid)
    target.send_signal(signal.SIGUSR1)
    target.wait()
    stood = int(target.stdout.readline())
    context.note('%d ms' % stood)
    # With 2 one question waited for too long.
    check(done.returncode in (0, 1, 2), 'status', done.stderr)
    check(stood < 4000, 'ms', stood)


@case('waits: reads of one thread after another, of a memory that changes',
      alone=True)
def _(context):
    """Each of them waits for who changes it: it was more than 100 s."""
    target = context.start(['hiddenlock', '2000', '2', 'seen'])
    begun = time.monotonic()
    done = context.run('stack', '-q', '--one-at-a-time', '--proc-mem', target.pid)
    took = time.monotonic() - begun
    context.note('%.1f s' % took)
    check(done.returncode in (0, 1, 2), 'status', done.stderr)
    check(took < 30, 'time', took)


def stopped_ms(done):
    return float(re.search(r'threads stopped for ([\d.]+) ms',
                           done.stderr.decode()).group(1))


@case('waits: stacks that are all of one large one')
def _(context):
    """What they share is not looked through to its end for each."""
    target = context.start(['deepstack', '80', '300'])
    before = task_states(target.pid)
    for options in ((), ('--one-at-a-time',)):
        done = context.run('stack', '-q', '--stats', *options, target.pid)
        check(done.stdout.count(b'TID ') == 301, 'threads', done.stdout[:1000])
        # Each of 24 GB in all, it was more than half a minute.
        check(stopped_ms(done) < 12000, 'freeze', done.stderr)
        check_unharmed(target.pid, before)


@case('waits: stacks with frames of signals without end')
def _(context):
    """Where there is no time for what all lead to, that is said."""
    target = context.start(['deepstack', '1', '3000'])
    before = task_states(target.pid)
    done = context.run('stack', '-q', '--freeze-limit=1', target.pid)
    check(done.stdout.count(b'TID ') == 3001, 'threads', done.stdout[:1000])
    check(b'there was no time to find what the stacks of' in done.stderr,
          'said', done.stderr)
    check_unharmed(target.pid, before)


@case('waits: FUSE, served by a thread that is stopped')
def _(context):
    for how in ('sync', 'async'):
        with context.__class__(context.outwind, context.programs) as part:
            check_stacks(part, start_fuse(part, 'serve', how),
                         whole=2, cut=1)


def check_silent_server(context, how, unnumbered=False):
    target = start_fuse(context, 'never', how, unnumbered=unnumbered)
    for options in ((), ('--gentle',), ('--no-stop',), ('--one-at-a-time',),
                    ('--proc-mem',)):
        check_stacks(context, target, '--read-timeout=400', *options,
                     whole=2, cut=1)


@case('waits: FUSE, a server that never answers')
def _(context):
    check_silent_server(context, 'async')


@case('waits: FUSE, a server that never answers, and no signal ends it')
def _(context):
    check_silent_server(context, 'sync')


@case('waits: likewise, of a file that has the inode 0')
def _(context):
    check_silent_server(context, 'sync', unnumbered=True)


@case('waits: a program that is executed for ever')
def _(context):
    target = start_fuse(context, 'exec', '-')
    before = task_states(target.pid)
    done = context.run('stack', target.pid, status=2)
    check(done.stderr.count(b'\n') == 1 and
          b"can't be looked at: the kernel did not answer" in done.stderr,
          'message', done.stderr)
    check_unharmed(target.pid, before)


def check_signal(context, target, number, command):
    """It ends by the signal, long before its limit, and lets go."""
    before = task_states(target.pid)
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as tool:
        wait_until(lambda: tracers(target.pid) != '0', 'it is stopped')
        tool.send_signal(number)
        check(tool.wait(timeout=PATIENCE) == -number, 'status',
              tool.returncode)
    check(time.monotonic() - begun < LONG / 1000 / 8, 'ended by its limit')
    wait_until(lambda: tracers(target.pid) == '0', 'it is let go')
    check_unharmed(target.pid, before)


@case('waits: SIGINT and SIGTERM end what waits')
def _(context):
    targets = [start_uffd(context, 'main', 'never'),
               start_uffd(context, 'other', 'serve', 40)]
    if os.path.exists('/dev/fuse'):
        targets.append(start_fuse(context, 'never', 'sync'))
    for target in targets:
        for number in (signal.SIGINT, signal.SIGTERM):
            check_signal(context, target, number,
                         [context.outwind, 'stack',
                          '--read-timeout=%d' % LONG, str(target.pid)])


@case('waits: an object of a FUSE server')
def _(context):
    target = start_fuse(context, 'served', context.program('libwaits.so'))
    check_stacks(context, target, whole=3, cut=0)
    done = context.run('stack', target.pid, status=0)
    check(b' wait_in_object + ' in done.stdout, 'name', done.stdout)


@case('waits: an object of a FUSE server that has the inode 0')
def _(context):
    target = start_fuse(context, 'served', context.program('libwaits.so'),
                        unnumbered=True)
    check_stacks(context, target, whole=3, cut=0)
    done = context.run('stack', target.pid, status=0)
    check(b' wait_in_object + ' in done.stdout, 'name', done.stdout)
    probe = context.run('record', '-f', 'folded', '-o', '-', '--', 'true')
    if probe.returncode:
        raise Skip(probe.stderr.decode().strip())
    done = context.run('record', '--off-cpu', '-d', '0.2', '-f', 'folded',
                       '-o', '-', '-p', target.pid, status=0)
    check(b';wait_in_object;' in done.stdout, 'profile', done.stdout)


@case('waits: an object of a FUSE server that does not answer')
def _(context):
    check_silent_object(context, 'object')


@case('waits: a table of such an object')
def _(context):
    target = start_fuse(context, 'object', context.program('libwaits.so'))
    path = '/proc/%d/root%s/mount/file' % (target.pid, context.tmp)
    done = context.run('tables', path, status=2)
    check(done.stderr.decode() in (
        'outwind: %s: what serves it did not answer in time\n' % path,
        'outwind: %s: no table is kept for it: its file system could tell '
        'false times\n' % path), 'message', done.stderr)


def answers_of(pid):
    """How many answers a server has written."""
    with open('/proc/%d/io' % pid, encoding='ascii') as f:
        return int(re.search(r'syscw: (\d+)', f.read())[1])


@case('waits: objects of a FUSE server that answers slowly')
def _(context):
    target = start_fuse(context, 'slow', context.program('libwaits.so'))
    before = task_states(target.pid)
    answers = answers_of(target.pid)
    done = context.run('stack', target.pid)
    answers = answers_of(target.pid) - answers
    context.note('%d answers' % answers)
    check(done.returncode in (0, 1), 'status', done.stderr)
    check(done.stdout.count(b'TID ') == 23, 'stacks', done.stdout)
    check(answers < SLOW_ANSWERS, 'answers', answers)
    check(b'not asked for, as servers of files have taken too much' in
          done.stderr, 'line on stderr', done.stderr)
    check_unharmed(target.pid, before)


@case('waits: a map for perf of such a server, after all that waits may take')
def _(context):
    target = start_fuse(context, 'slowjit', context.program('libwaits.so'))
    before = task_states(target.pid)
    done = context.run('stack', target.pid)
    check(done.returncode in (0, 1), 'status', done.stderr)
    check(done.stdout.count(b'TID ') == 24, 'stacks', done.stdout)
    line = ("outwind: /proc/%d/root/tmp: names of JITs' code, not asked for, "
            'as servers of files have taken too much' % target.pid)
    check(done.stderr.decode().count(line) == 1, 'line', done.stderr)
    check_unharmed(target.pid, before)
    check(b'asked' not in (target.stdout.read() or b''), 'what it was asked')


@case('waits: an object of an overlay over such a server')
def _(context):
    check_silent_object(context, 'layered')


@case('waits: such an object, with a name as memory has')
def _(context):
    need_root()
    folder = tempfile.mkdtemp(prefix='memfd:', dir='/')
    context.stack.callback(shutil.rmtree, folder, ignore_errors=True)
    check_silent_object(context, 'layered', os.path.join(folder, 'mount'))


@case('waits: an object whose name leads to such a server')
def _(context):
    target = start_fuse(context, 'covered', context.program('libwaits.so'))
    before = task_states(target.pid)
    with subprocess.Popen(['nsenter', '-m', '-t', str(target.pid),
                           context.outwind, 'stack', str(target.pid)],
                          stdout=subprocess.PIPE) as tool:
        context.stack.callback(tool.kill)
        out = tool.communicate(timeout=PATIENCE)[0]
    check(tool.returncode == 0 and b' wait_in_object + ' in out, 'stacks',
          out)
    check_unharmed(target.pid, before)


def check_silent_object(context, how, place=None):
    target = start_fuse(context, how, context.program('libwaits.so'),
                        place=place)
    before = task_states(target.pid)
    done = context.run('stack', target.pid, status=1)
    check(done.stdout.count(b'what serves it did not answer in time') == 1,
          'reason', done.stdout)
    check(done.stdout.count(b'start_thread') == 2, 'other stacks',
          done.stdout)
    check_unharmed(target.pid, before)
    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([context.outwind, 'stack', str(target.pid)],
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as tool:
            # Much less than it waits for the server.
            time.sleep(0.5)
            tool.send_signal(number)
            check(tool.wait(timeout=PATIENCE) == -number, 'status',
                  tool.returncode)
    wait_until(lambda: tracers(target.pid) == '0', 'it is let go')


@case('waits: a recorder of stacks that are never served')
def _(context):
    need_root()
    probe = context.run('record', '-f', 'folded', '-o', '-', '--', 'true')
    if probe.returncode:
        raise Skip(probe.stderr.decode().strip())
    targets = [start_uffd(context, 'main', 'never')]
    if os.path.exists('/dev/fuse'):
        targets.append(start_fuse(context, 'never', 'sync'))
    for target in targets:
        before = task_states(target.pid)
        done = context.run('record', '--off-cpu', '-d', '0.2', '-f', 'folded',
                           '-o', '-', '-p', target.pid, status=0)
        check(re.search(rb'(?m)^\w+;\[truncated\];main;', done.stdout),
              'profile', done.stdout)
        check_unharmed(target.pid, before)


@case('waits: a table for kunwind of a file that is not served')
def _(context):
    target = start_fuse(context, 'never', 'async')
    program = os.path.join(context.programs, 'userkunwind')
    done = subprocess.run([program, str(target.pid), '/mount/'],
                          capture_output=True, check=False, timeout=PATIENCE)
    check(b'what serves it did not answer in time' in done.stdout, 'reason',
          done)
    # The same of a file that is there: it is read.
    done = subprocess.run([program, str(target.pid), '/libc'],
                          capture_output=True, check=False, timeout=PATIENCE)
    check(b'hand in its table' in done.stdout, 'its table', done)


@case('waits: a map for perf in a /tmp that is not served')
def _(context):
    target = start_fuse(context, 'jit', '-')
    before = task_states(target.pid)
    done = context.run('stack', target.pid)
    check(done.returncode in (0, 1), 'status', done.stderr)
    check(done.stdout.count(b'start_thread') == 2, 'other stacks',
          done.stdout)
    check(b'/root/tmp: what serves it did not answer' in done.stderr,
          'line on stderr', done.stderr)
    check_unharmed(target.pid, before)
    probe = context.run('record', '-f', 'folded', '-o', '-', '--', 'true')
    if probe.returncode:
        raise Skip(probe.stderr.decode().strip())
    busy = context.start(['bystander'])
    done = context.run('record', '-d', '3', '-f', 'folded', '-o', '-', '-p',
                       '%d,%d' % (target.pid, busy.pid), status=0)
    check(re.search(rb'(?m)^fusestack;', done.stdout), 'its samples',
          done.stdout)
    check(done.stderr.count(b'what serves it did not answer') == 1,
          'line on stderr', done.stderr)
    check_unharmed(target.pid, before)


def children_in_state(pid, letter):
    """Children of a process that have a thread in a state; some may just end."""
    found = set()
    for child in children_of(pid):
        with contextlib.suppress(OSError):
            if letter in task_states(child).values():
                found.add(child)
    return found


def memory_of(pid):
    """What a process has that is its own, in bytes; 0: it has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open('/proc/%s/status' % pid, encoding='ascii') as f:
            found = re.search(r'RssAnon:\s*(\d+)', f.read())
        return 1024 * int(found[1]) if found else 0
    return 0


def wait_for_lost(pid):
    """
    Wait until children of a process hang for longer than any of them is waited
    for, and return them.  Reading a disk makes a child hang for a moment, too.
    """
    since = {}
    lost = []

    def are_lost():
        now = time.monotonic()
        hanging = children_in_state(pid, 'D')
        for child in set(since) - hanging:
            del since[child]
        for child in hanging:
            since.setdefault(child, now)
        lost[:] = [child for child, began in since.items()
                   if now - began > GIVEN_UP]
        return lost

    wait_until(are_lost, 'a child that can not be ended')
    return lost


@case('waits: what could not be ended keeps no memory of a recorder')
def _(context):
    need_root()
    context.start(['manystacks'])
    target = start_fuse(context, 'jit', '-')
    recorder = context.start(
        [context.outwind, 'record', '-a', '-F', '999', '-f', 'folded', '-o',
         os.path.join(context.tmp, 'profile')], ready=None)
    lost = wait_for_lost(recorder.pid)
    before = memory_of(recorder.pid)
    recorder.terminate()
    check(recorder.wait() in (0, 1), 'status', recorder.returncode)
    left = max(map(memory_of, lost))
    check(before > 4 << 20 and left < 1 << 20, 'memory', (before, left))
    context.note('%d of %d KiB are left' % (left >> 10, before >> 10))
    target.kill()
    target.wait()


@case('waits: what could not be ended is waited for when it has ended')
def _(context):
    need_root()
    target = start_fuse(context, 'jit', '-')
    busy = context.start(['bystander'])
    recorder = context.start(
        [context.outwind, 'record', '-a', '-F', '199', '-f', 'folded', '-o',
         os.path.join(context.tmp, 'profile')], ready=None)
    lost = wait_for_lost(recorder.pid)
    target.kill()
    target.wait()
    # Other looks go on, at processes that are new.
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and set(children_of(recorder.pid)) & set(
            lost):
        context.start(['bystander']).kill()
    check(not children_in_state(recorder.pid, 'Z'), 'zombies',
          children_of(recorder.pid))
    recorder.terminate()
    recorder.wait()
    busy.kill()


@case('waits: a debug link that leads to what is not served')
def _(context):
    server = start_fuse(context, 'jit', '-')
    lib = os.path.join(context.tmp, 'lib.so')
    debug = os.path.join(context.tmp, 'lib.debug')
    shutil.copy(context.program('libpaused.so'), debug)
    subprocess.run(['objcopy', '--strip-all',
                    '--remove-section=.note.gnu.build-id',
                    '--add-gnu-debuglink=' + debug, debug, lib], check=True)
    os.unlink(debug)
    os.symlink('/proc/%d/root/tmp/file' % server.pid, debug)
    target = context.start(['loadpaused', lib])
    before = task_states(target.pid)
    done = context.run('stack', target.pid)
    check(done.returncode in (0, 1), 'status', done.stderr)
    check(b' main + ' in done.stdout, 'other frames', done.stdout)
    check(b'did not answer' not in done.stderr, 'it was asked', done.stderr)
    check_unharmed(target.pid, before)


def check_moments(context, target, nr, *options, several):
    before = task_states(target.pid)
    done = context.run('stack', '-q', '--stats', *options, target.pid,
                       status=0)
    said = re.search(r'its threads were taken in (\d+) moments',
                     done.stderr.decode())
    check((said is not None and int(said.group(1)) > 1) == several, 'moments',
          done.stderr)
    check(done.stdout.count(b'TID ') == nr, 'stacks',
          done.stdout.count(b'TID '))
    check(b'%d threads stopped' % nr in done.stderr, 'stopped', done.stderr)
    check_unharmed(target.pid, before)


@case('waits: threads that no stop reaches')
def _(context):
    # Sixteen of them: one for each of the groups that are stopped together.
    target = context.start(['manythreads', '4096', '256'])
    for options in ([], ['--one-at-a-time']):
        done = context.run('stack', '-q', '--stats', *options, target.pid,
                           status=1)
        stopped, ms = re.search(r'(\d+) threads stopped for ([\d.]+) ms',
                                done.stderr.decode()).groups()
        # A thread is waited for 2 seconds, and 14 others for a moment each.  Other
        # tests may keep some from a CPU.
        starved = done.stdout.count(b'it got no CPU, or is busy in the kernel')
        check(int(stopped) + starved == 4081 and float(ms) < 12000,
              'threads ' + ' '.join(options), done.stderr)
        check(done.stdout.count(b'it is in an uninterruptible call') == 16,
              'reasons', done.stdout[-2000:])
    target.kill()
    target.wait()


@case('waits: threads that get signals before it is their turn', alone=True)
def _(context):
    """A thread that is ours stops for any signal: it stood for 7 s, unsaid."""
    for command in ['stack', '-q'], ['snap', '-o', os.path.join(context.tmp, 's')]:
        target = context.start(['tickedthreads', '10000', '200'])
        context.run(*command, target.pid, status=1)
        target.send_signal(signal.SIGUSR1)
        target.wait()
        stood = int(target.stdout.readline())
        context.note('%s: %d ms' % (command[0], stood))
        check(stood < 1500, 'ms', (command, stood))


@case('waits: threads that only a kill reaches, and busy ones', alone=True)
def _(context):
    """Each that is late costs little, whoever else has the CPUs."""
    nr, busy = 1000, 10
    target = context.start(['killablewaits', str(nr), str(busy)])
    for options in ([], ['--one-at-a-time']):
        done = context.run('stack', '-q', *options, target.pid, status=1)
        check(done.stdout.count(b'TID ') == nr + busy + 1, 'threads',
              done.stdout[-2000:])
        check(done.stdout.count(b'thread did not stop in time') >= nr,
              'reasons', done.stdout[-2000:])


@case('waits: code that is mapped anew while it is listed')
def _(context):
    """A thread that is stopped waits no longer than a moment for a list."""
    target = context.start(['longcode', context.tmp, '30000', '20'])
    done = context.run('stack', '-q', '--one-at-a-time', '--stats',
                       target.pid)
    most = re.search(rb'([\d.]+) us at most', done.stderr)
    check(most and float(most[1]) < 4000000, 'freeze', done.stderr)
    check(done.stdout.count(b'TID ') == 21 and
          b'no stack: \n' not in done.stdout, 'threads', done.stdout)


@case('waits: threads that start the next one and end')
def _(context):
    """Each is there, or has a reason, and what isn't listed is told of."""
    nr = 300
    target = context.start(['chainedthreads', str(nr)])
    for options in ([], ['--one-at-a-time'], ['--gentle']):
        done = context.run('stack', '-q', *options, target.pid)
        check(b'no stack: \n' not in done.stdout, 'reasons',
              done.stdout[-2000:])
        check(done.stdout.count(b'\n#0 ') > nr or
              b'threads are started faster than they can be stopped' in
              done.stderr, 'said ' + ' '.join(options),
              (done.stdout.count(b'\n#0 '), done.stderr))


RESTART = 219  # restart_syscall(2)


@case('waits: a filter that ends who goes on by restart_syscall')
def filtered(context):
    need_root()
    tools = (['stack'], ['stack', '--one-at-a-time'],
             ['snap', '-o', os.path.join(context.tmp, 'snap')])
    for call, number in ('sleep', 230), ('poll', 7), ('futex', 202):
        for filter_does in 'deny', 'allow':
            target = context.start(['filtered', filter_does, call])
            wait_until(lambda: in_call(target.pid, target.pid) == number,
                       'it waits')
            for tool in tools:
                context.run(*tool, target.pid, status=0)
                context.run_tool([context.tbstack, str(target.pid)], status=0)
                wait_until(lambda: task_states(target.pid) == {target.pid: 'S'},
                           'it lives, and waits')
                # What may go on keeps its time; else the call is made again.
                now = in_call(target.pid, target.pid)
                check(now == (RESTART if filter_does == 'allow' else number),
                      'call', (call, filter_does, tool, now))


@case('waits: a stack of marks, below a file whose name takes long')
def _(context):
    folder = os.path.join(context.tmp, 'space')
    os.mkdir(folder)
    target = context.start(['markedstack', '24', '2000', folder])
    done = context.run('stack', '-q', '--stats', target.pid, status=1)
    most = float(re.search(r'([\d.]+) us at most',
                           done.stderr.decode()).group(1))
    check(most < 3000000, 'freeze', done.stderr)


@case('waits: filters that take long to look at')
def _(context):
    target = context.start(['manyfilters', '5000'])
    for options in ([], ['--one-at-a-time']):
        done = context.run('stack', '-q', '--stats', *options, target.pid,
                           status=0)
        stopped, ms = re.search(r'(\d+) threads stopped for ([\d.]+) ms',
                                done.stderr.decode()).groups()
        check(int(stopped) == 5001 and float(ms) < 5000,
              'freeze ' + ' '.join(options), done.stderr)


@case('waits: threads too many for one moment')
def _(context):
    target = context.start(['manythreads', '2000'])
    check_moments(context, target, 2001, '--freeze-limit=1', several=True)
    check_moments(context, target, 2001, '--freeze-limit=%d' % LONG,
                  several=False)

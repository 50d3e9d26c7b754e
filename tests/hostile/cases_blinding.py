# SPDX-License-Identifier: BSD-2-Clause
"""Processes that map, execute and end without end: others lose nothing by it."""

import contextlib
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time

from attackers import NOBODY
from cases_objects import Done
from harness import (PATIENCE, Skip, case, check, children_of, end_process,
                     need_root, wait_for_line, wait_until)
from recordings import (Recording, check_bystander, cpu_seconds, end_child, let_run,
                        record_bystander, resident, start_bystander)

MB = 1 << 20
# What the recorder may take, of which its maps in the kernel are some.
MOST_MEMORY = 250 * MB


@case('blinding: files of one process leave others room', alone=True)
def _(context):
    need_root()
    context.start(['manyfiles', '8400'])
    recording = Recording(context, '-f', 'json', '-F', 499)
    recording.wait_for_start()
    bystander = start_bystander(context)
    let_run(bystander.pid)
    said = recording.end()
    check(re.search(r'^outwind: \d+ mappings of files had no room: one process '
                    r'may have 1024 files, one user 2048, all 8191$', said,
                    re.MULTILINE), 'message', said)
    check_bystander(recording, bystander.pid)


@case('blinding: a recorder ends while it looks at files without end', alone=True)
def _(context):
    need_root()
    for _ in range(16):
        context.start(['manyfiles', '1100', '0', 'rest'])
    for signals in ([signal.SIGTERM], [signal.SIGINT, signal.SIGTERM]):
        recording = Recording(context, '-f', 'json', '-F', 499)
        # Threads that make tables are started just before it looks.
        tasks = '/proc/%d/task' % recording.child.pid
        wait_until(lambda: len(os.listdir(tasks)) > 4, 'it looks')
        for number in signals:
            recording.child.send_signal(number)
        said = recording.end(send=False)
        check(recording.cpu < 1, 'CPU seconds', (recording.cpu, said))
        check(said.startswith('outwind: interrupted before anything was '
                              'sampled\n'), 'message', said)
        context.note('ended after %.2f s of CPU time' % recording.cpu)


@case('blinding: names that cross mounts without end', alone=True)
def _(context):
    need_root()
    folder = tempfile.mkdtemp()
    context.stack.callback(os.rmdir, folder)
    os.chmod(folder, 0o755)
    os.chown(folder, 65534, 65534)
    target = context.start([shutil.which(NOBODY[0]), *NOBODY[1:],
                            context.program('manymounts'), '24', '2000', '1000',
                            '2', folder])
    for engine in 'bpf', 'perf':
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        recording, bystander, said = record_bystander(context, engine)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = (after.ru_utime + after.ru_stime - before.ru_utime -
                before.ru_stime)
        check_bystander(recording, bystander.pid)
        check(took < 15, engine + ': CPU seconds', (took, said))
        context.note('%s: %.1f s of CPU time' % (engine, took))
    done = Done(context, 'stack', target.pid)
    check(done.status in (0, 2), 'status', done.stderr)


@case('blinding: code that is mapped by two names in turns', alone=True)
def _(context):
    need_root()
    folder = tempfile.mkdtemp()
    context.stack.callback(shutil.rmtree, folder)
    os.chown(folder, 65534, 65534)
    context.start([shutil.which(NOBODY[0]), *NOBODY[1:],
                   context.program('twonames'), '20', folder])
    for engine in 'bpf', 'perf':
        recording, bystander, said = record_bystander(context, engine)
        check_bystander(recording, bystander.pid)
        end_process(bystander.pid)
        context.note('%s: %.2f s of CPU time at its end: %s' % (
            engine, recording.cpu, said.splitlines()))


def check_room_for_files(context, recording):
    """Files have room left, and a bystander is whole; what the recorder said."""
    bystander = start_bystander(context)
    # The recorder looks at thousands of files before it samples.
    recording.wait_for_start()
    let_run(bystander.pid)
    said = recording.end()
    objects = int(re.search(r'(\d+) objects', said)[1])
    context.note('%d objects' % objects)
    check(objects < 4096, 'objects', said)
    check_bystander(recording, bystander.pid)
    return said


@case('blinding: files of one user leave others room', alone=True)
def _(context):
    need_root()
    for _ in range(3):
        context.start(['manyfiles', '3000', '65534', 'rest'])
    recording = Recording(context, '-f', 'json', '-F', 499, '--stats')
    said = check_room_for_files(context, recording)
    check('mappings of files had no room' in said, 'message', said)


@case("blinding: files of one user's subordinate ids leave others room", alone=True)
def _(context):
    need_root()
    if not os.path.exists('/etc/subuid'):
        raise Skip('no /etc/subuid')
    listed = os.path.join(context.tmp, 'subuid')
    with open(listed, 'w', encoding='ascii') as f:
        f.write('nobody:100000:65536\n')
    for user in range(100000, 100005):
        context.start(['manyfiles', '3000', str(user), 'rest'])
    recording = Recording(
        context, '-f', 'json', '-F', 499, '--stats',
        by=('unshare', '--mount', 'sh', '-c',
            'mount --bind "$0" /etc/subuid && exec "$@"', listed))
    check_room_for_files(context, recording)


@case('growth: what is known of files is forgotten where it is much',
      alone=True)
def _(context):
    need_root()
    for _ in range(7):
        context.start(['manyfiles', '1100', '0', 'rest'])
    # What was known by then is forgotten, and what comes after that is known: how
    # soon that is depends on how busy the machine is.
    for seconds in (2, 8, 32):
        recording = Recording(context, '-f', 'json', '-F', 99, '--stats')
        time.sleep(seconds)
        bystander = start_bystander(context)
        let_run(bystander.pid)
        said = recording.end()
        check_bystander(recording, bystander.pid)
        if 'files and names: forgotten 1 times' in said:
            return
    check(False, 'forgotten', said)


@case('blinding: mappings of one process leave others room', alone=True)
def _(context):
    need_root()
    hostile = context.start(['manymaps', '17000'])
    recording = Recording(context, '-f', 'json', '-F', 499)
    recording.wait_for_start()
    bystander = start_bystander(context)
    let_run(bystander.pid)
    let_run(hostile.pid)
    memory = recording.memory()
    said = recording.end()
    check(memory < MOST_MEMORY, 'memory', memory)
    check(re.search(r'^outwind: 1 processes had more mappings of code than '
                    r'there is room for \(16383 of each\): \d+ of their '
                    r'samples end there$', said,
                    re.MULTILINE), 'message', said)
    ends = {end for _, end, _ in recording.stacks(hostile.pid)}
    check('tables had no room' in ends, 'ends', ends)
    check_bystander(recording, bystander.pid)


@case('blinding: threads of one process leave others descriptors', alone=True)
def _(context):
    need_root()
    hostile = context.start(['manythreads', '600'])
    bystander = start_bystander(context)
    whom = '-p', '%d,%d' % (hostile.pid, bystander.pid)
    # A descriptor for each thread and CPU.  First the hard limit is too low.
    cpus = os.sysconf('SC_NPROCESSORS_CONF')
    few, enough = (128 + threads * cpus for threads in (100, 700))
    for hard in few, enough:
        recording = Recording(
            context, '--engine=perf', '-f', 'json', '-F', 499, whom=whom,
            by=('prlimit', '--nofile=%d:%d' % (few, hard)))
        recording.wait_for_start()
        let_run(bystander.pid)
        events = len(os.listdir('/proc/%d/fd' % recording.child.pid))
        said = recording.end()
        check_bystander(recording, bystander.pid)
        told = re.search(r'^outwind: process %d: (\d+) of 601 threads, for which '
                         r'no file descriptors are left: left out$' %
                         hostile.pid, said, re.MULTILINE)
        if hard == enough:
            check(not told and events >= 602 * cpus, 'all', (events, said))
            continue
        left_out = told and int(told[1])
        check(left_out and 502 <= left_out < 601, 'message', said)
        with open(recording.path, encoding='utf-8') as f:
            lines = json.load(f)['left_out']
        check(any('%d of 601 threads' % left_out in line for line in lines),
              'profile', lines)
        context.note('%d of 601 left out' % left_out)


def stacks_of(recording, pid):
    """(stacks, all of their frames, samples) of a process."""
    found = recording.stacks(pid)
    return (len(found), sum(len(names) for names, _, _ in found),
            sum(count for _, _, count in found))


@case('growth: stacks of one process without end', alone=True)
def _(context):
    need_root()
    hostile = context.start(['manystacks', '65534'])
    limit = 4 * MB  # of all, and a quarter of it for a user
    bystander = start_bystander(context)
    # Others may have many stacks, too, where the machine is busy.
    recording = Recording(context, '-f', 'json', '-F', 999,
                          '--profile-memory', limit // MB,
                          whom=('-p', '%d,%d' % (hostile.pid, bystander.pid)))
    recording.wait_for_start()
    let_run(hostile.pid, 2)
    let_run(bystander.pid)
    said = recording.end()
    number, frames, samples = stacks_of(recording, hostile.pid)
    # A stack takes 4 bytes a frame, and a different frame takes 50 or more.
    check(frames <= limit // 4 // 4, 'frames', (frames, number))
    check(samples >= 500, 'samples', samples)
    folded = sum(count for names, _, count in recording.stacks(hostile.pid)
                 if names == ['[too many different stacks]'])
    check(folded, 'folded', number)
    told = re.search(r'^outwind: (\d+) samples of 1 users had too many different '
                     r'stacks: in the profile without theirs '
                     r'\(--profile-memory\)$', said, re.MULTILINE)
    check(told and int(told[1]) == folded and recording.child.returncode == 1,
          'message and status', (said, folded, recording.child.returncode))
    check_bystander(recording, bystander.pid)
    context.note('%d of %d samples folded' % (folded, samples))


def waited(profile, name):
    """The seconds that a program waited, by a profile in folded stacks."""
    return sum(int(line.rsplit(' ', 1)[1]) for line in profile.splitlines()
               if line.startswith(name + ';')) / 1e6


@case('growth: waits below stacks without end', alone=True)
def _(context):
    need_root()
    hostile = context.start(['manywaits', '8'])
    patient = context.start(['loadpaused', context.program('libpaused.so')])
    seconds = 8
    # With so little, what it keeps reaches its bound before the recording ends.
    done = Done(context, 'record', '--off-cpu', '-d', seconds, '-f', 'folded',
                '--memory-limit=64M', '--profile-memory=64',
                '-p', '%d,%d' % (hostile.pid, patient.pid))
    check(done.status == 1, 'status %d' % done.status, done.stderr)
    check(done.megabytes < 150, 'memory', done.megabytes)
    time_waited = waited(done.stdout, 'loadpaused')
    check(0.9 * seconds < time_waited < 1.1 * seconds, 'time', time_waited)
    check('manywaits;[truncated];[too many different stacks] ' in done.stdout, 'folded',
          done.stderr)
    check(re.search(r'(?m)^outwind: \d+ samples had more different stacks than '
                    r'could be taken: in the profile without theirs: of '
                    r'manywaits \(%d\)$' % hostile.pid, done.stderr), 'message',
          done.stderr)
    context.note('%d MB, waited %.2f s' % (done.megabytes, time_waited))


@case('blinding: threads that end by execve leave others theirs', alone=True)
def _(context):
    need_root()
    hostile = context.start(['execthreads', '200', '1000'])
    bystander = start_bystander(context)
    for engine in ('perf', 'ptrace'):
        for whom in (hostile.pid, bystander.pid), (hostile.pid,):
            for _ in range(5):
                recording = Recording(
                    context, '--engine=' + engine, '-f', 'json', '-F', 499,
                    whom=('-p', ','.join(map(str, whom))))
                recording.wait_for_start()
                let_run(bystander.pid, 0.1)
                said = recording.end()
                check(bystander.pid not in whom or
                      recording.stacks(bystander.pid), 'stacks by ' + engine,
                      said)


@case('blinding: waits below stacks without end leave others theirs', alone=True)
def _(context):
    need_root()
    waits = 1000
    hostile = context.start(['manywaits', '32'])
    patient = context.start(['fewwaits', str(waits)])
    recording = Recording(context, '--off-cpu', '-f', 'json',
                          whom=('-p', '%d,%d' % (hostile.pid, patient.pid)))
    recording.wait_for_start()
    # What the hostile process has by now is as much as there can be of it.
    time.sleep(2)
    patient.send_signal(signal.SIGUSR1)
    wait_until(lambda: patient.stdout.readline() == b'done\n', 'it has waited')
    said = recording.end()
    found = sum(count for names, end, count in recording.stacks(patient.pid)
                if 'wait_below' in names and end == 'complete')
    check(found >= waits, 'waits', (found, waits, said))
    check(re.search(r'(?m)^outwind: \d+ samples had more different stacks than '
                    r'could be taken: in the profile without theirs: of '
                    r'manywaits \(%d\)$' % hostile.pid, said), 'message', said)
    # Of the hostile process's: the others' were all found.
    lost = re.search(r'(\d+) samples lost', said)
    check(not lost or int(lost[1]) <= 10, 'lost', said)
    context.note('%d of %d waits' % (found, waits))


@case('growth: threads that wait in a deep stack when a recorder begins', alone=True)
def _(context):
    """To walk all would take minutes, which it neither needs nor lets others wait."""
    need_root()
    hostile = context.start(['deepwaits', '6000', '1000'])
    patient = context.start(['fewwaits', '1'])
    whom = ('-p', '%d,%d' % (hostile.pid, patient.pid))
    for number in signal.SIGINT, signal.SIGTERM:
        recording = Recording(context, '--off-cpu', '-f', 'json', whom=whom)
        # It makes these threads just before it looks.
        tasks = '/proc/%d/task' % recording.child.pid
        wait_until(lambda: len(os.listdir(tasks)) > 4, 'it looks')
        time.sleep(0.5)
        recording.child.send_signal(number)
        said = recording.end(send=False)
        check(recording.cpu < 2, 'CPU seconds', (recording.cpu, said))
    recording = Recording(context, '--off-cpu', '-f', 'json', '-d', 8, whom=whom)
    said = recording.end(send=False)
    found = [end for names, end, _ in recording.stacks(patient.pid)
             if 'main' in names]
    check(found == ['complete'], 'the stack of the other process', (found, said))
    context.note(said.strip())


@case('growth: a recorder of such waits ends when it is told to', alone=True)
def _(context):
    need_root()
    hostile = context.start(['manywaits', '8'])
    for number in signal.SIGINT, signal.SIGTERM:
        recorder = context.start(
            [context.outwind, 'record', '--off-cpu', '-o',
             os.path.join(context.tmp, 'profile'), '-p', str(hostile.pid)],
            ready=None)
        time.sleep(5)
        took = end_child(recorder, number)
        # Names may take 5 seconds of it.
        check(recorder.returncode in (0, 1) and took < 15, 'end',
              (recorder.returncode, took))
        context.note('%.1f s' % took)


def start_syscalls(context, pid, *options, **where):
    return context.start([context.outwind, 'syscalls', *options, str(pid)],
                         ready=None, **where)


def end_soon(tool, number, most):
    begun = time.monotonic()
    tool.send_signal(number)
    try:
        tool.wait(timeout=most)
    except subprocess.TimeoutExpired:
        check(False, 'end', '%d s after signal %d' % (most, number))
    return time.monotonic() - begun


@case('growth: system calls from ever new places', alone=True)
def _(context):
    need_root()
    hostile = context.start(['manycallers', '256', '2'])
    out = os.path.join(context.tmp, 'calls')
    for options in ['-ck'], ['-k']:
        tool = start_syscalls(context, hostile.pid, *options, '-o', out if
                              '-ck' in options else os.devnull)
        most = 0
        for _ in range(20):
            time.sleep(0.5)
            most = max(most, resident(tool.pid))
        took = end_soon(tool, signal.SIGINT, 9)
        # Of it, 128 MB are the ring of events, which is mapped twice.
        check(most < 400 * MB, 'memory', most)
        context.note('%s: %d MB, end after %.1f s' %
                     (options[0], most // MB, took))
    with open(out, encoding='utf-8') as f:
        lines = f.read().splitlines()
    check(lines[-2].endswith(' any                  [too many different call '
                             'sites]'), 'counted together', lines[-3:])
    check(len(lines) <= 3 * 65536 + 3, 'lines', len(lines))


def trace_beside(context, hostile, *options):
    """What syscalls writes, and says, of fifty calls that another process makes then."""
    patient = context.start(['fewwaits', '50'])
    out, said = (os.path.join(context.tmp, name) for name in ('calls', 'said'))
    with open(said, 'wb') as errors:
        tool = start_syscalls(context, patient.pid, *options, '-o', out,
                              str(hostile.pid), stderr=errors)
        # Calls that are made before it traces are none that it tells.
        wait_until(lambda: os.path.exists(out), 'it traces')
        time.sleep(3)
        for target in hostile, patient:
            target.send_signal(signal.SIGUSR1)
            wait_for_line(target, 'done')
        end_soon(tool, signal.SIGINT, PATIENCE)
    with open(out, encoding='utf-8') as f, open(said, encoding='utf-8') as g:
        return f.read(), g.read(), patient.pid


@case('blinding: calls of threads that wait everywhere leave others their places',
      alone=True)
def _(context):
    need_root()
    text, said, pid = trace_beside(context, context.start(['manysites', '13500',
                                                           '3000']))
    lines = re.findall(r'(?m)^\[%d\] \w*nanosleep\(.*$' % pid, text)
    check(len(lines) >= 45 and all(' at wait_below+' in line for line in lines),
          'places', (len(lines), lines[:3], said))
    check(re.search(r"(?m)^outwind: who made \d+ system calls isn't told: there was "
                    r'no room for so many call sites', said), 'message', said)


@case("blinding: calls below one user's deep stacks leave others their places",
      alone=True)
def _(context):
    """
    Naming stacks takes the reader's time: others' calls must not wait until there is no
    room for them.
    """
    need_root()
    hostile = context.start(['deepcalls', '8', '500', '30'])
    out, said = (os.path.join(context.tmp, name) for name in ('calls', 'said'))
    with open(said, 'wb') as errors:
        tool = start_syscalls(context, hostile.pid, '-k', '-e', 'getppid,getuid',
                              '-o', out, stderr=errors)
        # No process is to keep it from a CPU.
        os.setpriority(os.PRIO_PROCESS, tool.pid, -10)
        wait_until(lambda: os.path.exists(out), 'it traces')
        time.sleep(3)
        hostile.send_signal(signal.SIGUSR1)
        wait_for_line(hostile, 'done')
        end_soon(tool, signal.SIGINT, PATIENCE)
    with open(out, encoding='utf-8') as f:
        lines = [line for line in f if '] getuid(' in line]
    named = sum(' at late_call+' in line for line in lines)
    with open(said, encoding='utf-8') as f:
        check(named >= 0.8 * 30 * 50, 'calls with a place', (named, len(lines), f.read()))
    context.note('%d of %d calls have their place' % (named, 30 * 50))


@case('blinding: calls of numbers without end leave others their rows', alone=True)
def _(context):
    need_root()
    text, said, _ = trace_beside(context, context.start(['manysites', '0',
                                                         '100000']), '-c')
    rows = re.findall(r'(?m)(\d+) +0  \w*nanosleep +wait_below$', text)
    check(len(rows) == 1 and int(rows[0]) >= 45, 'row', (rows, text[-2000:], said))
    check('[too many different call sites]' in text, 'counted together', said)


@case('blinding: children of a command beside many others', alone=True)
def _(context):
    """More than half of as many as can be followed, which the kernel may have at most."""
    need_root()
    out = os.path.join(context.tmp, 'calls')
    done = context.run('syscalls', '-c', '-o', out, '--',
                       context.program('manykin'), 16500)
    if b'only' in done.stderr:
        raise Skip('so many processes are not allowed')
    with open(out, encoding='utf-8') as f:
        rows = re.findall(r'(?m)(\d+) +0  getuid +late_call$', f.read())
    check(rows == ['50'], 'calls', (rows, done.stderr))


@case('growth: system calls for a reader who never reads', alone=True)
def _(context):
    need_root()
    hostile = context.start(['manycallers', '16', '1'])
    for number in signal.SIGINT, signal.SIGTERM:
        reading, writing = os.pipe()
        context.stack.callback(os.close, reading)
        tool = start_syscalls(context, hostile.pid, stderr=writing)
        os.close(writing)
        time.sleep(2)
        context.note('%.1f s' % end_soon(tool, number, 5))


def let_call(target):
    """Have textcalls.c make its calls."""
    target.send_signal(signal.SIGUSR1)
    wait_for_line(target, 'done')


def read_all(fd):
    with open(fd, 'rb') as f:
        return f.read().decode(errors='replace')


@case('calls: of others than who makes too many of them', alone=True)
def _(context):
    """Nobody reads meanwhile, so that what waits comes to all that there may be."""
    need_root()
    hostile = context.start(['textcalls', '4000', '25000'], user=65534)
    others = [context.start(['textcalls', '20', '300'], user=user)
              for user in (0, 65534)]
    reading, writing = os.pipe()
    tool = start_syscalls(context, hostile.pid, '-e', 'access',
                          *(str(t.pid) for t in others), stderr=writing)
    os.close(writing)
    rounds = 0
    while not select.select([reading], [], [], 0.2)[0]:
        let_call(others[0])
        rounds += 1
        check(tool.poll() is None, 'it begins')
    let_call(hostile)
    for target in others:
        let_call(target)
    for target in (hostile, *others):
        target.kill()
        target.wait()
    said = read_all(reading)
    tool.wait(timeout=PATIENCE)
    check(tool.returncode == 1, 'status', tool.returncode)
    for target, last in zip(others, (rounds, 0)):
        found = set(re.findall(r'(?m)^\[%d\] access\("/+%d\.(\d+)"' %
                               (target.pid, last), said))
        context.note('%d of 300' % len(found))
        check(len(found) == 300, 'calls', (len(found), said[-300:]))
    lost = re.search(r'(?m)^outwind: (\d+) system calls or results of them '
                     r'lost: (\d+) of process (\d+)$', said)
    check(lost and lost.group(1) == lost.group(2) and
          lost.group(3) == str(hostile.pid), 'whose', said[-300:])


@case('calls: of others than who executes by long paths without end', alone=True)
def _(context):
    """The paths can't be read as the calls begin: they count as the callers' all the same."""
    need_root()
    hostile = [context.start(['execpaths', '8500'], user=65534) for _ in range(2)]
    patient = context.start(['textcalls', '3000', '500'], user=1000)
    reading, writing = os.pipe()
    tool = start_syscalls(context, patient.pid, '-e', 'access,execve',
                          *(str(t.pid) for t in hostile), stderr=writing)
    os.close(writing)
    rounds = 0
    while not select.select([reading], [], [], 0.2)[0]:
        let_call(patient)
        rounds += 1
        check(tool.poll() is None, 'it begins')
    for target in hostile:
        target.send_signal(signal.SIGUSR1)
    for target in hostile:
        wait_for_line(target, 'done')
    let_call(patient)
    for target in (*hostile, patient):
        target.kill()
        target.wait()
    said = read_all(reading)
    tool.wait(timeout=PATIENCE)
    found = set(re.findall(r'(?m)^\[%d\] access\("/+%d\.(\d+)"' %
                           (patient.pid, rounds), said))
    context.note('%d of 500' % len(found))
    check(len(found) == 500, 'calls', (len(found), said[-300:]))


@case('growth: mapping and unmapping again and again', alone=True)
def _(context):
    need_root()
    hostile = context.start(['manymaps', '4000'])
    recording = Recording(context, '-f', 'json', '-F', 99)
    recording.wait_for_start()
    bystander = start_bystander(context)
    let_run(bystander.pid)
    let_run(hostile.pid, 0.5)
    memory = recording.memory()
    recording.end()
    check(memory < MOST_MEMORY, 'memory', memory)
    check_bystander(recording, bystander.pid)
    context.note('%d MB' % (memory // MB))


@case('growth: code mapped and unmapped in a loop', alone=True)
def _(context):
    need_root()
    for _ in range(6):
        context.start(['mapflood'])
    for engine in ('bpf', 'perf'):
        recording = Recording(context, '-f', 'json', '-F', 499,
                              '--engine=' + engine)
        recording.wait_for_start()
        bystander = start_bystander(context)
        let_run(bystander.pid, 0.5)
        ran = cpu_seconds(bystander.pid)
        recording.end()
        # It ends at once where it doesn't do what the loop asks for.
        check(recording.cpu < 10, engine + ': seconds to its end',
              recording.cpu)
        check_bystander(recording, bystander.pid)
        samples = sum(n for _, _, n in recording.stacks(bystander.pid))
        context.note('%s: %d samples of %.2f s' % (engine, samples, ran))
        check(samples >= 0.6 * 499 * ran, engine + ': samples', samples)
        bystander.kill()


@case('growth: code that is split in more ranges than were mapped', alone=True)
def _(context):
    """The recorder wrote 500 KB beyond a block of memory, and died of it."""
    need_root()
    for _ in range(2):
        context.start(['splitmaps', '1000'])
    for engine in ('bpf', 'perf'):
        recording = Recording(context, '-f', 'json', '--engine=' + engine)
        recording.wait_for_start()
        bystander = start_bystander(context)
        let_run(bystander.pid, 1)
        recording.end()
        check_bystander(recording, bystander.pid)
        bystander.kill()


@case('blinding: stacks whose rows take long', alone=True)
def _(context):
    """20 ms a stack: others' counts were lost, and the end took 9 s, or 24."""
    need_root()
    context.start(['costlyrows', '2'])
    for engine in ('bpf', 'perf'):
        recording = Recording(context, '-f', 'json', '--engine=' + engine)
        recording.wait_for_start()
        bystander = start_bystander(context)
        ran = cpu_seconds(bystander.pid)
        let_run(bystander.pid, 3)
        ran = cpu_seconds(bystander.pid) - ran
        recording.end()
        check(recording.cpu < 2, engine + ': seconds to its end',
              recording.cpu)
        samples = sum(n for _, _, n in recording.stacks(bystander.pid))
        context.note('%s: %d samples of %.2f s, %.1f s to its end' %
                     (engine, samples, ran, recording.cpu))
        check(samples >= 0.8 * 99 * ran, engine + ': samples', samples)
        check_bystander(recording, bystander.pid)
        bystander.kill()


@case("blinding: one user's large maps of JITs without end", alone=True)
def _(context):
    """They were read for up to 20 s in one go, and signals waited for that."""
    need_root()
    context.start(['largemaps', '200', '65534'])
    for engine in ('bpf', 'perf'):
        recording = Recording(context, '-f', 'json', '--engine=' + engine)
        recording.wait_for_start()
        other = context.start(['largemaps', '0', '1'])
        let_run(other.pid, 1)
        took = cpu_seconds(recording.child.pid)
        said = recording.end()
        stacks = recording.stacks(other.pid)
        named = sum(n for names, _, n in stacks if names[:1] == ['JS:work'])
        all_of_it = sum(n for _, _, n in stacks)
        context.note('%s: %d of %d stacks, %.1f s of CPU, %.1f s to its end' %
                     (engine, named, all_of_it, took, recording.cpu))
        check(named >= 0.75 * all_of_it and all_of_it > 30, engine + ': names',
              (named, all_of_it, said))
        # Beside busy programs it waits for a CPU, too.
        check(recording.cpu < 8, engine + ': seconds to its end',
              recording.cpu)
        check('processes of user 65534: ' in said and
              'processes of user 1:' not in said, 'told', said)
        other.kill()


@case("growth: one user's 100 files whose tables take long", alone=True)
def _(context):
    """All are waited for no longer than 5 seconds."""
    need_root()
    hostile = context.start(['costlytables', '100', context.tmp, '65534'])
    bystander = start_bystander(context)
    recording = Recording(context, '-f', 'json',
                          whom=['-p', '%d,%d' % (hostile.pid, bystander.pid)])
    recording.wait_for_start()
    took = cpu_seconds(recording.child.pid)
    let_run(bystander.pid)
    recording.end()
    context.note('%.1f s of CPU until it began' % took)
    check(took < 20, 'seconds', took)


@case('growth: code of a file that changes, in 16000 mappings', alone=True)
def _(context):
    """Each check of what has moved took 10 ms a stack, and all rings ran full."""
    need_root()
    target = context.start(['rewrittenmaps', '16000', context.tmp])
    bystander = start_bystander(context)
    recording = Recording(context, '-f', 'json', '-F', 999, '--engine=perf')
    recording.wait_for_start()
    begun = cpu_seconds(recording.child.pid)
    let_run(target.pid, 4)
    took = cpu_seconds(recording.child.pid) - begun
    said = recording.end()
    context.note('%.1f s of CPU, %.1f s more to its end' % (took, recording.cpu))
    lost = re.search(r'(\d+) lost', said)
    context.note(lost[0] if lost else 'nothing is lost')
    check(took < 2, 'seconds', took)
    check(recording.cpu < 2, 'seconds to its end', recording.cpu)
    check_bystander(recording, bystander.pid)


@case('growth: short processes that no sample hits', alone=True)
def _(context):
    need_root()
    recording = Recording(context, '-F', 2, '--stats')
    recording.wait_for_start()
    shell = context.start(
        ['/bin/sh', '-c', 'echo ready; i=0; while [ $i -lt 2000 ]; do '
         '/bin/true; i=$((i+1)); done; echo done; sleep 1000'])
    wait_until(lambda: shell.stdout.readline() == b'done\n', 'it is done')
    time.sleep(0.5)
    said = recording.end()
    lists = int(re.search(r'(\d+) lists of mappings', said)[1])
    # One a process that there was, and one a sample.
    check(lists < 1000, 'lists', said)
    context.note('%d lists of mappings for 2000 processes' % lists)


def child_of_name(pid, name):
    """The child of a process that has that name, or None."""
    for child in children_of(pid):
        with contextlib.suppress(OSError):
            with open('/proc/%d/comm' % child, encoding='utf-8') as f:
                if f.read() == name + '\n':
                    return child
    return None


def programs_of(pid):
    """How many of the program's files another process has mapped."""
    with open('/proc/%d/maps' % pid, encoding='utf-8') as f:
        return sum('/memfd:program' in line for line in f)


@case('growth: files in memory are not kept after their processes', alone=True)
def _(context):
    need_root()
    # Its processes alone: others may have more to name than there is time for.
    recording = Recording(context, '-F', 499, '-f', 'json', whom=(
        '--', context.program('memfdexec'), '40', '20', '65534'))
    wait_until(lambda: child_of_name(recording.child.pid, 'memfdexec'),
               'it runs')
    hostile = child_of_name(recording.child.pid, 'memfdexec')
    context.stack.callback(end_process, hostile)
    seen = [0]

    def is_done():
        seen[0] = max(seen[0], programs_of(recording.child.pid))
        with open('/proc/%d/wchan' % hostile, encoding='ascii') as f:
            return f.read() in ('do_sys_pause', '__x64_sys_pause',
                                '__do_sys_pause')
    wait_until(is_done, 'all ran')
    check(seen[0] > 0, 'files open meanwhile', seen)
    wait_until(lambda: programs_of(recording.child.pid) == 0, 'they are closed')
    end_process(hostile)
    said = recording.end(send=False)
    with open(recording.path, encoding='utf-8') as f:
        profile = json.load(f)
    # Their stacks have names all the same, but for those of a process that had
    # ended before its file could be opened, which say that they are cut short.
    frames = [profile['frames'][i] for stack in profile['stacks']
              if stack['end'] == 'complete' for i in stack['frames']]
    names = {frame.get('function') for frame in frames
             if '/memfd:program' in (frame.get('module') or '')}
    check('main' in names and None not in names, 'names', (names, said))
    context.note('%d were open at once' % seen[0])


@case('growth: a second signal cuts names short, and loses no stack',
      alone=True)
def _(context):
    need_root()
    context.start(['manystacks'])
    recording = Recording(context, '-F', 999, '-f', 'json')
    recording.wait_for_start()
    bystander = start_bystander(context)
    let_run(bystander.pid, 1)
    # Thousands of stacks are to be named, each of up to 1000 functions.
    recording.child.send_signal(signal.SIGTERM)
    time.sleep(0.05)
    recording.child.send_signal(signal.SIGTERM)
    said = recording.end(send=False)
    check(re.search(r'^outwind: naming took too long: \d+ stacks are in the '
                    r'profile by module and address', said, re.MULTILINE),
          'message', said)
    with open(recording.path, encoding='utf-8') as f:
        profile = json.load(f)
    counted = sum(stack['count'] for stack in profile['stacks'])
    check(counted == profile['samples'], 'samples',
          (counted, profile['samples']))


def lacks_names(recording, pid):
    """Samples of a process whose stacks have frames without names, and all samples."""
    with open(recording.path, encoding='utf-8') as f:
        profile = json.load(f)
    frames = profile['frames']
    stacks = [stack for stack in profile['stacks'] if stack['pid'] == pid]
    return (sum(stack['count'] for stack in stacks
                if not all(frames[i].get('function')
                           for i in stack['frames'])),
            sum(stack['count'] for stack in stacks))


@case('growth: who has few stacks has names before who has many', alone=True)
def _(context):
    need_root()
    hostile = context.start(['manystacks'])
    bystander = start_bystander(context)
    recording = Recording(context, '-F', 4999, '-f', 'json', whom=(
        '-p', '%d,%d' % (hostile.pid, bystander.pid)))
    recording.wait_for_start()
    let_run(bystander.pid, 0.1)
    let_run(hostile.pid, 3)
    before = cpu_seconds(recording.child.pid)
    recording.child.send_signal(signal.SIGTERM)
    # To name 2000 stacks of 1000 places takes about ten times as long.
    wait_until(lambda: cpu_seconds(recording.child.pid) > before + 0.2 or
               not recording.reader.is_alive(), 'it names')
    said = recording.end()
    check_bystander(recording, bystander.pid)
    lacking, whole = lacks_names(recording, bystander.pid)
    check(lacking == 0, 'samples that lack names', (lacking, whole, said))
    check(re.search(r'^outwind: naming took too long: \d+ stacks are in the '
                    r'profile by module and address, at least in part: of '
                    r'manystacks \(%d\)$' % hostile.pid, said, re.MULTILINE),
          'message', said)
    context.note('%d samples of the other one have names' % whole)


@case('blinding: looks at one process leave time for those at another')
def looks_by_turns(context):
    """By the engine that stops processes, and lists each time what they map."""
    need_root()
    hostile = context.start(['manymaps', '15000'])
    victim = context.start(['busyname'])
    path = os.path.join(context.tmp, 'looks')
    done = context.run('record', '--engine=ptrace', '-p',
                       '%d,%d' % (hostile.pid, victim.pid), '-d', '4',
                       '--per-thread', '-f', 'json', '-o', path, status=0)
    with open(path, encoding='utf-8') as f:
        stacks = json.load(f)['stacks']
    looks = {pid: sum(s['count'] for s in stacks if s['pid'] == pid)
             for pid in (hostile.pid, victim.pid)}
    context.note('%s' % looks)
    check(looks[victim.pid] > 2 * looks[hostile.pid], 'looks', looks)
    check(re.search(r'outwind: process %d: \d+ samples, as a look takes too long: '
                    r'left out\n' % hostile.pid, done.stderr.decode()),
          'it is told', done.stderr)

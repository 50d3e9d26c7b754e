# SPDX-License-Identifier: BSD-2-Clause
"""Code that another program's replaces at its address, while one looks at it."""

import collections
import json
import os
import re
import shutil
import signal
import time

from attackers import NOBODY
from harness import Skip, case, check, end_process, need, need_root
from recordings import Recording, let_run

LOOKS = 40
ENGINES = ('bpf', 'perf')
# Functions of the code that programs move.
MOVED = {'spin_first', 'spin_second', 'never_first', 'never_second'}


def start_execs(context):
    """Two programs that execute each other, at addresses that stay."""
    need('setarch')
    paths = [context.program('swapexec_' + which) for which in 'ab']
    target = context.start([shutil.which('setarch'), '-R', paths[0], paths[1],
                            paths[0]], ready=None)
    time.sleep(0.2)
    check(target.poll() is None, 'the programs have ended', target.poll())
    return target


def check_text(text, what):
    check(b'never' not in text, 'a function that never runs', (what, text))
    return b'spin' in text


def check_looks(context, pid, *options):
    """Each look tells the function that runs, or none; most tell it."""
    looks = [check_text(context.run('stack', *options, pid).stdout, options)
             for _ in range(LOOKS)]
    check(sum(looks) > LOOKS / 8, 'looks that tell what runs', looks)


@case('swaps: programs that execute each other')
def _(context):
    pid = start_execs(context).pid
    for options in ((), ('--one-at-a-time',), ('--gentle',), ('--proc-mem',)):
        check_looks(context, pid, *options)


@case('swaps: programs that execute each other, by tbstack and snap')
def _(context):
    pid = start_execs(context).pid
    snap = os.path.join(context.tmp, 'snap')
    for _ in range(LOOKS):
        check_text(context.run_tool([context.tbstack, str(pid)]).stdout,
                   'tbstack')
        if context.run('snap', '-o', snap, pid).returncode == 0:
            check_text(context.run('stack', snap).stdout, 'snap')


def program_of(text):
    """
    Which of the programs heading, thread and frame tell, as far as there is a frame.
    """
    told = re.search(r'^PID \d+ - \S*/swapexec_(.)\n(?:.*\n)*?'
                     r'TID \d+ "swapexec_(.)".*\n'
                     r'#0 +\S+ spin\b.*/swapexec_(.)$', text, re.M)
    return ''.join(told.groups()) if told else None


@case('swaps: whose name is told is the program that runs')
def _(context):
    paths = [context.program('swapexec_' + which) for which in 'ab']
    moved = context.start([*paths, paths[0]], ready=None)
    for pid in start_execs(context).pid, moved.pid:
        for options in ((), ('--one-at-a-time',), ('--gentle',)):
            told = collections.Counter(
                program_of(context.run('stack', '-m', *options, pid)
                           .stdout.decode()) for _ in range(LOOKS))
            check(set(told) <= {'aaa', 'bbb', None} and
                  told['aaa'] + told['bbb'] > LOOKS / 2, 'programs',
                  (options, told))


def stacks_and_said(context, pid):
    """(threads, what was said) of each way to look at the process."""
    snap = os.path.join(context.tmp, 'snap')
    for options in ((), ('--one-at-a-time',), ('--gentle',), ('--no-stop',)):
        done = context.run('stack', '--json', *options, pid)
        yield json.loads(done.stdout)['threads'], done.stderr
    said = context.run('snap', '-o', snap, pid).stderr
    yield json.loads(context.run('stack', '--json', snap)
                     .stdout)['threads'], said


@case('swaps: a stack that another process changes is uncertain')
def _(context):
    """But it is there; and of a usual program nothing is said."""
    pid = context.start(['sharedstack']).pid
    for (thread,), said in stacks_and_said(context, pid):
        check(not thread['certain'] and len(thread['frames']) >= 2, 'stack',
              thread)
        check(b'1 of its threads are in shared memory' in said, 'message', said)
    pid = context.start(['textcalls', '20', '1']).pid
    for (thread,), said in stacks_and_said(context, pid):
        check(thread['certain'], 'stack', thread)
        check(b'shared' not in said, 'message', said)


@case('swaps: code that is mapped in turns')
def _(context):
    for threads in ('0', '200'):
        pid = context.start(['swapcode', threads, '100000']).pid
        check_looks(context, pid)


def check_phases(context, pid, options):
    """
    Look at threads of code that takes turns; return how many told where they were.
    """
    found = 0
    for _ in range(15):
        text = context.run('stack', '--json', *options, pid).stdout
        for thread in json.loads(text)['threads']:
            names = {frame.get('function') for frame in thread.get('frames', ())}
            check(not thread.get('certain', True) or not any(
                name and name.startswith('never') for name in names),
                  'a function that never runs', (options, thread))
            found += bool(names & {'wait_first', 'wait_second'})
    return found


@case('swaps: threads in code that takes turns')
def _(context):
    for threads, ms in ((1, 1), (200, 20)):
        pid = context.start(['swapphases', str(threads), str(ms)]).pid
        for options in (('--no-stop',), ('--gentle',), ('--one-at-a-time',),
                        ('--freeze-limit=1',), ()):
            found = check_phases(context, pid, options)
            check(found >= 5, 'threads that tell what runs', found)
            context.note('%d threads %s: %d' % (threads, options, found))


@case('swaps: code that another process with the memory replaces', alone=True)
def _(context):
    pid = context.start(['swapshared', '200000']).pid
    for options in ((), ('--one-at-a-time',)):
        looks = [context.run('stack', *options, pid) for _ in range(100)]
        told = sum(b'called' in look.stdout for look in looks)
        false = [look.stdout for look in looks if b'never' in look.stdout]
        warned = sum(b'shares its memory' in look.stderr for look in looks)
        context.note('%s: called %d, warned %d' % (options, told, warned))
        # What is replaced and put back without being seen can't be told.
        check(len(false) <= 1, 'a function that never was called', false[:2])
        check(warned, 'no line about it', looks[0].stderr)


@case('swaps: one of many threads at a time, with code in many mappings')
def _(context):
    target = context.start(['manycode', '20000', '300'])
    took = os.path.join(context.tmp, 'took')
    done = context.run_tool([context.program('measure'), took, context.outwind,
                             'stack', '--one-at-a-time', str(target.pid)])
    with open(took, encoding='ascii') as f:
        seconds = int(f.read().split()[2]) / 1e6
    check(done.stdout.count(b'pause') == 301, 'stacks', done.stdout[-500:])
    check(b'stopped together' in done.stderr, 'no line about it', done.stderr)
    check(seconds < 4, 'time', seconds)


def record(context, engine, pids):
    """The functions that stacks of each process have, and how often."""
    recording = Recording(context, '-F', 199, '--engine=' + engine, '-f', 'json',
                          whom=('-p', ','.join(map(str, pids))))
    recording.wait_for_start()
    for pid in pids:
        let_run(pid, 0.5)
    recording.end()
    with open(recording.path, encoding='utf-8') as f:
        profile = json.load(f)
    names = {pid: collections.Counter() for pid in pids}
    for stack in profile['stacks']:
        for name in {profile['frames'][i].get('function')
                     for i in stack['frames']}:
            names[stack['pid']][name] += stack['count']
    return names


@case('swaps: recorded while code takes the place of other code', alone=True)
def _(context):
    need_root()
    execs = start_execs(context).pid
    maps = context.start(['swapcode', '0', '1000000']).pid
    for engine in ('bpf', 'perf', 'ptrace'):
        names = record(context, engine, (execs, maps))
        for pid, what, right, wrong in (
                (execs, 'execs', ('spin',), ('never',)),
                (maps, 'maps', ('spin_first', 'spin_second'),
                 ('never_first', 'never_second'))):
            seen = {name: names[pid][name] for name in right + wrong}
            check(sum(seen[name] for name in right) >= 20 and
                  not any(seen[name] for name in wrong),
                  engine + ', ' + what, seen)
            context.note('%s, %s: %s' % (engine, what, seen))


def need_moves():
    """The kernel tells of calls of mremap(2), by a kprobe or a tracepoint."""
    if not any(map(os.path.exists,
                   ('/sys/bus/event_source/devices/kprobe/type',
                    '/sys/kernel/tracing'))):
        raise Skip('the kernel has neither kprobes nor tracepoints')


def start_moved(context, *way):
    """A program of nobody's that goes on to other code that way."""
    return context.start([shutil.which(NOBODY[0]), *NOBODY[1:],
                          context.program('swapmoved'), *way])


def moved_names(recording, pid):
    """Names of a process, and how many of its stacks had no room, and all."""
    names = collections.Counter()
    for functions, end, count in recording.stacks(pid):
        for name in set(functions) & MOVED:
            names[name] += count
        names['no room'] += count * (end == 'tables had no room')
        names['of all'] += count
    return names


def record_switch(context, options, whom, pid, target):
    """Names of a process that goes on to other code when it gets SIGUSR1."""
    recording = Recording(context, '-F', 199, '-f', 'json', *options, whom=whom)
    recording.wait_for_start()
    let_run(pid, 0.3)
    target.send_signal(signal.SIGUSR1)
    let_run(pid, 1)
    recording.end()
    return moved_names(recording, pid)


def check_switches(context, ways, everyone=(False, True)):
    """The code that runs is told before and after it was put there, and no other."""
    for engine in ENGINES:
        for way in ways:
            for all_of_them in everyone:
                target = start_moved(context, way)
                whom = ('-a',) if all_of_them else ('-p', str(target.pid))
                names = record_switch(context, ['--engine=' + engine], whom,
                                      target.pid, target)
                end_process(target.pid)
                what = '%s, %s, %s: %s' % (engine, way, whom[0], dict(names))
                context.note(what)
                check(not names['never_first'] and not names['never_second'],
                      'a function that never runs', what)
                check(names['spin_first'] >= 20 and names['spin_second'] >= 20,
                      'samples of what runs', what)


@case('swaps: recorded while code is moved over other code', alone=True)
def _(context):
    need_root()
    check_switches(context, ('move', 'nothing', 'grow'))


@case('swaps: recorded while a process with the memory maps code', alone=True)
def _(context):
    need_root()
    check_switches(context, ('child', 'vfork'))


@case('swaps: recorded while code is moved in turns', alone=True)
def _(context):
    need_root()
    pid = start_moved(context, 'turns').pid
    names = record(context, 'bpf', (pid,))[pid]
    context.note(str({name: names[name] for name in MOVED}))
    check(not names['never_first'] and not names['never_second'],
          'a function that never runs', names)


def count_moved(context, pid, *options, whom):
    """moved_names() by engine perf, of a process that goes on as it began."""
    recording = Recording(context, '-F', 199, '--engine=perf', '-f', 'json',
                          *options, whom=whom)
    recording.wait_for_start()
    let_run(pid, 1)
    recording.end()
    return moved_names(recording, pid)


@case('swaps: recorded while code is swapped and swapped back', alone=True)
def _(context):
    need_root()
    need_moves()
    for way in ('turns', 'turns32', 'shared'):
        for everyone in (False, True):
            pid = start_moved(context, way).pid
            other = start_moved(context, 'move').pid
            whom = ('-a',) if everyone else ('-p', '%d,%d' % (pid, other))
            names = count_moved(context, pid, whom=whom)
            what = '%s, %s: %s' % (way, whom[0], dict(names))
            context.note(what)
            check(not names['never_first'] and not names['never_second'],
                  'a function that never runs', what)
            check(names['of all'] >= 20, 'samples', what)
            end_process(pid)
            end_process(other)


@case('swaps: recorded while others move memory without end', alone=True)
def _(context):
    need_root()
    context.start(['movemuch', '2'])
    for way in ('move', 'data'):
        pid = start_moved(context, way).pid
        names = count_moved(context, pid, whom=('-a',))
        context.note('%s: %s' % (way, dict(names)))
        check(names['spin_first'] >= 20 and
              names['spin_first'] >= 0.9 * (names['spin_first'] +
                                            names['no room']), 'names', names)
        end_process(pid)


def names_beside_flood(context, way, flood=(), everyone=True):
    """
    moved_names() of a program that has moved code, while others move memory without end,
    so often that not all of their calls are told.
    """
    target = start_moved(context, *way)
    whom = ('-a',) if everyone else ('-p', str(target.pid))
    recording = Recording(context, '-F', 199, '--engine=perf', '-f', 'json',
                          whom=whom)
    recording.wait_for_start()
    target.send_signal(signal.SIGUSR1)
    let_run(target.pid, 2)
    others = context.start(['movemuch', '2', *flood])
    let_run(target.pid, 4)
    said = recording.end()
    end_process(others.pid)
    end_process(target.pid)
    names = moved_names(recording, target.pid)
    context.note('%s, %s, %s: %s' % (way, flood, whom[0], dict(names)))
    check('more than there was room for' in said, 'calls were not lost', said)
    check(names['of all'] >= 100 and not names['never_first'] and
          not names['never_second'], 'a function that never runs', names)
    return names


def check_beside_flood(context, way, flood=()):
    """Most samples are named, as the calls of others are not the program's."""
    names = names_beside_flood(context, way, flood)
    check(names['spin_first'] + names['spin_second'] >= names['of all'] / 2,
          'samples of what runs', names)


@case('swaps: code was moved once, others move memory without end', alone=True)
def _(context):
    need_root()
    need_moves()
    check_beside_flood(context, ('move',))
    check_beside_flood(context, ('move',), ('children',))


@case('swaps: code is moved seldom, others move memory without end', alone=True)
def _(context):
    need_root()
    need_moves()
    check_beside_flood(context, ('turns', 'seldom'))


@case('swaps: a process with the memory moves code, others move without end',
      alone=True)
def _(context):
    need_root()
    need_moves()
    for everyone in (False, True):
        names_beside_flood(context, ('shared', 'seldom'), everyone=everyone)


def user_seconds(context, *command):
    """What a tool says, and how long it computed."""
    took = os.path.join(context.tmp, 'took')
    done = context.run_tool([context.program('measure'), took, context.outwind,
                             *map(str, command)])
    with open(took, encoding='ascii') as f:
        return done, int(f.read().split()[1]) / 1e6


@case('swaps: ids of threads that others have by now')
def _(context):
    target = context.start(['shortthreads', '4000', '200'])
    # Processes that may have ids of its threads.
    context.start(['/bin/sh', '-c', 'while :; do /bin/true; done'], ready=None)
    for _ in range(3):
        done, seconds = user_seconds(context, 'stack', '--json', target.pid)
        threads = json.loads(done.stdout)['threads']
        names = {t['name'] for t in threads if t.get('frames')}
        check(names <= {'shortthreads'}, 'threads of others', names)
        check(seconds < 0.6, 'time', seconds)

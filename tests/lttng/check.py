# SPDX-License-Identifier: BSD-2-Clause
"""What LTTng recorded in a guest, beside what libunwind saw in the programs.

usage: check.py KEPT CALLS OUTWIND [patched]: the folder that guest.sh, or
patched.sh, kept the traces in, and how many calls each of the two threads made.  What was recorded is read by
babeltrace2, and then by outwind.
"""
import collections
import re
import subprocess
import sys

EVENT = re.compile(r'^\[([0-9:.]+)\] \([^)]*\) (?:\S+ )?(\S+): \{')
STACK = re.compile(r'(callstack_user\w*) = \[ (.*?) \]')
PC = re.compile(r'= 0x([0-9A-F]+)')
LENGTH = '_callstack_user_unwind_length'
NUMBER = re.compile(r'\b(pid|tid|nr|parent_pid|birth|execs|parent_birth|' +
                    LENGTH + r') = (-?\d+)')
HEX = re.compile(r'\b(start|end|offset) = 0x([0-9A-F]+)')
LABEL = re.compile(r'\b(point|reason) = \( "(\w+)"')
TEXT = re.compile(r'\b(path|comm|procname) = "([^"]*)"')
BYTES = re.compile(r'\bbuild_id = \[ (.*?) \]')

passed = failed = 0


def say(well, what):
    global passed, failed
    if well:
        passed += 1
    else:
        failed += 1
        print('not ok - ' + what)


def read(trace):
    """The events of a trace, and what babeltrace2 complained of."""
    done = subprocess.run(['babeltrace2', trace], capture_output=True, text=True,
                          check=True)
    events = []
    for line in done.stdout.splitlines():
        name = EVENT.match(line)
        e = {'event': name.group(2)}
        e.update((k, int(v)) for k, v in NUMBER.findall(line))
        e.update((k, int(v, 16)) for k, v in HEX.findall(line))
        e.update(LABEL.findall(line))
        e.update(TEXT.findall(line))
        for key, pattern in (('stack', STACK), ('build_id', BYTES)):
            found = pattern.search(line)
            if found:
                e[key] = [int(p, 16) for p in PC.findall(found.group(0))]
        events.append(e)
    return events, done.stderr


def logged(path):
    """What the program itself saw: stacks by thread, in order."""
    threads = collections.defaultdict(list)
    for line in open(path):
        tid, *pcs = line.split()
        threads[int(tid)].append([int(p, 16) for p in pcs])
    return threads


def taken(events, name, tids):
    threads = collections.defaultdict(list)
    for e in events:
        if e['event'] == name and e['tid'] in tids and 'stack' in e:
            threads[e['tid']].append(e)
    return threads


def compare(kept, trace, name, count):
    """The stacks of a trace, in order, with libunwind's: (all, equal)."""
    want = logged('%s/%s.log' % (kept, trace))
    events, complaints = read('%s/%s' % (kept, trace))
    say(complaints == '', '%s: nothing is lost: %s' % (trace, complaints[:200]))
    have = taken(events, name, want)
    say(sorted(have) == sorted(want), '%s: both threads' % trace)
    equal = total = 0
    for tid, stacks in want.items():
        say(len(stacks) == count, '%s: the program made %d calls, not %d' %
            (trace, len(stacks), count))
        say(len(have[tid]) == count, '%s: %d events of a thread, not %d' %
            (trace, len(have[tid]), count))
        for stack, e in zip(stacks, have[tid]):
            total += 1
            if e['stack'] == stack:
                equal += 1
            elif trace != 'stock' and total - equal <= 3:
                print('# not libunwind\'s: %s\n# but %s' %
                      ([hex(p) for p in e['stack']], [hex(p) for p in stack]))
    print('# %s: %d of %d stacks are those that libunwind took' %
          (trace, equal, total))
    return events, have, equal, total


def build_id(path):
    notes = subprocess.run(['readelf', '-n', path], capture_output=True,
                           text=True, check=True).stdout
    return re.search(r'Build ID: ([0-9a-f]+)', notes).group(1)


def check_maps(trace, events, have):
    """Each address is in what was mapped then, and that has its build-id."""
    maps = collections.defaultdict(list)
    pid = next(iter(have.values()))[0]['pid']
    bad = 0
    for e in events:
        if e['event'] == 'kunwind_exec':
            maps[e['pid']] = []
        elif e['event'] == 'kunwind_fork':
            maps[e['pid']] = list(maps[e['parent_pid']])
        elif e['event'] == 'kunwind_map':
            maps[e['pid']].append(e)
        elif e.get('tid') in have and 'stack' in e:
            bad += sum(not any(m['start'] <= pc < m['end']
                               for m in maps[pid]) for pc in e['stack'])
    say(bad == 0, '%s: %d addresses are in nothing mapped' % (trace, bad))
    paths = {m['path']: ''.join('%02x' % b for b in m['build_id'])
             for m in maps[pid] if m['path'] != '[vdso]'}
    say(len(paths) > 3, '%s: %s are mapped' % (trace, list(paths)))
    for path, have_id in paths.items():
        say(have_id == build_id(path), '%s: build-id of %s' % (trace, path))


def program(e):
    return e['birth'], e['execs']


def check_births(trace, events, have):
    """Each stack is of the process, and program, that was told of last."""
    programs, bad = {}, 0
    for e in events:
        if e['event'] == 'kunwind_fork':
            now = programs.get(e['parent_pid'])
            bad += now is not None and now != (e['parent_birth'], e['execs'])
        if e['event'] in ('kunwind_map', 'kunwind_exec', 'kunwind_fork'):
            programs[e['pid']] = program(e)
        elif e.get('tid') in have and 'stack' in e:
            bad += programs.get(e['pid']) != program(e)
    say(len(programs) > 3, '%s: %d processes' % (trace, len(programs)))
    say(bad == 0, '%s: %d events are of another birth' % (trace, bad))


def check_names(blocks, want, what):
    """Stacks as outwind printed them: as many frames, named by their program."""
    bad = 0
    for tid, stacks in want.items():
        say(len(blocks[tid]) == len(stacks), '%s: %d stacks of a thread, not %d' %
            (what, len(blocks[tid]), len(stacks)))
        for frames, pcs in zip(blocks[tid], stacks):
            bad += len(frames) != len(pcs) or \
                not frames[0].startswith(' > leaf+') or \
                not any(f.startswith(' > run+') for f in frames) or \
                not frames[-1].startswith(' > clone3+') or \
                any(f.startswith(' > 0x') for f in frames)
    say(bad == 0, '%s: %d stacks are named wrongly' % (what, bad))


def printed(text):
    blocks = collections.defaultdict(list)
    for line in text.splitlines():
        head = re.match(r'\[.* tid (\d+) ', line)
        if head:
            frames = []
            blocks[int(head.group(1))].append(frames)
        else:
            frames.append(line)
    return blocks


def tiny_calls():
    """The functions that the calls of tiny.c are made by, innermost first."""
    def even(depth, outer):
        here = ['even'] + outer
        if depth == 0:
            yield ['inner'] + here
        else:
            yield from odd(depth - 1, here)
        yield here

    def odd(depth, outer):
        here = ['odd'] + outer
        if depth == 0:
            yield ['inner'] + here
        else:
            yield from even(depth - 1, here)

    for depth in range(12):
        yield from even(depth, ['work', '_start'])


def check_located(kept):
    stacks = [[re.match(r' > (\w+)\+', f).group(1) for f in frames]
              for frames in sum(printed(open(kept + '/locate.txt').read())
                                .values(), [])]
    say(stacks == list(tiny_calls()), 'locate-syscalls: each call of tiny: %s' %
        stacks[:3])


def check_relay(outwind, kept, count):
    """Two machines' streams: nothing is lost, and names come as it is live."""
    for machine in ('east', 'west'):
        want = logged('%s/relay-%s.log' % (kept, machine))
        events, complaints = read('%s/relay/%s' % (kept, machine))
        say(complaints == '', 'relay: %s: nothing is lost' % machine)
        have = taken(events, 'kunwind_callstack', want)
        same = sum(e['stack'] == stack for tid, stacks in want.items()
                   for stack, e in zip(stacks, have[tid]))
        say(same == 2 * count, 'relay: %s: %d stacks are right' %
            (machine, same))
    live = open(kept + '/live.txt').read()
    complaints = open(kept + '/live.err').read()
    status = open(kept + '/live.status').read().strip()
    say(status == '0' and not complaints, 'live: exit status %s: %s' %
        (status, complaints))
    check_names(printed(live), logged(kept + '/relay-east.log'), 'live')
    print('# live: %d stacks' % sum(map(len, printed(live).values())))
    # both at once: of hosts that number their processes alike
    done = subprocess.run([outwind, 'report', '-e', 'syscall_entry_lseek',
                           kept + '/relay'], capture_output=True, text=True)
    tids = {**logged(kept + '/relay-east.log'), **logged(kept + '/relay-west.log')}
    hosts = collections.Counter(
        line.split()[1] for line in done.stdout.splitlines()
        if line.startswith('[') and int(line.split(' tid ')[1].split()[0]) in tids)
    say(hosts == {'east': 2 * count, 'west': 2 * count},
        'relay: both are reported: %s' % dict(hosts))


def check_timer(kept):
    """Wherever the program is interrupted, its stacks begin where threads do."""
    outermost = {tid: stacks[0][-1]
                 for tid, stacks in logged(kept + '/timer.log').items()}
    events, complaints = read(kept + '/timer')
    say(complaints == '', 'timer: nothing is lost: %s' % complaints[:200])
    say({e['point'] for e in events} == {'timer'}, 'timer: of no other point')
    have = [e for stacks in taken(events, 'kunwind_callstack', outermost).values()
            for e in stacks]
    # run() and what it calls: more than start_thread() and clone3()
    deep = [e for e in have if len(e['stack']) > 2]
    say(deep, 'timer: the program is seen')
    bad = [e for e in deep if e['reason'] != 'outermost' or
           e['stack'][-1] != outermost[e['tid']]]
    say(not bad, 'timer: %d of %d stacks are wrong: %s' %
        (len(bad), len(deep), bad[:1]))
    print('# timer: %d stacks' % len(deep))


def check_users(kept):
    """Who is forked while all mappings are told of has some; a user's are limited."""
    child = int(open(kept + '/born.pid').read())
    events, _ = read(kept + '/users')
    mapped = sum(e.get('pid') == child for e in events)
    say(mapped > 3, 'users: the child has %d mappings' % mapped)
    long = sum(len(e.get('path', '')) > 3000 for e in events)
    say(1000 < long < 1500, 'users: %d mappings of a namespace that root made' % long)
    print('# users: %d mappings of the child, %d of the namespace' % (mapped, long))


def check_vforked(kept):
    """A child that executes something has its parent's mappings no more."""
    child = int(open(kept + '/vforked.pid').read())
    events, _ = read(kept + '/vforked')
    headless = int(open(kept + '/headless.pid').read())
    mapped = sum(e.get('pid') == headless for e in events)
    say(mapped > 3, 'vforked: %d mappings without a first thread' % mapped)
    mine = [e for e in events if e.get('pid') == child]
    execs = [i for i, e in enumerate(mine) if e['event'] == 'kunwind_exec']
    say(len(execs) == 1, 'vforked: the child executes something %d times' % len(execs))
    before, after = (sum(len(e.get('path', '')) > 3000 for e in part)
                     for part in (mine[:execs[0]], mine[execs[0]:]))
    say(before > 50, 'vforked: %d mappings before that' % before)
    say(after == 0, 'vforked: %d mappings of its parent after it' % after)
    first = program(mine[0])
    programs = [program(e) for e in mine]
    want = [(first[0], first[1] + (i >= execs[0])) for i in range(len(mine))]
    say(programs == want, 'vforked: its births: %s' % sorted(set(programs)))
    print('# vforked: %d mappings of the parent before, %d after' % (before, after))


def check_report(outwind, kept, trace):
    """What outwind says of the same trace: stacks with names."""
    done = subprocess.run([outwind, 'report', '-e', 'syscall_entry_lseek',
                           '%s/%s' % (kept, trace)], capture_output=True, text=True)
    say(done.returncode == 0 and not done.stderr, '%s: report: %s' %
        (trace, done.stderr))
    check_names(printed(done.stdout), logged('%s/%s.log' % (kept, trace)), trace)


def check_deep(kept):
    """A stack that has no room is cut, and has one element more, of all ones."""
    want = logged(kept + '/deep.log')
    have = taken(read(kept + '/deep')[0], 'syscall_entry_lseek', want)
    for tid, stacks in want.items():
        say([e['stack'] for e in have[tid]] ==
            [s + [2 ** 64 - 1] if len(s) == 128 else s for s in stacks],
            'deep: they are cut')
        say({len(s) == 128 for s in stacks} == {True, False}, 'deep: some are')


def check_patched(outwind, kept, count):
    """The context of the prototype's name, in LTTng with the patches."""
    say('callstack-user-unw' in open(kept + '/contexts.txt').read().split(),
        'patched: the context is listed')
    for trace, nr in (('patched', count), ('loaded', 200)):
        for event in ('syscall_entry_lseek', 'syscall_exit_lseek'):
            events, have, equal, total = compare(kept, trace, event, nr)
            say(equal == total == 2 * nr, '%s: all of %s are right' %
                (trace, event))
            bad = [e for t in have.values() for e in t
                   if e[LENGTH] != len(e['stack'])]
            say(not bad, '%s: lengths: %s' % (trace, bad[:1]))
        check_maps(trace, events, have)
        check_report(outwind, kept, trace)
    check_deep(kept)
    say(open(kept + '/held.txt').read() == '1\n', 'patched: kunwind is held')
    say(open(kept + '/dropped.txt').read() == '0\n', 'patched: and let go of')
    alone = open(kept + '/alone.txt').read().splitlines()
    say('0' not in alone and alone[-1].endswith('LTTng: kunwind is not loaded'),
        'patched: not without kunwind: %s' % alone)


def check_stock(outwind, kept, count):
    _, have, equal, total = compare(kept, 'stock', 'syscall_entry_lseek', 300)
    say(equal * 20 < total, 'stock: along frame pointers few are right')
    frames = [len(e['stack']) for t in have.values() for e in t]
    print('# stock: %.1f frames a stack' % (sum(frames) / len(frames)))

    events, have, equal, total = compare(kept, 'hooked', 'syscall_entry_lseek',
                                         count)
    say(equal == total == 2 * count, 'hooked: all are right')
    check_maps('hooked', events, have)

    events, have, equal, total = compare(kept, 'probe', 'kunwind_callstack',
                                         count)
    say(equal == total == 2 * count, 'probe: all are right')
    check_maps('probe', events, have)
    check_births('probe', events, have)
    mine = [e for t in have.values() for e in t]
    say({(e['point'], e['reason'], e['nr'], e['comm']) for e in mine} ==
        {('syscall_entry', 'outermost', 8, 'calls')}, 'probe: their fields')
    exits = [e for e in events if e['event'] == 'kunwind_syscall_exit' and
             e['tid'] in have]
    say(len(exits) == 2 * count, 'probe: an exit for each')

    events, have, equal, total = compare(kept, 'filtered', 'kunwind_callstack',
                                         200)
    say(equal == total == 400, 'filtered: all are right')
    say(len(events) == 400, 'filtered: and no others: %d' % len(events))

    for trace in ('hooked', 'probe'):
        check_report(outwind, kept, trace)
    check_users(kept)
    check_vforked(kept)
    check_timer(kept)
    check_located(kept)


def main():
    kept, count, outwind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if sys.argv[4:] == ['patched']:
        check_patched(outwind, kept, count)
    else:
        check_stock(outwind, kept, count)
        check_relay(outwind, kept, count)
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


sys.exit(main())

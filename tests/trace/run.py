# SPDX-License-Identifier: BSD-2-Clause
"""outwind report on kept traces of LTTng's, beside babeltrace2 and nm.

usage: run.py OUTWIND PLAIN DATA: with sanitizers, and without
"""
import collections
import itertools
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

EVENT = re.compile(r'^\[([0-9:.]+)\] \([^)]*\) (\S+) (\S+): \{')
STACK = re.compile(r'callstack_user\w* = \[ (.*?) \]')
PC = re.compile(r'= 0x([0-9A-F]+)')
NUMBER = re.compile(r'\b(pid|tid|nr|next_tid|ret) = (-?\d+)')
HEX = re.compile(r'\b(start|end) = 0x([0-9A-F]+)')
POINT = re.compile(r'\bpoint = \( "(\w+)"')
COMM = re.compile(r'\b(?:comm|procname) = "([^"]*)"')
SYSCALLS = {8: 'lseek', 35: 'nanosleep'}

passed = failed = 0


def say(well, what):
    global passed, failed
    if well:
        passed += 1
    else:
        failed += 1
        print('not ok - ' + what)


def equal(have, want, what):
    say(have == want, what)
    if have != want:
        for h, w in zip(have, want):
            if h != w:
                print('#  have: %s\n#  want: %s' % (h, w))
                break
        print('#  have %d, want %d' % (len(have), len(want)))


def run(*args, timeout=600):
    env = dict(os.environ, TZ='UTC', ASAN_OPTIONS='detect_leaks=0')
    return subprocess.run(args, capture_output=True, timeout=timeout, env=env,
                          text=True, errors='replace')


def read(trace):
    """What babeltrace2 says: the events, with the identity that they have."""
    events = []
    for line in run('babeltrace2', trace).stdout.splitlines():
        head = EVENT.match(line)
        e = {'time': head.group(1), 'host': head.group(2),
             'event': head.group(3), 'line': line}
        # The context stands before the payload: its numbers are who it is.
        for k, v in NUMBER.findall(line):
            e.setdefault(k, int(v))
        e.update((k, int(v, 16)) for k, v in HEX.findall(line))
        stack = STACK.search(line)
        if stack:
            e['stack'] = [int(p, 16) for p in PC.findall(stack.group(1))]
        comm = COMM.search(line)
        e['comm'] = comm.group(1) if comm else ''
        point = POINT.search(line)
        e['label'] = e['event']
        if point:
            e['label'] = point.group(1)
            if e['nr'] >= 0:
                e['label'] += '_' + SYSCALLS[e['nr']]
        events.append(e)
    return events


class Names:
    def __init__(self, program, events):
        self.symbols = []
        for line in run('nm', '-nS', '--defined-only', program).stdout.splitlines():
            at, *rest = line.split()
            if len(rest) == 3:
                self.symbols.append((int(at, 16), int(rest[0], 16), rest[2]))
            elif rest[1] == '_start':
                self.symbols.append((int(at, 16), 64, rest[1]))
        self.maps = [(e['start'], e['end']) for e in events
                     if e['event'] == 'kunwind_map']

    def find(self, pc, is_return):
        at = pc - is_return
        if any(a <= at < b for a, b in self.maps):
            for start, size, name in self.symbols:
                if start <= at < start + size:
                    return name, pc - start
        return None, pc


def frame_text(names, pc, i):
    name, off = names.find(pc, i > 0)
    if not name:
        return ' > %#x' % off
    return ' > %s+%s (/run/bin/tiny)' % (name, '%#x' % off if off else '0')


def head_text(e, end=None):
    text = '[%s] %s %s pid %d tid %d "%s"' % (
        e['time'], e['host'], e['label'], e['pid'], e['tid'], e['comm'])
    if end:
        if 'ret' in end:
            text += ' = %d' % end['ret']
        text += ' <%.9f>' % between(e, end)
    return text


def between(e, end):
    def seconds(t):
        h, m, s = t.split(':')
        return (int(h) * 60 + int(m)) * 60 + float(s)
    return seconds(end['time']) - seconds(e['time'])


def report_text(names, e, end=None):
    return [head_text(e, end)] + [frame_text(names, pc, i)
                                  for i, pc in enumerate(e['stack'])]


def ends(events):
    """Each system call with its exit, and each wait with what ends it."""
    calls, waits = {}, {}
    for e in events:
        if e['event'].startswith('syscall_exit') or \
                e['event'] == 'kunwind_syscall_exit':
            if e['tid'] in calls:
                yield calls.pop(e['tid']), e
        if e['event'] == 'sched_switch' and e['next_tid'] in waits:
            end = {k: v for k, v in e.items() if k != 'ret'}
            yield waits.pop(e['next_tid']), end
        if 'stack' in e and e['stack']:
            if e['label'].startswith('syscall_entry'):
                calls[e['tid']] = e
            elif e['label'] == 'sched_switch':
                waits[e['tid']] = e


def folded(names, stacks):
    counts = collections.Counter()
    for e, weight in stacks:
        frames = [names.find(pc, i > 0) for i, pc in enumerate(e['stack'])]
        line = [e['comm'], e['label']]
        line += [n or '%#x' % off for n, off in reversed(frames)]
        counts[';'.join(line)] += weight
    return counts


def read_folded(text):
    counts = collections.Counter()
    for line in text.splitlines():
        stack, n = line.rsplit(' ', 1)
        # an end that isn't the outermost frame is marked in front
        counts[stack.replace(';[truncated]', '')] += int(n)
    return counts


def check_trace(outwind, work, trace):
    root, path = work + '/root', work + '/' + trace
    events = read(path)
    names = Names(root + '/run/bin/tiny', events)
    stacks = [e for e in events if e.get('stack')]
    say(len(stacks) > 100, '%s: there are stacks' % trace)
    say(max(len(e['stack']) for e in stacks) >= 10, '%s: deep ones' % trace)

    done = run(outwind, 'report', '--sysroot', root, path)
    say(done.returncode == 0, '%s: report: %s' % (trace, done.stderr))
    want = [line for e in stacks for line in report_text(names, e)]
    have = [l for l in done.stdout.splitlines() if not l.startswith(' > [')]
    equal(have, want, '%s: text' % trace)

    done = run(outwind, 'report', '--sysroot', root, '-e', '*lseek*', path)
    want = [line for e in stacks if 'lseek' in e['label']
            for line in report_text(names, e)]
    have = [l for l in done.stdout.splitlines() if not l.startswith(' > [')]
    equal(have, want, '%s: chosen events' % trace)

    done = run(outwind, 'report', '-t', '--sysroot', root, path)
    pairs = list(ends(events))
    want = [line for e, end in pairs for line in report_text(names, e, end)]
    have = [l for l in done.stdout.splitlines() if not l.startswith(' > [')]
    # as the durations are differences of decimals, the last digit may differ
    cut = re.compile(r'\d{2}>')
    equal([cut.sub('>', l) for l in have], [cut.sub('>', l) for l in want],
          '%s: text with times' % trace)

    done = run(outwind, 'report', '-f', 'folded', '--sysroot', root, path)
    equal(read_folded(done.stdout), folded(names, [(e, 1) for e in stacks]),
          '%s: folded' % trace)

    done = run(outwind, 'report', '-t', '-f', 'json', '--sysroot', root, path)
    data = json.loads(done.stdout)
    say(sum(s['count'] for s in data['stacks']) == len(pairs),
        '%s: json has each that ended' % trace)
    # nanoseconds, of decimals
    say(abs(sum(s['nanoseconds'] for s in data['stacks']) -
            sum(1e9 * between(e, end) for e, end in pairs)) < 2e3 + len(pairs),
        '%s: json has their times' % trace)

    out = work + '/out.html'
    done = run(outwind, 'report', '--by=process', '-o', out, '--sysroot', root,
               path)
    say(done.returncode == 0 and 'inner' in open(out).read(), '%s: html' % trace)


def build_id(path):
    """As folders of them have it: the first byte, a slash, and the others."""
    notes = run('readelf', '-nW', path).stdout
    found = re.search(r'Build ID: ([0-9a-f]{2})([0-9a-f]+)', notes)
    return '/'.join(found.groups())


def check_objects(outwind, work):
    """Files that aren't there, or are others, are named; nothing is made up."""
    path = work + '/probe'
    empty = work + '/empty'
    os.mkdir(empty)
    done = run(outwind, 'report', '--sysroot', empty, '-e', '*lseek', path)
    say(done.returncode == 0, 'without the program')
    equal(done.stderr.splitlines(),
          ['outwind: /run/bin/tiny: no such file below ' + empty],
          'it is said that it is not there')
    say('inner' not in done.stdout and ' > /run/bin/tiny+' in done.stdout,
        'places in it are printed')

    other = work + '/other'
    os.makedirs(other + '/run/bin')
    data = bytearray(open(work + '/root/run/bin/tiny', 'rb').read())
    at = data.find(b'GNU\0') + 4
    data[at] ^= 1
    open(other + '/run/bin/tiny', 'wb').write(data)
    done = run(outwind, 'report', '--sysroot', other, '-e', '*lseek', path)
    equal(done.stderr.splitlines(),
          ['outwind: /run/bin/tiny: another build than the one that was running'],
          'another build')
    say('inner' not in done.stdout, 'and its names are not used')

    tiny = work + '/root/run/bin/tiny'
    whole = work + '/by-id'
    kept = '%s/usr/lib/debug/.build-id/%s' % (whole, build_id(tiny))
    os.makedirs(os.path.dirname(kept))
    shutil.copy(tiny, kept)
    done = run(outwind, 'report', '--sysroot', whole, '-e', '*lseek', path)
    equal(done.stderr, '', 'by build-id')
    say(' > inner+' in done.stdout, 'by build-id: names')


def check_homeless(outwind, work):
    """Whose stacks they are isn't known: a profile of them can be read again."""
    path, out = work + '/homeless', work + '/homeless.owp'
    shutil.copytree(work + '/context', path)
    metadata = path + '/kernel/metadata'
    data = open(metadata, 'rb').read()
    open(metadata, 'wb').write(data.replace(b' _pid;', b' _xid;'))
    done = run(outwind, 'report', '-o', out, path)
    one_line(done, 0, 'no pid', 'stacks have no names: record the context pid')
    done = run(outwind, 'report', '-f', 'json', out)
    say(done.returncode == 0, 'no pid: %r' % done.stderr)
    if done.returncode == 0:
        say({s['pid'] for s in json.loads(done.stdout)['stacks']} == {0},
            'no pid: it is 0')


def one_line(done, status, what, text=None):
    lines = done.stderr.splitlines()
    say(done.returncode == status, '%s: exit status %d' %
        (what, done.returncode))
    say(len(lines) == 1 and lines[0].startswith('outwind: ') and
        (not text or text in lines[0]), '%s: %r' % (what, lines[:4]))


def check_refused(outwind, work):
    one_line(run(outwind, 'report', work + '/empty'), 2, 'an empty folder',
             'no metadata below')
    one_line(run(outwind, 'report', work + '/nothing'), 2, 'no file')
    one_line(run(outwind, 'report', '-e', 'nosuch', work + '/probe'), 2,
             'no such event', 'such a name')
    one_line(run(outwind, 'report', '-t', work + '/out.html'), 64,
             'no trace', '-t is for traces')
    one_line(run(outwind, 'report', '--by=tid', work + '/probe'), 64, '--by',
             "not 'tid'")
    one_line(run(outwind, 'report', 'net://localhost:1/host/guest/none'), 2,
             'no relayd')
    os.mkdir(work + '/bad')
    open(work + '/bad/metadata', 'w').write('/* CTF 1.8 */ trace {')
    one_line(run(outwind, 'report', work + '/bad'), 2, 'metadata that ends')
    os.mkdir(work + '/zero')
    open(work + '/zero/metadata', 'w').close()
    one_line(run(outwind, 'report', work + '/zero'), 2, 'metadata of nothing')


TRACE = """/* CTF 1.8 */
trace {
	major = 1; minor = 8; byte_order = le;
	packet.header := struct {
		integer { size = 32; align = 8; signed = false; } magic;
		integer { size = 32; align = 8; signed = false; } stream_id;
	};
};
"""

LIST = TRACE + """stream {
	id = 0;
	event.header := struct { integer { size = 32; align = 8; } id; };
};
event {
	id = 0; stream_id = 0; name = "a";
	fields := struct { integer { size = 8; align = 8; } list[%d]; };
};
"""


def check_bomb(plain, work):
    """An event is a list of 12 million bytes that take no room in the file:
    babeltrace2 takes 100 bytes for each. """
    whole, nr = work + '/lists', 12000000
    path = whole + '/2'
    write_crowd(whole + '/1', [])
    os.mkdir(path)
    open(path + '/metadata', 'w').write(LIST % nr)
    with open(path + '/stream', 'wb') as f:
        f.write(struct.pack('<III', 0xc1fc1fc1, 0, 0))
        f.truncate(12 + nr)
    for args, most in ([], 540 << 10), (['--memory-limit=64M'], 90 << 10):
        with open(work + '/said', 'w+') as said:
            pid = subprocess.Popen([plain, 'report', *args, whole],
                                   stderr=said).pid
            _, status, used = os.wait4(pid, 0)
            said.seek(0)
            lines = said.read().splitlines()
        say(os.waitstatus_to_exitcode(status) == 2,
            'a list of %d: exit status %d' % (nr, status))
        say(used.ru_maxrss < most,
            'a list of %d: %d KiB' % (nr, used.ru_maxrss))
        say(len(lines) == 1 and re.fullmatch(
            re.escape('outwind: %s: libbabeltrace2 fails on it (' % path) +
            r'SIG(TRAP|ABRT)\), perhaps as it may take no more memory '
            r'\(--memory-limit\)', lines[0]), 'a list of %d: %r' % (nr, lines))


NO_BITS = TRACE + """stream {
	id = 0;
	packet.context := struct {
		integer { size = 64; align = 8; signed = false; } content_size;
		integer { size = 64; align = 8; signed = false; } packet_size;
	};
};
event { stream_id = 0; name = "a"; fields := struct { }; };
"""


def check_endless(plain, work):
    """Events that take no bits, and those of a hole in a file, have an end."""
    for name, metadata, size in (('no-bits', NO_BITS, 4096),
                                 ('hole', LIST % 1, 1 << 38)):
        path = work + '/' + name
        os.mkdir(path)
        open(path + '/metadata', 'w').write(metadata)
        with open(path + '/stream', 'wb') as f:
            f.write(struct.pack('<II', 0xc1fc1fc1, 0))
            if metadata == NO_BITS:
                f.write(struct.pack('<QQ', 8 * 24 + 8, 8 * size))
            f.truncate(size)
        one_line(run(plain, 'report', path, timeout=120), 2, name,
                 'more events than its files can have')


CROWD = TRACE.replace('trace {', """clock { name = mono; freq = 1000000000; };
trace {""") + """
typealias integer { size = 32; align = 8; signed = true; } := i32;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
stream {
	id = 0;
	packet.context := struct { u64 timestamp_begin; u64 timestamp_end; };
	event.header := struct {
		u32 id;
		integer { size = 64; align = 8; map = clock.mono.value; } timestamp;
	};
};
""" + ''.join("""event {
	name = "%s"; id = %d; stream_id = 0; fields := struct { %s };
};
""" % (name, i, fields) for i, (name, fields) in enumerate((
    ('kunwind_map', 'i32 _pid; u64 _start; u64 _end; u64 _offset; '
     'string _path;'),
    ('kunwind_fork', 'i32 _parent_pid; i32 _pid;'),
    ('kunwind_exec', 'i32 _pid;'),
    ('kunwind_callstack', 'i32 _pid; i32 _tid; i32 _point; i32 _nr; u32 _n; '
     'u64 _callstack_user_unwind[_n];'),
    ('kunwind_syscall_exit', 'i32 _pid; i32 _tid; i32 _ret;'))))


def mapped(pid, start, path, size=4096, off=0):
    return 0, struct.pack('<iQQQ', pid, start, start + size, off) + \
        path.encode() + b'\0'


def forked(parent, pid):
    return 1, struct.pack('<ii', parent, pid)


def executed(pid):
    return 2, struct.pack('<i', pid)


def called(pid, stack, tid=None, nr=8):
    return 3, struct.pack('<iiiiI%dQ' % len(stack), pid, tid or pid, 0, nr,
                          len(stack), *stack)


def returned(pid, tid=None):
    return 4, struct.pack('<iii', pid, tid or pid, 7)


TINY = mapped(2, 0x401000, '/run/bin/tiny', off=0x1000)
INNER = called(2, [0x401012])


def write_crowd(path, events, metadata=CROWD):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    with open(path + '/metadata', 'w') as f:
        f.write(metadata)
    with open(path + '/stream', 'wb') as f:
        f.write(struct.pack('<IIQQ', 0xc1fc1fc1, 0, 0, 1 << 50))
        for time, (nr, fields) in enumerate(events, 1):
            f.write(struct.pack('<IQ', nr, time) + fields)


def run_measured(*args):
    """Its output, lines on stderr and status; what it and its children used."""
    with tempfile.TemporaryFile('w+') as out, \
            tempfile.TemporaryFile('w+') as said:
        pid = subprocess.Popen(args, stdout=out, stderr=said).pid
        _, status, used = os.wait4(pid, 0)
        out.seek(0)
        said.seek(0)
        return (out.read(), said.read().splitlines(),
                os.waitstatus_to_exitcode(status), used)


def check_crowd(plain, work, name, events, args=(), status=0, left_out=None):
    """A process fills the trace; another one's names are there, soon."""
    path = work + '/crowd'
    write_crowd(path, events)
    out, lines, code, used = run_measured(plain, 'report', '--sysroot',
                                          work + '/root', *args, path)
    say(code == status, '%s: exit status %d' % (name, code))
    say(' > inner+0x2 (/run/bin/tiny)' in out.splitlines(),
        '%s: names: %r' % (name, out[-200:]))
    seconds = used.ru_utime + used.ru_stime
    say(seconds < 15, '%s: %.1f s of CPU' % (name, seconds))
    say(used.ru_maxrss < 200 << 10, '%s: %d KiB' % (name, used.ru_maxrss))
    say(len(lines) < 12, '%s: %d lines' % (name, len(lines)))
    told = [l for l in lines if 'left out' in l]
    say(len(told) == bool(left_out) and all(left_out in l for l in told),
        '%s: %r' % (name, lines[:12]))
    return out


def check_crowds(plain, work):
    # None of these is ever a list: what this program takes would be measured.
    def many(nr=300000, first=0):
        return (mapped(1, 0x2000 * i, '/l') for i in range(first, first + nr))

    def few():
        return many(1000)

    def forks(nr, each):
        return (e for i in range(nr) for e in each(i))

    def over_all(pid):
        return mapped(pid, 0, '/l', 1 << 40)

    short = 'mappings of pid 1 would take more memory than they may'
    for name, events, *limits in (
            ('mappings', [many()]),
            ('the same mappings', [many(150000), many(150000)]),
            ('one mapping, cut', [[over_all(1)], many()]),
            ('one mapping over all',
             [many(), (over_all(1) for _ in range(100000))]),
            ('forks', [few(), forks(200000, lambda i: [forked(1, 10 + i)])]),
            ('forks that map', [few(), forks(50000, lambda i: [
                forked(1, 10 + i), over_all(10 + i)])]),
            ('forks of forks', [few(), [forked(1, 10)],
                                forks(100000, lambda i: [
                                    forked(10 + i, 11 + i)])]),
            ('programs', [forks(100000, lambda i: [
                executed(1), mapped(1, 0x1000 * (i % 1000), '/l')])]),
            ('processes', [forks(500000, lambda i: [executed((1 << 30) - i)])]),
            ('mappings, limited', [many(600000)], '64M', short),
            ('processes, limited', [few(), forks(200000, lambda i: [
                forked(1, (1 << 30) - i)])], '64M',
             'would take more memory than they may')):
        args = ['--memory-limit=' + limits[0]] if limits else []
        check_crowd(plain, work, name,
                    itertools.chain(*events, [TINY, INNER]), args,
                    len(limits) > 0, limits[1] if limits else None)


def check_many_objects(plain, work):
    def paths():
        return [mapped(1, 0x1000 * i, '/t/%d' % i) for i in range(10000)]

    end = [TINY, INNER]
    check_crowd(plain, work, 'objects', paths() + end)
    check_crowd(plain, work, 'objects in stacks', paths() + [
        called(1, [0x1000 * i]) for i in range(10000)] + end, (), 1,
        'objects of pid 1 are too many')
    check_crowd(plain, work, 'long paths', itertools.chain((
        mapped(1, 0x1000 * i, '/%d/' % i + 4000 * 'x') for i in range(10000)),
        end), ['--memory-limit=64M'], 1,
        'mappings of pid 1 would take more memory than they may')


def check_many_begun(plain, work):
    """Threads are in system calls, without end: another one's has its time."""
    deep = (called(1, [0x1000 * k for k in range(400)], 10 + i)
            for i in range(5000))
    out = check_crowd(plain, work, 'begun', itertools.chain(
        deep, [TINY, INNER, returned(2)]), ['-t', '--memory-limit=64M'], 1,
        'stacks of what pid 1 had begun would take more memory than they may')
    say(' = 7 <' in out, 'begun: its time')
    for name, events, short in (
            ('threads that end', lambda i: [
                called(1, [1], 10 + i), returned(1, 10 + i)], None),
            ('processes that end', lambda i: [
                called(10 + i, [1]), returned(10 + i)], None),
            ('threads that exit', lambda i: [called(1, [1], 10 + i),
                                             called(1, [1], 10 + i, 60)], None),
            ('threads', lambda i: [called(1, [1], 10 + i)],
             'stacks of what pid 1 had begun would'),
            ('processes', lambda i: [called(10 + i, [1])],
             'stacks of what pid 10, and others, had begun would')):
        out = check_crowd(plain, work, name, itertools.chain(
            *(events(i) for i in range(100000)), [TINY, INNER, returned(2)]),
            ['-t', '--memory-limit=32M'], bool(short), short)
        say(' = 7 <' in '\n'.join(out.splitlines()[-2:]), '%s: its time' % name)


def check_many_stacks(plain, work):
    """A process has ever new stacks: its profile ends, and others' are in it."""
    path = work + '/crowd'
    write_crowd(path, itertools.chain(
        (called(1, range(1000 * i, 1000 * i + 1000)) for i in range(1, 2001)),
        [TINY, INNER, called(1, range(1000, 2000))]))
    out, lines, code, used = run_measured(
        plain, 'report', '-f', 'folded', '--memory-limit=64M', '--sysroot',
        work + '/root', path)
    counts = read_folded(out)
    told = [re.fullmatch(r'outwind: \S+: (\d+) events of 1 processes had too many '
                         r'different stacks: in the profile without theirs '
                         r'\(--memory-limit\)', l) for l in lines]
    say(code == 1 and len(told) == 1 and told[0],
        'many stacks: %d, %r' % (code, lines[:4]))
    left = int(told[0][1]) if told and told[0] else 0
    say(sum(counts.values()) == 2002, 'many stacks: all are counted')
    say(counts[';[too many different stacks]'] == left and
        100 < left < 2000, 'many stacks: %d are left out' % left)
    say(2 in counts.values(), 'many stacks: what is there is counted')
    say(counts[';syscall_entry_lseek;inner'] == 1, 'many stacks: another one\'s')
    say(used.ru_maxrss < 100 << 10, 'many stacks: %d KiB' % used.ru_maxrss)


def check_long_names(plain, work):
    """Names of one process would take more text than all may: others' are there."""
    path, frames = work + '/crowd', [0x1000 + i for i in range(1000)]
    write_crowd(path, itertools.chain(
        [mapped(pid, 0, '/%d/' % pid + 4000 * 'x' + '/l', 1 << 20)
         for pid in (1, 3)],
        (called(1, frames) for _ in range(400)), [called(3, frames), TINY,
                                                  INNER]))
    size, names = 0, collections.Counter()
    with subprocess.Popen([plain, 'report', '--sysroot', work + '/root', path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as tool:
        for line in tool.stdout:
            size += len(line)
            names[line[:6]] += 1
        said = tool.stderr.read()
    say(size < 0.9 * (1 << 30), 'long names: %d bytes' % size)
    say(0 < names[' > /1/'] < 400000 and
        names[' > /1/'] + names[' > l+0'] == 400000, 'long names: frames')
    say(names[' > /3/'] == 1000, 'long names: another one\'s')
    say(names[' > inn'] == 1, 'long names: short ones')
    say(tool.returncode == 1 and re.search(
        r'(?m)^outwind: \S+: all names would take more than 1024 MiB of text: '
        r'names of %d frames are left out$' % names[' > l+0'], said),
        'long names: %d, %r' % (tool.returncode, said[-400:]))


def check_known_names(plain, work):
    """A place that comes again costs no more where its name is long."""
    path, seconds = work + '/crowd', []
    for name in ('/x', '/' + 4000 * 'x'):
        write_crowd(path, itertools.chain(
            [mapped(1, 0, name, 1 << 20)],
            (called(1, range(1000)) for _ in range(400)), [TINY, INNER]))
        out, lines, code, used = run_measured(
            plain, 'report', '-f', 'folded', '--sysroot', work + '/root', path)
        say(code == 0 and len(lines) == 1, 'known names: %d, %r' %
            (code, lines[:4]))
        say(sum(read_folded(out).values()) == 401, 'known names: stacks')
        seconds.append(used.ru_utime + used.ru_stime)
    say(seconds[1] < 4 * seconds[0], 'known names: %.2f s and %.2f s' %
        tuple(seconds))


def check_meaning(plain, work):
    """What is mapped when: by forks, programs, and before it is told."""
    path = work + '/crowd'
    write_crowd(path, [
        called(1, [0x10]),              # told of later
        mapped(1, 0, '/a'), mapped(1, 0x1000, '/b'),
        forked(1, 5), mapped(1, 0, '/c'),
        called(5, [0x10]), called(1, [0x10]),
        mapped(5, 0x800, '/d'),         # over parts of two
        called(5, [0x7ff, 0x801, 0x1801]), called(1, [0x7ff, 0x1001]),
        executed(5), called(5, [0x10]), # told of later, by its next program
        mapped(5, 0, '/e'), mapped(5, 0, '/f'), called(5, [0x10, 0x1801]),
        executed(5), called(5, [0x10]),
        called(1, [0x5000])])
    done = run(plain, 'report', '--sysroot', work + '/empty', path)
    have = [[]]
    for line in done.stdout.splitlines():
        if line.startswith(' > '):
            have[-1].append(line[3:])
        elif have[-1]:
            have.append([])
    # an outer frame is named where its call is, a byte before
    equal(have, [['/a+0x10'], ['/a+0x10'], ['/c+0x10'],
                 ['/a+0x7ff', '/d+0x1', '/b+0x801'], ['/c+0x7ff', '/b+0x1'],
                 ['/e+0x10'], ['/f+0x10', '0x1801'], ['0x10'], ['0x5000']],
          'what is mapped when')


# As newer modules record them: with what tells a process, and its program, from others.
BORN = CROWD.replace('i32 _pid;', 'i32 _pid; u64 _birth; u32 _execs;').replace(
    'i32 _parent_pid;', 'i32 _parent_pid; u64 _parent_birth;')


def born(event, birth, execs=0, parent_birth=0):
    nr, fields = event
    between = struct.pack('<Q', parent_birth) + fields[4:] if nr == 1 else b''
    return nr, fields[:4] + between + struct.pack('<QI', birth, execs) + \
        (b'' if nr == 1 else fields[4:])


def write_packets(path, packets, metadata):
    """Packets of events, with how many were discarded until the end of each."""
    write_crowd(path, [], metadata.replace(
        'u64 timestamp_end;', 'u64 timestamp_end; u64 content_size; '
        'u64 packet_size; u64 events_discarded;'))
    time = 0
    with open(path + '/stream', 'wb') as f:
        for lost, events in packets:
            begin = time + 1
            data = b''
            for nr, fields in events:
                time += 10
                data += struct.pack('<IQ', nr, time) + fields
            time += 10
            bits = 8 * (48 + len(data))
            f.write(struct.pack('<IIQQQQQ', 0xc1fc1fc1, 0, begin, time, bits,
                                bits, lost) + data)


def check_frames(outwind, work, path, want, lost, doubted, what):
    """The frames of each stack; what is said of lost events, and of frames in doubt."""
    done = run(outwind, 'report', '--sysroot', work + '/empty', path)
    equal([re.findall('(?m)^ > (.*)', s) for s in
           re.split(r'(?m)^\[.*\n', done.stdout)[1:]], want, what)
    lines = [l for l in done.stderr.splitlines() if ' no such file ' not in l]
    told = ['%d events were lost as it was recorded' % lost] * bool(lost) + [
        '%d frames are addresses: events that tell which program their process '
        'ran were lost, or not recorded' % doubted] * bool(doubted)
    equal(lines, ['outwind: %s: %s' % (path, t) for t in told],
          what + ': it is told')
    say(done.returncode == (1 if doubted else 0), '%s: exit status %d' %
        (what, done.returncode))


def check_lost(outwind, work):
    """Where forks and programs may be lost, no process has another one's names."""
    path = work + '/lossy'
    write_packets(path, [
        (0, [mapped(1, 0, '/a'), mapped(1, 0x1000, '/b'), forked(1, 5),
             called(5, [0x10])]),
        (3, [called(5, [0x10]), mapped(5, 0x1000, '/c'), called(5, [0x1000]),
             called(5, [0x9000])]),
        (3, [called(5, [0x10, 0x1001]), mapped(1, 0, '/a'),
             mapped(1, 0x1000, '/b'), called(1, [0x10]), called(5, [0x10]),
             executed(5), mapped(5, 0, '/d'), called(5, [0x10]),
             forked(1, 6), called(6, [0x10, 0x1001])])], CROWD)
    check_frames(outwind, work, path, [
        ['/a+0x10'], ['0x10'], ['0x1000'], ['0x9000'], ['0x10', '0x1001'],
        ['/a+0x10'], ['0x10'], ['/d+0x10'], ['/a+0x10', '/b+0x1']], 3, 5,
        'lost events')
    # before it is told, too
    write_packets(path, [
        (0, [called(1, [0x10])]), (2, [called(2, [0x10])]),
        (2, [called(3, [0x10])] + [mapped(i, 0, '/a') for i in (1, 2, 3)])],
        CROWD)
    check_frames(outwind, work, path, [['0x10'], ['0x10'], ['/a+0x10']], 2, 2,
                 'told after a loss')


def check_born(outwind, work):
    """A process is known by its birth, and a program by how many there were."""
    path = work + '/lossy'

    def call(pid, stack, birth, execs=0):
        return born(called(pid, stack), birth, execs)

    def maps(pid, start, name, birth, execs=0):
        return born(mapped(pid, start, name), birth, execs)

    write_packets(path, [
        (0, [maps(1, 0, '/a', 1), born(forked(1, 5), 50, 0, 1),
             call(5, [0x10], 50)]),
        (3, [call(5, [0x10], 50), call(5, [0x10], 51), call(5, [0x10], 50, 1),
             maps(5, 0x1000, '/c', 51), call(5, [0x10, 0x1001], 51),
             call(5, [0x1000], 51, 1), born(forked(5, 7), 70, 0, 52),
             call(7, [0x1000], 70), call(5, [0x1000], 52)]),
        (3, [maps(5, 0, '/d', 52, 4), born(forked(5, 8), 80, 4, 52),
             call(8, [0x10], 80, 4), born(executed(8), 80, 5),
             call(8, [0x10], 80, 5), maps(8, 0, '/e', 80, 5),
             call(8, [0x10], 80, 5)])], BORN)
    check_frames(outwind, work, path, [
        ['/a+0x10'], ['/a+0x10'], ['0x10'], ['0x10'], ['0x10', '/c+0x1'],
        ['0x1000'], ['0x1000'], ['0x1000'], ['/d+0x10'], ['/e+0x10'],
        ['/e+0x10']], 3, 3, 'births')
    # stacks of other events don't tell
    write_packets(path, [
        (0, [maps(1, 0, '/a', 1), called(1, [0x10])]),
        (1, [called(1, [0x10])]),
        (1, [called(1, [0x10]), maps(1, 0, '/a', 1), called(1, [0x10]),
             maps(1, 0x1000, '/b', 2), called(1, [0x10, 0x1001])])],
        BORN.replace('u64 _birth; u32 _execs; i32 _tid;', 'i32 _tid;'))
    check_frames(outwind, work, path, [
        ['/a+0x10'], ['0x10'], ['0x10'], ['/a+0x10'], ['0x10', '/b+0x1']], 1,
        2, 'births of some')
    # a channel that tells of no mappings may lose what it does
    shutil.rmtree(path)
    write_packets(path + '/1', [(0, [mapped(1, 0, '/a')])], CROWD)
    write_packets(path + '/2', [(0, []), (9, []), (9, [called(1, [0x10])])],
                  re.sub(r'kunwind_(map|fork|exec)"', r'other_\1"', CROWD))
    check_frames(outwind, work, path, [['/a+0x10']], 9, 0, 'another channel')


def of_domain(domain, before=''):
    return CROWD.replace('clock {', before + '/* env { domain = "x"; }; */ env {'
                         ' hostname = "}"; domain = "%s"; }; clock {' % domain, 1)


def check_user_space(plain, work):
    """Events of user space, whatever their names are, aren't the kernel's."""
    path = work + '/domains'
    false = [mapped(2, 0x401000, '/bin/false'), called(2, [0x401013])]
    late = '/* %s */' % (70000 * 'x')
    for metadata, told in (
            (of_domain('ust'), '1 traces are of user space: left out'),
            (of_domain('ust', late), '2 events are of user space: left out'),
            (CROWD.replace('_callstack"', '_callstack:x"').replace(
                '_map"', '_map:x"'), None)):
        shutil.rmtree(path, ignore_errors=True)
        write_crowd(path + '/kernel', [TINY, INNER], of_domain('kernel'))
        write_crowd(path + '/ust', false, metadata)
        done = run(plain, 'report', '--sysroot', work + '/root', path)
        equal(re.findall('(?m)^ > .*', done.stdout),
              [' > inner+0x2 (/run/bin/tiny)'], 'user space: stacks')
        equal(done.stderr.splitlines(),
              ['outwind: %s: %s' % (path, told)] if told else [],
              'user space: it is told')
        say(done.returncode == 0, 'user space: %d' % done.returncode)
    shutil.rmtree(path + '/kernel')
    write_crowd(path + '/ust', false, of_domain('ust'))
    done = run(plain, 'report', path)
    say(done.returncode == 2 and done.stdout == '' and
        'none of 0 events has a stack' in done.stderr,
        'user space alone: %d, %r' % (done.returncode, done.stderr))


def check_some_fail(plain, work):
    """A trace that can't be read is named, and the others are read to their ends."""
    path = work + '/some'
    good = [TINY] + 40 * [INNER]
    for name, bad, lines in (
            ('an event of no class', good[:21] + [(77, b'')], 60),
            ('at once', [(77, b'')], 40)):
        shutil.rmtree(path, ignore_errors=True)
        write_crowd(path + '/a', bad)
        write_crowd(path + '/b', good)
        done = run(plain, 'report', '--sysroot', work + '/root', path)
        one_line(done, 1, name, path + '/a: No event class')
        write_crowd(path + '/c', [])
        os.mkfifo(path + '/c/fifo')
        done = run(plain, 'report', '--sysroot', work + '/root', path)
        one_line(done, 1, name, path + "/c/fifo: not a regular file; 1 more can't "
                 'be read')
        equal(re.findall('(?m)^ > .*', done.stdout),
              lines * [' > inner+0x2 (/run/bin/tiny)'], name)
        times = re.findall(r'(?m)^\[(\S+)\]', done.stdout)
        say(times == sorted(times), '%s: in the order of time' % name)


def check_many_traces(plain, work):
    """Of more traces than are read, it is told."""
    path = work + '/many'
    for nr, status in (256, 0), (257, 1):
        shutil.rmtree(path, ignore_errors=True)
        for i in range(nr):
            write_crowd('%s/%d' % (path, i), [TINY, INNER])
        done = run(plain, 'report', '--sysroot', work + '/root', path)
        say(done.stdout.count(' > inner') == 256, '%d traces' % nr)
        if status:
            one_line(done, status, 'many traces', 'more than 256 traces')
        else:
            say(done.returncode == 0 and not done.stderr, '%d traces' % nr)


def check_interrupted(plain, work):
    """A signal to all of a terminal's processes ends it, and nothing is made up."""
    path = work + '/long'
    os.mkdir(path)
    open(path + '/metadata', 'w').write(LIST % 1)
    with open(path + '/stream', 'wb') as f:
        f.write(struct.pack('<II', 0xc1fc1fc1, 0) + bytes(64 << 20))
    for i in range(12):
        with subprocess.Popen([plain, 'report', path], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as tool:
            time.sleep(0.2 + 0.05 * i)
            os.killpg(tool.pid, signal.SIGINT if i % 2 else signal.SIGTERM)
            out, said = tool.communicate(timeout=60)
        say(out == '' and 'lost' not in said and len(said.splitlines()) <= 1,
            'interrupted after %d looks: %r' % (i, said))


def check_idle(plain, work):
    """A signal ends it as well where it comes just before a wait for events."""
    shim = work + '/idle.so'
    subprocess.run(['cc', '-shared', '-fPIC', '-O1', '-o', shim,
                    os.path.join(os.path.dirname(__file__), 'idle.c'), '-ldl'],
                   check=True, timeout=60)
    begun = time.monotonic()
    done = subprocess.run([plain, 'report', work + '/context'], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          env=dict(os.environ, LD_PRELOAD=shim), timeout=60)
    took = time.monotonic() - begun
    say(done.returncode == 2 and 'none of 0 events' in done.stderr and took < 15,
        'a signal before a wait: %d, %.1f s, %r' % (done.returncode, took,
                                                    done.stderr))


def damage(rng, data):
    kind = rng.randrange(3)
    if kind == 0:
        return data[:rng.randrange(len(data))]
    data = bytearray(data)
    for _ in range(1 + rng.randrange(8)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def is_orderly(done):
    lines = done.stderr.splitlines()
    return done.returncode in (0, 1, 2) and len(lines) <= 3 and \
        all(l.startswith('outwind: ') for l in lines) and \
        (done.returncode == 0 or bool(lines))


def check_damaged(outwind, plain, work, times):
    """Whatever the bytes are, it ends in good order, with what it could read."""
    rng = random.Random(7)
    bad = 0
    statuses = collections.Counter()
    for i in range(times):
        trace = rng.choice(['context', 'probe'])
        path = work + '/damaged'
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(work + '/' + trace, path)
        files = [os.path.join(d, f) for d, _, fs in os.walk(path) for f in fs]
        name = rng.choice(sorted(files))
        data = open(name, 'rb').read()
        if data:
            open(name, 'wb').write(damage(rng, data))
        args = ['report', '--sysroot', work + '/root', '-f', 'folded', path]
        done = [run(plain, *args)]
        # what babeltrace2 itself stumbles over is no matter of ours
        if 'libbabeltrace2' not in done[0].stderr:
            done.append(run(outwind, *args))
        statuses[done[0].returncode] += 1
        for d in done:
            if not is_orderly(d):
                bad += 1
                print('# %d: %s: exit status %d: %s' %
                      (i, os.path.relpath(name, path), d.returncode,
                       d.stderr.splitlines()[:6]))
    print('# damaged traces by exit status:', dict(statuses))
    say(bad == 0, '%d of %d damaged traces' % (bad, times))
    say(statuses[2] > 0 and statuses[0] > 0, 'some are refused, some are not')


def main():
    outwind, plain, data = sys.argv[1:4]
    work = tempfile.mkdtemp(prefix='outwind-trace-')
    try:
        subprocess.run(['tar', '-C', work, '-xf', data + '/tiny.tar.xz'],
                       check=True)
        for trace in ('context', 'probe'):
            check_trace(outwind, work, trace)
        check_objects(outwind, work)
        check_homeless(outwind, work)
        check_refused(outwind, work)
        check_bomb(plain, work)
        check_endless(plain, work)
        check_interrupted(plain, work)
        check_idle(plain, work)
        check_meaning(outwind, work)
        check_lost(outwind, work)
        check_born(outwind, work)
        check_user_space(outwind, work)
        check_some_fail(outwind, work)
        check_many_traces(plain, work)
        check_crowds(plain, work)
        check_many_objects(plain, work)
        check_many_begun(plain, work)
        check_many_stacks(plain, work)
        check_long_names(plain, work)
        check_known_names(plain, work)
        check_damaged(outwind, plain, work, int(os.environ.get('TRACES', 60)))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


sys.exit(main())

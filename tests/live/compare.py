#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Compare outwind's stacks of a process or core file with gdb's and eu-stack's,
frame by frame.  What differs must be of a known class, see CLASSES.
"""

import argparse
import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

CLASSES = {
    'gdb inline':
        'gdb lists inlined functions as frames; outwind does with -i',
    'gdb tail call':
        'gdb guesses frames of tail calls, which the stack does not hold',
    'alias':
        'two symbols have the same address in the symbol table',
    'suffix':
        'the symbol has a suffix such as .part.0 that the DWARF name lacks',
    'parameters':
        'the DWARF name and the symbol differ in parameters or scope only',
    'hash':
        'gdb shows the hash at the end of a legacy Rust name',
    'unnamed by other':
        'the other tool knows no symbol',
    'PLT stub':
        'the other tool knows no names of PLT stubs, or those of a neighbour',
    'perf map':
        'the name comes from a JIT\'s map, which the other tool does not read',
    'nearest symbol':
        'no symbol covers pc; the other tool takes the nearest one below',
    'past outermost':
        'outwind stops at a known outermost function, or where the return '
        'address is 0; the other tool goes on and finds no function',
    'other gave up':
        'the other tool ends early, or says that it can not go on; outwind '
        'goes on from the same frame to a known outermost function',
    'other has no thread':
        'the other tool does not list a zombie, or not that thread',
    'JIT':
        'outwind crosses JIT code by its frame pointer, others guess on',
    'all gave up':
        'outwind stopped early, and says so; the other goes on, if at all, by '
        'guesses that lead to no outermost function',
    'call to nowhere':
        'outwind returns from a call of a bad address, the other can not',
}

OUTERMOST = {'_start', 'clone', 'clone3', '__clone', '__clone3',
             'start_thread', 'runtime.goexit', 'runtime.goexit.abi0',
             '_dl_start_user',
             'runtime.mstart.abi0', 'runtime.rt0_go.abi0',
             '_rt0_amd64_linux'}
RUST_HASH = re.compile(r'::h[0-9a-f]{16}$')
TOOL_SECONDS = 600


class Report:
    """What a comparison with one tool found."""

    def __init__(self, tool):
        self.tool = tool
        self.threads = 0
        self.frames = 0
        self.identical = 0
        self.classes = collections.Counter()
        self.failures = []

    def explain(self, name, count=1):
        assert name in CLASSES, name
        self.classes[name] += count

    def __str__(self):
        text = '%s: %d threads, %d frames, %d identical' % (
            self.tool, self.threads, self.frames, self.identical)
        for name, count in sorted(self.classes.items()):
            text += ', %d %s' % (count, name)
        return text + (', %d FAILED' % len(self.failures)
                       if self.failures else '')


def run(command, **options):
    environment = {k: v for k, v in os.environ.items()
                   if k != 'DEBUGINFOD_URLS'}
    return subprocess.run([str(c) for c in command], capture_output=True,
                          timeout=TOOL_SECONDS, check=False, env=environment,
                          stdin=subprocess.DEVNULL, **options)


def outwind_stacks(outwind, target, *options):
    done = run([outwind, 'stack', '--json', '-n', '0', *options, target])
    if done.returncode not in (0, 1):
        raise RuntimeError('outwind: ' + done.stderr.decode())
    return json.loads(done.stdout)


def gdb_stacks(target, exe=None, gdb='gdb', before=()):
    """{tid: {'frames': [...], 'why': str}}"""
    script = os.path.join(os.path.dirname(__file__), 'gdbstacks.py')
    with tempfile.NamedTemporaryFile(suffix='.json') as out:
        command = [gdb, '-nx', '-batch', '-ex', 'set debuginfod enabled off',
                   '-ex', 'set backtrace past-main on',
                   '-ex', 'set backtrace past-entry on',
                   '-ex', 'set backtrace limit unlimited']
        for each in before:
            command += ['-ex', each]
        if str(target).isdigit():
            command += ['-p', target]
        else:
            command += [exe, target]
        command += ['-ex', 'set $outwind_out = "%s"' % out.name,
                    '-ex', 'source ' + script]
        done = run(command)
        try:
            threads = json.load(out)
        except ValueError as error:
            raise RuntimeError('gdb: ' + done.stderr.decode()[-500:] +
                               done.stdout.decode()[-500:]) from error
    return {int(tid): stack for tid, stack in threads.items()}


def eu_stacks(target, exe=None):
    command = ['eu-stack', '-r', '-n', '0']
    command += ['-p', target] if exe is None else ['--core', target, '-e', exe]
    done = run(command)
    threads = {}
    stack = None
    for line in done.stdout.decode(errors='replace').splitlines():
        if line.startswith('TID '):
            stack = threads[int(line.split()[1].rstrip(':'))] = {
                'frames': [], 'why': ''}
        found = re.match(r'#\d+ +0x([0-9a-f]+)(?: (.*))?$', line)
        if found:
            stack['frames'].append({'pc': int(found.group(1), 16),
                                    'name': found.group(2), 'linkage': None,
                                    'kind': 'normal'})
    for line in done.stderr.decode(errors='replace').splitlines():
        found = re.search(r'tid (\d+)(.*)', line)
        if found and int(found.group(1)) in threads:
            threads[int(found.group(1))]['why'] += found.group(2)
    return threads


class Symbols:
    """Symbol tables of modules, as nm lists them, debug files included."""

    def __init__(self, pid):
        self.pid = pid
        self.tables = {}

    def table(self, path, build_id):
        if path in self.tables:
            return self.tables[path]
        by_name = collections.defaultdict(set)
        files = [path]
        if path == '[vdso]':
            self.read_vdso(by_name)
        elif build_id:
            files.append('/usr/lib/debug/.build-id/%s/%s.debug' %
                         (build_id[:2], build_id[2:]))
        for file in files:
            for dynamic in ([], ['-D']):
                self.read(['nm', '-S', *dynamic, file], by_name)
        self.tables[path] = by_name
        return by_name

    def read_vdso(self, by_name):
        with contextlib.suppress(OSError), \
                tempfile.NamedTemporaryFile() as copy, \
                open('/proc/%d/maps' % self.pid, encoding='utf-8') as maps, \
                open('/proc/%d/mem' % self.pid, 'rb') as memory:
            for line in maps:
                if '[vdso]' in line:
                    start, end = (int(a, 16)
                                  for a in line.split()[0].split('-'))
                    memory.seek(start)
                    copy.write(memory.read(end - start))
            copy.flush()
            self.read(['nm', '-S', '-D', copy.name], by_name)

    @staticmethod
    def read(command, by_name):
        for line in run(command).stdout.decode(errors='replace').splitlines():
            found = re.match(r'([0-9a-f]+) (?:([0-9a-f]+) )?\w (.*)', line)
            if found:
                start, size, name = found.groups()
                by_name[name.split('@')[0]].add(
                    (int(start, 16), int(size or '0', 16)))

    def same(self, frame, one, other):
        table = self.table(frame.get('module'), frame.get('build_id'))
        starts = [{start for start, _ in table.get(n, ())}
                  for n in (one, other)]
        return bool(starts[0] & starts[1])

    def covers(self, frame, name):
        table = self.table(frame.get('module'), frame.get('build_id'))
        at = int(frame.get('module_offset', '0'), 16)
        return any(start < at <= start + size for start, size in
                   table.get(name, ()))


def bare(name):
    """A C++ or Rust name without parameters and template arguments."""
    name = name.replace('(anonymous namespace)', '{anon}')
    for inner in (r'<[^<>]*>', r'\([^()]*\)'):
        while re.search(inner, name):
            name = re.sub(inner, '', name)
    name = re.sub(r'( const| volatile)+$', '', name)
    return name.split('::')[-1].split(' ')[-1]


def gets_to_end(rest, why):
    """
    Do these frames of the other tool, which outwind hasn't, end as a whole stack
    does?  Behind what is outermost there may be more, by guesses.
    """
    return why in ('', 'outermost') or any(
        f['name'] and f['name'].split('@')[0] in OUTERMOST for f in rest)


class Comparer:
    """Compares stacks; reports per tool."""

    def __init__(self, raw, plain, jit=False):
        self.jit = jit
        self.threads = {t['tid']: t for t in raw['threads']}
        self.plain = {t['tid']: t for t in plain['threads']}
        self.symbols = Symbols(raw['pid'])

    def names_differ(self, frame, plain, other):
        """None if they are identical, a class, or False if unexplained."""
        mine, readable = frame.get('function'), plain.get('function')
        theirs = [n.split('@')[0] if '@plt' not in n else n
                  for n in (other['linkage'], other['name']) if n]
        if mine in theirs or readable in theirs or not (mine or theirs):
            return None
        if frame.get('signal') and other['kind'] == 'signal':
            return None
        if not theirs:
            return 'unnamed by other'
        if '/perf-' in frame.get('module', ''):
            return 'perf map'
        if mine is None:
            covered = any(self.symbols.covers(frame, t) for t in theirs)
            return False if covered else 'nearest symbol'
        if mine.endswith('@plt') or any(t.endswith('@plt') for t in theirs):
            return 'PLT stub'
        if any(self.symbols.same(frame, mine, t) for t in theirs):
            return 'alias'
        if any(mine.split('.')[0] == t.split('.')[0] for t in theirs):
            return 'suffix'
        if any(bare(readable) == bare(t) for t in theirs):
            return 'parameters'
        if any(readable == RUST_HASH.sub('', t) for t in theirs):
            return 'hash'
        return False

    def compare_frames(self, report, tid, stack):
        thread = self.threads[tid]
        mine, plain = thread['frames'], self.plain[tid]['frames']
        theirs = []
        for frame in stack['frames']:
            if frame['kind'] in ('inline', 'tailcall'):
                report.explain('gdb inline' if frame['kind'] == 'inline'
                               else 'gdb tail call')
            else:
                theirs.append(frame)
        for i, (frame, other) in enumerate(zip(mine, theirs)):
            report.frames += 1
            if int(frame['pc'], 16) != other['pc']:
                self.explain_split(report, thread, i, theirs, stack)
                return
            verdict = self.names_differ(frame, plain[i], other)
            if verdict is None:
                report.identical += 1
            elif verdict:
                report.explain(verdict)
            else:
                report.failures.append(
                    '%d: #%d %s: %s, but %s says %s' %
                    (tid, i, frame['pc'], frame.get('function'), report.tool,
                     other['linkage'] or other['name']))
        if len(mine) != len(theirs):
            self.explain_split(report, thread, min(len(mine), len(theirs)),
                               theirs, stack)

    def explain_split(self, report, thread, at, theirs, stack):
        """From frame at on the stacks are not the same; why?"""
        mine = thread['frames']
        below = mine[at - 1] if at else {}
        if at == len(mine) and thread['complete']:
            rest = theirs[at:]
            if (not any(f['name'] for f in rest) and
                    below.get('function') in OUTERMOST or
                    not any(f['pc'] for f in rest)):
                report.explain('past outermost', len(rest))
                return
        if at == len(theirs) and (
                stack['why'] not in ('', 'no reason', 'outermost') or
                thread['complete'] and
                mine[-1].get('function') in OUTERMOST):
            report.explain('other gave up')
            return
        hows = {f['how'] for f in mine[at:at + 1]}
        if 'bad call' in hows:
            report.explain('call to nowhere')
            return
        # In code without a file: a JIT's, or an interpreter's templates.
        gave_up = not thread['complete'] and \
            not gets_to_end(theirs[at:], stack['why'])
        if self.jit and (thread['complete'] or gave_up) and \
                any('module' not in f or '/perf-' in f['module']
                    for f in [below] + mine[at:at + 1]):
            report.explain('JIT')
            return
        # The last frame of one that gave up may be a guess.
        if gave_up and at >= len(mine) - 1 and \
                (stack['why'] or at < len(theirs)):
            report.explain('all gave up')
            return
        report.failures.append(
            '%d: from #%d on: outwind %s (%s), %s %s (%s)' %
            (thread['tid'], at,
             [(f['pc'], f.get('function'), f['how'])
              for f in mine[at:at + 3]],
             thread.get('end_detail', thread['end']), report.tool,
             [(hex(f['pc']), f['name']) for f in theirs[at:at + 3]],
             stack['why']))

    def compare(self, tool, stacks):
        report = Report(tool)
        for tid, thread in self.threads.items():
            if 'frames' not in thread or tid not in stacks:
                report.explain('other has no thread')
                continue
            report.threads += 1
            self.compare_frames(report, tid, stacks[tid])
        return report


def states(pid):
    found = set()
    for tid in os.listdir('/proc/%d/task' % pid):
        with contextlib.suppress(OSError):
            with open('/proc/%d/task/%s/stat' % (pid, tid), 'rb') as f:
                found.add(f.read().rpartition(b') ')[2][:1].decode())
    return found


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + TOOL_SECONDS
    while time.monotonic() < deadline:
        if states(pid) <= set('TtZX'):
            return
        time.sleep(0.01)
    raise RuntimeError('process %d did not stop' % pid)


def places(stacks):
    return [[(f['pc'], f['sp']) for f in t.get('frames', ())]
            for t in stacks['threads']]


def compare_process(outwind, pid, tools=('gdb', 'eu-stack'), jit=False):
    """Reports; the process is stopped meanwhile."""
    was_stopped = states(pid) <= set('TZX')
    stop(pid)
    try:
        for _ in range(3):
            raw = outwind_stacks(outwind, pid, '-r')
            comparer = Comparer(raw, outwind_stacks(outwind, pid), jit)
            reports = []
            if 'gdb' in tools:
                reports.append(comparer.compare('gdb', gdb_stacks(pid)))
                stop(pid)
            if 'eu-stack' in tools:
                reports.append(comparer.compare('eu-stack', eu_stacks(pid)))
                stop(pid)
            if places(outwind_stacks(outwind, pid, '-r')) == places(raw):
                return reports
        raise RuntimeError('the stacks of %d change' % pid)
    finally:
        if not was_stopped:
            os.kill(pid, signal.SIGCONT)


def compare_core(outwind, core, exe, gdb='gdb', tools=('gdb', 'eu-stack'),
                 before=()):
    options = ['-e', exe]
    comparer = Comparer(outwind_stacks(outwind, core, '-r', *options),
                        outwind_stacks(outwind, core, *options))
    reports = []
    if 'gdb' in tools:
        reports.append(comparer.compare('gdb', gdb_stacks(core, exe, gdb,
                                                          before)))
    if 'eu-stack' in tools:
        reports.append(comparer.compare('eu-stack', eu_stacks(core, exe)))
    return reports


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--outwind', default='build/bin/outwind')
    parser.add_argument('-e', '--executable', help='of a core file')
    parser.add_argument('--jit', action='store_true',
                        help='the process has code that only outwind crosses')
    parser.add_argument('target', help='pid or core file')
    options = parser.parse_args()
    if options.target.isdigit():
        reports = compare_process(options.outwind, int(options.target),
                                  jit=options.jit)
    else:
        reports = compare_core(options.outwind, options.target,
                               options.executable)
    for report in reports:
        print(report)
        for failure in report.failures:
            print('  ' + failure)
    return 1 if any(r.failures for r in reports) else 0


if __name__ == '__main__':
    sys.exit(main())

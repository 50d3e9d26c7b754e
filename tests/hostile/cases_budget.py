# SPDX-License-Identifier: BSD-2-Clause
"""One budget of memory for all objects of a run, and for every command."""

import gzip
import json
import lzma
import os
import re
import shutil
import subprocess

from attackers import NOBODY
from cases_objects import (Done, LIMIT, MB, OWN, bomb, check_bounded,
                           check_says, run_changed, write_changed)
from harness import case, check, copy_program, need_root


def minidebug_of(megabytes):
    """A change: a .gnu_debugdata that is in order, and of that size."""
    def change(elf):
        image = bytes(elf.bytes)
        elf.hide('.symtab')
        elf.add('.gnu_debugdata', lzma.compress(
            image + bytes(megabytes * MB - len(image)), preset=0))
    return change


# Of the limit a quarter may be one object's: they fit, but not all together.
SHARED = 128  # MB


@case('budget: 4 recorded processes with 24 MB of .gnu_debugdata each')
def test_shares(context):
    need_root()
    first = run_changed(context, minidebug_of(24), 'work', name='p0')
    pids = [first.pid]
    for i in range(1, 4):
        path = copy_program(os.path.join(context.tmp, 'p0'),
                            os.path.join(context.tmp, 'p%d' % i))
        pids.append(context.start([path, 'work']).pid)
    done = Done(context, 'record', '-d', '1', '-f', 'folded',
                '--no-kernel', '--memory-limit=%dM' % SHARED,
                '-p', ','.join(map(str, pids)))
    check(done.status == 0, 'status %d' % done.status, done.stderr)
    check_bounded(done, SHARED + 2 * OWN)
    named = {l.split(';')[0] for l in done.stdout.splitlines()
             if ';main;busy;work_here ' in l}
    left = set(re.findall(r'/(p\d+): its \.gnu_debugdata', done.stderr))
    context.note('%.1f s, %d MB' % (done.cpu, done.megabytes))
    check(named and left and named | left == {'p%d' % i for i in range(4)} and
          not named & left, 'named or left out', (named, left, done.stderr))


@case('budget: .gnu_debugdata of 17 MB, which could take a second to decode')
def test_packed(context):
    def change(elf):
        elf.hide('.symtab')
        elf.add('.gnu_debugdata', bytes(17 * MB))

    target = run_changed(context, change, 'work')
    done = Done(context, 'stack', target.pid)
    check('/changed: its .gnu_debugdata would take too long' in done.stderr,
          'says', done.stderr)


def run_as(context, uid, name, megabytes):
    """Start a user's own program with that much .gnu_debugdata, and return its PID."""
    path = os.path.join(context.tmp, name)
    write_changed(context.program('through'), minidebug_of(megabytes), path)
    os.chown(path, uid, uid)
    command = [word.replace(NOBODY[2], str(uid)) for word in NOBODY]
    return context.start([shutil.which(command[0]), *command[1:], path, 'work']).pid


@case('budget: objects of a user, who wants all of it, and of another one')
def test_users(context):
    need_root()
    os.chmod(context.tmp, 0o755)
    # Each is up to a quarter of what the ones before leave over of 64 MB.
    sizes = 12, 11, 9, 6, 5
    pids = [run_as(context, 65534, 'greedy%d' % i, size)
            for i, size in enumerate(sizes)]
    pids.append(run_as(context, 65533, 'modest', 4))
    done = Done(context, 'record', '-d', '3', '-F', '499', '-f', 'folded',
                '--no-kernel', '--memory-limit=64M',
                '-p', ','.join(map(str, pids)))
    check(done.status == 0, 'status %d' % done.status, done.stderr)
    check_bounded(done, 64 + 2 * OWN)
    named = {l.split(';')[0] for l in done.stdout.splitlines()
             if ';main;busy;work_here ' in l}
    context.note('%.1f s, %d MB, named: %s' % (done.cpu, done.megabytes, sorted(named)))
    check('modest' in named, 'named', (named, done.stderr))
    taken = sum(size for i, size in enumerate(sizes) if 'greedy%d' % i in named)
    check(0 < taken <= 32, 'half of it', (taken, named))


@case('budget: rows and tables of a bomb')
def test_commands(context):
    run_changed(context, bomb)
    path = os.path.join(context.tmp, 'changed')
    for command in ('rows', path), ('tables', path):
        done = Done(context, command[0], '--memory-limit=64M', command[1])
        check(done.status == 0, 'status %d' % done.status, done.stderr)
        check_bounded(done, 64 // 4 + OWN)
        check_says(done, '/changed: its .debug_frame')


@case('budget: many files that go without are told of in few lines')
def test_many(context):
    run_changed(context, bomb)
    path = os.path.join(context.tmp, 'changed')
    paths = ['%s%d' % (path, i) for i in range(80)]
    for other in paths:
        os.link(path, other)
    done = Done(context, 'rows', '--memory-limit=64M', *paths)
    lines = done.stderr.splitlines()
    check(len(lines) == 9 and
          all(l.startswith('outwind: %s: its .debug_frame' % p)
              for l, p in zip(lines, paths[:8])), 'first 8', lines)
    check(lines[8] == 'outwind: and 72 more left out', 'the others', lines[8])


@case('budget: a profile tells what was left out')
def test_profile(context):
    need_root()
    target = run_changed(context, minidebug_of(96), 'work')
    path = os.path.join(context.tmp, 'p.owp')
    done = Done(context, 'record', '-d', '1', '--no-kernel', '-o', path,
                '--memory-limit=64M', '-p', target.pid)
    check_says(done, '/changed: its .gnu_debugdata')
    whole = json.loads(Done(context, 'report', '-f', 'json', path).stdout)
    said = [l.split(': ', 1)[1] for l in done.stderr.splitlines()
            if 'its .gnu_debugdata' in l]
    check(said and set(said) <= set(whole['left_out']), 'left out',
          (done.stderr, whole['left_out']))
    again = Done(context, 'report', '-f', 'outwind', path).stdout
    with open(path, encoding='utf-8') as f:
        check(f.read() == again, 'report keeps it')
    comments = gzip.decompress(subprocess.run(
        [context.outwind, 'report', '-f', 'pprof', '-o', '-', path],
        stdout=subprocess.PIPE, check=True).stdout)
    check(said[0].encode() in comments, 'comment of pprof')


@case('budget: stacks of gigabytes that nobody has written')
def test_stacks(context):
    target = context.start(['hugestack', '4', '2'])
    snapshot = os.path.join(context.tmp, 'snapshot')
    for command in (['stack'], ['stack', '--one-at-a-time'],
                    ['snap', '-o', snapshot]):
        done = Done(context, *command, target.pid)
        check(done.status == 0, 'status %d' % done.status, done.stderr)
        # A snapshot is in memory a second time when it is written.
        check_bounded(done, 2 * LIMIT // 4 + OWN)
        check_says(done, 'stacks take more memory than they may '
                   '(--memory-limit)')
    for name in (target.pid, snapshot):
        done = Done(context, 'stack', name)
        # What called them isn't in that memory, but above it.
        check(done.stdout.count(' wait_deep + ') == 2 and
              done.stdout.count(' main + ') == 1, 'stacks', done.stdout)


@case('budget: a snapshot of frames in 16000 functions of a JIT')
def test_jit(context):
    target = context.start(['manyjits', '100', '16000', '600'])
    snapshot = os.path.join(context.tmp, 'snapshot')
    for limit in 512, 64:
        done = Done(context, 'snap', '--memory-limit=%dM' % limit, '-o',
                    snapshot, target.pid)
        check(done.status == 0, 'status %d' % done.status, done.stderr)
        check_bounded(done, LIMIT // 4 + OWN)
        check(('/perf-%d.map: some ' % target.pid in done.stderr) ==
              (limit == 64), 'says', done.stderr)
        context.note('%d MB' % done.megabytes)
        done = Done(context, 'stack', '-n', '100', snapshot)
        named = set(re.findall(r'^#\d+ +0x[0-9a-f]+ (\d+)x', done.stdout,
                               re.MULTILINE))
        # Of those that there is room for, none may be of the innermost frames.
        check(len(named) == 99 or limit == 64, 'names',
              (limit, len(named), done.stderr))


@case('budget: copies of files that nobody can open')
def test_copies(context):
    target = context.start(['copiedmaps', 'leased', '12', '1', '100',
                            context.tmp])
    for command in (['tables'],
                    ['snap', '-o', os.path.join(context.tmp, 'snapshot')]):
        done = Done(context, *command, target.pid)
        check(done.status == 1, 'status %d' % done.status, done.stderr)
        check_bounded(done, LIMIT + OWN)
        lines = re.findall(r'/file\d+: a copy of it would take more memory '
                           r'than it may \(--memory-limit\)', done.stderr)
        check(0 < len(lines) < 12, 'says', done.stderr)


@case('budget: copies of files, mapped again and again')
def test_copies_again(context):
    target = context.start(['copiedmaps', 'leased', '12', '200', '16',
                            context.tmp])
    done = Done(context, 'snap', '-o',
                os.path.join(context.tmp, 'snapshot'), target.pid)
    check('copies of what is mapped have taken too long' in done.stderr,
          'status %d' % done.status, done.stderr)


@case('budget: a snapshot of deleted files of 960 MB')
def test_deleted(context):
    target = context.start(['copiedmaps', 'deleted', '60', '1', '16',
                            context.tmp])
    snapshot = os.path.join(context.tmp, 'snapshot')
    done = Done(context, 'snap', '-o', snapshot, target.pid)
    check(done.status == 0, 'status %d' % done.status, done.stderr)
    # The pages of those that it holds are in memory, too.
    check_bounded(done, LIMIT + LIMIT // 2 + OWN)
    check('its copy in a snapshot would take more memory than it may' in
          done.stderr, 'says', done.stderr)
    done = Done(context, 'stack', snapshot)
    check(done.status == 0 and ' main + ' in done.stdout,
          'status %d' % done.status, (done.stderr, done.stdout))


@case('budget: code below folders that no path can name')
def test_long_path(context):
    target = context.start(['longpath', '1000', '20000', context.tmp])
    for options in ([], ['--gentle']):
        done = Done(context, 'stack', *options, target.pid)
        check(done.status == 0 and ' main + ' in done.stdout,
              'status %d' % done.status, (done.stderr, done.stdout))
        # Its list of mappings would be 5 GB of text.
        check_bounded(done, OWN)


@case('budget: a list of 20,000,000 names of one letter')
def test_short_lines(context):
    path = os.path.join(context.tmp, 'list')
    lines = ''.join('%x T %c\n' % (i, 97 + i) for i in range(16)).encode()
    with open(path, 'wb') as f:
        for _ in range(120):
            f.write(lines * (MB // len(lines)))
    trace = os.path.join(context.tmp, 'trace')
    with open(trace, 'w', encoding='ascii') as f:
        f.write('0x3\n')
    done = Done(context, path, trace, tool=os.path.join(
        os.path.dirname(context.outwind), 'symbolize'))
    check(done.status == 0 and done.stdout == 'd\n', 'a name', done.stdout)
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))
    check_bounded(done, 256 + OWN)
    check_says(done, '/list: some of its lines')
    # The option that the message names.
    done = Done(context, '--memory-limit=64M', path, trace,
                tool=os.path.join(os.path.dirname(context.outwind),
                                  'symbolize'))
    check(done.status == 0 and done.megabytes < 64, 'less memory',
          (done.status, done.megabytes, done.stderr))


@case('budget: a profile and a list of names that are one line of 4 GB')
def test_lines(context):
    path = os.path.join(context.tmp, 'line')
    with open(path, 'wb') as f:
        f.truncate(4 << 30)
    done = Done(context, 'report', path)
    check(done.status == 2 and 'not a profile of outwind' in done.stderr,
          'status %d' % done.status, done.stderr)
    check_bounded(done, OWN)
    symbolize = os.path.join(os.path.dirname(context.outwind), 'symbolize')
    done = context.run_tool([symbolize, path, os.devnull], status=2)
    check(b'line: longer than 128 MiB' in done.stderr, 'names', done.stderr)


def look_at_copies(context, *options):
    folder = os.path.join(context.tmp, 'space')
    os.mkdir(folder)
    target = context.start(['overlaidholes', '400', '120', folder, *options])
    done = Done(context, 'stack', '-n', '0', target.pid)
    check_bounded(done)
    return done


@case('budget: copies of files that are holes')
def test_copies_of_holes(context):
    need_root()
    done = look_at_copies(context)
    check(done.cpu < 2, 'CPU seconds', (done.cpu, done.stderr))


@case('budget: copies of files that have a byte in each MiB')
def test_copies(context):
    need_root()
    done = look_at_copies(context, 'data')
    check(done.cpu < 15, 'CPU seconds', (done.cpu, done.stderr))
    check('copies of what is mapped have taken too long' in done.stderr,
          'message', done.stderr)

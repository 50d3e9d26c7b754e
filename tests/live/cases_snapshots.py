# SPDX-License-Identifier: BSD-2-Clause
"""Snapshots: the same stacks later, elsewhere, and without what is secret."""

import os
import pty
import re
import shutil
import stat
import subprocess

from cases_jit import start_node
from harness import (PATIENCE, Skip, case, check, copy_program, end_target,
                     need, stop, task_states, wait_until)

PYTHON = '''
import threading, time
def deep(n):
    if n:
        return deep(n - 1)
    time.sleep(1000)
for n in range(6):
    threading.Thread(target=deep, args=(20 * n,), daemon=True).start()
print('ready', flush=True)
deep(5)
'''
HEAD_SIZE = 32


def snap(context, pid, *options, name='a.snap', status=0):
    """A snapshot of it; the path."""
    path = os.path.join(context.tmp, name)
    context.run('snap', '-o', path, *options, pid, status=status)
    return path


def at_rest(pid):
    """Wait: letting a stopped thread go wakes it for a moment."""
    wait_until(lambda: set(task_states(pid).values()) <= set('tTZ'),
               'threads stop again')
    return pid


def contents(path):
    """The sections of a snapshot, decompressed."""
    need('zstd')
    with open(path, 'rb') as f:
        return subprocess.run(['zstd', '-dcq'], input=f.read()[HEAD_SIZE:],
                              capture_output=True, check=True).stdout


def check_same(one, two, text):
    for a, b in zip(one.splitlines(), two.splitlines()):
        check(a == b, text, '\n  %s\n  %s' % (a.decode(), b.decode()))
    check(one == two, text + ': length')


def check_later(context, target, status=0):
    """
    What is said of a process at rest, and what of its snapshots when it is no
    more, is the same to the byte.
    """
    stop(target.pid)
    views = ((), ('-v',), ('--json',), ('-q',), ('-f', 'folded'))
    live = [context.run('stack', *v, at_rest(target.pid), status=status).stdout
            for v in views]
    taken = 1 if 'Z' in task_states(target.pid).values() else 0
    whole = snap(context, at_rest(target.pid), status=taken)
    less = snap(context, at_rest(target.pid), '--redact', name='less.snap',
                status=taken)
    at_rest(target.pid)
    end_target(target)
    for view, want in zip(views, live):
        check(want.count(b'\n') > 0, 'nothing was said of it')
        for path in (whole, less):
            done = context.run('stack', *view, path, status=status)
            check_same(want, done.stdout, ' '.join((path, *view)))
    context.note('%d bytes, redacted %d' % (os.path.getsize(whole),
                                            os.path.getsize(less)))
    return whole, less


def add_program(command, status=0):
    @case('snapshot: ' + command)
    def _(context):
        check_later(context, context.start(command.split()), status)


for each_command in ('chain-pie', 'chain-static', 'chain-O0', 'chain-fp',
                     'chain-clang', 'chain-i386',
                     'chain-i386-static', 'chain-stripped',
                     'chain-debug-frame', 'chain-no-build-id',
                     'chain-no-eh-frame-hdr', 'chain-no-sections', 'asm',
                     'signals plain', 'signals altstack', 'signals nested',
                     'signals thread-altstack', 'signals null-call',
                     'shapes deep 900', 'shapes realign', 'shapes alloca',
                     'shapes-i386 realign',
                     'threads custom-stack', 'throwing template',
                     'throwing-static template',
                     'between', 'secrets', 'secrets signal'):
    add_program(each_command)
# Stacks that end early, or are longer than is shown, and a thread without one.
for each_command in ('nocfi', 'chain-musl', 'signals overflow',
                     'signals-musl altstack', 'shapes coroutine', 'shapes deep 3000', 'threads leader'):
    add_program(each_command, status=1)


@case('snapshot: python with threads')
def _(context):
    check_later(context, context.start(['/usr/bin/python3', '-c', PYTHON]))


@case('snapshot: 300 threads')
def _(context):
    path = os.path.join(context.tmp, 'go')
    target = context.start(['threads', 'many', path, '300'])
    check_later(context, target)


@case('snapshot: node, with the names of its JIT')
def _(context):
    target = start_node(context, 'block')
    # Its map for perf is gone before the snapshot is read.
    whole, _ = check_later_without_map(context, target)
    check(b'blockOuter' in contents(whole), 'names are in it')


def check_later_without_map(context, target):
    live = check_later(context, target)
    os.unlink('/tmp/perf-%d.map' % target.pid)
    done = context.run('stack', live[1], status=0)
    # Compiled in whichever way it was by then.
    check(re.search(rb'JS:[*^~+]\S*blockOuter', done.stdout),
          'JIT names without the map', done.stdout)
    return live


@case('snapshot: some threads only')
def _(context):
    target = context.start(['threads', 'custom-stack'])
    tids = sorted(task_states(target.pid))
    stop(target.pid)
    live = context.run('stack', '%d/%d' % (target.pid, tids[-1]),
                       status=0).stdout
    at_rest(target.pid)
    path = snap(context, '%d/%d' % (target.pid, tids[-1]))
    check_same(live, context.run('stack', path, status=0).stdout, 'one thread')
    done = context.run('snap', '-o', path, '%d/%d,1' % (target.pid, tids[0]))
    check(done.returncode == 1, 'status', done.returncode)
    check(b'outwind: thread 1: process %d has no such thread' % target.pid in
          done.stderr, 'the absent one is told of', done.stderr)


def add_secrets(program, scene):
    @case('snapshot: no secret is in it when redacted, %s %s' % (program,
                                                                 scene))
    def _(context):
        target = context.start([program, scene])
        live = context.run('stack', target.pid, status=0).stdout
        check(b'in_buffers' in live and b'in_registers' in live, 'frames',
              live)
        whole = set(re.findall(rb'SECRET\d\d',
                               contents(snap(context, target.pid))))
        # Those of buffers, of saved registers, and of the innermost frames.
        for n in range(10, 32 if scene == 'signal' else 35):
            check(b'SECRET%02d' % n in whole, 'planted', (n, sorted(whole)))
        path = snap(context, target.pid, '--redact', name='less.snap')
        redacted = contents(path)
        check(b'SEC' not in redacted and b'RET' not in redacted, 'secrets',
              re.findall(rb'.{0,8}(?:SEC|RET).{0,8}', redacted))
        check_same(live, context.run('stack', path, status=0).stdout,
                   'redacted')


for each_scene in ('syscall', 'signal'):
    for each_program in ('secrets', 'secrets-clang'):
        add_secrets(each_program, each_scene)


def objects_of(context, pid):
    """The files that a process has code of."""
    lines = context.run('stack', '-l', pid, status=0).stdout.decode()
    return sorted(set(re.findall(r'^0x\S+ (/.*)$', lines, re.M)))


def start_copy(context, name='chain-pie'):
    """A program of the test's own, and the target that runs it."""
    path = os.path.join(context.tmp, 'program')
    copy_program(context.program(name), path)
    return path, context.start([path])


def lacking(done):
    return [line for line in done.stderr.decode().splitlines()
            if line.startswith('outwind: lacks ')]


def build_id_of(path):
    text = subprocess.run(['readelf', '-n', path], capture_output=True,
                          check=True).stdout.decode()
    return re.search(r'Build ID: ([0-9a-f]+)', text).group(1)


@case('snapshot: elsewhere, with a sysroot')
def _(context):
    path, target = start_copy(context)
    stop(target.pid)
    live = context.run('stack', target.pid, status=0).stdout
    root = os.path.join(context.tmp, 'root')
    for file in objects_of(context, target.pid):
        os.makedirs(root + os.path.dirname(file), exist_ok=True)
        shutil.copy(file, root + file)
    file = snap(context, at_rest(target.pid), '--redact')
    end_target(target)
    build_id = build_id_of(path)
    os.unlink(path)
    done = context.run('stack', '--sysroot', root, file, status=0)
    check_same(live, done.stdout, 'below the sysroot')
    check(done.stderr == b'', 'nothing lacks', done.stderr)
    # Without it the program is not there; what it needs of it is told.
    done = context.run('stack', file, status=1)
    check(lacking(done) == ['outwind: lacks %s [%s]: %s: no such file' %
                            (path, build_id, path)], 'lacks', done.stderr)
    check(b'stack ends here' in done.stdout, 'the stack ends', done.stdout)
    # An empty one has nothing, but the vDSO is in the snapshot.
    empty = os.path.join(context.tmp, 'empty')
    os.mkdir(empty)
    done = context.run('stack', '--sysroot', empty, file, status=1)
    check(len(lacking(done)) == 1 and path in lacking(done)[0], 'lacks',
          done.stderr)


@case('snapshot: another build is not taken')
def _(context):
    path, target = start_copy(context)
    file = snap(context, target.pid)
    end_target(target)
    build_id = build_id_of(path)
    os.unlink(path)
    shutil.copy(context.program('chain-O0'), path)
    done = context.run('stack', file, status=1)
    check(lacking(done) == ['outwind: lacks %s [%s]: %s: another build than '
                            'the one that was running' % (path, build_id,
                                                          path)],
          'lacks', done.stderr)
    check(b'link' not in done.stdout, 'no names of it', done.stdout)
    # Nor one without build-id, if that is what was running.
    os.unlink(path)
    path, target = start_copy(context, 'chain-no-build-id')
    file = snap(context, target.pid)
    end_target(target)
    context.run('stack', file, status=0)
    os.unlink(path)
    shutil.copy(context.program('chain-static'), path)
    done = context.run('stack', file, status=1)
    check(lacking(done) == ['outwind: lacks %s [no build-id]: %s: another '
                            'build than the one that was running' % (path,
                                                                     path)],
          'lacks', done.stderr)


@case('snapshot: objects by build-id')
def _(context):
    path, target = start_copy(context)
    stop(target.pid)
    live = context.run('stack', target.pid, status=0).stdout
    file = snap(context, at_rest(target.pid))
    root = os.path.join(context.tmp, 'root')
    for each in objects_of(context, target.pid):
        build_id = build_id_of(each)
        folder = '%s/usr/lib/debug/.build-id/%s' % (root, build_id[:2])
        os.makedirs(folder, exist_ok=True)
        shutil.copy(each, folder + '/' + build_id[2:])
    end_target(target)
    os.unlink(path)
    done = context.run('stack', '--sysroot', root, file, status=0)
    check_same(live, done.stdout, 'by build-id')


@case('snapshot: of a program that is deleted')
def _(context):
    path, target = start_copy(context)
    os.unlink(path)
    whole, _ = check_later(context, target)
    # Even if something else has its name by then.
    shutil.copy(context.program('chain-O0'), path)
    done = context.run('stack', whole, status=0)
    check(b'main' in done.stdout and not lacking(done), 'its own names',
          done)


@case('snapshot: -e names the program')
def _(context):
    path, target = start_copy(context)
    file = snap(context, target.pid)
    end_target(target)
    os.rename(path, path + '.old')
    context.run('stack', file, status=1)
    done = context.run('stack', '-e', path + '.old', file, status=0)
    check(b'main' in done.stdout, 'names', done.stdout)


@case('snapshot: command line')
def _(context):
    target = context.start(['chain-pie'])
    pid = target.pid
    done = subprocess.run([context.outwind, 'snap', str(pid)],
                          cwd=context.tmp, capture_output=True, check=True)
    path = '%s/outwind-%d.snap' % (context.tmp, pid)
    check(re.fullmatch(rb'outwind-%d.snap: 1 threads, \d+ KiB of stacks, '
                       rb'\d+ KiB written, stopped for \d+\.\d{3} ms\n' % pid,
                       done.stderr), 'summary', done.stderr)
    check(done.stdout == b'', 'stdout', done.stdout)
    check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, 'mode')
    # To stdout, and the same may be read from there.
    done = context.run('snap', '--redact', '-o', '-', pid, status=0)
    with open(path, 'wb') as f:
        f.write(done.stdout)
    check(re.fullmatch(rb'stdout: 1 threads, \d+ KiB of stacks redacted, '
                       rb'stopped for \d+\.\d{3} ms\n', done.stderr),
          'summary', done.stderr)
    context.run('stack', path, status=0)
    # What no snapshot can be written to.
    done = context.run('snap', '-o', '/dev/null', pid, status=2)
    check(done.stderr == b'outwind: /dev/null: is there, and not a regular '
          b'file\n', 'device', done.stderr)
    check(stat.S_ISCHR(os.stat('/dev/null').st_mode), 'still a device')
    check_terminal(context, pid)
    for arguments, status in ((('999999999',), 2), (('x',), 64), ((), 64),
                              (('1', '2'), 64), (('1/x',), 64),
                              (('--no',), 64),
                              (('--stack-size', '0', '1'), 64)):
        done = context.run('snap', '-o', path, *arguments, status=status)
        check(done.stdout == b'' and done.stderr, 'stderr', arguments)
    done = context.run('snap', '--help', status=0)
    check(done.stdout.startswith(b'usage: outwind snap'), 'help')


def check_terminal(context, pid):
    try:
        mine, theirs = pty.openpty()
    except OSError as error:
        context.note('no terminals here: %s' % error)
        return
    try:
        done = subprocess.run([context.outwind, 'snap', '-o', '-', str(pid)],
                              stdout=theirs, stderr=subprocess.PIPE,
                              timeout=PATIENCE, check=False)
    finally:
        os.close(mine)
        os.close(theirs)
    check(done.returncode == 64 and b'terminal' in done.stderr, 'terminal',
          done)


@case('snapshot: damaged')
def _(context):
    target = context.start(['chain-pie'])
    path = snap(context, target.pid)
    with open(path, 'rb') as f:
        good = f.read()
    wrong = good[:99] + bytes([good[99] ^ 4]) + good[100:]
    for bad in (good[:-1], good[:31], good[:9], good + b'\0', wrong,
                good[:16] + b'\2' + good[17:]):
        with open(path, 'wb') as f:
            f.write(bad)
        done = context.run('stack', path, status=2)
        check(done.stdout == b'' and done.stderr.count(b'\n') == 1 and
              done.stderr.startswith(b'outwind: ' + path.encode() + b': '),
              'one line', done.stderr)


@case('snapshot: of a stack that was cut')
def _(context):
    target = context.start(['shapes', 'deep', '900'])
    path = snap(context, target.pid, '--stack-size', '16384')
    done = context.run('stack', path, status=1)
    check(b'could not be read' in done.stdout, 'end', done.stdout[-200:])
    less = snap(context, target.pid, '--stack-size', '16384', '--redact',
                name='less.snap')
    check_same(done.stdout, context.run('stack', less, status=1).stdout,
               'redacted')


@case('snapshot: not allowed to write')
def _(context):
    if os.geteuid() != 0 or not shutil.which('setpriv'):
        raise Skip('needs root and setpriv')
    target = context.start(['chain-pie'])
    done = context.run('snap', '-o', context.tmp + '/no/a.snap', target.pid,
                       status=2)
    check(done.stderr.startswith(b'outwind: create '), 'stderr', done.stderr)
    check(os.listdir(context.tmp) in ([], ['cache']), 'nothing is left',
          os.listdir(context.tmp))

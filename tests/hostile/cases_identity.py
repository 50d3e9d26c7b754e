# SPDX-License-Identifier: BSD-2-Clause
"""A build-id is no identity: a file with another one's decides nothing for it."""

import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from harness import (PATIENCE, Skip, case, check, need, need_root, task_states,
                     wait_until)
from recordings import Recording, let_run

CHAIN = ['spin', 'innermost', 'inner', 'middle', 'outer', 'outermost', 'main']
FALSE = ['false_' + name for name in CHAIN[:-1]] + ['main']
PROGRAMS = {'samebuild_victim': CHAIN, 'samebuild_impostor': FALSE}


def put(context, program, name):
    """A copy of a program, in place of what the name was before."""
    path = os.path.join(context.tmp, name)
    # By a program: another test's child might keep a file of ours open.
    subprocess.run(['cp', context.program(program), path + '.new'], check=True)
    os.rename(path + '.new', path)
    return path


def start_both(context, order, name):
    """Both programs, in that order, each by its name or by the same one."""
    return {program: context.start([put(context, program, name or program),
                                    'spin'])
            for program in order}


def own_frames(profile, folder, pid):
    """The frames of a process that are of a program in the folder, by stack."""
    return [[f for f in (profile['frames'][i] for i in stack['frames'])
             if f.get('module', '').startswith(folder)]
            for stack in profile['stacks'] if stack['pid'] == pid]


def record(context, pids, *options):
    """A profile that has samples of all of the processes."""
    path = os.path.join(context.tmp, 'profile.json')
    for seconds in (0.5, 2, 8, 32, 128):
        context.run('record', '-d', seconds, '-F', '199', '-f', 'json', '-o',
                    path, *options, status=0)
        with open(path, encoding='utf-8') as f:
            profile = json.load(f)
        if set(pids) <= {stack['pid'] for stack in profile['stacks']}:
            return profile
    check(False, 'no samples', pids)
    return None


def check_recorded(context, order, name, everyone):
    """Each program's samples have all of its own names."""
    targets = start_both(context, order, name)
    pids = [target.pid for target in targets.values()]
    options = ['-a'] if everyone else ['-p', ','.join(map(str, pids))]
    profile = record(context, pids, *options)
    build_ids = set()
    for program, target in targets.items():
        stacks = own_frames(profile, context.tmp, target.pid)
        seen = {tuple(f.get('function') for f in frames) for frames in stacks}
        check(seen == {tuple(PROGRAMS[program] + ['_start'])},
              'names of ' + program, seen)
        build_ids |= {f['build_id'] for frames in stacks for f in frames}
        target.kill()
        target.wait()
    # Though the profile knows one build-id only.
    check(len(build_ids) == 1, 'build-ids', build_ids)


ORDERS = (('samebuild_victim', 'samebuild_impostor'),
          ('samebuild_impostor', 'samebuild_victim'))


@case('identity: record -p of two programs with one build-id')
def record_pids(context):
    need_root()
    for order in ORDERS:
        for name in (None, 'prog'):
            check_recorded(context, order, name, False)


@case('identity: record -a of two programs with one build-id')
def record_all(context):
    need_root()
    for order in ORDERS:
        check_recorded(context, order, 'prog', True)


def program_frames(context, pid, *options):
    """The frames of the program itself, and all of the thread's."""
    thread = context.stacks(pid, *options)['threads'][0]
    check(thread['complete'], 'complete', thread)
    frames = [(f['pc'], f.get('function')) for f in thread['frames']]
    own = [name for _, name in frames if name in CHAIN + FALSE]
    return own, frames


@case('identity: tables of a program with another one\'s build-id')
def tables(context):
    for order in ORDERS:
        for name in (None, 'prog'):
            targets, paths = {}, {}
            for program in order:
                paths[program] = put(context, program, name or program)
                targets[program] = context.start([paths[program], 'wait'])
                context.run('tables', targets[program].pid, status=0)
            for program, target in targets.items():
                own, frames = program_frames(context, target.pid)
                check(own == PROGRAMS[program], 'names of ' + program, own)
                check(frames == program_frames(context, target.pid,
                                               '--no-tables')[1],
                      'other frames than without tables', frames)
                # Not because there is no table any more.
                said = context.run('tables', '/proc/%d/exe' % target.pid,
                                   status=0).stdout.decode()
                check(': made, ' in said or ': was there, ' in said, 'table',
                      said)
                check(program_frames(context, target.pid)[1] == frames,
                      'other frames after it is made again', frames)
                target.kill()
                target.wait()


def rows_of(said):
    """How many rows each table has, by the path that is told."""
    return {path: int(rows) for path, rows in
            re.findall(r'(?m)^(.*): (?:made|was there), (\d+) rows', said)}


@case('identity: tables of a file that another one has taken the path of')
def tables_replaced(context):
    need_root()
    path = put(context, 'samebuild_victim', 'replaced')
    target = context.start([path, 'wait'])
    cache = os.path.join(context.tmp, 'cache')
    put(context, 'bystander', 'replaced')
    said = context.run('tables', target.pid, status=0).stdout.decode()
    shutil.rmtree(cache)
    wanted = context.run('tables', '/proc/%d/exe' % target.pid,
                         context.program('bystander'), status=0)
    mapped, other = rows_of(wanted.stdout.decode()).values()
    check(mapped != other and rows_of(said).get(path) == mapped, 'table',
          (said, wanted.stdout))
    # Without the right to open what is mapped, the file can't be had.
    library = put(context, 'libpaused.so', 'lib.so')
    target = context.start(['loadpaused', library])
    put(context, 'libwaits.so', 'lib.so')
    done = context.run_tool(
        ['setpriv', '--bounding-set=-sys_admin,-checkpoint_restore',
         context.outwind, 'tables', str(target.pid)], status=1)
    check(done.stderr.decode() == 'outwind: %s: no table: the file that process '
          '%d has mapped can\'t be opened\n' % (library, target.pid), 'message',
          done.stderr)
    check(library not in rows_of(done.stdout.decode()), 'made', done.stdout)


@case('identity: record of a program that has written to its vDSO')
def written_vdso(context):
    need_root()
    liar = context.start(['vdso_reader', 'lie'])
    honest = context.start(['vdso_reader'])
    profile = record(context, [liar.pid, honest.pid],
                     '-p', '%d,%d' % (liar.pid, honest.pid))
    frames = own_frames(profile, '[vdso]', honest.pid)
    names = {f.get('function') for stack in frames for f in stack}
    check(names and all(name and 'clock_g' in name for name in names),
          'names in the vDSO', names)


OVERLAY = """
set -e
cd "$1"
mkdir lower upper work merged
cp "$2" lower/prog
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged
exec merged/prog wait
"""


# A program that is all that its process has mapped, of a file system without a place.
DETACHED = """
set -e
cd "$1"
mkdir mount
mount -t tmpfs none mount
cp "$2" mount/prog
cd mount
umount -l "$1/mount"
echo ready
exec ./prog
"""
ALONE = 'void _start(void) { for (;;) __asm__("pause"); }'
NOT_KEPT = ('outwind: %s: no table is kept for it: its file system could tell '
            'false times\n')


def start_inside(context, script, program):
    """A program that a script starts as root of a user namespace."""
    need('unshare')
    command = [shutil.which('unshare'), '--user', '--map-root-user',
               '--mount', 'sh', '-c']
    if subprocess.run([*command, 'mount -t tmpfs none /mnt'], check=False,
                      capture_output=True).returncode:
        raise Skip('no user namespaces here')
    return context.start([*command, script, 'sh', context.tmp, program])


@case('identity: tables of a process whose only file gets none')
def untrusted_alone(context):
    need('cc')
    program = os.path.join(context.tmp, 'alone')
    subprocess.run(['cc', '-x', 'c', '-', '-nostdlib', '-static', '-Wl,'
                    '--build-id', '-o', program], input=ALONE.encode(),
                   check=True)
    target = start_inside(context, DETACHED, program)
    done = context.run('tables', target.pid, status=2)
    check(done.stderr.decode() == NOT_KEPT % '/prog' and not done.stdout,
          'message', done)


@case('identity: no table of what a user may serve the times of')
def untrusted_times(context):
    target = start_inside(context, OVERLAY,
                          context.program('samebuild_victim'))
    inside = '/proc/%d/root%s/' % (target.pid, context.tmp)
    prog = inside + 'merged/prog'
    done = context.run('tables', prog, status=2)
    check(done.stderr.decode() == NOT_KEPT % prog, 'message', done.stderr)
    # Of the process' files, those of the system get theirs.
    done = context.run('tables', target.pid, status=1)
    check(done.stderr.decode().endswith('false times\n') and
          done.stderr.count(b'\n') == 1 and b'libc' in done.stdout,
          'messages', done)
    own, _ = program_frames(context, target.pid)
    check(own == CHAIN, 'names', own)
    # Where that lies, only the kernel sets them.
    context.run('tables', inside + 'lower/prog', status=0)


@case('identity: no table of what a user may write to without a new time')
def untold_writes(context):
    need_root()
    for folder in (context.tmp, '/dev/shm'):
        path = os.path.join(tempfile.mkdtemp(dir=folder), 'prog')
        context.stack.callback(shutil.rmtree, os.path.dirname(path))
        shutil.copy(context.program('samebuild_victim'), path)
        os.chmod(os.path.dirname(path), 0o755)
        context.run('tables', path, status=0)
        os.chown(path, 65534, 65534)
        said = ('outwind: %s: no table is kept for it: others may write to it, '
                'which its times need not tell\n' % path)
        done = context.run('tables', path, status=2)
        check(done.stderr.decode() == said, 'message', done.stderr)
        target = context.start([path, 'wait'])
        done = context.run('tables', target.pid, status=1)
        check(done.stderr.decode() == said and b'libc' in done.stdout,
              'messages', done)
        own, _ = program_frames(context, target.pid)
        check(own == CHAIN, 'names', own)


# A library that is mapped from an overlay.
LAYERED = OVERLAY.replace('cp "$2" lower/prog', 'cp lib.so lower/lib.so').replace(
    'merged/prog wait', '"$2" "$1/merged/lib.so"')
SPINNING = """
#include <unistd.h>
__attribute__((noipa)) static void %s(void) { for (;;) __asm__ volatile("pause"); }
__attribute__((noipa)) int paused_outer(int x)
{
    %s if (write(1, "ready\\n", 6) == 6) %s();
    return x + 1;
}
"""


def build_library(path, name, more, build_id=''):
    subprocess.run(['cc', '-x', 'c', '-', '-O1', '-fPIC', '-shared', '-Wl,'
                    '--build-id' + build_id, '-o', path], check=True,
                   input=(SPINNING % (name, more, name)).encode())


@case('identity: a file that an overlay has copied up since it was mapped')
def copied_up(context):
    need('cc')
    first, second = (os.path.join(context.tmp, name)
                     for name in ('lib.so', 'other.so'))
    build_library(first, 'spin_first', '')
    build_library(second, 'spin_second', 'for (; x > 9; x--) write(1, "", 0);')
    target = start_inside(context, LAYERED, context.program('loadpaused'))
    lib = '/proc/%d/root%s/merged/lib.so' % (target.pid, context.tmp)
    before = os.stat(lib)
    subprocess.run(['dd', 'if=' + second, 'of=' + lib, 'conv=notrunc',
                    'status=none'], check=True)
    after = os.stat(lib)
    check((before.st_dev, before.st_ino) == (after.st_dev, after.st_ino),
          'it has the same numbers', (before, after))
    # Of the file that is mapped, which has no name any more, or without one.
    own = {None, 'spin_first', 'paused_outer'}
    thread, = context.stacks(target.pid, status=0)['threads']
    seen = [f.get('function') for f in thread['frames']
            if f['module'].endswith('/merged/lib.so')]
    check(len(seen) == 2 and set(seen) <= own, 'frames', thread)
    for engine in ('bpf', 'perf', 'ptrace'):
        profile = record(context, [target.pid], '--engine=' + engine, '-p',
                         target.pid)
        stacks = [[f.get('function') for f in frames] for frames in
                  own_frames(profile, context.tmp + '/merged', target.pid)]
        check(max(map(len, stacks)) == 2 and
              {name for names in stacks for name in names} <= own,
              'frames by ' + engine, stacks)


def unlink(path, by):
    os.unlink(path)


def write_in_place(path, by):
    subprocess.run(['dd', 'if=' + by, 'of=' + path, 'conv=notrunc',
                    'status=none'], check=True)


def write_and_set_back(path, by):
    mtime_ns = os.stat(path).st_mtime_ns
    write_in_place(path, by)
    os.utime(path, ns=(mtime_ns, mtime_ns))


def write_and_unlink(path, by):
    write_and_set_back(path, by)
    os.unlink(path)


class Mapped:
    """A file that a shared mapping writes to without a new time."""

    def __init__(self, path):
        with open(path, 'r+b') as f:
            self.bytes = mmap.mmap(f.fileno(), 0)
        self.touch()

    def touch(self):
        """Have each page dirty, so that the next write to it needs no fault."""
        for at in range(0, len(self.bytes), mmap.PAGESIZE):
            self.bytes[at] = self.bytes[at]

    def write(self, path, by):
        before = os.stat(path)
        with open(by, 'rb') as f:
            new = f.read()
        self.bytes[:len(new)] = new
        after = os.stat(path)
        check((before.st_mtime_ns, before.st_ctime_ns) ==
              (after.st_mtime_ns, after.st_ctime_ns), 'times', after)


def record_overwritten(context, engine, lib, write, file, by):
    """
    What is said, and the names of what was sampled before a file that names of a
    library come from, which a process runs in, was written to.
    """
    target = context.start(['loadpaused', lib])
    recording = Recording(context, '--engine=' + engine, '-f', 'json', '-F', 199,
                          whom=('-p', str(target.pid)))
    recording.wait_for_start()
    let_run(target.pid)
    os.kill(target.pid, signal.SIGSTOP)
    wait_until(lambda: set(task_states(target.pid).values()) == {'T'},
               'it has stopped')
    time.sleep(0.3)  # whose file a sample has is looked up after it
    write(file, by)
    said = recording.end()
    target.kill()
    target.wait()
    return said, {frame for stack, _, _ in recording.stacks(target.pid)
                  for frame in stack}


def check_overwritten(context, engine, lib, write, file, by, how):
    """
    The file is written to in that way: names are left out then, and both are told of.
    Names that were made before, as they are every few seconds, stay.
    """
    said, names = record_overwritten(context, engine, lib, write, file, by)
    told = '%s, %s' % (engine, how)
    check(names & {None, 'spin_first'} and 'spin_other' not in names,
          'names by ' + told, names)
    check(said.count('%s: names in it, as it was written to' % file) ==
          (None in names) and said.count('%s: it was written to' % file) == 1,
          'message by ' + told, (said, names))


ON_DISK, IN_MEMORY = None, '/dev/shm'
WRITERS = ((ON_DISK, write_in_place), (ON_DISK, write_and_set_back),
           (ON_DISK, write_and_unlink), (IN_MEMORY, Mapped), (ON_DISK, Mapped))


@case('identity: record of a file that is written to when samples have been taken')
def overwritten(context):
    need_root()
    need('cc')
    first, second = (os.path.join(context.tmp, name)
                     for name in ('first.so', 'second.so'))
    # The same code at the same place, by another name.
    build_library(first, 'spin_first', '')
    build_library(second, 'spin_other', '')
    for engine in ('bpf', 'perf', 'ptrace'):
        for folder, how in WRITERS if engine == 'bpf' else WRITERS[2:4]:
            lib = os.path.join(tempfile.mkdtemp(dir=folder or context.tmp),
                               'lib.so')
            context.stack.callback(shutil.rmtree, os.path.dirname(lib))
            shutil.copyfile(first, lib)
            os.chown(lib, 65534, 65534)
            write = how(lib).write if how is Mapped else how
            check_overwritten(context, engine, lib, write, lib, second,
                              '%s, %s' % (how.__name__, folder))


def strip_to(path, name, debug):
    """A library without symbols at path, and the file that has them at debug."""
    build_library(path, name, '', '=0x0badcafe')
    subprocess.run(['objcopy', '--only-keep-debug', path, debug], check=True)
    subprocess.run(['objcopy', '--strip-all', '--add-gnu-debuglink=' + debug,
                    path], check=True)


@case('identity: record of a file whose debug file is written to')
def debug_overwritten(context):
    need_root()
    need('cc', 'objcopy')
    for engine in ('bpf', 'perf', 'ptrace'):
        for folder, how in ((IN_MEMORY, Mapped), (ON_DISK, write_in_place)):
            folder = tempfile.mkdtemp(dir=folder or context.tmp)
            context.stack.callback(shutil.rmtree, folder)
            lib, debug, other = (os.path.join(folder, name) for name in
                                 ('lib.so', 'lib.debug', 'other.debug'))
            strip_to(os.path.join(folder, 'other.so'), 'spin_other', other)
            strip_to(lib, 'spin_first', debug)
            for path in (lib, debug):
                os.chown(path, 65534, 65534)
            write = how(debug).write if how is Mapped else how
            check_overwritten(context, engine, lib, write, debug, other,
                              '%s, its debug file' % how.__name__)


@case('identity: record of a file that others may write to, and don\'t')
def not_overwritten(context):
    need_root()
    need('cc')
    lib = os.path.join(context.tmp, 'lib.so')
    debug = os.path.join(context.tmp, 'lib.debug')
    for engine in ('bpf', 'perf', 'ptrace'):
        for file, write in ((lib, lambda path, by: None), (lib, unlink),
                            (debug, lambda path, by: None), (debug, unlink)):
            if file == debug:
                strip_to(lib, 'spin_first', debug)
                os.chown(debug, 65534, 65534)
            else:
                build_library(lib, 'spin_first', '')
            os.chown(lib, 65534, 65534)
            said, names = record_overwritten(context, engine, lib, write, file,
                                             None)
            check('spin_first' in names and lib not in said and
                  debug not in said, 'by ' + engine, (said, names))


@case('identity: a process that writes to its head of a file that others have')
def spoiled_head(context):
    need('cc')
    folder = tempfile.mkdtemp(dir='/dev/shm')
    context.stack.callback(shutil.rmtree, folder)
    os.chmod(folder, 0o755)
    lib = os.path.join(folder, 'lib.so')
    build_library(lib, 'spin_first', '')
    nobody = [shutil.which('setpriv'), '--reuid', '65534', '--clear-groups']
    hostile = context.start([*nobody, context.program('ownhead'), lib, 'spoil'])
    victim = context.start([context.program('ownhead'), lib])
    for engine in ('bpf', 'perf', 'ptrace'):
        for pids in ((hostile.pid, victim.pid), (victim.pid, hostile.pid)):
            profile = record(context, pids, '--engine=' + engine, '-p',
                             '%d,%d' % pids)
            stacks = [s for s in profile['stacks'] if s['pid'] == victim.pid]
            names = {tuple(f.get('function') for f in
                           (profile['frames'][i] for i in s['frames'])
                           if not f.get('kernel')) for s in stacks}
            check(all('spin_first' in n and 'main' in n for n in names) and
                  {s['end'] for s in stacks} == {'complete'},
                  'stacks by ' + engine, (pids, names))


def start_asked(context):
    """A process, whose number another one gets when it has ended."""
    parent = context.start(['samenumber', '0'])
    with open('/proc/%d/task/%d/children' % (parent.pid, parent.pid),
              encoding='ascii') as f:
        return int(f.read())


def record_until_ended(context, engine, asked, others):
    """The functions of stacks taken from one before its end, to the recording's."""
    path = os.path.join(context.tmp, 'profile.json')
    limit = ['-d', '4'] if others else []
    child = subprocess.Popen(
        [context.outwind, 'record', '--engine=' + engine, '-F', '199', '-f',
         'json', '-o', path, *limit, '-p',
         ','.join(str(pid) for pid in (asked, *others))],
        stdin=subprocess.DEVNULL)
    try:
        time.sleep(2)
        os.kill(asked, signal.SIGKILL)
        check(child.wait(timeout=PATIENCE) == 0, 'status', child.returncode)
    finally:
        child.kill()
        child.wait()
    with open(path, encoding='utf-8') as f:
        return [frame.get('function') for frame in json.load(f)['frames']]


@case('identity: the number of a process that has ended', alone=True)
def record_same_number(context):
    need_root()
    bystander = context.start(['bystander'])
    for engine in ('bpf', 'perf', 'ptrace'):
        for others in ((), (bystander.pid,)):
            names = record_until_ended(context, engine, start_asked(context),
                                       others)
            check('asked' in names and 'other' not in names,
                  '%s, %d others' % (engine, len(others)), names)


@case('identity: the number of a thread that has ended', alone=True)
def _(context):
    """What has it then is not looked at in place of the thread's process."""
    need_root()
    pid = context.start(['headless']).pid
    recording = Recording(context, '-f', 'json', '-F', 199, '--no-kernel')
    recording.wait_for_start()
    let_run(pid, 0.5)
    os.kill(pid, signal.SIGUSR1)
    let_run(pid, 2)
    recording.end()
    stacks = recording.stacks(pid)
    whole = sum(count for names, end, count in stacks
                if end == 'complete' and 'headless_work' in names)
    check(whole >= 0.9 * sum(count for _, _, count in stacks) > 0, 'stacks',
          stacks)


@case('identity: stacks that were chosen to be taken for one another')
def _(context):
    """Each is counted as what it is, and as often as it is there: half of the time."""
    need_root()
    pid = context.start(['samehash', '50']).pid
    recording = Recording(context, '-f', 'json', '-F', 499, '--no-kernel',
                          whom=('-p', str(pid)))
    recording.wait_for_start()
    let_run(pid, 1)
    recording.end()
    count = {'spin_first': 0, 'spin_second': 0}
    for names, end, number in recording.stacks(pid):
        if names and names[0] in count:
            check(names[1:9] == ['call_next'] * 8 and end == 'complete',
                  'stack', (names, end))
            count[names[0]] += number
    check(min(count.values()) > sum(count.values()) / 4, 'samples', count)
    context.note('%d and %d samples' % tuple(count.values()))

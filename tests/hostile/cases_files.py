# SPDX-License-Identifier: BSD-2-Clause
"""Files that their owners cut off, lease, name or link to do harm."""

import glob
import json
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import time

import corewriter
from harness import case, check, need_root, Skip

CUT = ': cut off, or not readable, while it was read'
LOST = CUT + ': what it had is missing'
# A program's start: the rest of a run is the same for each length.
LENGTHS = 48


def put(path, content):
    """The same file with that content, whatever it was cut to."""
    with open(path, 'r+b') as f:
        f.write(content)
        f.truncate()


def names_of(frames):
    return [(f['pc'], f.get('function')) for f in frames]


class Cut:
    """A library on the stack of a process, which is cut off once it is mapped."""

    def __init__(self, t):
        self.t = t
        self.path = os.path.join(t.tmp, 'libcut.so')
        shutil.copy(t.program('libpaused.so'), self.path)
        with open(self.path, 'rb') as f:
            self.content = f.read()
        self.pid = t.start(['loadpaused', self.path]).pid
        self.sizes = [len(self.content) * i // LENGTHS for i in range(LENGTHS)]

    def run(self, size, *command):
        """Run a tool that finds the library whole, and cut off as it maps it."""
        put(self.path, self.content)
        return self.t.run_tool(list(map(str, command)), env={
            'LD_PRELOAD': self.t.program('libcutmap.so'),
            'CUT_FILE': self.path, 'CUT_SIZE': str(size)})

    def check_said(self, done, tool, good=0, bad=1):
        """One line that names the file, and the status, or neither."""
        lines = done.stderr.decode().splitlines()
        said = '%s: %s%s' % (tool, self.path, LOST)
        check(lines.count(said) == (done.returncode != good),
              'said otherwise', (done.returncode, lines))
        check(done.returncode in (good, bad), 'status', done.returncode)
        return lines.count(said)


@case('stack of a library that is cut off once it is mapped')
def stack_of_cut(t):
    cut = Cut(t)
    whole = names_of(t.stacks(cut.pid)['threads'][0]['frames'])
    check(len(whole) == 7, 'the whole stack', whole)
    told = 0
    for size in cut.sizes:
        done = cut.run(size, t.outwind, 'stack', '--json', cut.pid)
        told += cut.check_said(done, 'outwind')
        thread = json.loads(done.stdout)['threads'][0]
        frames = names_of(thread['frames'])
        for got, wanted in zip(frames, whole):
            check(got[0] == wanted[0] and got[1] in (None, wanted[1]),
                  'a false frame', (size, got, wanted))
        check(thread['complete'] == (len(frames) == len(whole)),
              'what ends early is not complete', (size, thread))
    check(told >= LENGTHS // 2, 'hardly one was cut', told)


@case('tbstack of a library that is cut off once it is mapped')
def tbstack_of_cut(t):
    cut = Cut(t)
    whole = t.run_tool([t.tbstack, str(cut.pid)], status=0)
    whole = [l.split() for l in whole.stdout.decode().splitlines()[1:8]]
    told = 0
    for size in cut.sizes:
        done = cut.run(size, t.tbstack, cut.pid)
        told += cut.check_said(done, 'tbstack')
        lines = done.stdout.decode().splitlines()[1:8]
        for got, wanted in zip([l.split() for l in lines], whole):
            if got[0][0] in '?-':
                break
            check(got[0] == wanted[0] and got[1] in ('??', wanted[1]),
                  'a false frame', (size, got, wanted))
    check(told >= LENGTHS // 2, 'hardly one was cut', told)


@case('tables, rows and a snapshot of files that are cut off')
def others_of_cut(t):
    cut = Cut(t)
    snapshot = os.path.join(t.tmp, 'snapshot')
    for size in cut.sizes[::4]:
        done = cut.run(size, t.outwind, 'tables', cut.path)
        check(done.stderr.decode() in
              (('', ) if done.returncode == 0 else
               ('outwind: %s%s\n' % (cut.path, CUT),)),
              'tables', (size, done))
        done = cut.run(size, t.outwind, 'rows', cut.path)
        check(CUT.encode() not in done.stderr or done.returncode,
              'rows', (size, done))
        cut.check_said(cut.run(size, t.outwind, 'snap', '-o', snapshot,
                               cut.pid), 'outwind')
    put(cut.path, cut.content)
    t.run('snap', '-o', cut.path + '.snap', cut.pid, status=0)
    with open(cut.path + '.snap', 'rb') as f:
        cut.content = f.read()
    cut.path += '.snap'
    for size in (0, 4096):
        done = cut.run(size, t.outwind, 'stack', cut.path)
        check(done.returncode == 2 and not done.stdout and
              b'damaged snapshot: cut off' in done.stderr,
              'a snapshot', (size, done))


@case('symbolize by an ELF file that is cut off once it is mapped')
def symbolize_by_cut(t):
    cut = Cut(t)
    symbolize = os.path.join(os.path.dirname(t.outwind), 'symbolize')
    trace = os.path.join(t.tmp, 'trace')
    symbols = subprocess.run(['nm', '--defined-only', cut.path], check=True,
                             capture_output=True, text=True).stdout
    pairs = [l.split() for l in symbols.splitlines()]
    pairs = [(a, n) for a, kind, n in pairs if kind == 'T']
    with open(trace, 'w', encoding='ascii') as f:
        f.write(''.join('0x%s\n' % a for a, _ in pairs))
    told = 0
    for size in cut.sizes:
        done = cut.run(size, symbolize, cut.path, trace)
        said = b'symbolize: ' + cut.path.encode() + LOST.encode() + b'\n'
        told += done.returncode == 2
        check(done.stderr == b'' if done.returncode == 0 else
              done.stderr in (said, b'symbolize: symbol table: ' +
                              cut.path.encode() + CUT.encode() + b'\n'),
              'said', (size, done))
        for got, (addr, name) in zip(done.stdout.decode().splitlines(), pairs):
            check(got in (name, '0x' + addr), 'a false name', (size, got, name))
    check(told >= LENGTHS // 2, 'hardly one was cut', told)


@case('a user of the library has no SIGBUS of the library, and all of its own')
def user_of_cut(t):
    cut = Cut(t)
    user = t.program('usercut')
    told = 0
    for mode in ((), ('own',), ('left',)):
        for size in cut.sizes[::4]:
            done = cut.run(size, user, cut.pid, *mode)
            lines = done.stdout.decode().splitlines()
            check(done.returncode == 0, 'status', (size, mode, done))
            if mode:
                check(lines[-1] == 'own 1', 'its own handler', (size, lines))
            if not any(l.startswith('lost ' + cut.path) for l in lines):
                continue
            told += 1
            check('end 0 ' in done.stdout.decode() and
                  'frame paused_outer 0' not in lines, 'a frame of it',
                  (size, mode, lines))
    check(told >= 12, 'hardly one was cut', told)


@case('a core file that is cut off once it is mapped')
def core_of_cut(t):
    cut = Cut(t)
    cut.path = os.path.join(t.tmp, 'core')
    with open(cut.path, 'wb') as f:
        f.write(corewriter.process().bytes())
    with open(cut.path, 'rb') as f:
        cut.content = f.read()
    whole = t.run('stack', cut.path).stdout
    check(b'#0 ' in whole, 'the whole stack', whole)
    for size in range(0, len(cut.content), 4096):
        done = cut.run(size, t.outwind, 'stack', cut.path)
        check(done.stderr.decode() == 'outwind: %s%s\n' % (cut.path, (
            CUT if done.returncode == 2 else LOST)) and
              done.returncode in (1, 2) and b'#1 ' not in done.stdout,
              'not given up', (size, done))


SPLIT = """
#include <unistd.h>
static inline __attribute__((always_inline)) void inlined(void)
{
	write(1, "ready\\n", 6);
	for (;;)
		pause();
}
__attribute__((noinline)) void outer(void) { inlined(); }
int main(void) { outer(); return 0; }
"""


@case('stack -i with a file of split DWARF that is cut off once it is mapped')
def split_of_cut(t):
    with open(os.path.join(t.tmp, 'split.c'), 'w', encoding='ascii') as f:
        f.write(SPLIT)
    subprocess.run(['cc', '-g', '-gsplit-dwarf', '-O1', '-w', '-o', 'split',
                    'split.c'], cwd=t.tmp, check=True)
    cut = Cut(t)
    cut.path = glob.glob(os.path.join(t.tmp, '*.dwo'))[0]
    with open(cut.path, 'rb') as f:
        cut.content = f.read() + b'\0' * 8192
    put(cut.path, cut.content)
    pid = t.start([os.path.join(t.tmp, 'split')]).pid
    done = t.run('stack', '-i', '--json', pid, status=0)
    check(b'"inlined"' in done.stdout, 'by the file', done.stdout)
    # Its first page has all of it; of the others libdw reads nothing.
    for size in (0, 4096, 8192):
        done = cut.run(size, t.outwind, 'stack', '-i', '--json', pid)
        check(cut.check_said(done, 'outwind') == (size == 0), 'said', size)
        frames = json.loads(done.stdout)['threads'][0]['frames']
        names = [f.get('function') for f in frames]
        check((b'"inlined"' in done.stdout) == (done.returncode == 0) and
              'outer' in names and 'main' in names, 'names', (size, names))


OTHER = 12345  # a user
PLANTED = ('outwind: %s: another user has put that, or a link on the way, where '
           'anybody may: nothing is written to it\n')


def listing(folder):
    return sorted(os.listdir(folder))


@case('tables: a cache that another user could change is not used')
def others_cache(t):
    need_root()
    victim = os.path.join(t.tmp, 'victim')
    cache = os.path.join(t.tmp, 'theirs')
    own = os.path.join(t.tmp, 'own')
    os.mkdir(victim)
    os.mkdir(cache)
    os.symlink(victim, os.path.join(cache, 'outwind'))
    os.chown(cache, OTHER, OTHER)
    program = '/bin/ls'
    # By the variable: root is told, and nothing is where the link leads.
    done = t.run('tables', program, env={'XDG_CACHE_HOME': cache}, status=2)
    check(done.stderr.decode().startswith(
        'outwind: %s/outwind: another user could put tables there: ' % cache)
        and done.stderr.count(b'\n') == 1, 'it is said', done.stderr)
    check(not listing(victim), 'written through a link', listing(victim))
    # By $HOME, which sudo may leave: it is not root's.
    env = dict(os.environ, HOME=cache)
    env.pop('XDG_CACHE_HOME', None)
    done = subprocess.run([t.outwind, 'tables', '--dir'], env=env, check=True,
                          capture_output=True, text=True)
    home = pwd.getpwuid(0).pw_dir
    check(done.stdout == home + '/.cache/outwind\n', 'root\'s own', done)
    # Good tables of a folder that becomes another's are left alone.
    pid = t.start(['loadpaused', t.program('libpaused.so')]).pid
    env = {'XDG_CACHE_HOME': own}
    t.run('tables', pid, env=env, status=0)

    def hows():
        stack = json.loads(t.run('stack', '--json', pid, env=env).stdout)
        return {f['how'] for f in stack['threads'][0]['frames'][1:]}
    check('table' in hows(), 'tables are used', hows())
    for mode, owner in ((0o755, OTHER), (0o777, 0), (0o775, 0)):
        os.chmod(own, mode)
        os.chown(own, owner, 0)
        check(hows() == {'eh_frame'}, 'a table that others could make', hows())
        t.run('tables', program, env=env, status=2)
    os.chmod(own, 0o755)
    check('table' in hows(), 'tables are used again', hows())


def folder_for_all(t):
    """The folder, a file elsewhere, where output goes, a profile and its process."""
    need_root()
    folder = os.path.join(t.tmp, 'tmp')
    profile = os.path.join(t.tmp, 'p.owp')
    os.mkdir(folder)
    os.chmod(folder, 0o1777)
    target = t.start(['busyname'])
    t.run('record', '--engine=ptrace', '-p', target.pid, '-d', '0.1', '-o',
          profile, status=0)
    return (folder, os.path.join(t.tmp, 'victim'), os.path.join(folder, 'out'),
            profile, target)


@case('output to what another user has put into a folder for all')
def planted_output(t):
    folder, victim, path, profile, target = folder_for_all(t)
    commands = (['report', '-f', 'json', '-o', path, profile],
                ['record', '--engine=ptrace', '-p', str(target.pid), '-d',
                 '0.1', '-f', 'json', '-o', path])
    for command in commands:
        for is_link in (True, False):
            with open(victim, 'w', encoding='ascii') as f:
                f.write('kept')
            if is_link:
                os.symlink(victim, path)
            else:
                os.link(victim, path)
            os.chown(path, OTHER, OTHER, follow_symlinks=False)
            done = t.run(*command, status=2)
            check(done.stderr.decode() == PLANTED % path, 'it is said', done)
            with open(victim, encoding='ascii') as f:
                check(f.read() == 'kept', 'written through it', command)
            check(listing(folder) == ['out'], 'left behind', listing(folder))
            os.unlink(path)
            os.chown(victim, 0, 0)
        t.run(*command, status=0)
        with open(path, encoding='utf-8') as f:
            json.load(f)
        check(os.stat(path).st_uid == 0, 'it is ours', path)
        t.run(*command, status=0)  # over our own
        os.unlink(path)


@case('output below a folder that is another user\'s link')
def linked_folder(t):
    folder, _, link, profile, target = folder_for_all(t)
    elsewhere = os.path.join(t.tmp, 'elsewhere')
    os.mkdir(elsewhere)
    path = os.path.join(link, 'new')
    commands = (['report', '-f', 'json', '-o', path, profile],
                ['record', '--engine=ptrace', '-p', str(target.pid), '-d',
                 '0.1', '-f', 'json', '-o', path],
                ['snap', '-o', path, str(target.pid)],
                ['syscalls', '-o', path, str(target.pid)])
    says = (PLANTED % path, PLANTED % path,
            'outwind: %s: another user has put a link on the way, where '
            'anybody may: nothing is written to it\n' % path,
            'outwind: open %s: Operation not permitted\n' % path)
    for command, said in zip(commands, says):
        os.symlink(elsewhere, link)
        if command[0] != 'syscalls':  # BPF
            t.run(*command, status=0)
            check(listing(elsewhere) == ['new'], 'over our own', command)
            os.unlink(path)
        os.chown(link, OTHER, OTHER, follow_symlinks=False)
        done = t.run(*command, status=2)
        check(done.stderr.decode() == said, 'it is said', done)
        check(not listing(elsewhere), 'written through it', command)
        os.unlink(link)
    check(not listing(folder), 'left behind', listing(folder))


@case('output to where another user puts a link meanwhile')
def link_put_meanwhile(t):
    folder, victim, path, profile, _ = folder_for_all(t)
    with open(victim, 'w', encoding='ascii') as f:
        f.write('kept')
    t.run('report', '-f', 'json', '-o', path, profile, status=0, env={
        'LD_PRELOAD': t.program('libplant.so'), 'PLANT': path,
        'PLANT_TARGET': victim})
    with open(victim, encoding='ascii') as f:
        check(f.read() == 'kept', 'written through it', listing(folder))
    check(listing(folder) == ['out'], 'left behind', listing(folder))
    st = os.lstat(path)
    check(stat.S_ISREG(st.st_mode) and st.st_uid == 0, 'it is ours', st)


@case('output through links, one after another')
def linked_output(t):
    folders = [os.path.join(t.tmp, name) for name in ('one', 'two')]
    for folder in folders:
        os.mkdir(folder)
    first, second = (os.path.join(folder, 'out') for folder in folders)
    os.symlink('../two/out', first)
    target = t.start(['busyname'])
    command = ['record', '--engine=ptrace', '-p', target.pid, '-d', '0.1', '-f',
               'json', '-o']
    for mode in (None, 0o640):  # where nothing is, and over what is there
        if mode:
            os.chmod(second, mode)
        t.run(*command, first, status=0)
        check(os.path.islink(first) and listing(folders[1]) == ['out'],
              'the link stays', listing(folders[1]))
        with open(second, encoding='utf-8') as f:
            json.load(f)
        check(not mode or stat.S_IMODE(os.stat(second).st_mode) == mode,
              'its mode stays', os.stat(second))
    os.unlink(second)
    os.symlink('../one/out', second)
    done = t.run(*command, first, status=2)
    check(done.stderr.decode() == 'outwind: open %s: Too many levels of '
          'symbolic links\n' % first, 'links without end', done)
    done = t.run(*command, folders[0] + '/', status=2)
    check(done.stderr.decode() == 'outwind: open %s/: Is a directory\n' %
          folders[0], 'a folder', done)


@case('report of a trace with pipes in place of files')
def trace_of_pipes(t):
    trace = os.path.join(t.tmp, 'trace')
    os.mkdir(trace)
    pipe = os.path.join(trace, 'metadata')
    os.mkfifo(pipe)
    done = t.run('report', trace)
    if b'without libbabeltrace2' in done.stderr:
        raise Skip('built without libbabeltrace2')
    check(done.returncode == 2 and done.stderr.decode() ==
          'outwind: %s: not a regular file\n' % pipe, 'metadata', done)
    os.unlink(pipe)
    with open(pipe, 'w', encoding='ascii') as f:
        f.write('/* CTF 1.8 */')
    os.mkfifo(os.path.join(trace, 'stream'))
    done = t.run('report', trace, status=2)
    check(done.stderr.decode() ==
          'outwind: %s/stream: not a regular file\n' % trace, 'stream', done)


LINKS = 38  # over which a name leads, of 40 that the kernel follows
LINKED = 1200  # objects, each of which is looked for in two places


@case('debug files whose names lead over many links')
def names_over_links(t):
    """Each takes the kernel some 10 ms: after 3 s in all, none is looked for."""
    if os.geteuid() != 0:
        raise Skip('needs root to give files away')
    folder = os.path.join(t.tmp, 'linked')
    os.mkdir(folder)
    for i in range(LINKS):
        os.symlink('a/../' * 800 + 's%d' % (i + 1),
                   os.path.join(folder, 's%d' % i))
    os.mkdir(os.path.join(folder, 'a'))
    os.symlink('.', os.path.join(folder, '.debug'))
    debug, linked = (os.path.join(t.tmp, n) for n in ('l.debug', 'linked.so'))
    with open(debug, 'wb') as f:
        f.write(b'debug')
    subprocess.run(['objcopy', '--remove-section=.gnu_debuglink',
                    '--strip-all', '--add-gnu-debuglink=' + debug,
                    t.program('libpass.so'), linked], check=True)
    with open(linked, 'rb') as f:
        content = f.read().replace(b'l.debug\0', b's0\0\0\0\0\0\0')
    paths = [os.path.join(folder, '%d.so' % i) for i in range(LINKED)]
    for path in paths:
        with open(path, 'wb') as f:
            f.write(content)
        os.chown(path, 65534, 65534)
    target = t.start(['stackedlibs', *paths])
    done = t.run('stack', '-n', '0', target.pid, status=0)
    check(done.stdout.count(b'pass_on') == LINKED, 'frames', done.stdout)
    check(done.stderr.count(b'taken too long: left out') > 0, 'a line',
          done.stderr)


@case('a debug file of holes in memory takes no memory')
def sparse(t):
    """To look through a mapping of it fills it, and whoever looks pays for that."""
    need_root()
    folder = tempfile.mkdtemp(dir='/dev/shm')
    t.stack.callback(shutil.rmtree, folder)
    lib, debug = (os.path.join(folder, n) for n in ('lib.so', 'lib.debug'))
    strip_to(t, lib, debug)
    os.truncate(debug, 256 << 20)
    before = os.stat(debug).st_blocks
    target = t.start(['loadpaused', lib])
    t.run('stack', target.pid, status=0)
    check(os.stat(debug).st_blocks <= before + 2048, 'blocks',
          (before, os.stat(debug).st_blocks))


LEASED = ': leased by another process, which is not waited for'
# An open that waits for a lease takes 45 s (/proc/sys/fs/lease-break-time).
LEASE_SECONDS = 45


def strip_to(t, path, debug):
    """A library without symbols at path, whose debug file is debug."""
    shutil.copy(t.program('libpaused.so'), debug)
    subprocess.run(['objcopy', '--strip-all',
                    '--remove-section=.note.gnu.build-id',
                    '--add-gnu-debuglink=' + debug, debug, path], check=True)


@case('a debug file and a core file that are leased')
def leased(t):
    lib = os.path.join(t.tmp, 'lib.so')
    debug = os.path.join(t.tmp, 'lib.debug')
    core = os.path.join(t.tmp, 'core')
    strip_to(t, lib, debug)
    with open(core, 'wb') as f:
        f.write(corewriter.process().bytes())
    target = t.start(['loadpaused', lib])
    names = [n for _, n in names_of(t.stacks(target.pid)['threads'][0]
                                    ['frames'])]
    check('paused_inner' in names, 'by the debug file', names)
    t.start(['leased', debug, core])
    began = time.monotonic()
    done = t.run('stack', '--json', target.pid, status=1)
    names = [f.get('function') for f in
             json.loads(done.stdout)['threads'][0]['frames']]
    check(len(names) == 7 and 'paused_inner' not in names, 'frames', names)
    check(done.stderr.decode() == 'outwind: %s%s: what it had is missing\n' %
          (debug, LEASED), 'it is said', done.stderr)
    done = t.run_tool([t.tbstack, str(target.pid)], status=1)
    check(done.stderr.decode() == 'tbstack: %s%s: what it had is missing\n' %
          (debug, LEASED), 'it is said', done.stderr)
    done = t.run('stack', core, status=2)
    check(done.stderr.decode() == 'outwind: %s%s\n' % (core, LEASED),
          'a core file', done.stderr)
    check(time.monotonic() - began < LEASE_SECONDS, 'waited for a lease')

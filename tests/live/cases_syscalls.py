# SPDX-License-Identifier: BSD-2-Clause
"""outwind syscalls, against programs whose calls are known."""

import collections
import os
import re
import signal
import subprocess
import sys
import tempfile

from cases_record import need_bpf
from harness import (PATIENCE, Skip, case, check, children_of, end_process,
                     task_states, wait_until)

# Thread, name, the rest of a line.
LINE = re.compile(r'\[(\d+)\] (\w+)\((.*)')
RESULT = re.compile(r'.*\) = (.*?)(?: <\d+\.\d{6}>)?(?: at (.+?)\+0x\w+)?$')
# What the programs end with if all went well.
WELL = 7


def trace(context, *arguments, status=0):
    """The lines of calls, and what was said besides."""
    out = os.path.join(context.tmp, 'calls')
    done = context.run('syscalls', '-o', out, *arguments, status=status)
    with open(out, encoding='utf-8') as f:
        return f.read().splitlines(), done.stderr.decode()


def calls_of(lines):
    """(thread, name, rest) of each call."""
    found = [LINE.fullmatch(l) for l in lines if not l.startswith(' > ')]
    check(all(found), 'lines of calls', lines[:20])
    return [m.groups() for m in found]


def names_of(lines):
    return [c[1] for c in calls_of(lines)]


def makers_of(lines, name):
    """How often each function made calls of a name; None is not known."""
    return collections.Counter(
        RESULT.fullmatch(rest).group(2)
        for _, found, rest in calls_of(lines) if found == name)


def number(text, said):
    found = re.search(text, said)
    return int(found.group(1)) if found else 0


@case('syscalls: no call is lost', alone=True)
def syscalls_all(context):
    """As many as fit into what holds them before they are read, and more."""
    need_bpf(context)
    for count in (20000, 300000):
        done = context.run('syscalls', '-c', '-e', 'getppid', '--',
                           context.program('callers'), 'twice', count,
                           status=WELL)
        table, said = done.stdout.decode(), done.stderr.decode()
        found = number(r'(\d+) +0  getppid +ask\n', table)
        lost = number(r'(\d+) system calls or results of them lost', said)
        check(found == 2 * count or
              2 * count - lost <= found < 2 * count, 'calls', (table, said))
        check(count > 20000 or not lost, 'lost', said)
        context.note('%d of %d' % (found, 2 * count))


@case('syscalls: threads, vfork, a first thread that ends, exec by another')
def syscalls_threads(context):
    need_bpf(context)
    program = context.program('callers')
    for what, calls, status in (('threads', 500, WELL), ('leader', 100, 0),
                                ('vforked', 200, WELL), ('executes', 200,
                                                         WELL)):
        lines, said = trace(context, '-k', '--', program, what, '100',
                            status=status)
        check(said == '', what, said)
        check(makers_of(lines, 'getppid') == {'ask': calls}, what + ': makers',
              makers_of(lines, 'getppid'))
        check(lines[0].startswith('[') and ' execve("' in lines[0], what,
              lines[:2])
        if what == 'executes':
            check(sum(' execve("/proc/self/exe", ' in l for l in lines) == 1,
                  'what is executed', [l for l in lines if 'execve' in l])
        if what == 'vforked':
            check_vforked(lines)


def check_vforked(lines):
    """Parent and child have one stack, and each of its calls its own maker."""
    by_thread = collections.defaultdict(collections.Counter)
    thread = None
    for line in lines:
        call = LINE.fullmatch(line)
        if call:
            thread = call.group(1) if call.group(2) == 'getppid' else None
        elif thread and re.match(r' > (in_child|in_parent)\+', line):
            by_thread[thread][line.split('+')[0][3:]] += 1
    check(sorted(by_thread.values(), key=str) ==
          [{'in_child': 100}, {'in_parent': 100}], 'whose calls', by_thread)


@case('syscalls: results, texts, calls of other ABIs')
def syscalls_kinds(context):
    need_bpf(context)
    lines, _ = trace(context, '--', context.program('callers'), 'kinds',
                     status=WELL)
    lines = [l for l in lines if re.search(r' at (kinds|main|_start)\+', l)]
    lines = [re.sub(r'^\[\d+\] | <.*', '', l) for l in lines]
    page = re.match(r'mmap\(0, 4096, PROT_READ\|PROT_WRITE, '
                    r'MAP_PRIVATE\|MAP_ANONYMOUS, -1, 0\) = '
                    r'(0x[0-9a-f]{12})$', lines[0])
    check(page, 'an address', lines)
    check(lines[1] == r'openat(AT_FDCWD, "/nonesuch/\"a\\b\n\33[2J", O_RDONLY)'
          ' = -1 ENOENT (No such file or directory)', 'a text', lines[1])
    check(lines[2:3] + lines[4:5] == [
        'close(-1) = -1 EBADF (Bad file descriptor)',
        'getpid() = -1 ENOSYS (Function not implemented)'] or
        re.fullmatch(r'getpid\(\) = \d+', lines[4]), 'results', lines)
    check(re.match(r'lseek\(0, -5, SEEK_END\) = ', lines[3]), 'a number', lines[3])
    check(lines[5].startswith('syscall_0xffffffffffffffff(0x10000000000, '),
          'no call', lines[5])
    check(lines[6].startswith('syscall_0xffffffffa0000027(0x10000000000, '),
          'not i386\'s', lines[6])
    check(re.fullmatch(r'syscall_0x3e8\(0x1, 0x2, .*'
                       r' = -1 ENOSYS \(Function not implemented\)', lines[7]),
          'no number', lines[7])
    check(lines[8] == 'munmap(%s, 4096) = 0' % page.group(1), 'unmapped',
          lines[8])
    check(lines[-1].startswith('exit_group(7) = ?'), 'the end', lines[-1])


@case('syscalls: 32-bit programs')
def syscalls_narrow(context):
    """By the names and arguments of i386, also behind exec and back."""
    need_bpf(context)
    program = context.program('callers-i386')
    lines, _ = trace(context, '--', program, 'kinds', status=WELL)
    lines = [re.sub(r'^\[\d+\] | <.*', '', l) for l in lines]
    page = [re.match(r'mmap2\(0, 4096, PROT_READ\|PROT_WRITE, '
                     r'MAP_PRIVATE\|MAP_ANONYMOUS, -1, 0\) = (0x[0-9a-f]{8})$', l) for l in lines]
    page = [m.group(1) for m in page if m]
    check(page and 'munmap(%s, 4096) = 0' % page[-1] in lines, 'addresses',
          lines)
    check(r'openat(AT_FDCWD, "/nonesuch/\"a\\b\n\33[2J", O_RDONLY)'
          ' = -1 ENOENT (No such file or directory)' in lines, 'text', lines)
    check(any(l.startswith('_llseek(0, 4294967295, 4294967291, ')
              for l in lines), 'a number in two', lines)
    check(any(l.startswith('syscall_0x40000027(0x1, 0x2, ') for l in lines),
          "a number with x32's bit", lines)
    check(any(l.startswith('syscall_0x3e8(0x1, 0x2, ') for l in lines),
          'no number', lines)
    check(lines[-1].startswith('exit_group(7) = ?'), 'the end', lines[-1])
    lines, _ = trace(context, '-e', 'execve,getppid', '--', 'env', program,
                     'twice', '10', status=WELL)
    check(collections.Counter(names_of(lines)) ==
          {'execve': 2, 'getppid': 20}, 'calls', lines)
    check(all(' = 0 <' in l for l in lines if 'execve(' in l), 'exec returns',
          lines)


@case('syscalls: stacks, sets, counts')
def syscalls_options(context):
    need_bpf(context)
    lines, _ = trace(context, '-k', '-e', 'openat', '--', 'sh', '-c',
                     'ls /usr >/dev/null; true')
    calls = calls_of(lines)
    check(calls and {c[1] for c in calls} == {'openat'},
          'only what was asked for', lines)
    check(len({c[0] for c in calls}) == 2, 'the child, too', lines)
    check(any('"/usr"' in c[2] for c in calls), 'paths as text', calls)
    check(sum('_start' in l for l in lines if l.startswith(' > ')) >= 2,
          'whole stacks', lines)
    program = context.program('callers')
    for options, wanted in (
            (('-e', 'trace=getppid,?nonesuch'), {'getppid'}),
            (('-e', 'openat', '-e', 'getppid'), {'getppid'}),
            (('-e', 'none'), set()),
            (('-e', '!%file,%memory,%desc,/^(rse|set_|arch|prl|getr|rt_)'),
             {'getppid', 'exit_group', 'wait4', 'clone'})):
        lines, _ = trace(context, *options, '--', program, 'twice', '10',
                         status=WELL)
        check(set(names_of(lines)) == wanted, 'the set', (options, lines))


@case('syscalls: tables')
def syscalls_tables(context):
    need_bpf(context)
    done = context.run('syscalls', '-c', '--', context.program('callers'),
                       'twice', '10', status=WELL)
    lines = done.stdout.decode().splitlines()
    rows = [re.fullmatch(r' *([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +(\d+)  (.*)',
                         l) for l in lines[1:]]
    check(lines[0].split() == '% time seconds usecs/call calls errors system '
          'call made by'.split() and all(rows), 'the table', lines)
    rows = [m.groups() for m in rows]
    check([r[3:] for r in rows if r[5].startswith('getppid')] ==
          [('20', '0', 'getppid              ask')], 'a row', lines)
    check(rows[-1][5] == 'total' and rows[-1][0] == '100.00', 'sums', lines)
    for column in (3, 4):
        check(sum(int(r[column]) for r in rows[:-1]) == int(rows[-1][column]),
              'sums', lines)
    times = [float(r[1]) for r in rows[:-1]]
    check(times == sorted(times, reverse=True), 'sorted by time', lines)
    done = context.run('syscalls', '-ck', '-e', 'getppid', '--',
                       context.program('callers'), 'vforked', '10',
                       status=WELL)
    lines = done.stdout.decode().splitlines()
    at = [i for i, l in enumerate(lines) if ' getppid ' in l]
    check(len(at) == 2 and all(re.search(r' 10 +0  getppid +ask$', lines[i])
                               for i in at), 'by stack', lines)
    found = [re.findall(r' > (in_child|in_parent)\+', ''.join(some))
             for some in (lines[at[0]:at[1]], lines[at[1]:])]
    check(sorted(found) == [['in_child'], ['in_parent']], 'stacks', lines)


@case('syscalls: sets and names that there are not')
def syscalls_refused(context):
    for text, said in (
            ('nosuch', "outwind: no system call 'nosuch': give names of x86-64,"
             ' x32 or i386, /REGEX, or %desc, %file, %ipc, %memory, %network, '
             '%process, %signal\n'),
            ('signal=SIGHUP', 'outwind: -e signal=SIGHUP: of strace\'s '
             'expressions only trace= is known\n')):
        done = context.run('syscalls', '-e', text, '1', status=64)
        check(done.stderr.decode() == said, 'message', done.stderr)
    need_bpf(context)
    for path, status, said in (('/nonesuch', 127, 'No such file or directory'),
                               ('/etc/passwd', 126, 'Permission denied')):
        done = context.run('syscalls', '--', path, status=status)
        check(done.stderr.decode() == 'outwind: %s: %s\n' % (path, said),
              'message', done.stderr)


@case('syscalls: the end of a command')
def syscalls_end(context):
    """Its status; calls that don't return; a reader that goes away."""
    need_bpf(context)
    context.run('syscalls', '-e', 'none', '--', 'sh', '-c', 'kill -9 $$',
                status=128 + 9)
    lines, _ = trace(context, '-e', 'pause,wait4', '--',
                     context.program('callers'), 'killed', status=WELL)
    calls = {name: RESULT.fullmatch(rest).groups()
             for _, name, rest in calls_of(lines)}
    # Where a killed call gets to its end isn't for us to say.
    check(calls['pause'][0].startswith('?') and
          calls['pause'][1] == 'killed', 'the killed', lines)
    check(calls['wait4'][0].isdigit(), 'the killer', lines)
    done = subprocess.run(
        ['sh', '-c', '"$1" syscalls -- ls / 2>&1 >/dev/null | head -n 1',
         'sh', context.outwind], capture_output=True, timeout=PATIENCE,
        check=True)
    check(re.fullmatch(rb'\[\d+\] execve\(".*\n', done.stdout) and
          done.stderr == b'', 'one line', done)


@case('syscalls: what can\'t be written')
def syscalls_unwritten(context):
    """The reason is told, and none of what failed meanwhile."""
    need_bpf(context)
    full = 'No space left on device\n'
    done = context.run('syscalls', '-o', '/dev/full', '--', 'true', status=2)
    check(done.stderr.decode() == 'outwind: write /dev/full: ' + full,
          'lines', done.stderr)
    for options in ('syscalls -c -- true', 'top -s 1'):
        done = context.run_tool(['sh', '-c', 'exec "$0" %s >/dev/full' %
                                 options, context.outwind], 2)
        check(done.stderr.decode() == 'outwind: write output: ' + full,
              options, done.stderr)


def start_trace(context, *arguments):
    """outwind at work: a line has been written.  Its Popen, and the file."""
    out = os.path.join(tempfile.mkdtemp(dir=context.tmp), 'calls')
    outwind = subprocess.Popen([context.outwind, 'syscalls', '-o', out,
                                *map(str, arguments)],
                               stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    context.stack.callback(lambda: (outwind.kill(), outwind.wait(),
                                    outwind.stderr.close()))
    wait_until(lambda: outwind.poll() is not None or (
        os.path.exists(out) and os.path.getsize(out) > 0), 'lines come')
    check(outwind.poll() is None, 'outwind goes on')
    return outwind, out


@case('syscalls: results, from the first call on')
def syscalls_first(context):
    need_bpf(context)
    target = context.start(['busy'])
    lines, _ = trace(context, '-d', '0.3', '-e', 'tgkill', target.pid)
    without = [l for l in lines if ' = ? at' in l]
    # Each of its two threads may be in one at the end.
    check(len(lines) > 100 and len(without) <= 2, 'without a result',
          (len(lines), without))


@case('syscalls: ends by a signal, and when its process is a zombie')
def syscalls_signal(context):
    need_bpf(context)
    program = context.program('callers')
    outwind, _ = start_trace(context, '--', program, 'forever')
    pid = children_of(outwind.pid)[0]
    context.stack.callback(end_process, pid)
    outwind.send_signal(signal.SIGTERM)
    outwind.wait(timeout=PATIENCE)
    # The command has stderr, too, and doesn't end.
    said = outwind.stderr.readline().decode()
    check(outwind.returncode == 0, 'status', outwind.returncode)
    check(said == 'outwind: %s goes on, as process %d\n' % (program, pid),
          'what it says', said)
    # Nobody waits for this one, but it is no process any more.
    target = context.start([program, 'forever'], ready=None)
    outwind, out = start_trace(context, target.pid)
    target.kill()
    wait_until(lambda: set(task_states(target.pid).values()) == {'Z'},
               'it is a zombie')
    said = outwind.communicate(timeout=PATIENCE)[1].decode()
    check(outwind.returncode == 0 and said == '', 'the end',
          (outwind.returncode, said))
    with open(out, encoding='utf-8') as f:
        lines = f.read().splitlines()
    check({c[0] for c in calls_of(lines)} == {str(target.pid)}, 'whose', lines)
    done = context.run('syscalls', target.pid, status=2)
    check(done.stderr == b'outwind: process %d (callers) has exited (zombie)\n'
          % target.pid, 'message', done.stderr)


@case('commands: what can\'t be looked at is not run')
def not_run(context):
    need_bpf(context)
    if os.path.exists('/dev/kunwind'):
        raise Skip('kunwind is here')
    path = os.path.join(context.tmp, 'touched')
    context.run('record', '--engine=kunwind', '--', 'touch', path, status=2)
    check(not os.path.exists(path), 'it was run')


@case('commands: they end where children\'s ends are ignored')
def ends_ignored(context):
    """As a program may have it that starts outwind: that is inherited."""
    need_bpf(context)
    out = os.path.join(context.tmp, 'out')
    ignore = [sys.executable, '-c', 'import os, signal, sys\n'
              'signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n'
              'os.execv(sys.argv[1], sys.argv[1:])', context.outwind]
    # The command has it as it was.
    command = [sys.executable, '-c', 'import signal, sys\n'
               'sys.exit(3 if signal.getsignal(signal.SIGCHLD) == '
               'signal.SIG_IGN else 4)']
    for tool, status in (('record', 0), ('syscalls', 3)):
        done = context.run_tool([*ignore, tool, '-o', out, '--', *command],
                                status)
        check(done.stderr == b'', 'what is said', done.stderr)
    context.run_tool([*ignore, 'syscalls', '--', '/nonesuch'], 127)


@case('record: ends when its process is a zombie')
def record_zombie(context):
    need_bpf(context)
    target = context.start([sys.executable, '-c', 'print("ready", flush=True)\n'
                            'import time; time.sleep(1e6)'])
    out = os.path.join(context.tmp, 'profile')
    outwind = subprocess.Popen([context.outwind, 'record', '-p',
                                str(target.pid), '-o', out],
                               stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    context.stack.callback(lambda: (outwind.kill(), outwind.wait(),
                                    outwind.stderr.close()))
    # However early that is for outwind, it ends.
    target.kill()
    outwind.communicate(timeout=PATIENCE)
    check(outwind.returncode in (0, 2), 'status', outwind.returncode)


@case('record, syscalls, top: one of several processes is a zombie')
def one_of_several(context):
    need_bpf(context)
    parent = context.start([sys.executable, '-c', 'import os, time\n'
                            'pid = os.fork()\n'
                            'if pid == 0: os._exit(0)\n'
                            'os.waitid(os.P_PID, pid, os.WEXITED | '
                            'os.WNOWAIT)\n'
                            'print("ready", pid, flush=True)\n'
                            'time.sleep(1e6)'])
    zombie = int(parent.said.split()[-1])
    busy = context.start(['spin']).pid
    absent = 1 << 22  # there is none from here on
    said = [b'outwind: recording: process %d (NAME) has exited (zombie): left '
            b'out' % zombie,
            b'outwind: recording: no process %d: left out' % absent]
    record = ('record', '-d', '0.5', '-f', 'folded', '-o', '-')
    for command in ((*record, '--engine=bpf', '-p'),
                    (*record, '--engine=perf', '-p'),
                    (*record, '--engine=ptrace', '-p'),
                    ('top', '-s', '1', '-n', '1'),
                    ('syscalls', '-c', '-d', '0.5')):
        for pids in ((zombie, busy), (absent, busy, zombie)):
            named = [','.join(map(str, pids))] if '-p' in command else pids
            done = context.run(*command, *named)
            check(done.returncode == 1 and done.stdout, 'status',
                  (command, done))
            lines = re.sub(rb'\(python[0-9.]*\)', b'(NAME)', done.stderr)
            lines = [l for l in lines.splitlines() if b'left out' in l]
            check(sorted(lines) == sorted(said[:len(pids) - 1]), 'why',
                  (command, done.stderr))

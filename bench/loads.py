#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Profiles of real programs, here and by perf record --call-graph dwarf: how many
stacks are whole, and whether both find the same functions hot.  loads.py BUILD.
Needs root and perf; a program that is not installed has no row.
"""

import collections
import contextlib
import glob
import json
import math
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HZ = 499
SECONDS = 2
HERE = os.path.dirname(os.path.abspath(__file__))
JS = '''
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function text(n) { return JSON.stringify(JSON.parse(JSON.stringify(
    Array.from({ length: n }, (_, i) => ({ i, s: 'x'.repeat(i % 9) }))))); }
for (;;) { fib(18); text(200).replace(/x+/g, 'y'); }
'''


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Loads:
    """Starts programs, and ends them."""

    def __init__(self, build, tmp):
        self.build, self.tmp = build, tmp
        self.stack = contextlib.ExitStack()

    def start(self, *command, **options):
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, **options)
        self.stack.callback(p.wait)
        self.stack.callback(p.send_signal, signal.SIGTERM)
        return p

    def busy(self):
        return [self.start(self.build + '/live/busy').pid]

    def node(self):
        return [self.start('node', '-e', JS).pid]

    def cplusplus(self):
        path = self.tmp + '/load-cc'
        subprocess.run(['g++', '-O2', '-o', path, HERE + '/load.cc'],
                       check=True)
        return [self.start(path).pid]

    def rust(self):
        path = self.tmp + '/load-rs'
        subprocess.run(['rustc', '-O', '-o', path, HERE + '/load.rs'],
                       check=True, capture_output=True)
        return [self.start(path).pid]

    def redis(self):
        port = str(free_port())
        server = self.start('redis-server', '--port', port, '--save', '',
                            '--dir', self.tmp)
        time.sleep(0.3)
        self.start('redis-benchmark', '-p', port, '-n', '100000000', '-t',
                   'set,lpush,zadd')
        return [server.pid]

    def postgres(self):
        bindir = os.path.dirname(
            glob.glob('/usr/lib/postgresql/*/bin/initdb')[-1])
        user = pwd.getpwnam('postgres')
        data, port = self.tmp + '/pg', str(free_port())
        os.mkdir(data)
        os.chown(data, user.pw_uid, user.pw_gid)
        os.chmod(self.tmp, 0o755)
        become = ['setpriv', '--reuid', str(user.pw_uid), '--regid',
                  str(user.pw_gid), '--clear-groups', '--']
        run = dict(check=True, capture_output=True, cwd=data)
        subprocess.run(become + [bindir + '/initdb', '-D', data + '/d', '-A',
                                 'trust', '-N'], **run)
        server = self.start(*become, bindir + '/postgres', '-D', data + '/d',
                            '-p', port, '-k', data, '-c', 'fsync=off',
                            cwd=data)
        where = ['-h', data, '-p', port]
        for _ in range(100):
            if not subprocess.run(['pg_isready'] + where, check=False,
                                  capture_output=True).returncode:
                break
            time.sleep(0.1)
        subprocess.run(become + ['pgbench', '-i', '-q'] + where +
                       ['postgres'], **run)
        self.start(*become, 'pgbench', '-S', '-c', '2', '-T', '600', *where,
                   'postgres', cwd=data)
        time.sleep(0.5)
        with open('/proc/%d/task/%d/children' % (server.pid, server.pid),
                  encoding='utf-8') as f:
            return [server.pid] + [int(c) for c in f.read().split()]


def record(build, pids, tmp):
    out = tmp + '/ours.json'
    subprocess.run([build + '/bin/outwind', 'record', '--raw', '-f', 'json',
                    '-F', str(HZ), '-d', str(SECONDS), '-o', out, '-p',
                    ','.join(map(str, pids))], check=True,
                   capture_output=True)
    with open(out, encoding='utf-8') as f:
        return json.load(f)


def perf(pids, tmp):
    data = tmp + '/perf.data'
    subprocess.run(['perf', 'record', '-q', '-e', 'cpu-clock:u', '-F', str(HZ),
                    '--call-graph', 'dwarf,16384', '-p',
                    ','.join(map(str, pids)), '-o', data, '--', 'sleep',
                    str(SECONDS)], check=True, capture_output=True)
    text = subprocess.run(['perf', 'script', '-i', data, '--no-inline',
                           '--no-demangle', '-F', 'ip,sym,symoff,dso'],
                          check=True,
                          capture_output=True).stdout.decode(errors='replace')
    stacks = [[function for function in map(function_of, stack.splitlines())
               if function] for stack in text.split('\n\n')]
    return [stack for stack in stacks if stack]


def function_of(line):
    """Its module and where it begins there, of which there is one; its name."""
    words = line.split()
    if len(words) < 3:
        return None
    name, _, offset = words[1].partition('+0x')
    return (os.path.basename(words[-1].strip('()')),
            int(words[0], 16) - int(offset or '0', 16)), name


def is_whole(stack, frames):
    """It reaches where the program or thread begins, or code of a JIT."""
    inner = [frames[i] for i in stack['frames'] if not frames[i].get('kernel')]
    return stack['end'] == 'complete' or (inner and not inner[-1].get('module'))


def user_stacks(ours):
    """
    Of each stack the functions outside of the kernel, innermost first; how often
    it came; whether that is all of it.
    """
    frames = ours['frames']
    for stack in ours['stacks']:
        inner = [frames[i] for i in stack['frames']
                 if not frames[i].get('kernel')]
        if inner:
            yield [f.get('function', '[unknown]') for f in inner], \
                stack['count'], len(inner) == len(stack['frames'])


def named_alike(theirs, ours):
    """Their stacks by our names, where a function has several."""
    names = {f.get('function') for f in ours['frames']}
    begins = {(os.path.basename(f['module']),
               int(f['module_offset'], 16) - f['offset']): f['function']
              for f in ours['frames'] if 'module' in f and 'function' in f}
    for stack in theirs:
        yield [name if name in names else begins.get(begin, name)
               for begin, name in stack], 1


def shares(stacks):
    """How often each function is innermost, or anywhere, and of how many."""
    inner, anywhere, nr = collections.Counter(), collections.Counter(), 0
    for stack, count in stacks:
        nr += count
        inner[stack[0]] += count
        for name in set(stack):
            anywhere[name] += count
    return inner, anywhere, nr


def differing(mine, n, theirs, m):
    """How many functions perf finds hot; and those of which the share differs
    by more than three times the error of sampling."""
    hot = [f for f, c in theirs.items() if c > 0.03 * m and f != '[unknown]']
    found = []
    for f in hot:
        p = (mine[f] + theirs[f]) / (n + m)
        error = math.sqrt(p * (1 - p) * (1 / n + 1 / m))
        if abs(mine[f] / n - theirs[f] / m) > 3 * error:
            found.append((f, mine[f] / n, theirs[f] / m))
    return len(hot), found


def row(name, ours, theirs):
    frames = ours['frames']
    total = whole = jit = 0
    for stack in ours['stacks']:
        if all(frames[i].get('kernel') for i in stack['frames']):
            continue
        total += stack['count']
        whole += stack['count'] * (stack['end'] == 'complete')
        jit += stack['count'] * bool(is_whole(stack, frames))
    # perf was asked for what runs outside of the kernel.
    *mine, n = shares((s, c) for s, c, outside in user_stacks(ours) if outside)
    *other, m = shares(named_alike(theirs, ours))
    (hot, odd), (hot_all, odd_all) = (
        differing(x, n, y, m) for x, y in zip(mine, other))
    print('| %-10s | %6d | %6d | %6.2f %% | %6.2f %% | %2d of %2d | %2d of %2d |'
          % (name, total, m, 100 * whole / total, 100 * jit / total,
             hot - len(odd), hot, hot_all - len(odd_all), hot_all), flush=True)
    return ['%s: %s %.1f %%, perf %.1f %%' % (name, f, 100 * x, 100 * y)
            for f, x, y in odd + odd_all]


def cost(command, size):
    """CPU seconds, MiB at most, and bytes written by a recorder's processes."""
    begun = time.monotonic()
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, fd, '/dev/null', os.O_RDWR, 0)
        for fd in (0, 1, 2)])
    _, status, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, command
    return (time.monotonic() - begun, usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss / 1024, os.path.getsize(size))


def costs(build):
    """Everything that runs, at 99 Hz, while each core is busy."""
    print('\n| -a, 99 Hz, %g s | start and end | CPU | memory | bytes kept |' %
          SECONDS)
    print('| :--- | ---: | ---: | ---: | ---: |')
    with tempfile.TemporaryDirectory() as tmp:
        loads = Loads(build, tmp)
        with loads.stack:
            loads.busy()
            out = tmp + '/out'
            perf_a = ['perf', 'record', '-q', '-a', '-F', '99', '-e',
                      'cpu-clock', '-o', out]
            sleep = ['--', 'sleep', str(SECONDS)]
            for name, command in (
                    ('outwind', [build + '/bin/outwind', 'record', '-a', '-F',
                                 '99', '-d', str(SECONDS), '-o', out]),
                    ('perf dwarf', perf_a + ['--call-graph', 'dwarf'] + sleep),
                    ('perf fp', perf_a + ['--call-graph', 'fp'] + sleep)):
                took, cpu, memory, size = cost(command, out)
                print('| %-10s | %5.2f s | %5.2f %% | %6.1f MiB | %9d |' %
                      (name, took - SECONDS, 100 * cpu / took, memory, size),
                      flush=True)


def main():
    build = sys.argv[1]
    print('| load       | samples | perf  | complete | or JIT   | innermost | '
          'anywhere |')
    print('| :---       | ---:   | ---:   | ---:     | ---:     | ---:     '
          '| ---:     |')
    odd = []
    for name, program in (('busy', ''), ('node', 'node'),
                          ('cplusplus', 'g++'), ('rust', 'rustc'),
                          ('redis', 'redis-benchmark'),
                          ('postgres', 'pgbench')):
        if program and not shutil.which(program):
            continue
        with tempfile.TemporaryDirectory() as tmp:
            loads = Loads(build, tmp)
            with loads.stack:
                pids = getattr(loads, name)()
                time.sleep(0.3)
                ours = record(build, pids, tmp)
                theirs = perf(pids, tmp)
            odd += row(name, ours, theirs)
    print('\nOf the functions that perf finds hot, so many have the same share '
          'of samples,\nas the innermost function and anywhere in the stack. '
          'The others:')
    print('\n'.join(odd) or 'none')
    costs(build)


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: BSD-2-Clause
"""Frame by frame the same as gdb and eu-stack: fixtures and real programs."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess

import compare
from harness import (PATIENCE, Failure, Skip, case, check, children_of,
                     end_process, need, need_root, rests, settle, task_states,
                     time_of, wait_for_rest, wait_until)


TOOLS = ('gdb', 'eu-stack')


def check_agreement(context, pid, tools=TOOLS, whole=True, jit=False,
                    outwind=None):
    """Compare; with whole, every thread of outwind's must be complete."""
    tools = tuple(t for t in tools if shutil.which(t))
    if not tools:
        raise Skip('neither gdb nor eu-stack is here')
    failures = []
    try:
        reports = compare.compare_process(outwind or context.outwind, pid,
                                          tools, jit)
    except RuntimeError as error:
        raise Failure(str(error)) from error
    for report in reports:
        context.note(str(report))
        failures += report.failures
    check(not failures, 'differences', '\n  ' + '\n  '.join(failures))
    if whole:
        for thread in context.stacks(pid, '-n', '0', status=None)['threads']:
            check(thread.get('complete') or thread['state'] == 'Z',
                  'incomplete: %d' % thread['tid'],
                  thread.get('end_detail', thread.get('error')))


FIXTURES = (
    'chain-pie', 'chain-no-pie', 'chain-static', 'chain-static-pie',
    'chain-O0', 'chain-O3-lto', 'chain-clang', 'chain-lld', 'chain-gold',
    'chain-lld-static', 'chain-no-eh-frame-hdr', 'chain-i386',
    'chain-i386-static', 'chain-debug-frame-gz', 'chain-stripped', 'asm',
    'shapes callback', 'shapes realign', 'shapes-i386 realign',
    'shapes deep 700', 'signals nested', 'signals altstack',
    'signals null-call', 'signals first-insn', 'signals thread-altstack',
    'signals-i386 thread-altstack',
    'signals-static nested', 'throwing destructor', 'throwing forced',
    'throwing terminate', 'throwing template', 'throwing-static forced',
    'chain-rust', 'chain-rust-v0 thread', 'chain-rust panic',
    'threads custom-stack')

# Where outwind, like the others, doesn't get to the end.
PARTIAL = ('chain-musl', 'chain-musl-static', 'signals-musl nested',
           'shapes coroutine', 'chain-go', 'chain-go-w')


def add_fixture(command, whole):
    @case('agree: ' + command)
    def _(context):
        target = context.start(command.split())
        # gdb guesses wildly where there is no CFI at all.
        tools = ('eu-stack',) if command == 'chain-go-w' else TOOLS
        check_agreement(context, target.pid, tools, whole)


for each in FIXTURES:
    add_fixture(each, True)
for each in PARTIAL:
    add_fixture(each, False)


def add_running(command):
    @case('agree: %s, stopped anywhere' % command)
    def _(context):
        target = context.start(command.split())
        for _ in range(4):
            run = time_of(target.pid)
            check_agreement(context, target.pid)
            wait_until(lambda: time_of(target.pid) > run + 0.001, 'it runs')


for each in ('spin', 'spin plt', 'spin clock', 'spin-i386'):
    add_running(each)

PYTHON = '''
import functools, sys, threading, time, re
def wait(n):
    time.sleep(1000)
def compare(a, b):
    wait(a)
    return 0
def sort(n):
    sorted([3, 2, 1], key=functools.cmp_to_key(compare))
for i in range(4):
    threading.Thread(target=sort, args=(i,), daemon=True).start()
print('ready', flush=True)
re.sub('a', lambda m: sort(1) or '', 'banana')
'''


@case('agree: python3')
def _(context):
    check_agreement(context, start_python(context).pid)


def make_tables(context, pid):
    """Tables of all that is mapped; a command that uses them."""
    cache = os.path.join(context.tmp, 'cache')
    with open('/proc/%d/maps' % pid, encoding='utf-8') as f:
        files = {line.split()[5] for line in f
                 if 'r-xp' in line and ' /' in line}
    for path in files:
        context.run('tables', path, env={'XDG_CACHE_HOME': cache}, status=0)
    command = os.path.join(context.tmp, 'outwind-with-tables')
    with open(command, 'w', encoding='utf-8') as f:
        f.write('#!/bin/sh\nXDG_CACHE_HOME=%s exec %s "$@"\n' %
                (cache, context.outwind))
    os.chmod(command, 0o755)
    return command


def add_with_tables(name, start):
    @case('agree: %s, by compact tables' % name)
    def _(context):
        target = start(context)
        outwind = make_tables(context, target.pid)
        stacks = compare.outwind_stacks(outwind, target.pid)
        hows = [f['how'] for t in stacks['threads'] for f in t['frames']]
        context.note('frames by table: %d of %d' % (hows.count('table'),
                                                    len(hows)))
        check(hows.count('table') > len(hows) / 2, 'frames by table', hows)
        check_agreement(context, target.pid, outwind=outwind)


def start_python(context):
    need('/usr/bin/python3')
    return context.start(['/usr/bin/python3', '-c', PYTHON])


def start_redis(context):
    need('redis-server')
    port = free_port()
    target = context.start([shutil.which('redis-server'), '--port', str(port),
                            '--save', '', '--dir', context.tmp], ready=None)
    wait_until(lambda: answers(port), 'redis answers')
    wait_until(lambda: len(task_states(target.pid)) > 1, 'threads start')
    settle(target.pid)
    return target


add_with_tables('python3', start_python)
add_with_tables('redis-server', start_redis)
add_with_tables('shapes realign',
                lambda context: context.start(['shapes', 'realign']))
add_with_tables('throwing terminate',
                lambda context: context.start(['throwing', 'terminate']))


def start_node(context):
    need('node')
    target = context.start([shutil.which('node'), '-e',
                            'setInterval(()=>{},1e6);'
                            'require("fs").writeSync(1,"ready\\n")'])
    wait_for_rest(target.pid)
    return target


@case('agree: node, idle')
def _(context):
    check_agreement(context, start_node(context).pid)


@case('agree: gdb')
def _(context):
    need('gdb')
    target = context.start(
        [shutil.which('gdb'), '-nx', '-q', '-batch', '-ex', 'file /bin/true',
         '-ex', 'echo ready\\n', '-ex', 'shell exec sleep 1000'])
    wait_until(lambda: children_of(target.pid), 'gdb has a shell')
    for child in children_of(target.pid):
        context.stack.callback(end_process, child)
    check_agreement(context, target.pid)


@case('agree: bash')
def _(context):
    need('bash')
    target = context.start(
        [shutil.which('bash'), '-c',
         'f() { g "$@"; }; g() { echo ready; read -r x < "$1"; }; f "$0"',
         os.path.join(context.tmp, 'fifo')],
        preexec_fn=lambda: os.mkfifo(os.path.join(context.tmp, 'fifo')))
    wait_for_rest(target.pid)
    check_agreement(context, target.pid)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', port)) == 0


@case('agree: redis-server')
def _(context):
    check_agreement(context, start_redis(context).pid)


def start_nginx(context):
    """The master and its worker."""
    need('nginx')
    port = free_port()
    config = os.path.join(context.tmp, 'nginx.conf')
    with open(config, 'w', encoding='utf-8') as f:
        f.write('daemon off; pid %s/pid; error_log %s/error.log; '
                'worker_processes 1; events {} http { access_log off; '
                'client_body_temp_path %s; proxy_temp_path %s; '
                'fastcgi_temp_path %s; uwsgi_temp_path %s; '
                'scgi_temp_path %s; server { listen 127.0.0.1:%d; } }'
                % ((context.tmp,) * 7 + (port,)))
    os.chmod(context.tmp, 0o755)
    target = context.start([shutil.which('nginx'), '-p', context.tmp, '-c',
                            config], ready=None)
    context.stack.callback(end_nginx, target)
    wait_until(lambda: answers(port) and children_of(target.pid),
               'nginx answers')
    settle(target.pid)
    return [target.pid] + children_of(target.pid)


@case('agree: nginx')
def _(context):
    for pid in start_nginx(context):
        check_agreement(context, pid)


def end_nginx(target):
    target.send_signal(signal.SIGTERM)
    target.wait(timeout=PATIENCE)


def find_postgres():
    base = '/usr/lib/postgresql'
    for version in sorted(os.listdir(base) if os.path.isdir(base) else ()):
        path = os.path.join(base, version, 'bin')
        if os.path.exists(path + '/initdb'):
            return path
    raise Skip('no postgres here')


def start_postgres(context):
    """The first process and its children, one of them a backend that waits."""
    bindir = find_postgres()
    need('psql')
    need_root()
    try:
        user = pwd.getpwnam('postgres')
    except KeyError as error:
        raise Skip('no user postgres') from error
    os.chown(context.tmp, user.pw_uid, user.pw_gid)
    data = os.path.join(context.tmp, 'data')
    become = ['setpriv', '--reuid', str(user.pw_uid), '--regid',
              str(user.pw_gid), '--clear-groups', '--']
    subprocess.run(become + [bindir + '/initdb', '-D', data, '-A', 'trust',
                             '-N'], capture_output=True, check=True,
                   cwd=context.tmp)
    port = free_port()
    target = context.start(
        ['/usr/bin/' + become[0], *become[1:], bindir + '/postgres', '-D',
         data, '-p', str(port), '-k', '', '-c', 'fsync=off',
         '-c', 'autovacuum=off'], ready=None, cwd=context.tmp)
    context.stack.callback(end_postgres, target)
    # It refuses clients while it starts, though its port is open.
    wait_until(lambda: subprocess.run(
        [bindir + '/pg_isready', '-q', '-h', '127.0.0.1', '-p', str(port)],
        check=False).returncode == 0, 'postgres answers')
    client = subprocess.Popen(
        become + ['psql', '-h', '127.0.0.1', '-p', str(port), '-c',
                  'do $$ begin perform pg_sleep(1000); end $$', 'postgres'],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, cwd=context.tmp)
    context.stack.callback(client.wait)
    context.stack.callback(client.kill)
    wait_until(lambda: serves_one(target.pid), 'only the client is served')
    return [target.pid] + children_of(target.pid)


def serves_one(pid):
    """Does one client's backend work, and no other, and all of them rest?"""
    children = children_of(pid)
    backends = []
    for child in children:
        with contextlib.suppress(OSError):
            with open('/proc/%d/cmdline' % child, 'rb') as f:
                title = f.read().rstrip(b'\0 ')
            # Of their own they have no address.
            if b'127.0.0.1' in title or not title.startswith(b'postgres: '):
                backends.append(title)
    return len(backends) == 1 and backends[0].endswith(b' DO') and \
        rests(pid, *children)


@case('agree: postgres')
def _(context):
    deepest = 0
    for pid in start_postgres(context):
        check_agreement(context, pid)
        thread = context.stacks(pid)['threads'][0]
        deepest = max(deepest, len(thread['frames']))
    check(deepest > 20, 'a backend in pg_sleep', deepest)


def end_postgres(target):
    target.send_signal(signal.SIGQUIT)
    target.wait(timeout=PATIENCE)

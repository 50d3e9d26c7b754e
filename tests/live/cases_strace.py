# SPDX-License-Identifier: BSD-2-Clause
"""outwind syscalls beside strace."""

import collections
import os
import re
import subprocess
import sys

from cases_record import need_bpf
from cases_syscalls import WELL, calls_of, names_of, trace
from harness import PATIENCE, Skip, case, check, need


def strace_lines(context, *arguments, well=True):
    """What strace writes; unless well, the command may fail."""
    out = os.path.join(context.tmp, 'strace')
    subprocess.run(['strace', '-o', out, *arguments], check=well,
                   capture_output=True, timeout=PATIENCE)
    with open(out, encoding='utf-8') as f:
        return f.readlines()


def strace(context, *command):
    """The names of the calls that strace sees, of all processes."""
    found = [re.match(r'\d+ +(\w+)\(', l)
             for l in strace_lines(context, '-f', *command, well=False)]
    names = [m.group(1) for m in found if m]
    if not names:
        raise Skip('strace may not trace')
    return names


@case('syscalls: the same calls as strace\'s')
def syscalls_as_strace(context):
    """One after the other; those of several threads, by name."""
    need_bpf(context)
    need('strace')
    command = ['/usr/bin/ls', '/usr/include/linux']
    lines, _ = trace(context, '--', *command)
    theirs = strace(context, *command)
    check(names_of(lines) == theirs, 'calls differ', (names_of(lines), theirs))
    # But the one that starts it.
    without = [l for l in lines[1:] if ' at ' not in l]
    check(not without, 'without a call site', without[:3])
    context.note('%d calls' % len(theirs))
    command = [context.program('callers'), 'twice', '10']
    lines, _ = trace(context, '--', *command, status=WELL)
    mine = collections.Counter(names_of(lines))
    theirs = collections.Counter(strace(context, *command))
    check(mine == theirs, 'calls of two differ', (mine - theirs,
                                                  theirs - mine))


# Calls that name much of what there is.
NAMES = r'''
import ctypes, fcntl, mmap, os, resource, select, signal, socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setblocking(False)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
a, b = socket.socketpair()
a.send(b'x', socket.MSG_NOSIGNAL)
b.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
a.shutdown(socket.SHUT_WR)
path = sys.argv[1]
f = os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
os.write(f, b'abc')
os.lseek(f, -1, os.SEEK_END)
os.lseek(f, 0, os.SEEK_HOLE)
fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
fcntl.fcntl(f, fcntl.F_SETFL, fcntl.fcntl(f, fcntl.F_GETFL) | os.O_APPEND)
fcntl.fcntl(f, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
fcntl.fcntl(f, fcntl.F_GETFD)
fcntl.fcntl(f, fcntl.F_DUPFD_CLOEXEC, 100)
os.posix_fadvise(f, 0, 0, os.POSIX_FADV_SEQUENTIAL)
os.open('/', os.O_PATH | os.O_DIRECTORY)
os.close(os.open('/tmp', os.O_TMPFILE | os.O_RDWR, 0o600))
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
os.kill(os.getpid(), signal.SIGUSR1)
os.kill(os.getpid(), 0)
signal.signal(60, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
child = os.fork()
if not child:
    os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
os.waitpid(child, os.WUNTRACED)
m = mmap.mmap(-1, 8192)
m.madvise(mmap.MADV_DONTNEED)
m.flush()
m.resize(65536)
os.access('/', os.R_OK | os.X_OK)
os.access('/', os.F_OK)
os.dup2(f, 101, inheritable=False)
os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
os.memfd_create('a', os.MFD_ALLOW_SEALING)
os.eventfd(0, os.EFD_NONBLOCK)
e = select.epoll()
e.register(b)
e.modify(b, select.EPOLLIN)
os.stat('/', follow_symlinks=False)
d = os.open(os.path.dirname(path), os.O_RDONLY)
os.unlink(os.path.basename(path), dir_fd=d)
os.getrandom(3, os.GRND_NONBLOCK)
time.clock_getres(time.CLOCK_MONOTONIC_RAW)
time.sleep(0.001)
resource.getrusage(resource.RUSAGE_CHILDREN)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
try:
    fcntl.ioctl(f, 0x5413, bytes(8))
except OSError:
    pass
# Of all bits of a register, and namespaces: all fail.
call, high = ctypes.CDLL(None).syscall, 1 << 32
for arguments in ((9, 0, 0, high | 3, 34, -1, 0), (10, 1, 0, high | 1),
                  (329, 1, 0, high | 1, -1), (25, 1, 0, 0, high | 1),
                  (56, high | 0x10000), (272, high | 0x40000080),
                  (308, -1, high | 0x20080)):
    call(*(ctypes.c_long(a) for a in arguments))
'''

SAYS_NAMES = re.compile(r'_*[A-Z]+[A-Z0-9]*_?[A-Z0-9_]*'
                        r'(\|(_*[A-Z][A-Z0-9_]+|0x[0-9a-f]+))*')
# What more strace has names for.
OTHERS = {'NULL', 'IPPROTO_IP', 'SIG_IGN', 'SIG_DFL', 'SOL_SOCKET',
          'SO_REUSEADDR', 'FUTEX_BITSET_MATCH_ANY'}


def arguments_of(text):
    """The arguments of a line of a call, from behind its bracket on."""
    found, depth, start, is_text, at = [], 0, 0, False, 0
    while at < len(text):
        if is_text:
            at += text[at] == '\\'
            is_text = text[at] != '"'
        elif text[at] == '"':
            is_text = True
        elif text[at] in '([{':
            depth += 1
        elif text[at] in ')]}':
            depth -= 1
        if not is_text and (depth < 0 or (depth == 0 and text[at] == ',')):
            found.append(text[start:at].strip())
            start = at + 1
            if depth < 0:
                return found
        at += 1
    return found


def named(argument):
    """The names that an argument consists of, in any order; or None."""
    return set(argument.split('|')) - OTHERS \
        if SAYS_NAMES.fullmatch(argument) else set()


@case('syscalls: names of flags and others as strace\'s')
def syscalls_names(context):
    need_bpf(context)
    need('strace')
    script = os.path.join(context.tmp, 'names.py')
    with open(script, 'w', encoding='utf-8') as f:
        f.write(NAMES)
    command = [os.path.realpath(sys.executable), '-S', '-E', script,
               os.path.join(context.tmp, 'file')]
    lines, _ = trace(context, '--', *command)
    mine = [(name, arguments_of(rest)) for _, name, rest in calls_of(lines)]
    found = [re.match(r'(\w+)\((.*)', l)
             for l in strace_lines(context, *command)]
    theirs = [(m.group(1), arguments_of(m.group(2))) for m in found if m]
    child = {m[0] for m in calls_of(lines)} - {calls_of(lines)[0][0]}
    mine = [m for m, (thread, _, _) in zip(mine, calls_of(lines))
            if thread not in child]
    check([m[0] for m in mine] == [t[0] for t in theirs], 'calls',
          (mine, theirs))
    names = collections.Counter()
    for (call, ours), (_, wanted) in zip(mine, theirs):
        if call == 'clone':
            # By name there, and in another order.
            wanted = [w[6:] for w in wanted if w.startswith('flags=')]
        for got, want in zip(ours, wanted):
            check(named(got) == named(want), 'names', (call, ours, wanted))
            names.update(named(got))
        if call in ('openat', 'fcntl', 'open'):
            check(len(ours) == len(wanted), 'how many', (call, ours, wanted))
    check(len(names) > 80, 'few names', names)
    context.note('%d names, %d times' % (len(names), sum(names.values())))


ADDRESSES = r'''
import socket

def attempt(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        pass

inet = socket.socket()
inet.bind(('127.0.0.1', 0))
attempt(socket.socket().connect, ('127.255.255.254', 9))
local = socket.socket(socket.AF_UNIX)
for name in '/none/\x01\n"5\x7f', '\0name\0of\0none', '\0', 'x' * 107, 'x':
    attempt(local.connect, name)
local.bind('')
attempt(socket.socket(type=socket.SOCK_DGRAM).sendto, b'x', ('127.0.0.1', 9))
if socket.has_ipv6:
    other = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    attempt(other.sendto, b'x', ('::1', 9, 18, 1))
    attempt(other.connect, ('fe80::2:3', 65535, 0, 7))
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
netlink.bind((0, 5))
attempt(netlink.sendto, b'x' * 20, (7, 1))
attempt(socket.socket(socket.AF_PACKET, socket.SOCK_RAW).bind, ('lo', 0))
'''


def addresses_of(lines):
    """(call, address) of each line; what Python leaves undefined apart."""
    found = [re.match(r'(?:\[\d+\] )?(\w+)\((.*)', line) for line in lines]
    return [(m.group(1), re.sub('nl_pad=0x[0-9a-f]+, ', '', a))
            for m in found if m for a in arguments_of(m.group(2))
            if a.startswith('{sa_family=')]


@case('syscalls: addresses of sockets as strace\'s')
def syscalls_addresses(context):
    need_bpf(context)
    need('strace')
    command = [os.path.realpath(sys.executable), '-S', '-E', '-c', ADDRESSES]
    calls = 'bind,connect,sendto'
    lines, _ = trace(context, '-e', calls, '--', *command)
    theirs = addresses_of(strace_lines(context, '-e', calls, *command))
    # Of a network card's, strace knows more than the bytes.
    is_known = lambda address: 'AF_PACKET' not in address[1]
    mine = addresses_of(lines)
    check(list(filter(is_known, mine)) == list(filter(is_known, theirs)),
          'addresses', (mine, theirs))
    check(len(mine) >= 10, 'how many', mine)
    check(('bind', '{sa_family=AF_PACKET, sa_data="') in
          [(call, a[:31]) for call, a in mine], 'bytes', mine)
    context.note('%d addresses' % len(mine))

# SPDX-License-Identifier: BSD-2-Clause
"""Files that -o names: all of what was to be written, or what was there."""

import fcntl
import json
import os
import resource
import signal
import struct
import subprocess
import termios
import time

from cases_record import need_bpf
from harness import (PATIENCE, case, check, children_of, end_process,
                     need_root, wait_for_line)

PROFILE = """outwind-profile 1
t 0 0 99 3 0 0
s thread
s function
f 2 0 0 0 0 0 1000 0 1000
k 1 7 7 1 0 3 3 1 0
e
"""
FOLDED = b'thread;function 3\n'


def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)
    return path


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def make_folder(context):
    """A profile, and a folder of its own for what is made of it."""
    folder = os.path.join(context.tmp, 'out')
    os.mkdir(folder)
    return write(os.path.join(context.tmp, 'a.owp'), PROFILE.encode()), folder


@case('output: a file is made, or replaced as it was')
def outfile_made(context):
    profile, folder = make_folder(context)
    path = os.path.join(folder, 'new.folded')
    context.run('report', '-o', path, profile, status=0)
    mask = os.umask(0o022)
    os.umask(mask)
    check(read(path) == FOLDED and
          os.stat(path).st_mode & 0o7777 == 0o666 & ~mask, 'a new one',
          os.stat(path))
    os.chmod(path, 0o640)
    write(path, b'x' * 100)
    link = os.path.join(folder, 'link.folded')
    os.symlink('new.folded', link)
    context.run('report', '-o', link, profile, status=0)
    check(read(path) == FOLDED and os.path.islink(link) and
          os.stat(path).st_mode & 0o7777 == 0o640, 'an old one, by a link',
          os.stat(path))
    # It is there once the link's file is made.
    os.unlink(path)
    context.run('report', '-o', link, profile, status=0)
    check(read(path) == FOLDED and os.path.islink(link), 'a link to nothing')
    check(sorted(os.listdir(folder)) == ['link.folded', 'new.folded'],
          'what is left', os.listdir(folder))


@case('output: what is no file is written to')
def outfile_straight(context):
    profile, folder = make_folder(context)
    for name in ('-', '/dev/stdout'):
        done = context.run('report', '-f', 'folded', '-o', name, profile,
                           status=0)
        check(done.stdout == FOLDED, name, done.stdout)
    # Also where standard output is a file, which others may hold open.
    log = write(os.path.join(folder, 'log'), b'')
    with open(log, 'rb+') as f:
        subprocess.run([context.outwind, 'report', '-f', 'folded', '-o',
                        '/dev/stdout', profile], stdout=f, check=True,
                       timeout=PATIENCE)
        check(f.read() == FOLDED, 'a file that is open')
    os.unlink(log)
    fifo = os.path.join(folder, 'fifo')
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        context.run('report', '-f', 'folded', '-o', fifo, profile, status=0)
        check(os.read(reader, 1000) == FOLDED, 'a fifo')
    finally:
        os.close(reader)
    done = context.run('report', '-o', '/dev/full', profile, status=2)
    check(done.stderr == b'outwind: write /dev/full: No space left on '
          b'device\n', 'message', done.stderr)
    check(os.listdir(folder) == ['fifo'], 'what is left', os.listdir(folder))


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))


@case('output: in a folder of another user')
def outfile_others(context):
    """Its owner's files are written to, but not where its owner's links lead."""
    need_root()
    profile, folder = make_folder(context)
    mine = write(os.path.join(context.tmp, 'mine'), b'kept')
    for mode in (0o755, 0o777):
        os.chown(folder, 65534, 65534)
        os.chmod(folder, mode)
        link, fifo, file = (os.path.join(folder, name)
                            for name in ('link', 'fifo', 'file'))
        os.symlink(mine, link)
        os.mkfifo(fifo)
        write(file, b'')
        for path in (link, fifo, file):
            os.chown(path, 65534, 65534, follow_symlinks=False)
        for path in (link, fifo):
            done = context.run('report', '-f', 'folded', '-o', path, profile)
            check(done.returncode != 0 and path.encode() in done.stderr,
                  'refused', (path, done.stderr))
        context.run('report', '-f', 'folded', '-o', file, profile, status=0)
        check(read(file) == FOLDED and read(mine) == b'kept', 'files', mode)
        for path in (link, fifo, file):
            os.unlink(path)


@case('output: what fails leaves what was there')
def outfile_failed(context):
    profile, folder = make_folder(context)
    path = write(os.path.join(folder, 'old.folded'), b'old')
    for name, old in ((path, b'old'), (os.path.join(folder, 'new'), None)):
        done = subprocess.run([context.outwind, 'report', '-f', 'folded', '-o',
                               name, profile], preexec_fn=limit_files,
                              capture_output=True, timeout=PATIENCE,
                              check=False)
        check(done.returncode == 2 and done.stderr.decode() ==
              'outwind: write %s: File too large\n' % name, 'message',
              (done.returncode, done.stderr))
        check(not old or read(path) == old, 'the old one')
    nowhere = os.path.join(folder, 'none', 'x')
    done = context.run('report', '-o', nowhere, profile, status=2)
    check(done.stderr.decode() == 'outwind: open %s: No such file or '
          'directory\n' % nowhere, 'message', done.stderr)
    check(os.listdir(folder) == ['old.folded'], 'what is left',
          os.listdir(folder))


@case('output: a recording that is killed leaves what was there', alone=True)
def outfile_killed(context):
    need_bpf(context)
    _, folder = make_folder(context)
    path = write(os.path.join(folder, 'old.folded'), b'old')
    tool = context.start([context.outwind, 'record', '-o', path, '--', 'sh',
                          '-c', 'echo ready; exec sleep 1000'], ready=None)
    wait_for_line(tool, 'ready')
    command = children_of(tool.pid)[0]
    tool.kill()
    tool.wait()
    end_process(command)
    check(read(path) == b'old' and os.listdir(folder) == ['old.folded'],
          'what is left', os.listdir(folder))
    # Nothing came of it: that is no reason either.
    context.run('record', '-o', path, '--', '/nonexistent/program', status=2)
    check(read(path) == b'old', 'the old one')


def record_beside(context, path):
    """Record, and have another user make a folder of the file's name meanwhile."""
    tool = context.start([context.outwind, 'record', '-o', path, '--', 'sh',
                          '-c', 'echo ready; while :; do :; done'],
                         ready=None, stderr=subprocess.PIPE)
    wait_for_line(tool, 'ready')
    command = children_of(tool.pid)[0]
    made = subprocess.run(['setpriv', '--reuid=65534', '--regid=65534',
                           '--clear-groups', 'mkdir', os.path.basename(path)],
                          cwd=os.path.dirname(path), stderr=subprocess.DEVNULL,
                          timeout=PATIENCE, check=False)
    time.sleep(0.5)
    tool.send_signal(signal.SIGINT)
    tool.wait(PATIENCE)
    end_process(command)
    said = tool.communicate(timeout=PATIENCE)[1].decode()
    return made.returncode == 0, tool.returncode, said


@case('output: another user makes a folder of its name', alone=True)
def outfile_taken(context):
    need_root()
    need_bpf(context)
    _, folder = make_folder(context)
    path = os.path.join(folder, 'profile')
    os.chmod(folder, 0o1777)
    context.run('record', '-o', path, '--', '/nonexistent/program', status=2)
    check(not os.listdir(folder), 'nothing came of it', os.listdir(folder))
    made, status, said = record_beside(context, path)
    check(not made and status == 0 and read(path).startswith(b'sh;') and
          os.listdir(folder) == ['profile'], 'it has its name',
          (made, status, said, os.listdir(folder)))
    # Where others may remove it, it can't: but it isn't lost.
    os.unlink(path)
    os.chmod(folder, 0o777)
    made, status, said = record_beside(context, path)
    kept = [name for name in os.listdir(folder) if name != 'profile']
    check(made and status == 2 and len(kept) == 1 and said.endswith(
        'outwind: write %s: Is a directory\noutwind: all of it is kept as %s in '
        '%s\n' % (path, kept[0], folder)), 'what is said', (status, said, kept))
    check(read(os.path.join(folder, kept[0])).startswith(b'sh;'), 'it is kept')


@case('output: nobody reads it', alone=True)
def outfile_unread(context):
    need_bpf(context)
    done = context.run_tool(
        ['sh', '-c', '"$1" record -F 999 -- yes | head -n 1', 'sh',
         context.outwind], 0)
    check(done.stdout == b'y\n' and b'write' not in done.stderr,
          'what is said', (done.stdout, done.stderr))


def start_writing(context, path, pipe, **how):
    """A recording that waits to write more than fits into the pipe."""
    tool = subprocess.Popen([context.outwind, 'record', '-a', '-d', '0.5', '-F',
                             '999', '-f', 'json', '-o', path], **how,
                            stderr=subprocess.DEVNULL)
    full, before = 0, -1
    while full != before or not full:
        before = full
        time.sleep(0.5)
        full = struct.unpack('i', fcntl.ioctl(pipe, termios.FIONREAD,
                                              bytes(4)))[0]
    check(tool.poll() is None, 'it waits', tool.returncode)
    return tool


def read_all(pipe):
    text = b''
    while True:
        os.set_blocking(pipe, True)
        some = os.read(pipe, 1 << 16)
        if not some:
            return text
        text += some


@case('output: a signal ends a recording whose profile nobody reads', alone=True)
def outfile_stalled(context):
    """But not one that is read again soon: that is written as a whole."""
    need_bpf(context)
    context.start(['busy'])
    for is_read in False, True:
        pipe, end = os.pipe()
        fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 4096)
        tool = start_writing(context, '-', pipe, stdout=end)
        os.close(end)
        tool.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        if is_read:
            json.loads(read_all(pipe))
            check(tool.wait(PATIENCE) in (0, 1), 'status', tool.returncode)
        else:
            check(tool.wait(10) == -signal.SIGTERM, 'status', tool.returncode)
            context.note('ended in %.1f s' % (time.monotonic() - begun))
        os.close(pipe)


@case('output: a fifo that is read slowly', alone=True)
def outfile_slow(context):
    """Also in a folder where others may put files, as it is opened otherwise there."""
    need_bpf(context)
    context.start(['busy'])
    for mode in 0o755, 0o1777:
        folder = os.path.join(context.tmp, 'fifo%o' % mode)
        os.mkdir(folder)
        os.chmod(folder, mode)
        path = os.path.join(folder, 'fifo')
        os.mkfifo(path)
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
        tool = start_writing(context, path, pipe)
        json.loads(read_all(pipe))
        os.close(pipe)
        check(tool.wait(PATIENCE) in (0, 1), 'status', tool.returncode)

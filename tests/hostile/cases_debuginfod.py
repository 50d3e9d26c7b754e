# SPDX-License-Identifier: BSD-2-Clause
"""Servers of debug files that are slow, and build-ids without end that they are asked for."""

import contextlib
import http.server
import os
import pty
import shutil
import signal
import subprocess
import threading
import time
import zlib

from harness import (PATIENCE, Skip, case, check, children_of, need,
                     need_root, wait_until)

MOST_FILES = 256  # that are asked for in a run
MOST_WAIT = 20  # s, likewise
NO_ANSWER = 10  # s, for one file
SILENT = b"which debuginfod's servers did not send in time: left out"
SPENT = b'debuginfod: debug files that its servers had not sent after 20 s'
MANY = b'debuginfod: debug files after the first 256: left out'
OTHERS = (b'debuginfod: debug files, as other users could put some into its '
          b'cache: set DEBUGINFOD_CACHE_PATH: left out')
FULL = b'debuginfod: debug files, as there is no room for those that come: left out'
NOTE = b'\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0'  # before a build-id of 20 bytes


class Server:
    """Answers requests as how(request) does, and lists their build-ids."""

    def __init__(self, context, how):
        self.asked = []
        self.ended = threading.Event()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                server.asked.append(self.path.split('/')[2])
                with contextlib.suppress(OSError):
                    how(server, self)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.cache = os.path.join(context.tmp, 'debuginfod')
        self.env = {'DEBUGINFOD_URLS': 'http://127.0.0.1:%d' %
                    self.http.server_port,
                    'DEBUGINFOD_CACHE_PATH': self.cache}
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        context.stack.callback(self.end)

    def end(self):
        self.ended.set()
        self.http.shutdown()
        self.http.server_close()

    def temporary(self):
        """Files that a transfer left in the cache when it was ended."""
        return [name for _, _, files in os.walk(self.cache)
                for name in files if name.startswith('debuginfo.')]


def refuse(_server, request):
    request.send_error(404)


def refuse_late(server, request):
    server.ended.wait(2)
    request.send_error(404)


def be_silent(server, _request):
    server.ended.wait()


def trickle(server, request):
    request.send_response(200)
    request.send_header('Content-Length', '100000')
    request.end_headers()
    while not server.ended.wait(1):
        request.wfile.write(b'x')


def send_without_end(pack):
    """Zeros, each piece as pack() has it."""
    def send(_server, request):
        request.send_response(200)
        if pack:
            request.send_header('Content-Encoding', 'gzip')
        request.send_header('Transfer-Encoding', 'chunked')
        request.end_headers()
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        while True:
            piece = bytes(16 << 20)
            piece = packer.compress(piece) if pack else piece[:1 << 20]
            if piece:
                request.wfile.write(b'%x\r\n%s\r\n' % (len(piece), piece))
    return send


def start_target(context, number):
    """A process that waits below so many libraries, each with a build-id."""
    need('strip')
    library = os.path.join(context.tmp, 'libpass.so')
    shutil.copy(context.program('libpass.so'), library)
    subprocess.run(['strip', library], check=True)
    with open(library, 'rb') as f:
        data = f.read()
    at = data.find(NOTE)
    if at < 0:
        raise Skip('libraries have no build-id here')
    at += len(NOTE)
    names = [os.path.join(context.tmp, 'lib%d.so' % i) for i in range(number)]
    for i, name in enumerate(names):
        with open(name, 'wb') as f:
            f.write(data[:at] + b'outwind%13d' % i + data[at + 20:])
    return context.start(['stackedlibs', *names])


def ask(context, server, target):
    """What the tool says of a target, which has all of its frames."""
    begun = time.monotonic()
    done = context.run('stack', '--debuginfod', target.pid, status=0,
                       env=server.env)
    took = time.monotonic() - begun
    check(done.stdout.count(b'pass_on + ') == target.number, 'frames',
          done.stdout)
    check(not server.temporary(), 'files in the cache', server.temporary())
    context.note('%.1f s, %d files asked for' % (took, len(server.asked)))
    return done


def check_limit(context, how, most, *lines):
    server = Server(context, how)
    target = start_target(context, 25)
    target.number = 25
    done = ask(context, server, target)
    # An object of the system may be asked for, too.
    check(1 <= len(set(server.asked)) <= most, 'files asked for',
          server.asked)
    for line in lines:
        check(done.stderr.count(line) == 1, 'line', done.stderr)
    check(len(done.stderr.splitlines()) == len(lines), 'lines', done.stderr)


@case('debuginfod: a server that says late that it has nothing')
def _(context):
    check_limit(context, refuse_late, MOST_WAIT // 2 + 1, SPENT)


@case('debuginfod: a server that does not answer')
def _(context):
    check_limit(context, be_silent, MOST_WAIT // NO_ANSWER + 1, SILENT, SPENT)


@case('debuginfod: a server that sends a byte a second')
def _(context):
    check_limit(context, trickle, MOST_WAIT // NO_ANSWER + 1, SILENT, SPENT)


@case('debuginfod: a cache that is another user\'s')
def _(context):
    """A file there would name the functions of all who have the build-id."""
    need_root()
    other = os.path.join(context.tmp, 'other')
    os.mkdir(other)
    os.chown(other, 65534, 65534)
    server = Server(context, refuse)
    target = start_target(context, 1)
    env = dict(server.env, XDG_CACHE_HOME=other)
    del env['DEBUGINFOD_CACHE_PATH']
    done = context.run_tool([context.outwind, 'stack', '--debuginfod',
                             str(target.pid)], status=0, env=env)
    check(OTHERS in done.stderr and not server.asked, 'line',
          (done.stderr, server.asked))
    check(os.listdir(other) == [], 'files', os.listdir(other))


@case('debuginfod: build-ids without end')
def _(context):
    server = Server(context, refuse)
    target = start_target(context, MOST_FILES + 50)
    target.number = MOST_FILES + 50
    done = ask(context, server, target)
    check(len(server.asked) == MOST_FILES, 'files asked for',
          len(server.asked))
    check(done.stderr.splitlines() and MANY in done.stderr, 'line',
          done.stderr)
    # Those that the server didn't have are known, and the others asked for.
    asked = set(server.asked)
    server.asked.clear()
    done = ask(context, server, target)
    check(done.stderr == b'' and len(server.asked) >= 50, 'the rest',
          (done.stderr, len(server.asked)))
    check(not asked & set(server.asked), 'asked for again')


def send_slowly(path):
    """A whole file, in more time than waits may take, but as it comes at once."""
    def send(server, request):
        with open(path, 'rb') as f:
            data = f.read()
        part = len(data) // (MOST_WAIT + 3) + 1
        request.send_response(200)
        request.send_header('Content-Length', str(len(data)))
        request.end_headers()
        for at in range(0, len(data), part):
            request.wfile.write(data[at:at + part])
            server.ended.wait(1)
    return send


@case('debuginfod: a large file that comes')
def _(context):
    path = os.path.join(context.tmp, 'whole')
    shutil.copy(context.program('libpass.so'), path)
    target = start_target(context, 1)
    target.number = 1
    with open(path, 'r+b') as f:
        data = f.read()
        f.seek(data.find(NOTE) + len(NOTE))
        f.write(b'outwind%13d' % 0)
        f.truncate(30 << 20)

    def send_one(server, request):
        if server.asked[-1].startswith(b'outwind'.hex()):
            send_slowly(path)(server, request)
        else:
            refuse(server, request)

    server = Server(context, send_one)
    done = ask(context, server, target)
    check(done.stderr == b'' and b'pass_inner + ' in done.stdout, 'name',
          done.stdout + done.stderr)


def check_endless(context, pack):
    server = Server(context, send_without_end(pack))
    target = start_target(context, 2)
    # The system may end who writes more, which is a limit for the tool's files, too.
    done = context.run_tool(['prlimit', '--fsize=%d' % (40 << 20),
                             context.outwind, 'stack', '--debuginfod',
                             str(target.pid)], status=0, env=server.env)
    check(done.stdout.count(b'pass_on + ') == 2, 'frames', done.stdout)
    check(len(server.asked) == 1, 'files asked for', (server.asked, done.stderr))
    check(done.stderr == b'outwind: ' + FULL + b'\n', 'line', done.stderr)
    check(not server.temporary(), 'files in the cache', server.temporary())
    # With more room, a signal ends it.
    with subprocess.Popen([context.outwind, 'stack', '--debuginfod',
                           str(target.pid)], env={**os.environ, **server.env},
                          stdout=subprocess.DEVNULL) as tool:
        context.stack.callback(tool.kill)
        wait_until(server.temporary, 'a file comes')
        asker, = children_of(tool.pid)
        tool.terminate()
        check(tool.wait(PATIENCE) == -signal.SIGTERM, 'status', tool.returncode)
    wait_until(lambda: not os.path.exists('/proc/%d' % asker),
               'the process that asks ends')
    check(not server.temporary(), 'files in the cache', server.temporary())


@case('debuginfod: a file without end')
def _(context):
    check_endless(context, False)


@case('debuginfod: a packed file without end')
def _(context):
    check_endless(context, True)


@case('debuginfod: no server, and one that is not there')
def _(context):
    target = start_target(context, 3)
    for urls, line in (('', b'DEBUGINFOD_URLS names no server'),
                       ('http://127.0.0.1:1', b'debug files (Connection '
                                              b'refused): left out')):
        done = context.run(
            'stack', '--debuginfod', target.pid, status=0,
            env={'DEBUGINFOD_URLS': urls,
                 'DEBUGINFOD_CACHE_PATH': os.path.join(context.tmp, 'none')})
        check(done.stderr.count(line) == 1 and
              len(done.stderr.splitlines()) == 1, 'line', done.stderr)


@case('debuginfod: signals while a server does not answer')
def _(context):
    server = Server(context, be_silent)
    target = start_target(context, 3)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        server.asked.clear()
        with subprocess.Popen([context.outwind, 'stack', '--debuginfod',
                               str(target.pid)],
                              env={**os.environ, **server.env},
                              stdout=subprocess.DEVNULL) as tool:
            context.stack.callback(tool.kill)
            wait_until(lambda: server.asked, 'a file is asked for')
            asker, = children_of(tool.pid)
            tool.send_signal(number)
            check(tool.wait(PATIENCE) == -number, 'status', tool.returncode)
        wait_until(lambda: not os.path.exists('/proc/%d' % asker),
                   'the process that asks ends')
        check(not server.temporary(), 'files in the cache', server.temporary())


@case('debuginfod: a terminal shows that files are asked for')
def _(context):
    server = Server(context, refuse_late)
    target = start_target(context, 2)
    mine, theirs = pty.openpty()
    try:
        subprocess.run([context.outwind, 'stack', '--debuginfod',
                        str(target.pid)], env={**os.environ, **server.env},
                       stdout=subprocess.DEVNULL, stderr=theirs, check=True,
                       timeout=PATIENCE)
        shown = os.read(mine, 65536)
    finally:
        os.close(mine)
        os.close(theirs)
    check(b'\rdebuginfod: file 1, 0 MiB' in shown and
          shown.endswith(b'\r\x1b[K'), 'shown', shown)

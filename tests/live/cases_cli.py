# SPDX-License-Identifier: BSD-2-Clause
"""Options, statuses and messages of the command line."""

import glob
import json
import os
import re
import subprocess

from harness import PATIENCE, Skip, case, check, need, need_root, wait_until

STAMP = 656  # bytes after a table, of the files that it is of
USAGE = (
    [], ['nonsense'], ['stack'], ['stack', '--nonsense', '1'],
    ['stack', '-n'], ['stack', '-n', 'x', '1'], ['stack', '-n', '-1', '1'],
    ['stack', '-f', 'xml', '1'], ['stack', '1', '2'],
    ['stack', '--stack-size', '0', '1'], ['stack', '1/x'], ['stack', '1/'],
    ['stack', '1/2,,x'], ['stack', '-p'], ['stack', '-p', 'x'],
    ['stack', '-p', '1', '2'], ['stack', '-p', '1', '-p', '2'],
    ['stack', '--core', 'a', 'b', 'c'], ['stack', 'a', 'b', '-e', 'c'],
    ['stack', '--stop-timeout=x', '1'], ['stack', '--stop-timeout=-1', '1'],
    ['stack', '--no-stop', '--gentle', '1'],
    ['stack', '--gentle', '--one-at-a-time', '1'],
    ['stack', '--one-at-a-time', '--no-stop', '1'], ['tables', '--nonsense'],
    ['rows'], ['rows', '--nonsense', '/bin/true'],
)


@case('usage errors')
def _(context):
    for arguments in USAGE:
        done = context.run(*arguments)
        check(done.returncode == 64, 'status of %s' % arguments,
              (done.returncode, done.stderr))
        check(done.stderr and not done.stdout, 'output of %s' % arguments,
              done.stdout)


@case('ways of stopping exclude each other')
def _(context):
    for arguments in (['--no-stop', '--gentle'], ['--gentle', '--no-stop'],
                      ['--one-at-a-time', '--gentle']):
        done = context.run('stack', *arguments, '1', status=64)
        check(done.stderr == b'outwind: only one of --no-stop, --gentle and '
              b'--one-at-a-time\nsee outwind stack --help\n', 'message',
              done.stderr)


@case('a core file may be named by digits')
def _(context):
    done = context.run('stack', '--core', '4194304', status=2)
    check(done.stderr.startswith(b'outwind: 4194304: '), 'message',
          done.stderr)


@case('help and version')
def _(context):
    for arguments in (['--help'], ['-h'], ['stack', '--help'], ['stack', '-h'],
                      ['tables', '--help'], ['rows', '--help'], ['--version']):
        done = context.run(*arguments)
        check(done.returncode == 0, 'status of %s' % arguments,
              (done.returncode, done.stderr))
        check(done.stdout and not done.stderr, 'output of %s' % arguments,
              done.stderr)


@case('full disk, closed output')
def _(context):
    target = context.start(['chain-pie'])
    for arguments in (['stack', target.pid], ['stack', '--json', target.pid],
                      ['stack', '-f', 'folded', target.pid], ['--help'],
                      ['--version'], ['stack', '--help'],
                      ['rows', context.outwind]):
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([context.outwind, *map(str, arguments)],
                                  stdout=full, stderr=subprocess.PIPE,
                                  timeout=PATIENCE, check=False)
        check(done.returncode == 2, 'status of %s' % arguments,
              (done.returncode, done.stderr))
        check(b'No space' in done.stderr and done.stderr.count(b'\n') == 1,
              'message of %s' % arguments, done.stderr)
    done = subprocess.run(['sh', '-c', '"$0" stack "$1" >&-', context.outwind,
                           str(target.pid)], stderr=subprocess.PIPE,
                          timeout=PATIENCE, check=False)
    check(done.returncode == 2 and done.stderr, 'status, closed stdout',
          (done.returncode, done.stderr))


@case('files that are no core')
def _(context):
    empty = os.path.join(context.tmp, 'empty')
    with open(empty, 'wb'):
        pass
    for path, status in ((context.tmp + '/absent', 2), (empty, 2),
                         ('/bin/sh', 2), (context.tmp, 2), ('/dev/null', 2),
                         ('/etc/passwd', 2)):
        done = context.run('stack', path, status=status)
        check(done.stderr.count(b'\n') == 1, 'lines for ' + path, done.stderr)
        context.note(done.stderr.decode().strip())


@case('options of eu-stack')
def _(context):
    target = context.start(['chain-pie'])
    pid = str(target.pid)

    def lines(*options):
        return context.run('stack', *options, pid,
                           status=0).stdout.decode().splitlines()

    check(context.run('stack', '-p', pid, status=0).stdout ==
          context.run('stack', pid, status=0).stdout ==
          context.run('stack', '--pid=' + pid, status=0).stdout, '-p')
    plain = lines()
    check(len(lines('-n', '3')) == 2 + 3 + 1, '-n 3', lines('-n', '3'))
    check(all('link' not in line for line in lines('-q')), '-q', lines('-q'))
    check(len(lines('-q')) == len(plain), '-q', lines('-q'))
    check(any('chain-pie' in line for line in lines('-m')[2:]), '-m')
    check(any('chain.c:' in line for line in lines('-s')), '-s', lines('-s'))
    check(any(line.strip().startswith('[') for line in lines('-b')), '-b',
          lines('-b'))
    check(any('libc.so' in line for line in lines('-l')[:12]), '-l',
          lines('-l'))
    check(any('complete' in line for line in lines('-v')), '-v')
    check(len(lines('-1')) == len(plain), '-1')
    check(lines('-r') == plain, '-r on C', lines('-r'))
    raw = context.start(['throwing', 'template'])
    text = context.run('stack', '-r', raw.pid, status=0).stdout
    check(b'_ZN12_GLOBAL__N_1' in text and b'anonymous' not in text, '-r',
          text)


@case('inlined functions and lines')
def _(context):
    target = context.start(['chain-pie'])
    done = context.run('stack', '-i', '-s', '--json', target.pid, status=0)
    frames = json.loads(done.stdout)['threads'][0]['frames']
    inlined = [f for f in frames if f.get('inlined')]
    check(any(f.get('function') == 'sleep_once' for f in inlined),
          'sleep_once is inlined into stay', frames[:3])
    for frame in frames:
        if frame.get('file', '').endswith('chain.c'):
            check(frame['line'] > 0, 'line', frame)
    mine = [f['function'] for f in frames if not f.get('inlined')]
    check(mine[0] == 'stay' and mine[1] == 'link12', 'functions', mine)


@case('a little of the stack')
def _(context):
    target = context.start(['chain-pie'])
    done = context.run('stack', '--stack-size=256', '--json', target.pid,
                       status=1)
    thread = json.loads(done.stdout)['threads'][0]
    check(1 < len(thread['frames']) < 14, 'frames', len(thread['frames']))
    check('memory' in thread['end'], 'end', thread['end'])


@case('tables: no place for them')
def _(context):
    target = context.start(['chain-pie'])
    for what in (target.pid, '/bin/true'):
        done = context.run('tables', what, status=2,
                           env={'XDG_CACHE_HOME': '/proc/nowhere'})
        check(b'/proc/nowhere' in done.stderr, 'message', done.stderr)


TABLE_LINE = re.compile(
    r'(.*): (made|was there|not kept), \d+ rows, \d+ rules, (\d+) bytes '
    r'\(([0-9.]+) % of its CFI(: too much)?\)'
    r'(, \d+ of \d+ rows left to the CFI)?')


def table_lines(done):
    lines = [TABLE_LINE.fullmatch(line) for line in
             done.stdout.decode().splitlines()]
    check(all(lines), 'lines', done.stdout)
    return [line.groups()[:5] for line in lines]


@case('tables: kept, and not kept as too large')
def _(context):
    source = os.path.join(context.tmp, 'tiny.c')
    tiny = os.path.join(context.tmp, 'tiny')
    with open(source, 'w', encoding='utf-8') as f:
        f.write('void _start(void) { for (;;); }')
    subprocess.run(['cc', '-nostdlib', '-Wl,--build-id', source, '-o', tiny],
                   check=True)
    python = os.path.realpath('/usr/bin/python3')
    cache = os.path.join(context.tmp, 'cache')
    env = {'XDG_CACHE_HOME': cache}
    for how in ('made', 'was there'):
        done = context.run('tables', tiny, python, status=0, env=env)
        small, large = table_lines(done)
        check(small[:2] == (tiny, 'not kept'), 'tiny', small)
        check(float(small[3]) > 60 and small[4], 'tiny', small)
        check(large[:2] == (python, how), 'python', large)
        check(float(large[3]) <= 60 and not large[4], 'python', large)
        files = os.listdir(os.path.join(cache, 'outwind'))
        sizes = [os.path.getsize(os.path.join(cache, 'outwind', name))
                 for name in files]
        check(sizes == [int(large[2]) + STAMP], 'files', (files, sizes))
        check(done.stderr == b'', 'messages', done.stderr)


@case('tables: of processes whose files can have none')
def _(context):
    source = os.path.join(context.tmp, 'alone.c')
    program = os.path.join(context.tmp, 'alone')
    with open(source, 'w', encoding='utf-8') as f:
        f.write('void _start(void) { for (;;); }')
    for options, reason in (
            (['-Wl,--build-id=none'], 'no build-id to keep a table by'),
            (['-Wl,--build-id', '-fno-asynchronous-unwind-tables'],
             'no .eh_frame')):
        subprocess.run(['cc', '-nostdlib', '-static', *options, source, '-o',
                        program + options[-1]], check=True)
        target = context.start([program + options[-1]], ready=None)
        wait_until(lambda pid=target.pid: os.readlink('/proc/%d/exe' % pid)
                   .startswith(program), 'the program runs')
        done = context.run('tables', target.pid, status=2)
        check(done.stderr.decode() == 'outwind: %s: %s\n' %
              (program + options[-1], reason), 'message', done.stderr)


@case('tables: of two files that a process has mapped by turns')
def _(context):
    files = [os.path.realpath(name) for name in ('/bin/bash', '/bin/ls')]
    script = ('import mmap, os, sys, time\n'
              'fds = [os.open(name, os.O_RDONLY) for name in sys.argv[1:]]\n'
              'all = [mmap.mmap(fds[i % 2], 4096, mmap.MAP_PRIVATE,\n'
              '                 mmap.PROT_READ | mmap.PROT_EXEC)\n'
              '       for i in range(200)]\n'
              'print("ready", flush=True)\n'
              'time.sleep(600)\n')
    target = context.start([os.path.realpath('/usr/bin/python3'), '-c', script,
                            *files])
    cache = os.path.join(context.tmp, 'cache')
    done = context.run('tables', target.pid, env={'XDG_CACHE_HOME': cache})
    paths = [line[0] for line in table_lines(done)]
    check([paths.count(name) for name in files] == [1, 1], 'files', paths)


@case('threads that are not there')
def _(context):
    target = context.start(['chain-pie'])
    threads = context.stacks('%d/%d,4194303' % (target.pid, target.pid),
                             status=1)['threads']
    check([t['tid'] for t in threads] == [target.pid, 4194303], 'threads',
          threads)
    check(threads[0]['complete'] and 'exited' in threads[1]['error'],
          'reasons', threads)


@case("another process's thread is not touched")
def _(context):
    target, other = context.start(['chain-pie']), context.start(['chain-pie'])
    threads = context.stacks('%d/%d,%d' % (target.pid, target.pid, other.pid),
                             status=1)['threads']
    check([t['tid'] for t in threads] == [target.pid, other.pid], 'threads',
          threads)
    check('no such thread' in threads[1]['error'] and
          'frames' not in threads[1], 'reason', threads[1])


# Hides the files named before -- and runs the command behind it.
WITHOUT = '''
    while [ "$1" != -- ]; do
        mount --bind /dev/null "$1" || exit 77
        shift
    done
    shift
    exec "$@"
'''


@case("Xen's libraries are needed for guests only")
def _(context):
    need('unshare', 'mount')
    need_root()
    if subprocess.run(['unshare', '-m', 'true'], check=False).returncode:
        raise Skip('no mount namespaces here')
    libraries = {os.path.realpath(path) for path in
                 glob.glob('/usr/lib/*/libxen*.so.*')}
    if not libraries:
        raise Skip("Xen's libraries are not installed")
    target = context.start(['chain-pie'])
    without = ['unshare', '-m', 'sh', '-c', WITHOUT, 'sh', *libraries, '--',
               context.outwind, 'stack']
    done = context.run_tool([*without, str(target.pid)], status=0)
    check(b' link1' in done.stdout, 'the stack', done.stdout)
    for domain in '3', 'name':
        done = context.run_tool([*without, 'xen:' + domain], status=2)
        check(not done.stdout, 'output', done.stdout)
        if b'built without' in done.stderr:
            raise Skip(done.stderr.decode().strip())
        check(re.fullmatch(
            rb"outwind: guests take Xen's libraries \(on Debian those that "
            rb'xen-utils brings\): \S*libxenc\S+: file too short\n',
            done.stderr), 'message', done.stderr)


@case('kunwindd: without its module it says what to do')
def _(context):
    if os.path.exists('/dev/kunwind'):
        raise Skip('the module is loaded')
    done = context.run('kunwindd', status=2)
    check(done.stderr == b'outwind: libkunwind needs the kunwind module '
          b'(/dev/kunwind: No such file or directory): modprobe kunwind\n',
          'message', done.stderr)
    done = context.run('record', '--engine=kunwind', os.getpid(), status=2)
    check(done.stderr == b'outwind: engine kunwind needs the kunwind module '
          b'(/dev/kunwind: No such file or directory): modprobe kunwind hook=1'
          b'\n', 'message', done.stderr)


@case('kunwindd: a signal just before it waits ends it')
def _(context):
    preload = {'LD_PRELOAD': context.program('keeper.so')}
    done = context.run('kunwindd', status=0, env=preload)
    check(done.stdout.startswith(b'following ') and not done.stderr, 'output',
          done)

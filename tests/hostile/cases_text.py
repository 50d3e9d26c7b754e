# SPDX-License-Identifier: BSD-2-Clause
"""Names that a target chooses to steer the terminal of who looks at it."""

import gzip
import json
import os
import pty
import re
import shutil
import subprocess

from harness import case, check

# In place of paused_inner, of as many bytes: ESC, C1's CSI, a newline, and
# U+202E, which turns the order of letters.  A path has what is not seen at all.
WAS = b'paused_inner'
EVIL = b'p\x1b[2J\xc2\x9b\n\xe2\x80\xae'
UNSEEN = '\u00ad\u200b\u2060\ufe0f\ufeff\U000e0041'
ODD = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e'
                 '\u2066-\u2069' + UNSEEN + ']')


def check_clean(out, what):
    found = ODD.findall(out.decode(errors='replace'))
    check(not found, 'what steers a terminal, by ' + what, (found, out[:400]))


def evil_library(t):
    """A library whose path and one of whose names are evil."""
    path = os.path.join(t.tmp, 'a\x1b[31m\u009b\u202eb\nc%s.so' % UNSEEN)
    shutil.copy(t.program('libpaused.so'), path)
    with open(path, 'r+b') as f:
        content = f.read()
        check(len(EVIL) <= len(WAS) and WAS in content,
              'its name')
        f.seek(0)
        f.write(content.replace(WAS, EVIL.ljust(len(WAS), b'x')))
    return path


@case('text: names of a process and of its files, on a terminal')
def evil_names(t):
    path = evil_library(t)
    pid = t.start(['loadpaused', path]).pid
    for options in ((), ('-v',), ('-l',), ('-m',), ('-f', 'folded'),
                    ('--style=gdb',), ('--style=eu',), ('--json',)):
        done = t.run('stack', *options, pid, status=0)
        check_clean(done.stdout + done.stderr, 'stack ' + ' '.join(options))
    frame = t.stacks(pid)['threads'][0]['frames'][1]
    check(frame['function'] == EVIL.ljust(len(WAS), b'x').decode() and
          frame['module'] == path, 'JSON tells the name', frame)
    for command in ([t.tbstack, str(pid)], [t.tbstack, '--verbose', str(pid)],
                    [t.outwind, 'tables', str(pid)],
                    [t.outwind, 'tables', path],
                    [t.outwind, 'tables', path + 'x'],
                    [t.outwind, 'stack', path],
                    [t.outwind, 'snap', '-o', t.tmp + '/s', str(pid)]):
        done = t.run_tool(command)
        check_clean(done.stdout + done.stderr, ' '.join(command[:2]))


@case('text: profiles of evil names, in every format')
def evil_profiles(t):
    path = evil_library(t)
    busy = t.start([t.program('busyname'), path])
    own = os.path.join(t.tmp, 'profile.owp')
    t.run('record', '--engine=perf', '-p', busy.pid, '-d', '0.3', '-F', '499',
          '-o', own, status=0)
    formats = ('folded', 'perf', 'json', 'speedscope', 'svg', 'html', 'outwind')
    for name in formats:
        done = t.run('report', '-f', name, '-o', '-', own, status=0)
        check_clean(done.stdout, name)
        check(b'busy_name' in done.stdout, 'names are there', name)
    for name in formats:
        done = t.run('record', '--engine=perf', '-p', busy.pid, '-d', '0.3',
                     '-F', '499', '-f', name, '-o', '-', status=0)
        check_clean(done.stdout, 'record -f ' + name)
        check(b'busy_name' in done.stdout, 'names are there', name)
    done = t.run('record', '--engine=perf', '-p', busy.pid, '-d', '0.3', '-F',
                 '499', '-f', 'pprof', '-o', '-', status=0)
    message = gzip.decompress(done.stdout)
    check(b'\xe2\x80\xae' not in message and b'busy_name' in message,
          'pprof', message)


@case('text: numbers of seconds that are none')
def absurd_seconds(t):
    for text in ('1e-30', '0', '-1', 'nan', 'inf', '1e300', '-1e-30', '1x', ''):
        for command in 'record', 'syscalls':
            done = t.run(command, '-d', text, '-p', '1', status=64)
            check(done.stderr.startswith(b'outwind: -d %s: not a number of '
                                         b'seconds' % text.encode()), 'says',
                  (command, text, done.stderr))


@case('text: help of uniprof that can not be written')
def full_output(t):
    uniprof = os.path.join(os.path.dirname(t.outwind), 'uniprof')
    for option in '--help', '--version':
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([uniprof, option], stdout=full, check=False,
                                  stderr=subprocess.PIPE)
        check(done.returncode == 253 and
              done.stderr.startswith(b'write output: '), option, done)


@case('text: symbolize by a table of evil names')
def evil_table(t):
    symbolize = os.path.join(os.path.dirname(t.outwind), 'symbolize')
    path = evil_library(t)
    symbols = subprocess.run(['nm', path], check=True, capture_output=True)
    addr = re.search(rb'(?m)^(\w+) t p', symbols.stdout).group(1)
    text = os.path.join(t.tmp, 'text')
    with open(text, 'wb') as f:
        f.write(addr + b' T evil\x1b[2J\xc2\x9b\xe2\x80\xae\n')
    trace = os.path.join(t.tmp, 'trace')
    with open(trace, 'wb') as f:
        f.write(b'0x' + addr + b'\n\x1b[2Ja line\t\xc2\x9b' + b'\xc3\xa4' * 4000 +
                b'\r\n1\n')
    for table in (path, text):
        done = t.run_tool([symbolize, table, trace], status=0)
        lines = done.stdout.split(b'\n')
        check_clean(lines[0], 'symbolize')
        check(lines[0].startswith((b'p?[2J?', b'evil?[2J??')), 'its name', lines)
        check(lines[1] == b'\x1b[2Ja line\t\xc2\x9b' + b'\xc3\xa4' * 4000 + b'\r',
              'what is no address passes as it is', lines[1][:40])
        # On a terminal nothing passes.
        ours, theirs = pty.openpty()
        subprocess.run([symbolize, table, trace], stdout=theirs, check=True)
        os.close(theirs)
        got = b''
        while got.count(b'\n') < 3:
            got += os.read(ours, 65536)
        os.close(ours)
        check_clean(got.replace(b'\r', b''), 'symbolize on a terminal')
        check('?[2Ja line' in got.decode() and
              got.decode().count('\u00e4') == 4000, 'the rest', got[:80])

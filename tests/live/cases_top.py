# SPDX-License-Identifier: BSD-2-Clause
"""outwind top: what it shows, and on what terminals."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import tty

from cases_record import need_bpf
from harness import PATIENCE, Skip, case, check, copy_program


@case('top: the functions that take most', alone=True)
def top(context):
    need_bpf(context)
    target = context.start(['busy'])
    for seconds in (1, 2, 4, 8, 16, 32):
        done = context.run('top', '-n', '1', '-s', seconds, '-F', '997',
                           target.pid, status=0)
        lines = done.stdout.decode().splitlines()
        if int(re.search(r'(\d+) samples', lines[0]).group(1)) >= 300:
            break
    check('spin  (' in lines[2], 'the hottest function first', lines[:5])


def on_terminal(context, command, size, term):
    """What a command prints on a terminal of some rows and columns."""
    try:
        mine, theirs = pty.openpty()
    except OSError as error:
        raise Skip('no terminals here: %s' % error) from error
    try:
        tty.setraw(theirs)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('4H', *size, 0, 0))
        done = subprocess.run([context.outwind, *command], stdout=theirs,
                              env=dict(os.environ, TERM=term), check=False,
                              timeout=PATIENCE)
        check(done.returncode == 0, 'status', done)
        return os.read(mine, 1 << 16)
    finally:
        os.close(mine)
        os.close(theirs)


@case('top: what a terminal has room for', alone=True)
def top_terminal(context):
    need_bpf(context)
    folder = os.path.join(context.tmp, 'é' * 60 + '中' * 20)
    os.mkdir(folder)
    target = context.start([copy_program(context.program('busy'), folder)])
    command = ('top', '-n', '1', '-s', '1', '-F', '997', str(target.pid))
    for columns in 80, 81:
        clear, text = on_terminal(context, command, (5, columns),
                                  'xterm').split(b'\033[2J')
        lines = text.decode().splitlines()
        check(clear == b'\033[H' and len(lines) == 4, 'rows', (clear, text))
        cut = max(lines, key=len)
        check('é' in cut and len(cut) == columns, 'columns', (columns, lines))
    text = on_terminal(context, command, (5, 130), 'xterm').decode()
    check(re.search('é中+$', text, re.M), 'wide ones', text)
    whole = on_terminal(context, command, (5, 0), 'dumb').decode()
    check('\033' not in whole, 'escapes', whole)
    check('中' * 20 + '/busy)' in whole, 'no size', whole)

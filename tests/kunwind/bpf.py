# SPDX-License-Identifier: BSD-2-Clause
"""
In a guest: that kernel takes the BPF programs of outwind syscalls, and they see
what they see elsewhere.  usage: bpf.py BUILD
"""

import sys

from guestlib import outwind, run_tests
from harness import check

ABSENT = '/no-such-file'
CALLS = ('execve("/bin/cat", ',
         'openat(AT_FDCWD, "%s", O_RDONLY) = -1 ENOENT' % ABSENT,
         'exit_group(1) = ?')


def syscalls():
    """Names, texts, results and flags of calls from exec to exit."""
    done = outwind('syscalls', '-e', 'execve,openat,exit_group', '--',
                   '/bin/cat', ABSENT)
    check(done.returncode == 1, 'exit status', (done.returncode, done.stderr))
    for call in CALLS:
        # The program writes there, too, but each call is written in one go.
        check(done.stderr.count(call) == 1, call, done.stderr)


sys.exit(run_tests(syscalls))

# SPDX-License-Identifier: BSD-2-Clause
"""
In a guest: that kernel takes the BPF programs of outwind syscalls, and they see
what they see elsewhere.  usage: bpf.py BUILD
"""

import os
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
sys.path.insert(0, os.path.join(TOP, 'tests', 'live'))

from harness import Failure, check  # noqa: E402

OUTWIND = os.path.join(os.path.abspath(sys.argv[1]), 'bin', 'outwind')
ABSENT = '/no-such-file'
CALLS = ('execve("/bin/cat", ',
         'openat(AT_FDCWD, "%s", O_RDONLY) = -1 ENOENT' % ABSENT,
         'exit_group(1) = ?')


def run(*arguments):
    return subprocess.run([OUTWIND, *arguments], capture_output=True, text=True,
                          timeout=300, check=False)


def syscalls():
    """Names, texts, results and flags of calls from exec to exit."""
    done = run('syscalls', '-e', 'execve,openat,exit_group', '--',
               '/bin/cat', ABSENT)
    check(done.returncode == 1, 'exit status', (done.returncode, done.stderr))
    for call in CALLS:
        # The program writes there, too, but each call is written in one go.
        check(done.stderr.count(call) == 1, call, done.stderr)


def main():
    passed = failed = 0
    for test in (syscalls,):
        try:
            test()
            passed += 1
        except (Failure, subprocess.TimeoutExpired) as why:
            failed += 1
            print('not ok - %s: %s' % (test.__name__, str(why)[:2000]))
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


sys.exit(main())

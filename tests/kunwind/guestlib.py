# SPDX-License-Identifier: BSD-2-Clause
"""What the programs of tests in a guest share; each is told the build's folder."""

import os
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
sys.path.insert(0, os.path.join(TOP, 'tests', 'live'))

from harness import Failure  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])


def outwind(*arguments):
    """Run it; its output is text."""
    return subprocess.run(
        [os.path.join(BUILD, 'bin', 'outwind'), *map(str, arguments)],
        capture_output=True, text=True, timeout=300, check=False)


def run_tests(*tests):
    """Say which failed, and the counts; the exit status."""
    failed = 0
    for test in tests:
        try:
            test()
        except (Failure, subprocess.TimeoutExpired) as why:
            failed += 1
            print('not ok - %s: %s' % (test.__name__, str(why)[:2000]))
    print('%d passed, %d failed' % (len(tests) - failed, failed))
    return failed != 0

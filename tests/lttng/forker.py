# SPDX-License-Identifier: BSD-2-Clause
"""In a guest: a user's process that forks once it is told to.

usage: forker.py UID: prints a line, and after a line of its input the child's number; the
child executes nothing, and ends with it.
"""
import os
import signal
import sys

os.setuid(int(sys.argv[1]))
print('ready', flush=True)
sys.stdin.readline()
pid = os.fork()
if pid == 0:
    signal.pause()
    os._exit(0)
print(pid, flush=True)
sys.stdin.read()
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)

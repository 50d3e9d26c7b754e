# SPDX-License-Identifier: BSD-2-Clause
"""In a guest: nobody's processes that map a file of a very long path as code.

usage: mappers.py PROCESSES MAPPINGS [stay]: prints a line once they do, and ends with
its input; stay: they remain the caller's.
"""
import mmap
import os
import signal
import sys
import tempfile

NOBODY = 65534

processes, mappings = int(sys.argv[1]), int(sys.argv[2])
os.chdir(tempfile.mkdtemp(dir='/run'))
for i in range(15):
    os.mkdir('d' * 250)
    os.chdir('d' * 250)
fd = os.open('f', os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, mmap.PAGESIZE)
if sys.argv[3:] != ['stay']:
    os.setgid(NOBODY)
    os.setuid(NOBODY)
maps = [mmap.mmap(fd, mmap.PAGESIZE, mmap.MAP_SHARED,
                  mmap.PROT_READ | mmap.PROT_EXEC) for i in range(mappings)]
children = []
for i in range(processes):
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    children.append(pid)
print('mapped', flush=True)
sys.stdin.read()
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

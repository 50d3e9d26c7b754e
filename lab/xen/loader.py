# SPDX-License-Identifier: BSD-2-Clause
"""Stacks of a guest that nobody here compiled: GRUB, as Debian builds it, that
waits for a command.  Its image has neither symbols nor unwind information, and
most of its code is in modules, which it loads to where no image is."""

import json
import os
import re
import struct

import linuxkernel

ROUNDS = 2
# What outwind is given: nothing, the image, and that but to go by frame pointer.
WAYS = 'none', 'image', 'fp'
KEEPS_FP = 'grub-pvh'  # which is of 32 bits; that of 64 has none
REGISTERS = {'grub-pv': ('rip', 'rsp'), 'grub-pvh': ('eip', 'esp')}
FILES = {'grub-pv': 'grub-x86_64-xen.bin', 'grub-pvh': 'grub-i386-xen_pvh.bin'}
FOLDER = 'amd64/sysroot/usr/lib/grub-xen'  # of the packages
START_SIZE = 64  # of the code at the entry, which calls main()
LEAST_FRAMES = 5  # from main() through modules to what reads keys
CONFIG = '''name = "%s"
type = "%s"
kernel = "/host/%s.bin"
memory = 128
vcpus = 1
cpus = "1"
on_crash = "preserve"
'''


class Text:
    """The code that an ELF file has in .text."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            data = file.read()
        word = 'Q' if data[4] == 2 else 'I'  # of 64 bits, or of 32
        head = struct.unpack_from('<3%sI6H' % word, data, 24)
        self.entry = head[0]
        heads = [struct.unpack_from('<II4' + word, data, head[2] + head[7] * i)
                 for i in range(head[8])]
        names = heads[head[9]][4]
        _, _, _, self.start, off, size = next(
            h for h in heads if data.startswith(b'.text\0', names + h[0]))
        self.bytes = data[off:off + size]

    def has(self, pc):
        return self.start <= pc < self.start + len(self.bytes)

    def is_behind_call(self, pc):
        """Is an instruction that calls in front of pc?"""
        if not self.has(pc) or pc - self.start < 7:
            return False
        code = self.bytes[pc - self.start - 7:pc - self.start]
        to = pc + struct.unpack_from('<i', code, 3)[0]
        return (code[2] == 0xe8 and self.has(to)) or any(
            linuxkernel.is_indirect_call(code[i:]) for i in range(6))


def fill(lab, name):
    """Put its image and configuration into the share."""
    kind = name.replace('grub-', '')
    path = os.path.join(os.environ['XENLAB_CACHE'], FOLDER, FILES[name])
    with open(path, 'rb') as file, \
            open(os.path.join(lab.share, name + '.bin'), 'wb') as to:
        to.write(file.read())
    lab.write(name, CONFIG % (name, kind, name))


def check_calls(text, frames, trace):
    """Of a chain of frame pointers: who called is code that calls, as far as
    there is code to see; what xenctx finds is the oracle for all of it."""
    pcs = [int(f['pc'], 16) for f in frames]
    nr = min(len(pcs), len(trace))
    problems = []
    if pcs[:nr] != trace[:nr]:
        problems.append('other callers than xenctx finds')
    for i, pc in enumerate(pcs[1:], 1):
        if text.has(pc) and not text.is_behind_call(pc):
            problems.append('#%d is behind no call' % i)
        if not text.has(pc) and i >= len(trace):
            problems.append('#%d is nowhere' % i)
    return problems


def check_end(text, name, thread, status):
    """A stack is complete, or says why not."""
    frames, is_complete = thread['frames'], thread['complete']
    if status != ('0' if is_complete else '1'):
        return ['complete: %s, but status %s' % (is_complete, status)]
    if not is_complete and (thread['end'] == 'complete' or
                            not thread.get('end_detail')):
        return ['ends without a reason']
    last = int(frames[-1]['pc'], 16)
    if is_complete and name == KEEPS_FP and not (
            text.is_behind_call(last) and last - text.entry < START_SIZE):
        return ['complete, but for where it starts']
    return []


def check_stack(lab, text, name, i, way):
    """(problems, frames that xenctx has too) of a stack of a paused guest."""
    file = '%d.%s' % (i, way)
    try:
        [thread] = json.loads(lab.read(name, file + '.json'))['threads']
        frames = thread['frames']
        pc, sp = (int(frames[0][n], 16) for n in ('pc', 'sp'))
    except (ValueError, KeyError, IndexError) as why:
        return ['%s; %s' % (why, lab.read(name, file + '.err').strip())], 0
    regs, trace = lab.context(name, i, 0)
    want = tuple(regs.get(n) for n in REGISTERS[name])
    problems = check_end(text, name, thread,
                         lab.read(name, file + '.status').strip())
    if (pc, sp) != want:
        problems.append('%s, xenctx: %s' % ((pc, sp), want))
    if any(f['how'] != 'frame pointer' for f in frames[1:]):
        problems.append('by other than the frame pointer')
    # Code of no image ends a stack: so none is made up of what is no code.
    if way == 'image' and not all(text.has(int(f['pc'], 16))
                                  for f in frames[1:]):
        problems.append('frames in no code')
    if name == KEEPS_FP:
        problems += check_calls(text, frames, trace)
    return ['%s: %s' % (p, thread) for p in problems], min(
        len(frames), len(trace))


def check_stacks(lab, name):
    text = Text(os.path.join(lab.share, name + '.bin'))
    problems, most = [], {}
    for i in range(1, ROUNDS + 1):
        for way in WAYS:
            why, nr = check_stack(lab, text, name, i, way)
            problems += ['round %d, %s: %s' % (i, way, p) for p in why]
            most[way] = max(nr, most.get(way, 0))
        if not re.search(r' [-r][-b]p[-s]', lab.read(name, '%d.list' % i)):
            problems.append('round %d: no longer paused' % i)
    if name == KEEPS_FP and min(most['none'], most['fp']) < LEAST_FRAMES:
        problems.append('only %s frames' % most)
    lab.report('%s: registers are xenctx\'s, %s' % (
        name, 'and its callers: %d' % most['none'] if name == KEEPS_FP else
        'and no stack ends without a reason'), problems)


def check_runs(lab, name):
    """After all of it, it does what it is told."""
    problems = []
    if not re.search(r' [-r][-b]-[-s]', lab.read(name, 'after')):
        problems.append('paused: ' + lab.read(name, 'after'))
    if lab.read(name, 'answer').strip() != '0':
        problems.append('no answer: ' + lab.read(
            '.xenlab', 'guest-%s.log' % name)[-300:])
    lab.report(name + ': runs on, and answers', problems)


def check(lab, name):
    check_stacks(lab, name)
    check_runs(lab, name)

# SPDX-License-Identifier: BSD-2-Clause
"""
tbstack's output, read line by line: every line has to be one of the format's,
and in its place.
"""

import re

from harness import check

CHUNK = re.compile(r'chunk #(\d+): 0x([0-9a-f]+)-0x([0-9a-f]+) '
                   r'length: (\d+)K')
HEADING = re.compile(r'-{20}  thread ([1-9]\d*) \(([1-9]\d*)\)  -{20}')
HEADING_STATE = re.compile(r'-{20}  thread ([1-9]\d*) \(([1-9]\d*)\) '
                           r'\(([A-Za-z?])\) -{20}')
FRAME = re.compile(r' ([0-9a-f]{16})  (\S.*)')
FRAME_SP = re.compile(r' ([0-9a-f]{16})  ([0-9a-f]{16})  (\S.*)')
# No name, or none but the object's, has no offset; no offset is zero.
NAME = re.compile(r'(\?)|(\?\? \([^/]+\)|\?\? \[(?:vdso|vsyscall)\])|'
                  r'((?!\?)[^ ].*?)(?: \+ 0x([1-9a-f][0-9a-f]*))?')
SIGNAL = ' <signal handler called>'
BREAK = ' ????????????????  <stack breaks here>'
BREAK_SP = ' ????????????????  ????????????????  <stack breaks here>'
TOO_LONG = ' ????????????????  <stack is too long>'
SUMMARY = (re.compile('-{23}  summary  -{26}'),
           re.compile(r' time the process was frozen: (\d+)ms (\d{1,3})us'),
           re.compile(r' sleep count: (\d+)'),
           re.compile(r' total bytes copied: 0x([0-9a-f]+) \((\d+)K\)'))


class Frame:
    """One frame: addresses, and what stands in the column of names."""

    def __init__(self, pc, sp, text):
        self.pc, self.sp, self.text = pc, sp, text
        found = NAME.fullmatch(text)
        check(found, 'no name of the format', repr(text))
        self.function = found.group(3)
        self.offset = int(found.group(4) or '0', 16)
        self.interrupted = False


class Thread:
    """One thread: its heading, its frames, and 'break', 'long' or ''."""

    def __init__(self, number, tid, state):
        self.number, self.tid, self.state = int(number), int(tid), state
        self.frames = []
        self.end = ''

    def names(self):
        return [frame.function for frame in self.frames]


class Output:
    """All that tbstack has printed; fails at the first line that is wrong."""

    def __init__(self, text, with_sp=False, with_state=False):
        self.with_sp = with_sp
        self.heading = HEADING_STATE if with_state else HEADING
        self.chunks, self.threads, self.summary = [], [], None
        check(text == '' or text.endswith('\n'), 'no newline at the end')
        self.lines = text.split('\n')[:-1]
        self.at = 0
        while self.at < len(self.lines) and self.take_chunk():
            pass
        while self.at < len(self.lines) and self.take_thread():
            pass
        if self.at < len(self.lines):
            self.take_summary()
        check(self.at == len(self.lines), 'more after the end',
              repr(self.lines[self.at:][:3]))

    def line(self):
        return self.lines[self.at] if self.at < len(self.lines) else ''

    def take_chunk(self):
        found = CHUNK.fullmatch(self.line())
        if not found:
            return False
        check(int(found.group(1)) == len(self.chunks), 'chunk', self.line())
        start, end = (int(found.group(i), 16) for i in (2, 3))
        check((end - start) >> 10 == int(found.group(4)), 'chunk length',
              self.line())
        check(not self.chunks or self.chunks[-1][1] <= start, 'chunk order',
              self.line())
        self.chunks.append((start, end))
        self.at += 1
        return True

    def take_thread(self):
        found = self.heading.fullmatch(self.line())
        if not found:
            return False
        self.at += 1
        groups = found.groups() + (None,)
        thread = Thread(groups[0], groups[1], groups[2])
        while self.take_frame(thread):
            pass
        if self.line() == (BREAK_SP if self.with_sp else BREAK):
            thread.end = 'break'
            self.at += 1
        elif self.line() == TOO_LONG:
            check(self.lines[self.at + 1:self.at + 2] == [''],
                  'an empty line after too long a stack')
            thread.end = 'long'
            self.at += 2
        self.threads.append(thread)
        return True

    def take_frame(self, thread):
        interrupted = self.line() == SIGNAL
        if interrupted:
            self.at += 1
        if self.with_sp:
            found = FRAME_SP.fullmatch(self.line())
        else:
            found = FRAME.fullmatch(self.line())
        if not found:
            check(not interrupted, 'no frame behind a signal handler',
                  repr(self.line()))
            return False
        pc, sp = int(found.group(1), 16), None
        if self.with_sp:
            sp = int(found.group(2), 16)
        frame = Frame(pc, sp, found.groups()[-1])
        frame.interrupted = interrupted
        thread.frames.append(frame)
        self.at += 1
        return True

    def take_summary(self):
        found = [wanted.fullmatch(line) for wanted, line in
                 zip(SUMMARY, self.lines[self.at:])]
        check(len(found) == len(SUMMARY) and all(found),
              'lines that are none of the format',
              repr(self.lines[self.at:][:4]))
        ms, us = map(int, found[1].groups())
        size = int(found[3].group(1), 16)
        check(size >> 10 == int(found[3].group(2)), 'bytes in K', self.line())
        self.summary = {'us': ms * 1000 + us, 'sleeps': int(found[2].group(1)),
                        'bytes': size}
        self.at += len(SUMMARY)

# SPDX-License-Identifier: BSD-2-Clause
"""Snapshots (lib/snapformat.h) with any sections, in order or not."""

import ctypes
import struct

META, STRINGS, THREADS, REG_NAMES, REGS, PIECES = range(1, 7)
MEMORY, RANGES, MODULES, OBJECTS, OBJECT_BYTES, JIT_NAMES = range(7, 13)
NONE = 0xffffffff
LOOKED = 2
ENTRIES = {META: 80, STRINGS: 1, THREADS: 120, REG_NAMES: 4, REGS: 8,
           PIECES: 16, MEMORY: 1, RANGES: 24, MODULES: 104, OBJECTS: 8,
           OBJECT_BYTES: 1, JIT_NAMES: 1}
WORD = (1 << 64) - 1


def compress(data):
    """A frame of zstd (RFC 8878)."""
    zstd = ctypes.CDLL('libzstd.so.1')
    zstd.ZSTD_compressBound.restype = zstd.ZSTD_compress.restype = ctypes.c_size_t
    zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    zstd.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t,
                                   ctypes.c_char_p, ctypes.c_size_t,
                                   ctypes.c_int]
    room = zstd.ZSTD_compressBound(len(data))
    out = ctypes.create_string_buffer(room)
    size = zstd.ZSTD_compress(out, room, data, len(data), 1)
    return out.raw[:size]


def mix(lane, word):
    lane = (lane ^ word) * 0x9e3779b97f4a7c15 & WORD
    return lane ^ lane >> 29


def checksum(data):
    """As ow_table_checksum() makes it; bytes 8 to 15 count as zeros."""
    lanes = [len(data), 1, 2, 3]
    data = data[:8] + bytes(8) + data[16:]
    data += bytes(32 - len(data) % 32)
    for words in struct.iter_unpack('<4Q', data):
        lanes = [mix(*pair) for pair in zip(lanes, words)]
    return mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3])


class Snapshot:
    """Sections' records, written by bytes()."""

    def __init__(self):
        self.sections = {kind: bytearray() for kind in ENTRIES}
        self.sections[STRINGS] += b'\0'
        self.nr_shared = 0
        names = [self.text(b'rip'), self.text(b'rsp')]
        self.sections[REG_NAMES] += struct.pack('<2I', *names)
        self.program = self.text(b'/usr/bin/program')

    def add(self, kind, *records):
        """Append records; return the number of the first."""
        first = len(self.sections[kind]) // ENTRIES[kind]
        self.sections[kind] += b''.join(records)
        return first

    def text(self, text):
        """Add a text; return where it is."""
        return self.add(STRINGS, text + b'\0')

    def memory(self, start, data):
        """Memory that reads may find, in address order."""
        self.nr_shared += 1
        self.add(MEMORY, data)
        return self.add(PIECES, struct.pack('<2Q', start, len(data)))

    def thread(self, tid, pc, sp, name=0, why=0, wchan=0, kernel_stack=0):
        """The record of a thread; registers are added."""
        regs = self.add(REGS, struct.pack('<2Q', pc, sp))
        return struct.pack('<iBBHIiiIQQIiQQ6QII', tid, ord('S'), 1, 0, name,
                           1 if why else 0, 0, why, 3, regs, NONE, -2, 0, 0,
                           *bytes(6), wchan, kernel_stack)

    def module(self, start, end, path, inode=0, held=NONE, dev=0):
        """The record of a module whose build-id is all ones."""
        return struct.pack('<7QIIIBBBB32s', start, end, 0, dev, inode, start,
                           0, path, 0, held, LOOKED, 0, 0, 20, b'\1' * 20)

    def code(self, start, end, module):
        """The record of an executable range."""
        return struct.pack('<2QII', start, end, module, 0)

    def bytes(self):
        self.sections[META][:] = struct.pack(
            '<HBBIiIIIQQQQQIIII', 62, 8, 0, 0, 4711, self.program, 0,
            self.nr_shared, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        body = b''.join(
            struct.pack('<IIQ', kind, ENTRIES[kind],
                        len(data) // ENTRIES[kind]) + data +
            bytes(-len(data) % 8) for kind, data in self.sections.items())
        head = b'OWSNAP\r\n' + bytes(8) + struct.pack('<IIQ', 1, 0, len(body))
        file = head + compress(body)
        return file[:8] + struct.pack('<Q', checksum(file)) + file[16:]

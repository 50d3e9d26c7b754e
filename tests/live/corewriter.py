# SPDX-License-Identifier: BSD-2-Clause
"""
Core files made by hand, for what no program writes on demand; as a program:
corewriter.py DIR writes small ones, seeds for the fuzzer.
"""

import gzip
import lzma
import os
import struct
import sys

PT_LOAD, PT_NOTE = 1, 4
R, X, W = 4, 1, 2
NT_PRSTATUS, NT_PRPSINFO, NT_AUXV, NT_FILE = 1, 3, 6, 0x46494c45
AT_ENTRY, AT_EXECFN, AT_SYSINFO_EHDR = 9, 31, 33
DT_DEBUG = 21


class Arch:
    def __init__(self, machine, word, regs_at, pid_at, nr_regs, where):
        self.machine, self.word = machine, word
        self.regs_at, self.pid_at, self.nr_regs = regs_at, pid_at, nr_regs
        self.where = where  # register name: index in the set

    def words(self, *values):
        return b''.join(v.to_bytes(self.word, 'little') for v in values)


ARCHES = {
    'x86_64': Arch(62, 8, 112, 32, 27,
                   {'rbp': 4, 'rip': 16, 'cs': 17, 'rsp': 19}),
    'i386': Arch(3, 4, 72, 24, 17,
                 {'ebp': 5, 'eip': 12, 'cs': 13, 'esp': 15}),
    'aarch64': Arch(183, 8, 112, 32, 34,
                    {'x29': 29, 'x30': 30, 'sp': 31, 'pc': 32,
                     'pstate': 33}),
}


class Core:
    """Notes and segments, written by bytes()."""

    def __init__(self, arch):
        self.arch = ARCHES[arch]
        self.notes = b''
        self.loads = []

    def note(self, name, kind, desc):
        name = name.encode() + b'\0'
        self.notes += struct.pack('<III', len(name), len(desc), kind)
        for part in (name, desc):
            self.notes += part + b'\0' * (-len(part) % 4)
        return self

    def thread(self, tid, **regs):
        a = self.arch
        values = [0] * a.nr_regs
        for name, value in regs.items():
            values[a.where[name]] = value
        desc = bytearray(a.regs_at) + a.words(*values) + bytes(a.word)
        struct.pack_into('<I', desc, a.pid_at, tid)
        return self.note('CORE', NT_PRSTATUS, bytes(desc))

    def psinfo(self, pid, name):
        pid_at, name_at, size = ((24, 40, 136) if self.arch.word == 8 else
                                 (12, 28, 124))
        desc = bytearray(size)
        struct.pack_into('<I', desc, pid_at, pid)
        desc[name_at:name_at + len(name)] = name.encode()
        return self.note('CORE', NT_PRPSINFO, bytes(desc))

    def auxv(self, **pairs):
        known = {'entry': AT_ENTRY, 'execfn': AT_EXECFN,
                 'vdso': AT_SYSINFO_EHDR}
        desc = b''.join(self.arch.words(known[k], v)
                        for k, v in pairs.items())
        return self.note('CORE', NT_AUXV, desc + self.arch.words(0, 0))

    def files(self, *entries):
        """(start, end, page of the file, path)"""
        desc = self.arch.words(len(entries), 4096) + b''.join(
            self.arch.words(*e[:3]) for e in entries)
        desc += b''.join(e[3].encode() + b'\0' for e in entries)
        return self.note('CORE', NT_FILE, desc)

    def load(self, vaddr, data, flags=R | W, paddr=0, memsz=None):
        self.loads.append((vaddr, data, flags, paddr,
                           len(data) if memsz is None else memsz))
        return self

    def header(self, kind, flags, off, vaddr, paddr, filesz, memsz):
        if self.arch.word == 8:
            return struct.pack('<IIQQQQQQ', kind, flags, off, vaddr, paddr,
                               filesz, memsz, 1)
        return struct.pack('<IIIIIIII', kind, off, vaddr, paddr, filesz,
                           memsz, flags, 1)

    def bytes(self):
        wide = self.arch.word == 8
        ehsize, phsize = (64, 56) if wide else (52, 32)
        nr = len(self.loads) + 1
        many = nr >= 0xffff
        off = ehsize + nr * phsize
        headers = bytearray(self.header(PT_NOTE, 0, off, 0, 0,
                                        len(self.notes), len(self.notes)))
        body = bytearray(self.notes)
        for vaddr, data, flags, paddr, memsz in self.loads:
            headers += self.header(PT_LOAD, flags, off + len(body), vaddr,
                                   paddr, len(data), memsz)
            body += data
        # With too many of them, section 0 has the number, at the very end.
        shoff = off + len(body) if many else 0
        ident = b'\x7fELF' + bytes([2 if wide else 1, 1, 1]) + bytes(9)
        start = struct.pack('<HHIQQQIHHHHHH' if wide else '<HHIIIIIHHHHHH',
                            4, self.arch.machine, 1, 0, ehsize, shoff, 0,
                            ehsize, phsize, 0xffff if many else nr,
                            64 if wide else 40, 1 if many else 0, 0)
        end = b''
        if many:
            end = struct.pack('<IIQQQQIIQQ' if wide else '<IIIIIIIIII',
                              0, 0, 0, 0, 0, 0, 0, nr, 0, 0)
        return ident + start + bytes(headers + body) + end


def segment_ends(data):
    """Where in a core file its segments' bytes end."""
    wide = data[4] == 2
    off, = struct.unpack_from('<Q' if wide else '<I', data,
                              32 if wide else 28)
    size, nr = struct.unpack_from('<HH', data, 54 if wide else 42)
    where = '<8xQ16xQ' if wide else '<4xI8xI'
    return [sum(struct.unpack_from(where, data, off + i * size))
            for i in range(nr)]


def frame_chain(arch, base, at, pcs):
    """A stack of frame records: frame pointer, return address."""
    data = b''
    for i, pc in enumerate(pcs):
        last = i + 1 == len(pcs)
        data += ARCHES[arch].words(0 if last else base + len(data) +
                                   2 * ARCHES[arch].word, pc)
    return bytes(at) + data


def link_map(arch, base, links, loop=False):
    """
    r_debug at base, and (bias, path) of each object behind it; the last one
    may lead to the first again.
    """
    w = ARCHES[arch].words
    word = ARCHES[arch].word
    each = 5 * word
    first = base + 4 * word
    names = first + each * len(links)
    data, text = w(1, first, 0, 0), b''
    for i, (bias, path) in enumerate(links):
        after = first + each * (i + 1) if i + 1 < len(links) else \
            first if loop else 0
        data += w(bias, names + len(text), 0, after, 0)
        text += path.encode() + b'\0'
    return data + text


CALLS = {'x86_64': b'\xe8' + bytes(4), 'i386': b'\xe8' + bytes(4),
         'aarch64': b'\0\0\0\x94'}
CALLERS = (0x400190, 0x4001a0, 0x4001b0)


def with_calls(arch, code):
    """Code at 0x400000 in which a call returns to each of CALLERS."""
    code, call = bytearray(code), CALLS[arch]
    for pc in CALLERS:
        code[pc - 0x400000 - len(call):pc - 0x400000] = call
    return bytes(code)


def process(arch='x86_64', files=True, links=(), loop=False):
    """A thread with a stack of three frames, in a program at 0x400000."""
    stack = frame_chain(arch, 0x7000, 0, CALLERS)
    regs = {'x86_64': {'rip': 0x400184, 'rsp': 0x6ff0, 'rbp': 0x7000},
            'i386': {'eip': 0x400184, 'esp': 0x6ff0, 'ebp': 0x7000},
            'aarch64': {'pc': 0x400184, 'sp': 0x6ff0, 'x29': 0x7000}}[arch]
    core = Core(arch).thread(17, **regs).psinfo(16, 'program')
    core.auxv(entry=0x400180, execfn=0x9000)
    if files:
        core.files((0x400000, 0x401000, 0, '/program'),
                   (0x500000, 0x501000, 0, '/lib/one.so'))
    w = core.arch.words
    code = bytes(0x100) + w(DT_DEBUG, 0x8000) + w(0, 0)
    code += bytes(0x200 - len(code))
    core.load(0x400000, with_calls(arch, code), R | X, memsz=0x1000)
    core.load(0x500000, bytes(64), R | X, memsz=0x1000)
    core.load(0x6ff0, bytes(16) + stack)
    core.load(0x8000, link_map(arch, 0x8000, links, loop))
    core.load(0x9000, b'/program\0')
    return core


def program():
    """process()'s file: a segment, and where its dynamic section is."""
    def header(kind, flags, vaddr):
        return struct.pack('<IIQQQQQQ', kind, flags, 0, vaddr, 0, 0x200, 0x200,
                           1)

    start = struct.pack('<HHIQQQIHHHHHH', 2, 62, 1, 0x400180, 64, 0, 0, 64, 56,
                        2, 64, 0, 0)
    data = (b'\x7fELF\2\1\1' + bytes(9) + start +
            header(PT_LOAD, R | X, 0x400000) + header(2, R, 0x400100))
    return with_calls('x86_64', data + bytes(0x200 - len(data)))


def page_tables(levels, vaddr, paddr, at, leaf=0x83):
    """
    The entries of tables, from physical address at, that map 2 MiB by one with
    the bits leaf: (address, bytes); the rest of each table is left out.
    """
    for level in range(levels - 1, 0, -1):
        entry = paddr | leaf if level == 1 else at + 4096 | 3
        yield (at + 8 * (vaddr >> 12 + 9 * level & 511),
               struct.pack('<Q', entry))
        at += 4096


KERNEL = 0xffffffff81000000


def guest(levels=4, info=True, user=False, offset=0, linked=KERNEL,
          build_id=None):
    """
    A machine whose kernel was moved by offset from KERNEL, in a file linked
    elsewhere perhaps, with one CPU and a stack of three frames.
    """
    base = KERNEL + offset
    stack = frame_chain('x86_64', base + 0x1000, 0, (base + 0x198,
                                                     base + 0x1a8))
    core = Core('x86_64')
    core.thread(1, rip=0x401000 if user else base + 0x184, rsp=base + 0xff0,
                rbp=base + 0x1000, cs=0x33 if user else 0x10)
    qemu = bytearray(440)
    struct.pack_into('<II', qemu, 0, 1, 440)
    struct.pack_into('<Q', qemu, 384, base)
    struct.pack_into('<QQ', qemu, 416, 0x10000, 0x1000 if levels == 5 else 0)
    core.note('QEMU', 0, bytes(qemu))
    if info:
        text = ('OSRELEASE=6.1.0\nPAGESIZE=4096\n'
                'SYMBOL(swapper_pg_dir)=ffffffff81010000\n'
                'NUMBER(phys_base)=-16777216\nNUMBER(pgtable_l5_enabled)=%d\n'
                'KERNELOFFSET=%x\n' % (levels == 5, base - linked))
        if build_id:
            text += 'BUILD-ID=%s\n' % build_id
        core.note('VMCOREINFO', 0, text.encode())
    core.load(0, bytes(16) + stack, 0, paddr=0xff0)
    gate = base + 0x190
    core.load(0, struct.pack('<HHHHII', gate & 0xffff, 0x10, 0x8e00,
                             gate >> 16 & 0xffff, gate >> 32, 0), 0)
    for paddr, entry in page_tables(levels, base, 0, 0x10000):
        core.load(0, entry, 0, paddr=paddr)
    return core


KERNEL_A64 = 0xffff800008000000


def guest_aarch64(bits=48, offset=0, signature=0):
    """The same of AArch64, whose return addresses may be signed."""
    base = (KERNEL_A64 | ~((1 << bits) - 1) & (1 << 64) - 1) + offset
    signed = [(base + n) ^ signature for n in (0x198, 0x1a8)]
    stack = frame_chain('aarch64', base + 0x1000, 0, signed)
    core = Core('aarch64')
    core.thread(1, pc=base + 0x184, sp=base + 0xff0, x29=base + 0x1000,
                pstate=0x600003c5)
    text = ('OSRELEASE=6.1.0\nPAGESIZE=4096\n'
            'SYMBOL(swapper_pg_dir)=%x\nNUMBER(VA_BITS)=%d\n'
            'NUMBER(kimage_voffset)=0x%x\nKERNELOFFSET=%x\n' %
            (base + 0x10000, bits, base, base - KERNEL_A64))
    core.note('VMCOREINFO', 0, text.encode())
    core.load(0, bytes(16) + stack, 0, paddr=0xff0)
    for paddr, entry in page_tables((bits - 4) // 9, base, 0, 0x10000, 1):
        core.load(0, entry, 0, paddr=paddr)
    return core


def seeds(folder):
    made = {arch + '-' + kind: process(arch, kind == 'files', links).bytes()
            for arch in ARCHES
            for kind, links in (('files', ()),
                                ('links', ((0, ''), (0x500000, '/lib/a'))))}
    for levels in (4, 5):
        for info in (False, True):
            made['guest-%d-%d' % (levels, info)] = guest(
                levels, info, linked=0x400000).bytes()
    made['guest-user'] = guest(user=True, linked=0x400000).bytes()
    made['guest-aarch64'] = guest_aarch64().bytes()
    small = made['x86_64-files']
    made['gzip'] = gzip.compress(small)
    made['xz'] = lzma.compress(small)
    for name, data in made.items():
        with open(os.path.join(folder, name), 'wb') as f:
            f.write(data)


if __name__ == '__main__':
    seeds(sys.argv[1])

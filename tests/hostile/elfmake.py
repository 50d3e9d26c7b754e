# SPDX-License-Identifier: BSD-2-Clause
"""ELF files (64-bit, little-endian) with other sections than they had."""

import struct

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA = 1, 2, 3, 4
SHF_ALLOC, SHF_COMPRESSED = 2, 0x800
ELFCOMPRESS_ZLIB = 1
EHDR, SHDR, SYM, RELA = '<16sHHIQQQIHHHHHH', '<IIQQQQIIQQ', '<IBBHQQ', '<QQq'


class Section:
    """A section: its header's fields, and its bytes (None: none in the file)."""

    def __init__(self, name, data=b'', kind=SHT_PROGBITS, flags=0, link=0,
                 entry=0):
        self.name, self.data, self.kind = name, data, kind
        self.flags, self.link, self.entry = flags, link, entry
        self.vaddr, self.info, self.align = 0, 0, 1
        self.off = None  # where the bytes are already
        self.size = None


class Elf:
    """A file with sections that can be taken away, changed and added."""

    def __init__(self, path):
        with open(path, 'rb') as f:
            self.bytes = bytearray(f.read())
        self.head = list(struct.unpack_from(EHDR, self.bytes))
        headers = [struct.unpack_from(SHDR, self.bytes,
                                      self.head[6] + i * 64)
                   for i in range(self.head[12])]
        names = headers[self.head[13]]
        self.sections = []
        for h in headers:
            at = names[4] + h[0]
            s = Section(bytes(self.bytes[at:self.bytes.index(0, at)]).decode(),
                        None, h[1], h[2], h[6], h[9])
            s.vaddr, s.off, s.size, s.info, s.align = h[3], h[4], h[5], h[7], h[8]
            self.sections.append(s)

    def section(self, name):
        return next(s for s in self.sections if s.name == name)

    def contents(self, name):
        s = self.section(name)
        return bytes(self.bytes[s.off:s.off + s.size])

    def hide(self, *names):
        """Sections stay where they are, under another name and of no kind."""
        for s in self.sections:
            if s.name in names:
                s.name, s.kind = '.hidden', SHT_PROGBITS

    def add(self, *args, **options):
        s = Section(*args, **options)
        self.sections.append(s)
        return len(self.sections) - 1

    def replace(self, name, data, flags=0):
        s = self.section(name)
        s.data, s.flags = data, flags

    def write(self, path):
        """The file anew; what its segments hold stays where it was."""
        out = bytearray(self.bytes)
        names, at = bytearray(b'\0'), {}
        strings = next(i for i, s in enumerate(self.sections)
                       if i == self.head[13])
        for s in self.sections:
            if s.name not in at:
                at[s.name] = len(names)
                names += s.name.encode() + b'\0'
        self.sections[strings].data = bytes(names)
        for s in dict.fromkeys(self.sections):  # one may be there several times
            if s.data is not None:
                out += bytes(-len(out) % 16)
                s.off = len(out)
                s.size = len(s.data)
                out += s.data
        out += bytes(-len(out) % 16)
        self.head[6] = len(out)
        self.head[12] = len(self.sections)
        many = len(self.sections) >= 0xff00
        for i, s in enumerate(self.sections):
            size = len(self.sections) if many and i == 0 else s.size
            out += struct.pack(SHDR, at[s.name], s.kind, s.flags, s.vaddr,
                               s.off, size, s.link, s.info, s.align, s.entry)
        if many:
            self.head[12] = 0
        struct.pack_into(EHDR, out, 0, *self.head)
        with open(path, 'wb') as f:
            f.write(out)


def symbol(name, value, size, section=1, info=0x12):
    return struct.pack(SYM, name, info, 0, section, value, size)


def compressed(data, declared=None, kind=ELFCOMPRESS_ZLIB):
    """A section's bytes with SHF_COMPRESSED, of packed data."""
    return struct.pack('<IIQQ', kind, 0, declared, 1) + data

# SPDX-License-Identifier: BSD-2-Clause
"""What a Linux kernel for x86-64 says of its own stacks: its ORC, which ends
stacks by name of no function, and the lists of code that it replaces when it
boots (linux-6.1: arch/x86/include/asm/orc_types.h, alternative.h, paravirt.h)."""

import bisect
import struct

END, CALL, REGS, UNKNOWN, NO_CODE = 'end', 'call', 'regs', 'unknown', 'no code'
# A stack of which nothing more is known, by what check() has.
REPLACED = 'replaced'
ALIGNED = 16  # what functions are
OLD_TYPES = CALL, REGS, REGS, CALL
# Since 6.3 there is a type for what is not known, and one for the end.
TYPES = UNKNOWN, END, CALL, REGS, REGS


def is_indirect_call(code):
    """Is it that, all of it?  FF /2, Intel SDM vol. 2."""
    mod, reg, rm = code[1] >> 6, code[1] >> 3 & 7, code[1] & 7
    has_sib = mod != 3 and rm == 4
    base = code[2] & 7 if has_sib and len(code) > 2 else rm
    size = 2 + has_sib + (0, 1, 4, 0)[mod] + 4 * (mod == 0 and base == 5)
    return code[0] == 0xff and reg == 2 and size == len(code)


def lower(elf, to, by):
    """Copy a vmlinux, linked so much lower than it runs (ELF-64, figures 3
    to 5: program and section headers)."""
    with open(elf, 'rb') as file:
        data = bytearray(file.read())
    phoff, shoff = struct.unpack_from('<QQ', data, 32)
    sizes = struct.unpack_from('<4H', data, 54)
    for table, off, size, nr in ((phoff, 16, *sizes[:2]),
                                 (shoff, 16, *sizes[2:])):
        for at in range(table + off, table + off + size * nr, size):
            addr, = struct.unpack_from('<Q', data, at)
            if addr >> 63:
                struct.pack_into('<Q', data, at, addr - by)
    with open(to, 'wb') as file:
        file.write(data)


class Kernel:
    """A vmlinux, of which no symbols are needed."""

    def __init__(self, elf):
        with open(elf, 'rb') as file:
            self.bytes = file.read()
        self.sections = self._sections()
        self.starts, self.kinds = self._orc()
        self.replaced = sorted(self._replaced())

    def _sections(self):
        """Name -> (address, offset, size, is it code), of those with bytes."""
        head = struct.unpack_from('<QQQI6H', self.bytes, 24)
        at, size, nr, names = head[2], head[7], head[8], head[9]
        heads = [struct.unpack_from('<IIQQQQ', self.bytes, at + size * i)
                 for i in range(nr)]
        found = {}
        for name, kind, flags, addr, off, length in heads:
            name += heads[names][4]
            name = self.bytes[name:self.bytes.index(b'\0', name)].decode()
            if kind != 8 and flags & 2:
                found[name] = addr, off, length, flags & 4
        return found

    def _words(self, section, form):
        """Of a section of structures, each with its address."""
        addr, off, length, _ = self.sections[section]
        size = struct.calcsize(form)
        for i in range(length // size):
            yield addr + size * i, struct.unpack_from(
                form, self.bytes, off + size * i)

    def _orc(self):
        starts = [addr + rel for addr, (rel,) in self._words(
            '.orc_unwind_ip', '<i')]
        kinds = []
        has_types = '.orc_header' in self.sections
        for _, (_, _, bits) in self._words('.orc_unwind', '<hhH'):
            kind = OLD_TYPES[bits >> 8 & 3]
            if has_types:
                kind = TYPES[min(bits >> 8 & 7, 4)]
            elif bits >> 10 & 1:
                kind = END
            kinds.append(UNKNOWN if kind == CALL and not bits & 15 else kind)
        return starts, kinds

    def _replaced(self):
        """Ranges of code that is other code once the kernel runs."""
        for addr, (rel, _, _, size, _) in self._words(
                '.altinstructions', '<iiHBB'):
            yield addr + rel, addr + rel + size
        for _, (addr, _, size) in self._words('.parainstructions', '<QBB6x'):
            yield addr, addr + size

    def kind(self, addr):
        """What ORC has for an address."""
        if not any(a <= addr < a + size for a, _, size, is_code in
                   self.sections.values() if is_code):
            return NO_CODE
        i = bisect.bisect_right(self.starts, addr)
        return self.kinds[i - 1] if i else NO_CODE

    def is_replaced(self, addr):
        """Is there other code than the ORC is of?"""
        i = bisect.bisect_right(self.replaced, (addr, 1 << 64))
        return i > 0 and addr < self.replaced[i - 1][1]

    def is_behind_call(self, pc):
        """Is an instruction that calls in front of pc?"""
        for addr, off, size, is_code in self.sections.values():
            if is_code and addr + 7 <= pc <= addr + size:
                code = self.bytes[pc - addr + off - 7:pc - addr + off]
                to = pc + struct.unpack_from('<i', code, 3)[0]
                return (code[2] == 0xe8 and self.kind(to) != NO_CODE) or any(
                    is_indirect_call(code[i:]) for i in range(6))
        return False

    def _is_entered(self, returning, pc):
        """Is pc where code begins, which something returns to to enter it: as a
        task begins, or as retpolines call?"""
        if self.kind(pc) == END:
            return self.kind(pc - 1) == UNKNOWN
        return self.kind(pc) == CALL and pc % ALIGNED == 0 and \
            self._returns(returning)

    def _returns(self, pc):
        """Is at pc a return, or the jump in its place, or the call that this
        jumps to; or UD2, which is behind that call?"""
        return self._bytes_at(pc, 1) in (b'\xc3', b'\xe9', b'\xe8') or \
            self._bytes_at(pc, 2) == b'\x0f\x0b'

    def _bytes_at(self, pc, nr):
        for addr, off, size, is_code in self.sections.values():
            if is_code and addr <= pc <= addr + size - nr:
                return self.bytes[pc - addr + off:pc - addr + off + nr]
        return b''

    def check(self, pcs, complete):
        """Why a stack, innermost first, is none; REPLACED where its first
        frame is in replaced code, of which nothing is known; or None."""
        is_exact = True
        for i, pc in enumerate(pcs):
            addr = pc if is_exact else pc - 1
            kind, is_last = self.kind(addr), i == len(pcs) - 1
            if kind == NO_CODE:
                return '#%d is no code' % i
            if is_exact and self.is_replaced(addr):
                return REPLACED
            # What begins a stack need not have called; some pushes and returns.
            if not is_exact and kind != END and \
                    not self.is_replaced(addr) and not self.is_behind_call(pc):
                if not self._is_entered(pcs[i - 1], pc):
                    return '#%d is behind no call' % i
                kind = self.kind(pc)
            if is_last and kind == CALL:
                return '#%d has a caller' % i
            if is_last and complete != (kind != UNKNOWN):
                return 'complete' if complete else 'incomplete'
            if not is_last and kind in (END, UNKNOWN):
                return '#%d has no caller' % i
            is_exact = kind == REGS
        return None if pcs else 'empty'

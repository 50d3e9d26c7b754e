# SPDX-License-Identifier: BSD-2-Clause
"""What calls what in a guest, from its disassembly: no unwind data is used.

Names tell the rest: start_... begins a CPU, entry_... is where an interrupt
enters, vector_... comes before it and has no CFI, by_pointer_... is called
through pointers, and levels_of_NAME is how often functions NAME... call each
other before they call something else."""

import re
import subprocess

TRAPS = {'ud2', 'brk'}
CALLS = re.compile(r'call|blr?$')
JUMPS = re.compile(r'j|b(r|\.\w+)?$|cbn?z|tbn?z')
LINE = re.compile(r'^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t(\S+)\s*(.*)$')
TARGET = re.compile(r'\b([0-9a-f]+) <([^>+]+)(\+0x[0-9a-f]+)?>')


class Graph:
    """The call graph of an ELF file."""

    def __init__(self, elf, prefix=''):
        self.code = {}     # address -> (function, instruction)
        self.traps = set()  # addresses that trap, and those behind them
        self.sites = {}    # return address -> (caller, callee or None)
        self.calls = {}    # function -> its callees, None by pointer
        self.trapping = set()  # functions that trap
        self.jumps = {}    # function -> the functions that it jumps to
        self.levels = {}   # NAME -> how many levels
        self.functions = set()
        text = subprocess.run([prefix + 'objdump', '-d', elf], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self._disassembly(text)
        text = subprocess.run([prefix + 'nm', elf], stdout=subprocess.PIPE,
                              check=True, text=True).stdout
        for value, name in re.findall(r'^(\w+) A levels_of_(\w+)', text, re.M):
            self.levels[name] = int(value, 16)

    def _disassembly(self, text):
        name = None
        trapped = False
        for line in text.splitlines():
            head = re.match(r'^[0-9a-f]+ <(.+)>:$', line)
            if head:
                name = head[1]
                self.functions.add(name)
                continue
            match = LINE.match(line)
            if not match:
                continue
            pc, insn, rest = int(match[1], 16), match[3], match[4]
            if insn in TRAPS or trapped:
                self.traps.add(pc)
            if insn in TRAPS:
                self.trapping.add(name)
            trapped = insn in TRAPS
            self.code[pc] = name, insn
            target = TARGET.search(rest)
            if CALLS.match(insn):
                behind = pc + len(match[2].replace(' ', '')) // 2
                self.sites[behind] = name, target[2] if target else None
                self.calls.setdefault(name, set()).add(self.sites[behind][1])
            elif JUMPS.match(insn) and target and not target[3] and \
                    target[2] != name:
                self.jumps.setdefault(name, set()).add(target[2])

    def reach(self, callee):
        """The functions that run for a call of callee, or by pointer."""
        todo = [callee] if callee else \
            [f for f in self.functions if f.startswith('by_pointer_')]
        found = set()
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo.extend(self.jumps.get(name, ()))
        return found

    def check(self, pcs):
        """Why a stack, innermost first, is wrong or incomplete, and its
        functions; (None, ...) if it is neither."""
        names = []
        why = self._frames(pcs, names) or self._levels(names)
        if not why and not names[-1].startswith('start_'):
            why = 'incomplete: ends in ' + names[-1]
        return why, names

    def check_names(self, names):
        """The same for a stack of which only the functions are known."""
        for below, name in zip(names, names[1:]):
            if below.startswith('entry_event'):
                continue
            if not (name in self.trapping if below.startswith('entry_') else
                    any(below in self.reach(callee)
                        for callee in self.calls.get(name, ()))):
                return 'wrong: %s does not call %s' % (name, below)
        if not names or not names[-1].startswith('start_'):
            return 'incomplete'
        return self._levels(names)

    def _frames(self, pcs, names):
        if not pcs:
            return 'incomplete: empty'
        for i, pc in enumerate(pcs):
            below = names[-1] if names else None
            if i == 0 or below.startswith('entry_'):
                if pc not in self.code:
                    return 'wrong: #%d %#x is no instruction' % (i, pc)
                name = self.code[pc][0]
                if below and not below.startswith('entry_event') and \
                        pc not in self.traps:
                    return 'wrong: #%d %#x does not trap' % (i, pc)
            elif pc not in self.sites:
                return 'wrong: #%d %#x is behind no call' % (i, pc)
            else:
                name, callee = self.sites[pc]
                if below not in self.reach(callee):
                    return 'wrong: #%d %#x of %s does not call %s' % (
                        i, pc, name, below)
            names.append(name)
        return None

    def _levels(self, names):
        """Recursion: as deep as known once it is over, and never deeper."""
        for prefix, levels in self.levels.items():
            run = 0
            for i, name in enumerate(names):
                if name.startswith(prefix):
                    run += 1
                    continue
                start = i - run
                inner = names[start - 1] if start > 0 else 'entry_'
                if run > levels or (run and run != levels and
                                    not inner.startswith('entry_')):
                    return 'wrong: %d levels of %s' % (run, prefix)
                run = 0
        return None

    def is_blind(self, pc):
        """Is that where nobody can know the caller?"""
        return self.code.get(pc, ('', ''))[0].startswith('vector_')

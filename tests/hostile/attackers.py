# SPDX-License-Identifier: BSD-2-Clause
"""The hostile programs and files of these tests, to run side by side (siege.py)."""

import multiprocessing
import os

import cases_objects

NOBODY = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']

# Programs as they are built.  DIR is a folder of the attacker's own.
PROGRAMS = {
    'userfaultfd, the main stack': ['uffdstack', 'main', 'never', '0'],
    'userfaultfd, among 50 threads': ['uffdstack', 'other', 'never', '50'],
    'userfaultfd, served': ['uffdstack', 'main', 'serve', '0'],
    'FUSE stack': ['fusestack', 'serve', 'sync', 'DIR'],
    'FUSE stack, no answer': ['fusestack', 'never', 'async', 'DIR'],
    'FUSE stack, no signal ends it': ['fusestack', 'never', 'sync', 'DIR'],
    'exec of a file of FUSE': ['fusestack', 'exec', '-', 'DIR'],
    'mappings without end': ['manymaps', '8400'],
    'files without end': ['manyfiles', '8400'],
    'files of another user': ['manyfiles', '3000', '65534'],
    'name that steers a terminal': ['busyname'],
    'copied build-id': ['samebuild_impostor'],
    'original build-id': ['samebuild_victim'],
    'written vDSO': ['vdso_reader', 'lie'],
}

# Changes of a program's file, which works or waits below known functions.
FILES = {
    'endless strings': cases_objects.endless_strings,
    'long names': cases_objects.long_names,
    'nested blocks': cases_objects.nested_blocks,
    'nested namespaces': cases_objects.nested_namespaces,
    'bomb': cases_objects.bomb,
    'damaged bomb': cases_objects.damaged_bomb,
    'DWARF bombs': cases_objects.dwarf_bombs,
    'many symbols': cases_objects.symbols(4000000),
    'minidebug': cases_objects.minidebug,
}

# In shells of nobody's: short processes, and a library that is cut off while in use.
SHORT = 'while :; do /bin/true; done'
CUTTER = ('while :; do cp "$1" lib.so; "$0" "$PWD/lib.so" & sleep 0.3; '
          'truncate -s 4096 lib.so; sleep 0.2; kill $!; rm lib.so; done')


class Attackers:
    """Commands by what they do.  programs is where they were built."""

    def __init__(self, programs, tmp):
        self.programs = programs
        self.tmp = tmp
        self.commands = {}
        for name, command in PROGRAMS.items():
            self.add(name, command)
        for name, change in FILES.items():
            self.add_file(name, change)
        self.commands['short processes'] = [*NOBODY, 'sh', '-c', SHORT]
        self.commands['library that is cut off'] = [
            'sh', '-c', 'cd "$2"; ' + CUTTER, self.path('loadpaused'),
            self.path('libpaused.so'), self.folder('cut')]

    def path(self, program):
        return os.path.join(self.programs, program)

    def folder(self, name):
        path = os.path.join(self.tmp, name.replace(' ', '-'))
        os.makedirs(path, exist_ok=True)
        return path

    def add(self, name, command):
        rest = [self.folder(name) if word == 'DIR' else word
                for word in command[1:]]
        self.commands[name] = [self.path(command[0]), *rest]

    def add_file(self, name, change):
        """Two programs of that file: one waits, and one works."""
        path = os.path.join(self.folder(name), 'through')
        # By another process: memory that is ours counts for what we start, too.
        writer = multiprocessing.Process(
            target=cases_objects.write_changed,
            args=(self.path('through'), change, path))
        writer.start()
        writer.join()
        self.commands[name] = [path]
        self.commands[name + ', working'] = [path, 'work']

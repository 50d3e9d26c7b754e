# SPDX-License-Identifier: BSD-2-Clause
"""The hostile programs and files of these tests, to run side by side (siege.py)."""

import inspect
import multiprocessing
import os
import shutil

import cases_dwarf
import cases_files
import cases_objects

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'programs')
NOBODY = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']

# Programs as they are built.  DIR is a folder of the attacker's own.
PROGRAMS = {
    'userfaultfd, the main stack': ['uffdstack', 'main', 'never', '0'],
    'userfaultfd, among 50 threads': ['uffdstack', 'other', 'never', '50'],
    'userfaultfd, served': ['uffdstack', 'main', 'serve', '0'],
    'FUSE stack': ['fusestack', 'serve', 'sync', 'DIR'],
    'FUSE stack, no answer': ['fusestack', 'never', 'async', 'DIR'],
    'FUSE stack, no signal ends it': ['fusestack', 'never', 'sync', 'DIR'],
    'object of FUSE': ['fusestack', 'object', 'libwaits.so', 'DIR'],
    'object of an overlay over FUSE': ['fusestack', 'layered', 'libwaits.so', 'DIR'],
    'objects of a slow FUSE': ['fusestack', 'slow', 'libwaits.so', 'DIR'],
    'map for perf of a slow FUSE': ['fusestack', 'slowjit', 'libwaits.so',
                                    'DIR'],
    'exec of a file of FUSE': ['fusestack', 'exec', '-', 'DIR'],
    'mappings without end': ['manymaps', '8400'],
    'threads without end': ['manythreads', '2000'],
    'threads that are traced from their start on': ['tracedbirths', 'threads'],
    'processes that are, too': ['tracedbirths', 'processes'],
    'processes without end': ['manychildren', '2000'],
    'threads that end soon': ['shortthreads', '2000', '200'],
    'threads that start the next one and end': ['chainedthreads', '200'],
    'threads of a program that is executed again': ['execthreads', '200', '1000'],
    'code mapped in a loop': ['mapflood'],
    'code split in many ranges': ['splitmaps', '1000'],
    'code mapped by two names': ['twonames', '4', 'DIR'],
    'code mapped in turns': ['swapcode', '200', '100000'],
    'code moved in turns': ['swapmoved', 'turns'],
    'code of a file that changes, in mappings without end': [
        'rewrittenmaps', '16000', 'DIR'],
    'memory moved without end': ['movemuch', '2'],
    'memory moved by children without end': ['movemuch', '2', 'children'],
    'code that a process with the memory replaces': ['swapshared', '200000'],
    'threads in code mapped in turns': ['swapphases', '200', '20'],
    'stacks that may not be read': ['hiddenstack', 'none', '50'],
    'stacks that may not be read, of a memory that changes': [
        'hiddenlock', '1000', '2'],
    'stacks in one mapping that may not be read': ['widestack', '16', '100'],
    'signals that are held while reads wait': ['heldsignals'],
    'stacks that are all of one': ['deepstack', '80', '300'],
    'a stack that another process changes': ['sharedstack'],
    'code in a segment of its own': ['ownsegment', 'spin'],
    'a call in code that is written to since': ['rewrittencall', 'file'],
    'code in many mappings, and threads': ['manycode', '20000', '300'],
    'code with long paths, changed without end': ['longcode', 'DIR', '30000', '20'],
    'paths that are too long': ['longpath', '1000', '2000', 'DIR'],
    'names that cross mounts without end': ['manymounts', '24', '2000', '500',
                                            '2', 'DIR'],
    'marks of signal frames in a stack': ['markedstack', '24', '1000', 'DIR'],
    'files that are holes, and can only be copied': ['overlaidholes', '400',
                                                     '120', 'DIR'],
    'files that can only be copied': ['copiedmaps', 'leased', '12', '1', '100',
                                      'DIR'],
    'deleted files of gigabytes': ['copiedmaps', 'deleted', '60', '1', '16',
                                   'DIR'],
    'stacks of gigabytes': ['hugestack', '4', '2'],
    'names of code without end': ['manyjits', '100', '16000', '600'],
    'maps of code without end, all large': ['largemaps', '200', '65534'],
    'threads that get signals while others are stopped': [
        'tickedthreads', '2000', '200'],
    'threads that no stop reaches': ['manythreads', '600', '200'],
    'filters without end': ['manyfilters', '500'],
    'threads that wait for a kill': ['killablewaits', '600', '2'],
    'rows of code that take long': ['costlyrows', '2'],
    'tables that take long': ['costlytables', '100', 'DIR', '65534'],
    'FDE of 500 KB': ['largefde', '20'],
    'stacks of a thousand frames, all one': ['onestack', 'plain', '3000'],
    'expressions that take long': ['onestack', 'slow', '300'],
    'rules that are copied often': ['onestack', 'saved', '3000'],
    'expressions that read from afar': ['farexprs', 'many', '100', '1000', 'DIR'],
    'files without end': ['manyfiles', '8400'],
    'files of another user': ['manyfiles', '3000', '65534'],
    'files in memory of short processes': ['memfdexec', '1000000', '20', '65534'],
    'a filter that ends who goes on': ['filtered', 'deny', 'poll'],
    'waits in a deep stack': ['deepwaits', '2000', '1000'],
    'waits without end': ['manywaits', '8'],
    'calls from places without end': ['manycallers', '256', '2'],
    'stacks without end': ['manystacks', '65534'],
    'calls below long names': ['longnames', 'call'],
    'names without end, of files': ['longfiles', '1000000', '0'],
    'name that steers a terminal': ['busyname'],
    'copied build-id': ['samebuild_impostor'],
    'numbers of processes used again': ['samenumber', '50'],
    'number of a thread used again': ['headless'],
    'stacks chosen to be taken for one another': ['samehash', '50'],
    'original build-id': ['samebuild_victim'],
    'written vDSO': ['vdso_reader', 'lie'],
    'code of a file that says it is a core': ['corecode', '20000000', 'DIR/core'],
}

# Changes of a program's file, which works or waits below known functions.
FILES = {
    'endless strings': cases_objects.endless_strings,
    'long names': cases_objects.long_names,
    'version that is far away': cases_objects.far_version,
    'endless names': cases_objects.endless_names,
    'nested blocks': cases_dwarf.nested_blocks,
    'nested namespaces': cases_dwarf.nested_namespaces,
    'bomb': cases_objects.bomb,
    'damaged bomb': cases_objects.damaged_bomb,
    'DWARF bombs': cases_dwarf.dwarf_bombs,
    'many symbols': cases_objects.symbols(4000000),
    'minidebug': cases_objects.minidebug,
    'names in namespaces': cases_dwarf.in_namespaces,
    'sparse': cases_dwarf.sparse,
    'debug link': cases_objects.debug_link,
    'shared abbreviations': cases_dwarf.shared_abbreviations,
    'empty units': cases_dwarf.empty_units,
    'many attributes': cases_dwarf.many_attributes,
    'many attributes inside': cases_dwarf.many_attributes_inside,
    'many attributes, inlined': cases_dwarf.many_attributes_inlined,
    'shared ranges': cases_dwarf.shared_ranges,
    'joined names': cases_dwarf.joined_names,
    'many lines': cases_dwarf.many_lines,
    'far origins': cases_dwarf.far_origins,
    'symbols of zeros': cases_objects.symbols_of_zeros,
    'symbols of many zeros': cases_objects.long_symbols,
    'one table often': cases_objects.one_table_often,
    'frames of zeros': cases_objects.frames_of_zeros,
    'frames without a header': cases_objects.frames_without_header,
}
# Of other programs' files, with arguments.
OTHER_FILES = {
    'different names': (cases_objects.different_names, 'manynames', '100'),
    'many stubs': (cases_objects.relocations_of_zeros, 'manynames', '80'),
}
LINKED = 'changed.debug'  # as debug_link() has it
SPARSE_SIZE = 10 << 30  # of the files of sparse() and debug_link()
# Changes whose sections are holes of a file that is made long.
HOLES = {
    cases_dwarf.sparse: SPARSE_SIZE,
    cases_objects.symbols_of_zeros: cases_objects.HUGE_SIZE,
    cases_objects.long_symbols: 256 << 20,
    cases_objects.frames_of_zeros: cases_objects.HUGE_SIZE,
    cases_objects.frames_without_header: cases_objects.HUGE_SIZE,
    cases_objects.relocations_of_zeros: cases_objects.HUGE_SIZE,
}

# Programs of the tests that attack nobody while others run, and why.
NO_ATTACKERS = {
    'bystander': 'is well-behaved: it is what the others must not harm',
    'deepcalls': 'does nothing until it is asked to',
    'execpaths': 'does nothing until it is asked to',
    'fewwaits': 'is well-behaved: its waits are what the others must not take',
    'flippedsymbols': 'needs a library of a test, with many symbols',
    'lingerer': 'does nothing but end for ever',
    'libcutmap.so': 'is preloaded into a tool that is tested',
    'libnomemory.so': 'is preloaded into a tool that is tested',
    'libpass.so': 'is harmless without a slow server of debug files',
    'ownhead': 'needs a library of a test that spins',
    'libplant.so': 'is preloaded into a tool that is tested',
    'manykin': 'is told to a tool that runs it',
    'manysites': 'does nothing until it is asked to',
    'measure': 'runs a tool and tells what the tool took',
    'stackedlibs': 'is harmless without a slow server of debug files',
    'textcalls': 'does nothing until it is asked to',
    'traceme': 'is told to a tool that runs it',
    'usercut': 'uses the library that is tested',
    'userkunwind': 'uses the library that is tested',
    'usernames': 'uses the library that is tested',
}

# Programs that a method of Attackers starts.
OTHERS = (['through'], ['loadpaused', 'libpaused.so'], ['leased'],
          ['swapexec_a', 'swapexec_b'])

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
        for name, (change, program, *arguments) in OTHER_FILES.items():
            path = self.write_file(name, change, program)
            self.commands[name] = [path, *arguments]
        self.add_leased()
        first, second = (self.path('swapexec_' + which) for which in 'ab')
        self.commands['programs that execute each other'] = [
            'setarch', '-R', first, second, first]
        self.commands['short processes'] = [*NOBODY, 'sh', '-c', SHORT]
        self.commands['library that is cut off'] = [
            'sh', '-c', 'cd "$2"; ' + CUTTER, self.path('loadpaused'),
            self.path('libpaused.so'), self.folder('cut')]

    def path(self, program):
        return os.path.join(self.programs, program)

    program = path  # as a test's context calls it

    def folder(self, name):
        path = os.path.join(self.tmp, name.replace(' ', '-'))
        os.makedirs(path, exist_ok=True)
        return path

    def add(self, name, command):
        self.commands[name] = [self.path(command[0])] + [
            word.replace('DIR', self.folder(name)) if 'DIR' in word else
            self.path(word) if word.endswith('.so') else word
            for word in command[1:]]

    def write_file(self, name, change, program):
        """Write a program with other sections, and return its path."""
        path = os.path.join(self.folder(name), program)
        # By another process: memory that is ours counts for what we start, too.
        writer = multiprocessing.Process(
            target=cases_objects.write_changed,
            args=(self.path(program), change, path, HOLES.get(change)))
        writer.start()
        writer.join()
        return path

    def add_file(self, name, change):
        """Two programs of that file: one waits, and one works."""
        path = self.write_file(name, change, 'through')
        if change is cases_objects.debug_link:
            self.add_debug_file(os.path.join(os.path.dirname(path), LINKED))
        self.commands[name] = [path]
        self.commands[name + ', working'] = [path, 'work']

    def add_debug_file(self, path):
        """Write the debug file of debug_link(), whose CRC takes long to compute."""
        shutil.copy(self.path('through'), path)
        os.truncate(path, SPARSE_SIZE)

    def add_leased(self):
        """A library whose debug file is leased."""
        folder = self.folder('leased')
        library, debug = (os.path.join(folder, f) for f in ('lib.so', 'lib.debug'))
        cases_files.strip_to(self, library, debug)
        self.commands['debug file that is leased'] = [self.path('leased'), debug]
        self.commands['library whose debug file is leased'] = [
            self.path('loadpaused'), library]


def built(source):
    """What a source of tests/hostile/programs is built as."""
    name = source[:-len('.c')]
    return name + '.so' if name.startswith('lib') else name


def forgotten():
    """Programs and changes of files that attack, but not here, without a reason."""
    programs = {built(source) for source in os.listdir(SOURCES)
                if source.endswith('.c')}
    known = {word for command in [*PROGRAMS.values(), *OTHERS]
             for word in command}
    known |= {program for _, program, *_ in OTHER_FILES.values()}
    changes = {name for cases in (cases_objects, cases_dwarf)
               for name, value in inspect.getmembers(cases, inspect.isfunction)
               if list(inspect.signature(value).parameters) == ['elf']}
    return sorted(programs - known - set(NO_ATTACKERS)) + sorted(
        changes - {change.__name__ for change in FILES.values()} -
        {change.__name__ for change, *_ in OTHER_FILES.values()})

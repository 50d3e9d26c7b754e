# SPDX-License-Identifier: BSD-2-Clause
"""What a pprof file holds, by profile.proto, and what go tool pprof makes of it."""

import gzip
import os
import re
import subprocess

from harness import PATIENCE, check

# Fields by number: name, and s string, n number, N numbers (packed), or a
# message, many of it if the name ends in '*'.
VALUE_TYPE = {1: ('type', 's'), 2: ('unit', 's')}
LABEL = {1: ('key', 's'), 2: ('str', 's'), 3: ('num', 'n')}
SAMPLE = {1: ('location', 'N'), 2: ('value', 'N'), 3: ('label*', LABEL)}
MAPPING = {1: ('id', 'n'), 2: ('start', 'n'), 3: ('limit', 'n'),
           4: ('offset', 'n'), 5: ('file', 's'), 6: ('build_id', 's'),
           7: ('has_functions', 'n'), 8: ('has_filenames', 'n'),
           9: ('has_line_numbers', 'n'), 10: ('has_inline_frames', 'n')}
LINE = {1: ('function', 'n'), 2: ('line', 'n')}
LOCATION = {1: ('id', 'n'), 2: ('mapping', 'n'), 3: ('address', 'n'),
            4: ('line*', LINE)}
FUNCTION = {1: ('id', 'n'), 2: ('name', 's'), 3: ('system_name', 's'),
            4: ('file', 's')}
PROFILE = {1: ('sample_type*', VALUE_TYPE), 2: ('sample*', SAMPLE),
           3: ('mapping*', MAPPING), 4: ('location*', LOCATION),
           5: ('function*', FUNCTION), 6: ('string*', 'b'),
           9: ('time', 'n'), 10: ('duration', 'n'),
           11: ('period_type', VALUE_TYPE), 12: ('period', 'n'),
           13: ('comment*', 'n'), 14: ('default_sample_type', 's')}


def varint(data, at):
    value = shift = 0
    while True:
        check(at < len(data) and shift < 70, 'a varint is cut off')
        value |= (data[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def decode(data, fields):
    """A message as a dictionary; strings are still numbers."""
    found = {name.rstrip('*'): [] if name[-1] == '*' or kind == 'N' else
             {} if isinstance(kind, dict) else 0
             for name, kind in fields.values()}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        check(key >> 3 in fields, 'an unknown field', key >> 3)
        name, kind = fields[key >> 3]
        value, at = varint(data, at)
        check(key & 7 == (0 if kind in ('n', 's') else 2), 'type of ' + name)
        if key & 7 == 2:
            check(at + value <= len(data), 'bytes are cut off')
            value, at = data[at:at + value], at + value
            if kind == 'N':
                part, value = 0, value
                while part < len(value):
                    number, part = varint(value, part)
                    found[name].append(number)
                continue
            if kind != 'b':
                value = decode(value, kind)
        if name[-1] == '*':
            found[name[:-1]].append(value)
        else:
            found[name] = value
    return found


def put_text(message, fields, strings):
    for name, kind in fields.values():
        value = message[name.rstrip('*')]
        if kind == 's':
            check(value < len(strings), 'a string that is none', value)
            message[name] = strings[value]
        elif isinstance(kind, dict):
            for part in value if isinstance(value, list) else filter(None,
                                                                     [value]):
                put_text(part, kind, strings)


def read_pprof(packed):
    """
    The profile; in samples locations stand for their numbers, in those
    mappings (or None) and functions do.
    """
    profile = decode(gzip.decompress(packed), PROFILE)
    strings = [s.decode() for s in profile['string']]
    check(strings[0] == '' and len(set(strings)) == len(strings), 'strings',
          strings[:5])
    put_text(profile, PROFILE, strings)
    known = {}
    for what in ('mapping', 'function', 'location'):
        known[what] = {each['id']: each for each in profile[what]}
        check(len(known[what]) == len(profile[what]) and
              0 not in known[what], 'numbers of each ' + what)
    for location in profile['location']:
        number = location['mapping']
        location['mapping'] = known['mapping'][number] if number else None
        for line in location['line']:
            line['function'] = known['function'][line['function']]
        check(location['line'], 'a location without a name', location)
    for sample in profile['sample']:
        sample['location'] = [known['location'][n] for n in
                              sample['location']]
        check(len(sample['value']) == len(profile['sample_type']), 'values',
              sample['value'])
    return profile


def names_of(sample):
    """Functions' names, innermost first."""
    return [line['function']['name'] for location in sample['location']
            for line in location['line']]


def go_pprof(context, path, *options):
    return subprocess.run(['go', 'tool', 'pprof', *options, path],
                          env=dict(os.environ, HOME=context.tmp,
                                   PPROF_TMPDIR=context.tmp), check=True,
                          capture_output=True, timeout=PATIENCE
                          ).stdout.decode()


def go_samples(context, path):
    """[(values, functions innermost first)], and mappings, as -raw has them."""
    raw = go_pprof(context, path, '-raw')
    samples, rest = raw[raw.index('\nSamples:'):].split('\nLocations\n')
    locations, mappings = rest.split('\nMappings\n')
    names, last = {}, None
    for line in locations.splitlines():
        found = re.match(r' +(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*):\d+ s=0'
                         r'(?:\(\))?$', line)
        more = re.match(r' +(.*):\d+ s=0(?:\(\))?$', line)
        check(found or more, 'a location', line)
        last = int(found.group(1)) if found else last
        text = (found.group(2) if found else more.group(1)).rstrip()
        names.setdefault(last, []).append(text.strip())
    found = re.findall(r'^ +([\d ]+): ((?:\d+ )*)$', samples, re.M)
    return [(tuple(map(int, values.split())),
             [name for n in places.split() for name in names[int(n)]])
            for values, places in found], mappings


def go_top(context, path, index):
    """{function: (flat, cum)} as -top has it."""
    text = go_pprof(context, path, '-top', '-nodecount=100000',
                    '-nodefraction=0', '-edgefraction=0',
                    '-unit=minimum', '-sample_index=' + index)
    rows = re.findall(r'^ *(\d+)\w* +[\d.]+% +[\d.]+% +(\d+)\w* +[\d.]+% +(.*)$',
                      text, re.M)
    return {name.replace(' (inline)', '').replace(' (partial-inline)', ''):
            (int(flat), int(cum)) for flat, cum, name in rows}

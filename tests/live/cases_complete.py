# SPDX-License-Identifier: BSD-2-Clause
"""Completions of bash and zsh offer what --help lists, and nothing else."""

import os
import re
import subprocess

from harness import PATIENCE, case, check, need

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
BASH = r'''
compopt() { :; }
. "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_outwind
printf '%s\n' "${COMPREPLY[@]}"
'''
# Outside completion: what _outwind would hand to zsh's own functions.
ZSH = r'''
_arguments() { print -rl -- "$@" }
_describe() { print -rl -- "${(@P)2}" }
file=$1; shift
words=("$@") CURRENT=$#
source $file
'''
FORMATS = ['text', 'json', 'folded', 'gdb', 'eu', 'tbstack', 'outwind']


def complete(shell, *words):
    need(shell)
    script, name = {'bash': (BASH, 'outwind.bash'),
                    'zsh': (ZSH, '_outwind')}[shell]
    flags = ['--norc'] if shell == 'bash' else ['-f']
    done = subprocess.run(
        [shell, *flags, '-c', script, shell,
         os.path.join(TOP, 'completions', name), *words],
        capture_output=True, timeout=PATIENCE, check=False)
    check(not done.stderr, 'messages of ' + shell, done.stderr)
    return done.stdout.decode().split('\n')[:-1]


def commands(context):
    text = context.run('--help', status=0).stdout.decode()
    return re.findall(r'^  ([a-z]+) ', text, re.M)


def programs(context):
    """Each with what stands before its options."""
    found = [[context.outwind, name] for name in commands(context)]
    tbstack = os.path.join(TOP, 'build', 'bin', 'tbstack')
    return found + ([[tbstack]] if os.path.exists(tbstack) else [])


def options(program):
    """In the order of the help, whatever stands behind them."""
    done = subprocess.run(program + ['--help'], capture_output=True,
                          timeout=PATIENCE, check=False)
    text = (done.stdout or done.stderr).decode()
    lines = re.findall(r'^(?:options:)? +(-\S.*)$', text, re.M)
    return [option for line in lines for option in re.findall(
        r'(?:^|, )(--?[A-Za-z0-9][a-z-]*)', re.split(r'  +', line)[0])]


@case('completions: commands')
def _(context):
    found = commands(context)
    check(len(found) >= 3, 'commands', found)
    check(complete('bash', context.outwind, '') ==
          ['--help', '--version'] + found, 'bash')
    check(complete('bash', context.outwind, 'tab') == ['tables'], 'bash')


@case('completions: commands in zsh')
def _(context):
    check([line.split(':')[0] for line in complete(
        'zsh', context.outwind, '')] == commands(context), 'zsh')


@case('completions: options')
def _(context):
    for program in programs(context):
        found = options(program)
        check('--help' in found and len(found) > 1, 'options', found)
        check(complete('bash', *program, '-') == found, ' '.join(program),
              (complete('bash', *program, '-'), found))


@case('completions: options in zsh')
def _(context):
    for program in programs(context):
        specs = [line for line in complete('zsh', *program, '-')
                 if line.startswith('-') and line != '-s']
        found = [re.split(r'=?\[', spec)[0] for spec in specs]
        check(found == options(program), ' '.join(program),
              (found, options(program)))
        check(all(re.fullmatch(r'-[^\[]+\[[^\[\]]+\](:[^:]+:[^:]+)?', spec)
                  for spec in specs), 'specs', specs)


@case('completions: arguments')
def _(context):
    for words in (['-f', ''], ['--style', '=', ''], ['--format', '='],
                  ['-S', '--style', '=']):
        check(complete('bash', context.outwind, 'stack', *words) == FORMATS,
              'formats', words)
    check(complete('bash', context.outwind, 'stack', '--style', '=', 'g') ==
          ['gdb'], 'gdb')
    done = context.run('stack', '-f', 'none', '1', status=64)
    listed = re.findall(r'[a-z]+', done.stderr.decode().split(
        "'none': ")[1].splitlines()[0])
    check(set(listed) - {'or'} == set(FORMATS), 'formats of the tool', listed)
    check(complete('bash', context.outwind, 'stack', '--sysroot', '=',
                   '/usr/includ') == ['/usr/include'], 'a folder')
    check(complete('bash', context.outwind, 'stack', '-p', '1')[0] == '1',
          'processes')
    check(complete('bash', context.outwind, 'stack', '-n', '') == [''],
          'numbers')
    check(complete('bash', context.outwind, 'syscalls', '-e', '%') ==
          ['%desc', '%file', '%ipc', '%memory', '%network', '%process',
           '%signal'], 'sets of system calls')

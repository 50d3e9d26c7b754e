# SPDX-License-Identifier: BSD-2-Clause
# bash completion of outwind, tbstack, uniprof and symbolize.  Commands and
# options are those that the program's own --help lists.

# The options in a help text: lines of "  -x, --long=ARG   words".
_outwind_options() {
    sed -nE 's/^(options:)? +(-[A-Za-z0-9])?(, +)?(--[a-z-]+)?([ =].*)?$/\2 \4/p' |
        tr ' ' '\n' | grep -e '^-.'
}

_outwind_pids() {
    (cd /proc && echo [0-9]*)
}

# What may stand behind the option $1, into COMPREPLY; false if nothing may.
_outwind_argument() {
    local formats='text json folded gdb eu tbstack outwind'

    case ${command[0]-} in
    record | report)
        formats='folded pprof speedscope perf json html svg table outwind'
        ;;
    esac
    if [ "${command[0]-} $1" = 'syscalls -e' ]; then
        mapfile -t COMPREPLY < <(compgen -W '%desc %file %ipc %memory
            %network %process %signal' -- "$cur")
        return
    fi
    case $1 in
    -f | --format | --style)
        mapfile -t COMPREPLY < <(compgen -W "$formats" -- "$cur")
        ;;
    --engine)
        mapfile -t COMPREPLY < <(compgen -W 'bpf perf ptrace kunwind' -- "$cur")
        ;;
    -p | --pid)
        mapfile -t COMPREPLY < <(compgen -W "$(_outwind_pids)" -- "$cur")
        ;;
    -e | -E | --executable | --core | -o | --output | --image | --kallsyms | \
        --elf-file | --elf-resolve | --symbol-table)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    --sysroot)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        ;;
    -n | --freeze-limit | --memory-limit | --read-timeout | --stack-size | --stop-timeout)
        COMPREPLY=()
        ;;
    *) return 1 ;;
    esac
}

_outwind() {
    local program=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]}
    local before=$((COMP_CWORD - 1)) command=()

    COMPREPLY=()
    # "--option=word" is three words.
    [ "$cur" = = ] && cur='' && before=$((COMP_CWORD - 1))
    [ "${COMP_WORDS[before]}" = = ] && before=$((before - 1))
    if [ "${program##*/}" = outwind ]; then
        if [ "$COMP_CWORD" -eq 1 ]; then
            mapfile -t COMPREPLY < <(compgen -W "--help --version $(
                "$program" --help | sed -n 's/^  \([a-z]*\)  *.*/\1/p'
            )" -- "$cur")
            return
        fi
        command=("${COMP_WORDS[1]}")
    fi
    _outwind_argument "${COMP_WORDS[before]}" && return
    if [ "${cur:0:1}" = - ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(
            "$program" "${command[@]}" --help 2>&1 | _outwind_options
        )" -- "$cur")
        [ "${COMPREPLY[*]}" ] && compopt -o nosort
        return
    fi
    compopt -o filenames
    mapfile -t COMPREPLY < <(
        compgen -f -- "$cur"
        [ "${command[*]}" = rows ] || [ "${program##*/}" = symbolize ] ||
            compgen -W "$(_outwind_pids)" -- "$cur"
    )
}

complete -F _outwind outwind tbstack symbolize uniprof

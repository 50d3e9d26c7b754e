# SPDX-License-Identifier: BSD-2-Clause
# Bytes of the kernel's stack that the function `from` of a module takes at most,
# with all of the module that it calls: what the kernel's own functions take, which
# it calls at last, is not in it.  Reads objdump -drj .text --no-show-raw-insn;
# x86-64.  `read` is what is called through a pointer; `without`, a list, is not
# followed.  Fails beyond `limit`.

# Of 64 bits with their sign.  A negative one is read by its complement, as awk's
# numbers are exact up to 2^53 only.
function number(hex,    i, n, digit, negative) {
    negative = hex ~ /^[89a-f]/ && length(hex) == 16
    for (i = 1; i <= length(hex); i++) {
        digit = index("0123456789abcdef", substr(hex, i, 1)) - 1
        n = 16 * n + (negative ? 15 - digit : digit)
    }
    return negative ? -n - 1 : n
}

# A call (8 bytes more, for the return address) or a jump out of a function.
function go(to, bytes) {
    nr[f]++
    calls[f, nr[f]] = to
    depth[f, nr[f]] = bytes
}

# The instruction before this line, whose target may have been a relocation.
function finish(    op, to, n, line) {
    if (!insn) return
    n = split(insn, part, /[ \t]+/)
    line = insn
    insn = ""
    op = part[1]
    to = reloc ? reloc : part[2]
    jumped = 0
    if (op == "push") now += 8
    else if (op == "pop") now -= 8
    else if (op == "sub" && part[2] ~ /^\$0x.*,%rsp$/)
        now += number(substr(part[2], 4, length(part[2]) - 8))
    else if (op == "add" && part[2] ~ /^\$0x.*,%rsp$/)
        now -= number(substr(part[2], 4, length(part[2]) - 8))
    else if (op ~ /^call/) go(to, now + 8)
    else if (op ~ /^j/ && reloc) go(to, now)
    else if (op ~ /^j/ && n > 2 && index(part[3], "<" name "+") == 1)
        at[to] = now
    else if (op ~ /^j/) go(to, now)
    if (now < 0) {
        print name ": " now " bytes after " line
        exit bad = 1
    }
    if (now > frame[f]) frame[f] = now
    if (op ~ /^(jmp|ret|ud2)/) jumped = 1
}

/^[0-9a-f]+ <.*>:$/ {
    finish()
    f = $1
    sub(/^0+/, "", f)
    if (f == "") f = "0"
    name = substr($2, 2, length($2) - 3)
    names[f] = name
    where[name] = f
    split("", at)
    now = jumped = frame[f] = 0
    next
}
$2 ~ /^R_X86_64_/ {
    reloc = $3
    sub(/[-+]0x[0-9a-f]+$/, "", reloc)
    next
}
/^ +[0-9a-f]+:\t/ {
    finish()
    reloc = ""
    insn = $0
    sub(/^ +[0-9a-f]+:\t/, "", insn)
    while (sub(/^(cs|ds|bnd|notrack|data16) /, "", insn))
        ;
    addr = substr($1, 1, length($1) - 1)
    # What is jumped to from below only has all of the frame.
    if (addr in at) now = at[addr]
    else if (jumped) now = frame[f]
}

function deepest(g, level,    i, to, most, bytes, way) {
    if (level > 30) { print names[g] " is called in more than 30 levels"; exit bad = 1 }
    most = frame[g]
    way = names[g]
    for (i = 1; i <= nr[g]; i++) {
        to = calls[g, i]
        if (to ~ /^(\*|__x86_indirect_thunk)/) to = read
        if (to in where) to = where[to]
        bytes = depth[g, i]
        if (to in names && !(names[to] in left_out)) bytes += deepest(to, level + 1)
        if (bytes > most) {
            most = bytes
            way = names[g] " > " (to in names ? ways[to] : to)
        }
    }
    ways[g] = way
    return most
}

END {
    if (bad) exit 1
    finish()
    n = split(without, part, " ")
    for (i = 1; i <= n; i++) left_out[part[i]] = 1
    if (!(from in where)) { print from " is not there"; exit 1 }
    most = 8 + deepest(where[from], 1)
    print most " bytes: " ways[where[from]]
    exit most > limit
}

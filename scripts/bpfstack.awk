# SPDX-License-Identifier: BSD-2-Clause
# The stack that programs may need together with what they call, as Linux 6.1
# counts it: whole 32 bytes for each function, 32 at least, and 512 together.
# Reads what llvm-objdump -dr --no-show-raw-insn prints.
function note(size) {
    if (size > frame[name]) frame[name] = size
}

function deepest(f, level,    i, n, list, most, depth) {
    if (level > 8) { print f " is called in more than 8 levels"; bad = 1; return 0 }
    n = split(calls[f], list, " ")
    for (i = 1; i <= n; i++) {
        depth = deepest(list[i], level + 1)
        if (depth > most) most = depth
    }
    return most + (frame[f] ? int((frame[f] + 31) / 32) * 32 : 32)
}

/^[0-9a-f]+ <.*>:$/ {
    if ($2 !~ /^<LBB/) {
        name = substr($2, 2, length($2) - 3)
        frame[name] += 0
        split("", copied)
    }
    next
}

# Loads and stores; and the addresses of what is on the stack.
match($0, /\(r10 - [0-9a-fx]+\)/) {
    note(number(substr($0, RSTART + 7, RLENGTH - 8)))
}
$3 == "=" && $4 == "r10" { copied[$2] = 1; next }
$3 == "+=" && $4 ~ /^-/ && copied[$2] {
    note(number(substr($4, 2)))
    delete copied[$2]
}
$2 == "R_BPF_64_32" { calls[name] = calls[name] " " $3; called[$3] = 1 }

function number(text,    i, n) {
    if (text !~ /^0x/) return text + 0
    text = substr(text, 3)
    for (i = 1; i <= length(text); i++)
        n = 16 * n + index("0123456789abcdef", substr(text, i, 1)) - 1
    return n
}

END {
    for (f in frame) {
        if (f in called) continue
        programs++
        depth = deepest(f, 1)
        if (depth > 512) { print f " needs " depth " bytes of stack"; bad = 1 }
        if (verbose) print depth, f
    }
    exit bad || programs == 0
}

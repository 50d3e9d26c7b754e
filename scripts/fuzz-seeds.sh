#!/bin/sh
# Seeds for the fuzzers, from real compilers' output: fuzz-seeds.sh CORPUS.
# Each begins with the bytes that its fuzzer's head comment says.
#
# Bytes are made by formats, and options come in lists:
# shellcheck disable=SC2059,SC2086
set -eu

corpus=${1:-fuzz/corpus}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$corpus/eh_frame" "$corpus/cfa" "$corpus/expr" "$corpus/hdr" \
	"$corpus/elf" "$corpus/table" "$corpus/walk" "$corpus/snapshot" \
	"$corpus/nametext" "$corpus/paging"

# le SIZE VALUE...: each value in so many little-endian bytes.
le() (
	size=$1
	shift
	for value; do
		i=0
		while [ $((i += 1)) -le "$size" ]; do
			printf "\\$(printf %03o $((value & 255)))"
			value=$((value >> 8))
		done
	done
)

cat >"$tmp/a.c" <<'END'
void other(int *p, int n, ...);
int buffer[64];
int leaf(int a) { return a * 3; }
int middle(int a) { int b[9]; other(b, a, 1, 2, 3, 4, 5, 6, 7, 8); return b[a]; }
int dynamic(int n) { int b[n]; other(b, n); return b[0] + middle(b[n - 1]); }
__attribute__((aligned(64))) int aligned(int n)
{
	int v[8] __attribute__((aligned(64)));

	for (int i = 0; i < n; i++)
		other(v, i);
	return v[n] + dynamic(n);
}
void other(int *p, int n, ...) { if (n > 3) buffer[n] = aligned(p[n]); }
void _start(void) { other(buffer, middle(4)); for (;;) ; }
END
# The addresses that the fuzzers give their sections.
link="-nostdlib -static -Wl,--build-id,-z,noseparate-code -Wl,-Ttext=0x100"
link="$link -Wl,--section-start=.eh_frame_hdr=0x10000,--eh-frame-hdr"

# section FILE NAME OUT
section() {
	"${cross}objcopy" --dump-section "$2=$3" "$1" /dev/null
}

# stack WORD: return addresses into the code, and frame pointers.
stack() {
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		le "$1" $((0x7ff00000 + 32 * i)) $((0x400100 + 23 * i))
	done
}

seeds() {
	n=$1 word=$2 cross=$3
	shift 3
	cc="${cross}gcc $* -fno-stack-protector"
	for opt in -O0 -O2 -Os; do
		s=$n$opt
		$cc $opt -fasynchronous-unwind-tables "$tmp/a.c" $link \
			-Wl,--section-start=.eh_frame=0x11000 -o "$tmp/hdr"
		$cc $opt -fasynchronous-unwind-tables "$tmp/a.c" $link \
			-Wl,--section-start=.eh_frame=0x10000 \
			-Wl,--no-eh-frame-hdr -o "$tmp/eh"
		$cc $opt -g -fno-asynchronous-unwind-tables \
			-fno-unwind-tables -gno-as-loc-support -c "$tmp/a.c" \
			-o "$tmp/debug.o"
		section "$tmp/eh" .eh_frame "$tmp/eh.bin"
		section "$tmp/hdr" .eh_frame "$tmp/eh2.bin"
		section "$tmp/hdr" .eh_frame_hdr "$tmp/hdr.bin"
		section "$tmp/debug.o" .debug_frame "$tmp/debug.bin"
		{ le 1 $((n + 0x20)); cat "$tmp/eh.bin"; } \
			>"$corpus/eh_frame/eh$s"
		{ le 1 $((n + 0x10)); cat "$tmp/debug.bin"; } \
			>"$corpus/eh_frame/debug$s"
		{ le 1 "$n"; le 2 "$(wc -c <"$tmp/hdr.bin")"
		  cat "$tmp/hdr.bin" "$tmp/eh2.bin"; } >"$corpus/hdr/hdr$s"
		for pc in 0x100 0x118 0x150 0x20100; do
			{ le 1 "$n"; le 3 $pc; le 2 0x20; le 3 0x120
			  le 2 $((24 * word)); stack "$word"
			  cat "$tmp/eh.bin"; } >"$corpus/walk/walk$s-$pc"
		done
		{ le 1 "$n" 1 $((256 - word)) 0x1b 7; tail -c +20 "$tmp/eh.bin"
		} >"$corpus/cfa/cfa$s"
	done
	# An object has sections, a program has segments.
	$cc -Os -c "$tmp/a.c" -o "$tmp/a.o"
	cp "$tmp/a.o" "$corpus/elf/object$n"
	$cc -Os "$tmp/a.c" -nostdlib -static \
		-Wl,--build-id,-z,noseparate-code,-s -o "$corpus/elf/exe$n"
	head -c 1200 /bin/true >"$corpus/elf/true"
}

seeds 0 8 ""
seeds 1 4 "" -m32 -fno-pie
seeds 2 8 aarch64-linux-gnu-

# Expressions: registers known, seed, CFA; then a PLT's (breg7 8, breg16 0,
# lit15, and, lit11, ge, lit3, shl, plus), a deref, and a loop.
for n in 0 1 2 16 17 18; do
	for e in '\167\010\200\000\077\032\073\052\063\044\042' \
		'\163\170\006\043\010\006' \
		'\020\005\061\034\022\050\372\377' \
		'\010\200\011\200\036\035\061\033\037\040\031\026\024\025\001' \
		'\234\224\002\003\000\001\000\000\000\000\000\000\042'; do
		{ le 1 "$n"; le 6 0x3ffffffffff; le 8 0x7ffe0010 0x7ffe1000
		  printf "$e"; } >"$corpus/expr/$n-$(printf "$e" | cksum |
			cut -d' ' -f1)"
	done
done

# All call frame opcodes in a row, each with small operands.
for n in 0 1 2; do
	{ le 1 "$n" 1 0xf8 0x00 5; printf '\014\007\010\220\001'
	  printf '\101\002\001\003\001\000\004\001\000\000\000\005\006\002'
	  printf '\006\006\007\003\010\014\011\014\015\012\013\014\006\020'
	  printf '\015\007\016\040\017\002\167\010\020\006\002\166\000'
	  printf '\021\006\176\022\007\176\023\176\024\006\002\025\006\176'
	  printf '\026\006\001\060\056\020\057\006\002\055\306\001'
	  le $((n == 1 ? 4 : 8)) 0x1100; } >"$corpus/cfa/all$n"

	# Table: one block of five rows, the first a sequence of two parts; two
	# rules, and one set of ra and a register.
	{ le 1 "$n"; le 4 0x5442574f; le 2 2 62; le 8 0 0 0; le 4 1 5
	  le 2 3 1 2; le 1 8 16; le 4 0x10; le 2 0; le 1 0x21 7
	  le 1 5 0x11 0xc0 0x10 0x10 4 3 1 0 2 7; le 8 0 0 0 0 0 0
	  le 1 0 0 0 0 0
	  le 1 0x00 0x08 0x00 0x00 0x10 0x00 0x01 0x00 0x00
	  le 1 6 0xfe 2 4 2 3 0
	} >"$corpus/table/table$n"
done

# part TYPE ENTRY NR: a snapshot's, of the bytes in $tmp/part.
part() {
	le 4 "$1" "$2"
	le 8 "$3"
	cat "$tmp/part"
	head -c $(((8 - $(wc -c <"$tmp/part") % 8) % 8)) /dev/zero
}

# A thread on a stack of frame pointers, and one that wasn't captured; memory
# that is shared, and a thread's own; code of an object, and of a JIT.
snapshot() {
	{ le 2 62; le 1 8 0; le 4 0 7 1 0 1; le 8 1 0 2 3 4; le 4 5 6 9 0
	} >"$tmp/part"
	part 1 80 1
	printf '\000/bin/x\000\000/p\000rip\000rsp\000rbp\000gone\000' \
		>"$tmp/part"
	part 2 1 "$(wc -c <"$tmp/part")"
	{ le 4 7; le 1 83 7; le 2 0; le 4 1 0 0 0; le 8 7 0; le 4 1 0
	  le 8 0x7000 64 1 2 3 4 5 6; le 4 1 1
	  le 4 8; le 1 90 0; le 2 0; le 4 1 4 0 24; le 8 0 0
	  le 4 0xffffffff 0xffffffff; le 8 0 0 0 0 0 0 0 0; le 4 0 0
	} >"$tmp/part"
	part 3 120 2
	le 4 12 16 20 >"$tmp/part"
	part 4 4 3
	le 8 0x1010 0x7000 0x7008 >"$tmp/part"
	part 5 8 3
	le 8 0x7000 64 0x7000 64 >"$tmp/part"
	part 6 16 2
	{ le 8 1 0x7018 0x1020 2 0x7028 0x2010 0 0x1030
	  le 8 1 0x7018 0x1020 2 0x7030 0x2010 0 0x1040; } >"$tmp/part"
	part 7 1 128
	{ le 8 0x1000 0x2000; le 4 0xffffffff 0
	  le 8 0x2000 0x3000; le 4 0 0; } >"$tmp/part"
	part 8 24 2
	{ le 8 0x2000 0x3000 0x100 1 2 0x2000 0; le 4 1 0 0; le 1 2 0 0 20
	  le 8 1 2 3 4; } >"$tmp/part"
	part 9 104 1
	size=$(wc -c <"$corpus/elf/exe0")
	le 8 "$size" >"$tmp/part"
	part 10 8 1
	cp "$corpus/elf/exe0" "$tmp/part"
	part 11 1 "$size"
	echo '1010 10 jit' >"$tmp/part"
	part 12 1 "$(wc -c <"$tmp/part")"
}
snapshot >"$tmp/snapshot"
{ le 1 0; cat "$tmp/snapshot"; } >"$corpus/snapshot/plain"
{ le 1 1; le 4 "$(wc -c <"$tmp/snapshot")"
  zstd -q -c "$tmp/snapshot"; } >"$corpus/snapshot/packed"

# Tables of symbols, and an address in them.
{ le 8 0x400120; nm -n "$corpus/elf/object0"; } >"$corpus/nametext/nm"
{ le 8 0x401000; printf '401000 T a\n  400ff0 t b\tx\r\n401000 D c\n'
  printf '      U d\n0x401008 W e'; } >"$corpus/nametext/odd"

# paging NAME KIND REGISTER... ADDRESS: of a processor; and tables whose entries
# lead to others, all of which look the same.
paging() {
	name=$1 kind=$2
	shift 2
	{ le 1 "$kind"; le 8 "$@" 0x123456
	  le 8 0x2067 0x30000e7 0x407 0 0x5003 0x60000705 0x7001 0x10c0e
	} >"$corpus/paging/$name"
}
paging x86-4 0 0x80000001 0x1000 0x20 0x500 -0x7fffffedcbaa
paging x86-5 0 0x80000001 0x1000 0x1020 0x500 0x123456789a
paging x86-pae 0 0x80000001 0x1020 0x20 0 0xc0123456
paging x86-32 0 0x80000001 0x1000 0x10 0 0xc0123456
paging arm64-4k 1 1 0x2b5103510 0x1000 0x2000 -0x7fffffedcbaa
paging arm64-16k 1 1 0x75108000 0x1000 0x2000 0x123456
paging arm64-64k 1 1 0xf5107510 0x1000 0x2000 -0x7fffffedcbaa
paging arm-long 2 1 0x80010000 0x1000 0x2000 0x40123456
paging arm-short 2 1 2 0x4000 0x8000 0x12345678

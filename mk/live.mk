# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# End to end: real processes and core files, against gdb and eu-stack as well.
# What can't be built here is left out, and its test says so.

comma := ,
live := $(B)/live
live_src := tests/live/programs
live_flags := -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls
live_cxx := $(live_flags) -std=c++17
live_x32 := -m32 -idirafter /usr/include/x86_64-linux-gnu
live_a64 := aarch64-linux-gnu-gcc
RUSTC ?= $(or $(shell command -v rustc),$(wildcard $(HOME)/.cargo/bin/rustc))

# $(1) the program, $(2) its source, $(3) the command but -o, $(4) libraries.
define live_rule
live_programs += $(live)/$(1)
$(live)/$(1): $(live_src)/$(2) $(live_src)/stay.h $(live_src)/swapped.h $(live_src)/ready.inc mk/live.mk
	@mkdir -p $$(@D)
	@echo "  LIVE  $$@"
	@$(3) $(live_src)/$(2) $(4) -o $$@ || echo "not built: $$@"
endef
live_program = $(eval $(call live_rule,$(1),$(2),$(3),$(4)))
live_chain = $(call live_program,chain-$(1),chain.c,$(2) $(live_flags) $(3))

$(call live_chain,pie,$(CC),-fPIE -pie)
$(call live_chain,no-pie,$(CC),-fno-pie -no-pie)
$(call live_chain,static,$(CC),-static)
$(call live_chain,static-pie,$(CC),-fPIE -static-pie)
$(call live_chain,O0,$(CC),-O0)
$(call live_chain,O3-lto,$(CC),-O3 -flto)
$(call live_chain,fp,$(CC),-fno-omit-frame-pointer)
$(call live_chain,clang,clang,-Wno-unknown-attributes)
$(call live_chain,lld,$(CC),-fuse-ld=lld)
$(call live_chain,lld-no-rosegment,$(CC),-fuse-ld=lld -Wl$(comma)--no-rosegment)
$(call live_chain,lld-separate-code,$(CC),-fuse-ld=lld -Wl$(comma)-z$(comma)separate-code)
$(call live_chain,lld-separate-loadable,$(CC),-fuse-ld=lld -Wl$(comma)-z$(comma)separate-loadable-segments)
$(call live_chain,lld-static,$(CC),-fuse-ld=lld -static)
$(call live_chain,gold,$(CC),-fuse-ld=gold)
$(call live_chain,noseparate-code,$(CC),-Wl$(comma)-z$(comma)noseparate-code)
$(call live_chain,no-eh-frame-hdr,$(CC),-Wl$(comma)--no-eh-frame-hdr)
$(call live_chain,split,$(CC),-DALIGNED=4096)
$(call live_chain,musl,musl-gcc,)
$(call live_chain,musl-static,musl-gcc,-static)
$(call live_chain,i386,$(CC),$(live_x32))
$(call live_chain,i386-no-pie,$(CC),$(live_x32) -fno-pie -no-pie)
$(call live_chain,i386-static,$(CC),$(live_x32) -static)
$(call live_chain,i386-stackrealign,$(CC),$(live_x32) -mstackrealign)
$(call live_chain,stripped,$(CC),-Wl$(comma)-s)
$(call live_chain,debug-frame,$(CC),-fno-asynchronous-unwind-tables -fno-unwind-tables)
$(call live_chain,debug-frame-gz,$(CC),-fno-asynchronous-unwind-tables -fno-unwind-tables -gz)
$(call live_chain,debug-frame-gnu-gz,$(CC),-fno-asynchronous-unwind-tables -fno-unwind-tables -gz=zlib-gnu)
$(call live_chain,no-build-id,$(CC),-Wl$(comma)--build-id=none)

$(call live_program,shapes,shapes.c,$(CC) $(live_flags))
$(call live_program,shapes-clang,shapes.c,clang -w $(live_flags))
$(call live_program,shapes-i386,shapes.c,$(CC) $(live_x32) $(live_flags))
$(call live_program,signals,signals.c,$(CC) $(live_flags) -pthread)
$(call live_program,signals-i386,signals.c,$(CC) $(live_x32) $(live_flags) -pthread)
$(call live_program,signals-static,signals.c,$(CC) $(live_flags) -static -pthread)
$(call live_program,signals-musl,signals.c,musl-gcc $(live_flags) -static -pthread)
$(call live_program,secrets,secrets.c,$(CC) $(live_flags))
$(call live_program,secrets-clang,secrets.c,clang $(live_flags))
$(call live_program,threads,threads.c,$(CC) $(live_flags) -pthread)
$(call live_program,turns-a,turns.c,$(CC) $(live_flags) -DFUNCTION=turn_a)
$(call live_program,turns-b,turns.c,$(CC) $(live_flags) -DFUNCTION=turn_b)
$(call live_program,uring,uring.c,$(CC) $(live_flags))
$(call live_program,loader,loader.c,$(CC) $(live_flags))
$(call live_program,plugin.so,plugin.c,$(CC) $(live_flags) -shared -fPIC)
$(call live_program,decoy.so,plugin.c,$(CC) $(live_flags) -shared -fPIC -DDECOY)
$(call live_program,asm,asm.S,$(CC) -nostdlib -static)
$(call live_program,asm-spin,asm.S,$(CC) -nostdlib -static -DSPIN)
$(call live_program,inreg,inreg.S,$(CC) -nostdlib -static)
$(call live_program,nocfi,nocfi.S,$(CC) -nostdlib -static)
$(call live_program,guesses,guesses.c,$(CC) -O2 -g)
$(call live_program,nameless,nameless.S,$(CC) -nostdlib -static)
$(call live_program,kernel,kernel.S,$(CC) -nostdlib -static -Wl$(comma)-Ttext=0xffffffff81000000$(comma)--build-id=0x0a1b2c3d)
$(call live_program,kernel-aarch64,kernel.S,$(live_a64) -nostdlib -static -Wl$(comma)-Ttext=0xffff800008000000)
$(call live_program,throwing,throwing.cc,$(CXX) $(live_cxx))
$(call live_program,throwing-clang,throwing.cc,clang++ -w $(live_cxx))
$(call live_program,throwing-static,throwing.cc,$(CXX) $(live_cxx) -static)
$(call live_program,chain-rust,chain.rs,env -u MAKEFLAGS -u MFLAGS $(RUSTC) --edition 2021 -O)
$(call live_program,chain-rust-v0,chain.rs,env -u MAKEFLAGS -u MFLAGS $(RUSTC) --edition 2021 -g -C symbol-mangling-version=v0)
$(call live_program,crash,crash.c,$(CC) $(live_flags))
$(call live_program,crash-i386,crash.c,$(CC) $(live_x32) $(live_flags))
$(call live_program,crash-aarch64,crash.c,$(live_a64) $(live_flags))
$(call live_program,crash-aarch64-static,crash.c,$(live_a64) $(live_flags) -static)
$(call live_program,crash-aarch64-pac,crash.c,$(live_a64) $(live_flags) -mbranch-protection=pac-ret -march=armv8.3-a -static)
$(call live_program,crash-aarch64-bti-pac,crash.c,$(live_a64) $(live_flags) -mbranch-protection=standard -static)

# Faults: odd places to be in, what dies while it is held, or changes before.
$(call live_program,faults,faults.c,$(CC) $(live_flags) -pthread)
$(call live_program,dying.so,dying.c,$(CC) $(live_flags) -D_GNU_SOURCE -shared -fPIC)
live_late = $(CC) $(live_flags) -D_GNU_SOURCE
$(call live_program,late,late.c,$(live_late))
$(call live_program,late-inner.so,late.c,$(live_late) -DENTER=inner_enter -shared -fPIC)
$(call live_program,late-outer.so,late.c,$(live_late) -DENTER=outer_enter -shared -fPIC)
$(call live_program,late-hook.so,late.c,$(live_late) -DHOOK -shared -fPIC)
# lld puts constants in front of code: of these, that begins on another page.
live_lld = $(CC) $(live_flags) -DBALLAST=20000 -fuse-ld=lld -Wl$(comma)--build-id
$(call live_program,crash-lld,crash.c,$(live_lld))
$(call live_program,crash-lld-other,crash.c,$(live_lld) -O1)

$(call live_program,between,between.c,$(CC) $(live_flags),$(live_src)/debugframe.S)

# Where things are called through .plt, the old and the new way.
$(call live_program,tiny.so,tiny.c,$(CC) $(live_flags) -shared -fPIC)
live_tiny = -Wl$(comma)-z$(comma)lazy -Wl$(comma)-rpath$(comma)'$$$$ORIGIN' $(live)/tiny.so
$(call live_program,mapping,mapping.c,$(CC) $(live_flags))
$(call live_program,spin,spin.c,$(CC) $(live_flags) -fcf-protection=none,$(live_tiny))
$(call live_program,spin-cet,spin.c,$(CC) $(live_flags) -fcf-protection=full -Wl$(comma)-z$(comma)ibtplt,$(live_tiny))
$(call live_program,spin-now,spin.c,$(CC) $(live_flags) -fno-plt,$(live_tiny))
$(call live_program,spin-clang,spin.c,clang -w $(live_flags),$(live_tiny))
$(call live_program,spin-i386,spin.c,$(CC) $(live_x32) $(live_flags),$(live)/tiny-i386.so -Wl$(comma)-rpath$(comma)'$$$$ORIGIN')
$(call live_program,tiny-i386.so,tiny.c,$(CC) $(live_x32) $(live_flags) -shared -fPIC)
$(live)/spin $(live)/spin-cet $(live)/spin-now $(live)/spin-clang: $(live)/tiny.so
$(live)/spin-i386: $(live)/tiny-i386.so

# Freezes: calls that wait, programs under load, and all that the library tells.
$(call live_program,calls,calls.c,$(CC) -D_GNU_SOURCE $(live_flags) -pthread)
$(call live_program,waits,waits.c,$(CC) $(live_flags) -pthread)
$(call live_program,int80,int80.c,$(CC) $(live_flags))
$(call live_program,calls-i386,calls.c,$(CC) -D_GNU_SOURCE $(live_x32) $(live_flags) -pthread)
$(call live_program,load,load.c,$(CC) -D_GNU_SOURCE $(live_flags) -pthread)
$(call live_program,load-i386,load.c,$(CC) -D_GNU_SOURCE $(live_x32) $(live_flags) -pthread)
$(call live_program,snapshots,snapshots.c,$(CC) $(live_flags) -Iinclude -Iuapi,$(B)/user/liboutwind.a $(libs))
$(call live_program,held.so,held.c,$(CC) $(live_flags) -shared -fPIC)
$(call live_program,traceable.so,traceable.c,$(CC) $(live_flags) -shared -fPIC)
$(call live_program,keeper.so,keeper.c,$(CC) -D_GNU_SOURCE $(live_flags) -Iinclude -Iuapi -shared -fPIC)
$(live)/snapshots: $(B)/user/liboutwind.a
$(live)/keeper.so: $(wildcard include/outwind/*.h uapi/*.h)

# No section headers: only program headers tell.
live_programs += $(live)/chain-no-sections
$(live)/chain-no-sections: $(live)/chain-pie
	@llvm-objcopy --strip-sections $< $@ || echo "not built: $@"

live_go = cd $(live_src)/gochain && HOME=$(abspath $(live)) \
	GOCACHE=$(abspath $(live))/go-cache GOFLAGS=-mod=mod GOTOOLCHAIN=local \
	CGO_ENABLED=0 go build -o $(abspath $@) $(1) || echo "not built: $@"
live_programs += $(live)/chain-go $(live)/chain-go-w
$(live)/chain-go: $(live_src)/gochain/main.go
	@mkdir -p $(@D)
	@echo "  LIVE  $@"
	@$(call live_go,)

$(live)/chain-go-w: $(live_src)/gochain/main.go
	@mkdir -p $(@D)
	@echo "  LIVE  $@"
	@$(call live_go,-ldflags=-w)

live_programs += $(live)/Jit.class
$(live)/Jit.class: $(live_src)/Jit.java
	@mkdir -p $(@D)
	@echo "  LIVE  $@"
	@javac -d $(@D) $< || echo "not built: $@"

$(call live_program,nowhere,nowhere.c,$(CC) -D_GNU_SOURCE $(live_flags))
$(call live_program,remapped,remapped.c,$(CC) -D_GNU_SOURCE $(live_flags))
$(call live_program,unwritten,unwritten.c,$(CC) -D_GNU_SOURCE $(live_flags) -static)
$(call live_program,touching,touching.c,$(CC) -D_GNU_SOURCE $(live_flags) -static)
$(call live_program,callers,callers.c,$(CC) -D_GNU_SOURCE $(live_flags) -pthread)
$(call live_program,callers-i386,callers.c,$(CC) -D_GNU_SOURCE $(live_x32) $(live_flags) -pthread)
$(call live_program,headless,headless.c,$(CC) -D_GNU_SOURCE $(live_flags) -pthread)
$(call live_program,foreign,foreign.c,$(CC) $(live_flags) -pthread)
$(call live_program,busy,busy.c,$(CC) $(live_flags) -pthread)
$(call live_program,inlines,inlines.c,$(CC) $(live_flags))
$(call live_program,jitting,jitting.c,$(CC) $(live_flags))
$(call live_program,busy-i386,busy.c,$(CC) $(live_x32) $(live_flags) -fno-pie -no-pie -pthread)
$(call live_program,replaced,replaced.c,$(CC) $(live_flags))
$(call live_program,again-static,again.c,$(CC) $(live_flags) -static)
$(call live_program,again-static-pie,again.c,$(CC) $(live_flags) -fPIE -static-pie)
$(call live_program,reborn-a,reborn.c,$(CC) $(live_flags) -pthread -DNAME=a -DROOM=40)
$(call live_program,reborn-b,reborn.c,$(CC) $(live_flags) -pthread -DNAME=b -DROOM=2000)
$(call live_program,turned-small.so,turned.c,$(CC) $(live_flags) -shared -fPIC -DROOM=24)
$(call live_program,turned-large.so,turned.c,$(CC) $(live_flags) -shared -fPIC -DROOM=3000)

live-build: $(live_programs)

# LIVE='pattern ...' runs only tests whose name contains one of them.
check-live: $(addprefix $(B)/bin/,outwind tbstack twindiff uniprof symbolize) \
		live-build
	python3 -B tests/live/run.py --outwind $< --programs $(live) $(LIVE)

# Each system call of the tool fails with all that it can fail with.
check-faults: $(addprefix $(B)/bin/,outwind tbstack twindiff uniprof symbolize) \
		live-build
	OUTWIND_ALL_FAULTS=1 python3 -B tests/live/run.py --outwind $< \
		--programs $(live) inject:

.PHONY: live-build check-live check-faults

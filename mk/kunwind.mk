# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# kunwind: the module for each kernel whose headers are there, its library, and
# tests in guests that boot Debian's kernels.

kunwind_lib := $(wildcard libkunwind/*.c)
kunwind_obj := $(kunwind_lib:%.c=$(B)/user/%.o)
# Kernels that the module is built for, and the one that make check boots.
KVERS ?= $(patsubst /usr/src/linux-headers-%,%,$(wildcard \
	/usr/src/linux-headers-6.1.*-amd64 /usr/src/linux-headers-6.12.*-amd64))
KVER ?= $(lastword $(sort $(filter 6.1.%,$(KVERS))))
kmod_files := $(wildcard kmod/*)
# Where the headers of a kernel are; those ending in -debug are built in the lab.
kheaders = $(if $(filter %-debug,$(1)),$(abspath $(B)/lab/kernel-$(1)/build), \
	/usr/src/linux-headers-$(1))

$(B)/user/libkunwind.a: $(kunwind_obj)
	@rm -f $@
	@$(AR) rcs $@ $^

$(B)/lib/libkunwind.so.$(VERSION): $(kunwind_obj) $(B)/user/liboutwind.a \
		libkunwind/libkunwind.map
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) -shared -Wl,-soname,libkunwind.so.$(SOVERSION) -Wl,-z,defs \
		-Wl,--version-script,libkunwind/libkunwind.map $(LDFLAGS) \
		$(filter %.o,$^) $(B)/user/liboutwind.a $(libs) -o $@

$(B)/lib/libkunwind.so: $(B)/lib/libkunwind.so.$(VERSION)
	ln -sf libkunwind.so.$(VERSION) $(B)/lib/libkunwind.so.$(SOVERSION)
	ln -sf libkunwind.so.$(SOVERSION) $@

all: $(B)/lib/libkunwind.so

# One module a kernel: make kmod KVERS=6.1.0-56-amd64
$(B)/kmod-%/kunwind.ko: $(kmod_files) $(core) $(wildcard core/*.h uapi/*.h)
	@mkdir -p $(@D)
	@ln -sf $(abspath $(kmod_files)) $(@D)/
	@echo "  KMOD  $@"
	@+$(MAKE) -s -C $(call kheaders,$*) M=$(abspath $(@D)) \
		OW_TOP=$(CURDIR) modules
	@touch $@

kmod: $(KVERS:%=$(B)/kmod-%/kunwind.ko)

# A module that uses it, for tests.
$(B)/kwtest-%/kwtest.ko: $(wildcard tests/kunwind/kmod/*) $(B)/kmod-%/kunwind.ko
	@mkdir -p $(@D)
	@ln -sf $(abspath $(wildcard tests/kunwind/kmod/*)) $(@D)/
	@echo "  KMOD  $@"
	@+$(MAKE) -s -C $(call kheaders,$*) M=$(abspath $(@D)) \
		OW_TOP=$(CURDIR) modules \
		KBUILD_EXTRA_SYMBOLS=$(abspath $(B)/kmod-$*/Module.symvers)
	@touch $@

kmod-test: $(KVERS:%=$(B)/kwtest-%/kwtest.ko)

# Programs that run in the guest.
kt := $(B)/kunwind
kt_flags := $(flags) -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls
kt_libs := $(B)/user/libkunwind.a $(B)/user/liboutwind.a
kt_stacks := tests/kunwind/stacks.c
kt_unwind := -lunwind
# What the libraries are made of, for a program that is linked statically.
kt_static := -ldw -lelf -llzma -lzstd -llz4 -lz -lbz2 -liberty $(bpf_libs) \
	-lelf -lz

define kt_rule
kt_programs += $(kt)/$(1)
$(kt)/$(1): tests/kunwind/$(2) $(kt_libs)
	@mkdir -p $$(@D)
	@echo "  KTEST $$@"
	@$(CC) $$(kt_flags) $(3) $$< $(kt_libs) $(4) $(libs) -o $$@
endef
kt_program = $(eval $(call kt_rule,$(1),$(2),$(3),$(4)))

# Stubs are bound lazily, and lld writes no CFI for them.
$(call kt_program,stacks-pie,stacks.c,-fPIE -pie -pthread -z lazy,$(kt_unwind))
$(call kt_program,stacks-no-pie,stacks.c,-fno-pie -no-pie -z lazy,$(kt_unwind))
$(call kt_program,stacks-lld,stacks.c,-fuse-ld=lld -DNO_PLT_CFI,$(kt_unwind))
# It has no .eh_frame_hdr either.
$(call kt_program,stacks-static,stacks.c,-static -DSTATIC -DBY_LIBGCC -DNO_PLT_CFI \
	-Wno-error,$(kt_static))

$(call kt_program,contexts,contexts.c,-z lazy)
$(call kt_program,generations,generations.c,)
$(call kt_program,original,original.c,)
$(call kt_program,permit,permit.c,)
$(call kt_program,limits,limits.c,-pthread)
$(call kt_program,locks,locks.c,-pthread)
$(call kt_program,alike,alike.c,)
$(call kt_program,crowd,crowd.c,-pthread)
$(call kt_program,unfollow,unfollow.c,)
$(call kt_program,probes,probes.c,)
$(call kt_program,firstgone,firstgone.c,-pthread)
$(call kt_program,shares,shares.c,)
$(call kt_program,payers,payers.c,)
$(call kt_program,sharing,sharing.c,)
$(call kt_program,vcpu,vcpu.c,)
$(call kt_program,fuzz,fuzz.c,-pthread -z lazy)
$(call kt_program,stress,stress.c,-pthread)

$(call kt_program,bpfstack,bpfstack.c,)
$(call kt_program,left,left.c,)
$(call kt_program,spin,spin.c,)

$(kt)/compat: tests/kunwind/compat.c mk/kunwind.mk
	@mkdir -p $(@D)
	@$(CC) $(kt_flags) $(live_x32) \
		-mpreferred-stack-boundary=2 -static $< -o $@ || \
		echo "not built: $@"
kt_programs += $(kt)/compat

# As a stranger builds it, of what is installed.
$(kt)/outside: tests/kunwind/outside.c all
	@rm -rf $(kt)/root
	@$(MAKE) --no-print-directory -s install PREFIX=$(abspath $(kt)/root) \
		DESTDIR= LIBDIR=$(abspath $(kt)/root)/lib
	@echo "  KTEST $@"
	@$(CC) -O2 -fno-optimize-sibling-calls $< -o $@ \
		$$(PKG_CONFIG_PATH=$(abspath $(kt)/root)/lib/pkgconfig \
		$(PKG_CONFIG) --cflags --libs kunwind)
kt_programs += $(kt)/outside

$(kt)/plugin.so: tests/kunwind/plugin.c
	@mkdir -p $(@D)
	@$(CC) $(kt_flags) -shared -fPIC $< -o $@
kt_programs += $(kt)/plugin.so

$(kt)/through-%.so: tests/kunwind/through.c
	@mkdir -p $(@D)
	@$(CC) -shared -nostdlib -DROOM=$* $< -o $@
kt_programs += $(kt)/through-8.so $(kt)/through-24.so

# Whom outwind record samples there.
kt_programs += $(B)/live/busy

# What it costs.
$(B)/kwbench-%/kwbench.ko: $(wildcard bench/kmod/*) $(B)/kmod-%/kunwind.ko
	@mkdir -p $(@D)
	@ln -sf $(abspath $(wildcard bench/kmod/*)) $(@D)/
	@echo "  KMOD  $@"
	@+$(MAKE) -s -C $(call kheaders,$*) M=$(abspath $(@D)) \
		OW_TOP=$(CURDIR) modules \
		KBUILD_EXTRA_SYMBOLS=$(abspath $(B)/kmod-$*/Module.symvers)
	@touch $@

kt_bench := -iquote bench -DBENCH_DEPTH=140
$(kt)/functions_%.o: $(B)/bench/functions.c
	@mkdir -p $(@D)
	@$(CC) $(kt_flags) $(kt_bench) -f$(if $(filter omit,$*),,no-)omit-frame-pointer \
		-DFUNCTIONS=functions_$* -c $< -o $@

$(kt)/bench_kunwind: bench/bench_kunwind.c bench/visit.c $(kt_libs) \
		$(kt)/functions_omit.o $(kt)/functions_fp.o
	@echo "  LD    $@"
	@$(CC) $(kt_flags) -fno-omit-frame-pointer $(kt_bench) $(filter %.c %.o,$^) \
		$(kt_libs) -lunwind $(libs) -o $@

bench-kunwind: $(KVER:%=$(B)/kwbench-%/kwbench.ko) $(kt)/bench_kunwind
	@sh bench/kunwind.sh $(B) $(KVER)

# Kernels that check themselves: built for it, which takes ten minutes.
KVERS_DEBUG ?= 6.1-debug
kdebug_made := lab/kernel/build-debug.sh lab/kernel/debug.config lab/kernel/get-source.sh

$(B)/lab/kernel-%-debug/.done: $(kdebug_made)
	LAB=$(abspath $(B)/lab) bash lab/kernel/build-debug.sh $*

$(KVERS_DEBUG:%=$(B)/kmod-%/kunwind.ko): $(B)/kmod-%/kunwind.ko: $(B)/lab/kernel-%/.done

check-kunwind-debug: $(KVERS_DEBUG:%=$(B)/kwtest-%/kwtest.ko) $(kt_programs) \
		$(B)/bin/outwind
	KUNWIND_SECONDS=$${KUNWIND_SECONDS:-60} sh tests/kunwind/run.sh $(B) $(KVERS_DEBUG)

# Minutes of it, on each kernel.
check-slow: kmod-test $(kt_programs) $(B)/bin/outwind check-kunwind-debug
	KUNWIND_SECONDS=$${KUNWIND_SECONDS:-600} sh tests/kunwind/run.sh $(B) $(KVERS)

# What a walk takes of a kernel's stack.
check-kstack: kmod
	sh scripts/kstack_test.sh
	sh scripts/check-kstack.sh $(KVERS:%=$(B)/kmod-%/kunwind.ko)

check-kunwind: kmod-test $(kt_programs) $(B)/bin/outwind
	sh tests/kunwind/reports_test.sh
	sh tests/kunwind/rt.sh $(B) $(KVER)
	KUNWIND_SECONDS=$${KUNWIND_SECONDS:-60} sh tests/kunwind/run.sh $(B) $(KVER)

# Every kernel there are headers of, each for longer.
check-kunwind-all: kmod-test $(kt_programs) $(B)/bin/outwind
	sh tests/kunwind/run.sh $(B) $(KVERS)

# arm64: with the kernel, libraries and compiler's options of the Xen lab.
kta := $(B)/kunwind-arm64
kta_kver = $(shell cat "$$(ls -t $(B)/xen/arm64/fetched-* | head -n 1)")
kta_headers = $(abspath $(B)/lab/arm64/usr/src/linux-headers-$(kta_kver))

kta_libs = -L$(xenlab_lib) -Wl,-rpath-link,$(xenlab_lib)

$(kta)/module/kunwind.ko: $(kmod_files) $(core) $(wildcard core/*.h uapi/*.h) \
		$(B)/xen/arm64/initramfs.cpio lab/kernel/get-headers-arm64.sh
	@mkdir -p $(@D)
	@KVER=$(kta_kver) LAB=$(abspath $(B)/lab) bash lab/kernel/get-headers-arm64.sh
	@ln -sf $(abspath $(kmod_files)) $(@D)/
	@echo "  KMOD  $@"
	@+$(MAKE) -s -C $(kta_headers) M=$(abspath $(@D)) OW_TOP=$(CURDIR) \
		ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- modules
	@touch $@

$(kta)/share/stacks-pie: $(kt_stacks) tests/kunwind/plugin.c \
		$(B)/user/liboutwind.a $(B)/user/libkunwind.a $(B)/xen/tools-arm64
	+$(xenlab_cross) \
		kt_unwind='-DBY_LIBGCC -DNO_PLT_CFI $(kta_libs)' \
		$(addprefix $(xenlab)/build-arm64/kunwind/,stacks-pie plugin.so)
	@mkdir -p $(@D)
	@cp $(addprefix $(xenlab)/build-arm64/kunwind/,stacks-pie plugin.so) $(@D)
	@touch $@

check-kunwind-arm64: $(kta)/module/kunwind.ko $(kta)/share/stacks-pie
	@cp $< $(kta)/share/
	bash tests/kunwind/arm64.sh $(abspath $(B)/xen/arm64) $(abspath $(kta)/share)

# User-Mode Linux, with the module, and built in.
KUML ?= 6.1

$(B)/lab/uml-%/kunwind.ko: lab/kernel/build-uml.sh lab/kernel/uml.config \
		lab/kernel/get-source.sh $(kmod_files) $(core) $(wildcard core/*.h uapi/*.h)
	LAB=$(abspath $(B)/lab) bash lab/kernel/build-uml.sh $*

check-kunwind-uml: $(KUML:%=$(B)/lab/uml-%/kunwind.ko) $(kt_programs)
	bash tests/kunwind/uml.sh $(B) $(KUML)

.PHONY: kmod kmod-test bench-kunwind check-kstack check-kunwind check-kunwind-all check-slow \
	check-kunwind-debug check-kunwind-arm64 check-kunwind-uml

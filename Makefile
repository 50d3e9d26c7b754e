# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# make, make demo, make check, make bench, make install PREFIX=DIR.
# All that is built lies under build/.
.DELETE_ON_ERROR:
.SUFFIXES:

all:

VERSION := 0.1.0
SOVERSION := 0
B := build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=

# Xen's libraries, each where pkg-config knows it, and loaded when a guest is looked
# at: XENCALL=no, LIBXC=no and XENSTORE=no build without (after make clean).
PKG_CONFIG ?= pkg-config
have = $(if $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo yes),yes,no)
XENCALL ?= $(call have,xencall xenforeignmemory)
LIBXC ?= $(call have,xencontrol)
XENSTORE ?= $(call have,xenstore)
XENCALL := $(XENCALL)
LIBXC := $(LIBXC)
XENSTORE := $(XENSTORE)
xen_packages := $(if $(filter yes,$(XENCALL)),xencall xenforeignmemory) \
	$(if $(filter yes,$(LIBXC)),xencontrol) \
	$(if $(filter yes,$(XENSTORE)),xenstore)
xen_absent := $(if $(filter yes,$(XENCALL)),,targets/xenbycall.c) \
	$(if $(filter yes,$(LIBXC)),,targets/xenbyctrl.c) \
	$(if $(filter yes,$(XENCALL) $(LIBXC)),,targets/xenregs.c targets/xensilent.c)
xen_flags := $(if $(filter yes,$(XENCALL)),-DOW_HAVE_XENCALL) \
	$(if $(filter yes,$(LIBXC)),-DOW_HAVE_LIBXC) \
	$(if $(filter yes,$(XENSTORE)),-DOW_HAVE_XENSTORE)
xen_libs := $(if $(strip $(xen_packages)),$(shell $(PKG_CONFIG) --libs \
	$(xen_packages)))

# BPF programs need clang, bpftool and libbpf: BPF=no builds without.
CLANG ?= clang
BPFTOOL ?= $(firstword $(shell command -v bpftool) $(wildcard /usr/sbin/bpftool))
BPF ?= $(if $(and $(shell command -v $(CLANG)),$(BPFTOOL),\
	$(filter yes,$(call have,libbpf)),$(filter x86_64,$(shell uname -m))),yes,no)
BPF := $(BPF)
bpf_absent := bpf/sampler.bpf.c bpf/kernelask.bpf.c \
	$(if $(filter yes,$(BPF)),bpf/bpfabsent.c,$(addprefix bpf/,bpfengine.c bpfhaste.c \
	bpfbatch.c bpfload.c bpfknown.c bpfevents.c bpfwaits.c bpftables.c \
	kerneltables.c kernelask.c bpfwords.c))
bpf_libs := $(if $(filter yes,$(BPF)),-lbpf)

# Traces are read by libbabeltrace2, which is loaded then: BABELTRACE=no builds
# without.
BABELTRACE ?= $(call have,babeltrace2)
BABELTRACE := $(BABELTRACE)
ctf_absent := $(if $(filter yes,$(BABELTRACE)),tools/ctfabsent.c,\
	tools/ctftrace.c tools/ctffields.c tools/ctffolder.c tools/ctfmetadata.c tools/ctfchild.c \
	tools/ctflibrary.c)

core := $(wildcard core/*.c)
hosted := $(core) $(wildcard lib/*.c) \
	$(filter-out $(xen_absent),$(wildcard targets/*.c)) \
	$(filter-out $(bpf_absent),$(wildcard bpf/*.c))
output := $(wildcard output/*.c)
# What the tools share.
shared := $(output) tools/missing.c tools/ownfile.c tools/memorylimit.c
tbstack := $(shared) $(wildcard tools/tb*.c) tools/stackwalks.c
symbolize := $(shared) tools/symbolize.c tools/traceline.c
uniprof := $(shared) $(wildcard tools/uniprof*.c) tools/sampler.c tools/costs.c
tool := $(shared) tools/stackwalks.c $(filter-out $(tbstack) $(symbolize) \
	$(wildcard tools/uniprof*.c) $(ctf_absent),$(wildcard tools/*.c))
tests := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))

warn := -Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wstrict-prototypes \
	-Wmissing-prototypes -Wpointer-arith -Wwrite-strings \
	-Wimplicit-fallthrough=5 -Werror
inc := -Iinclude -Iuapi -iquote core -iquote lib -iquote targets -iquote output \
	-iquote bpf -iquote tools -iquote libkunwind -iquote tests \
	-iquote $(B)/gen
flags := -std=gnu11 -D_GNU_SOURCE $(xen_flags) $(warn) $(inc) -MMD -MP
libs := -ldw -lelf -llzma -lzstd -llz4 -lz -liberty $(bpf_libs)

# One flavour, one set of objects: the same sources, other flags.
flavours := user asan free
user_flags := -O2 -g -fPIC
asan_flags := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
	-Wno-maybe-uninitialized
free_flags := -O2 -ffreestanding -Wframe-larger-than=512

define flavour
$(B)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	@echo "  CC    $$@"
	@$$(CC) $$(flags) $$($(1)_flags) $$(CFLAGS) -c $$< -o $$@

$(B)/$(1)/libcore.a: $$(core:%.c=$(B)/$(1)/%.o)
	@rm -f $$@
	@$$(AR) rcs $$@ $$^

$(B)/$(1)/liboutwind.a: $$(hosted:%.c=$(B)/$(1)/%.o)
	@rm -f $$@
	@$$(AR) rcs $$@ $$^
endef
$(foreach f,$(flavours),$(eval $(call flavour,$(f))))

all: $(addprefix $(B)/bin/,outwind tbstack symbolize uniprof) \
	$(B)/lib/liboutwind.so $(B)/lib/liboutwind.a

# Names of system calls, of this machine's headers.
$(B)/gen/syscallnames.h: scripts/syscalls.sh
	@mkdir -p $(@D)
	@echo "  GEN   $@"
	@sh $< "$(CC)" >$@

$(flavours:%=$(B)/%/lib/syscalls.o): $(B)/gen/syscallnames.h

# What the libraries are called that are loaded when needed.
$(B)/gen/xennames.h: scripts/sonames.sh
	@mkdir -p $(@D)
	@echo "  GEN   $@"
	@sh $< "$(CC)" $(LDFLAGS) $(xen_libs) >$@

$(foreach o,xenbycall xenbyctrl xenname,$(flavours:%=$(B)/%/targets/$(o).o)): \
	$(B)/gen/xennames.h

$(B)/lib/liboutwind.a: $(B)/user/liboutwind.a
	@mkdir -p $(@D)
	cp $< $@

$(B)/lib/liboutwind.so.$(VERSION): $(hosted:%.c=$(B)/user/%.o) lib/liboutwind.map
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) -shared -Wl,-soname,liboutwind.so.$(SOVERSION) -Wl,-z,defs \
		-Wl,-z,nodelete -Wl,--version-script,lib/liboutwind.map $(LDFLAGS) \
		$(filter %.o,$^) $(libs) -o $@

$(B)/lib/liboutwind.so: $(B)/lib/liboutwind.so.$(VERSION)
	ln -sf liboutwind.so.$(VERSION) $(B)/lib/liboutwind.so.$(SOVERSION)
	ln -sf liboutwind.so.$(SOVERSION) $@

# The tools hold the library, so that they run from anywhere.
$(B)/bin/outwind: $(tool:%.c=$(B)/user/%.o)
$(B)/bin/tbstack: $(tbstack:%.c=$(B)/user/%.o)
$(B)/bin/outwind: $(patsubst %.c,$(B)/user/%.o,$(wildcard libkunwind/*.c))
$(B)/bin/symbolize: $(symbolize:%.c=$(B)/user/%.o)
$(B)/bin/uniprof: $(uniprof:%.c=$(B)/user/%.o)
$(addprefix $(B)/bin/,outwind tbstack symbolize uniprof): $(B)/user/liboutwind.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) $(libs) -o $@

$(B)/asan/outwind: $(tool:%.c=$(B)/asan/%.o)
$(B)/asan/tbstack: $(tbstack:%.c=$(B)/asan/%.o)
$(B)/asan/outwind: $(patsubst %.c,$(B)/asan/%.o,$(wildcard libkunwind/*.c))
$(B)/asan/symbolize: $(symbolize:%.c=$(B)/asan/%.o)
$(B)/asan/uniprof: $(uniprof:%.c=$(B)/asan/%.o)
$(addprefix $(B)/asan/,outwind tbstack symbolize uniprof): $(B)/asan/liboutwind.a
	@echo "  LD    $@"
	@$(CC) $(asan_flags) $(filter %.o,$^) $(filter %.a,$^) $(libs) -o $@

# What is no part of the library is linked by name.
$(B)/asan/test_alive: $(B)/asan/tools/alive.o
$(B)/asan/test_costs: $(B)/asan/tools/costs.o
$(B)/asan/test_ctffolder: $(B)/asan/tools/ctffolder.o
$(B)/asan/test_kwserve: $(B)/asan/libkunwind/kwserve.o
$(B)/asan/test_kwvdso: $(B)/asan/libkunwind/kwvdso.o
$(B)/asan/test_proflabels: $(output:%.c=$(B)/asan/%.o)
$(B)/asan/test_proffolded: $(output:%.c=$(B)/asan/%.o)
$(B)/asan/test_profiling: $(output:%.c=$(B)/asan/%.o) \
	$(B)/asan/tools/profiling.o $(B)/asan/tools/knownplaces.o
$(B)/asan/test_profsvg: $(output:%.c=$(B)/asan/%.o)
$(B)/asan/test_shares: $(B)/asan/tools/shares.o
$(B)/asan/test_syscalladdress: $(B)/asan/tools/syscalladdress.o $(B)/asan/tools/quoted.o
$(B)/asan/test_syscallbegun: $(B)/asan/tools/syscallbegun.o
$(B)/asan/test_syscallset: $(B)/asan/tools/syscallset.o
$(B)/asan/test_syscalltext: $(B)/asan/tools/syscalltext.o $(B)/asan/tools/shares.o
$(B)/asan/test_tbargs: $(B)/asan/tools/tbargs.o
$(B)/asan/test_tracenames: $(patsubst %,$(B)/asan/tools/%.o,tracenames tracestack \
	tracemaps tracelist tracespans knownplaces shares) $(output:%.c=$(B)/asan/%.o)
$(B)/asan/test_traceline: $(B)/asan/tools/traceline.o
$(B)/asan/test_tbtext: $(output:%.c=$(B)/asan/%.o)
$(B)/asan/test_textfit: $(output:%.c=$(B)/asan/%.o)
$(B)/asan/test_viewtext: $(output:%.c=$(B)/asan/%.o)

$(B)/asan/test_%: $(B)/asan/tests/unit/test_%.o $(B)/asan/liboutwind.a
	@echo "  LD    $@"
	@$(CC) $(asan_flags) $(filter %.o,$^) $(filter %.a,$^) $(libs) -o $@

# Its subject is no part of the library.
$(B)/asan/test_stackview: $(patsubst %.c,$(B)/asan/%.o,$(wildcard output/*.c))

clean:
	rm -rf $(B)

include $(sort $(wildcard mk/*.mk))

.PHONY: all clean
.SECONDARY:
# Not what others' sources, which labs and clients are built of, call so.
-include $(shell find $(B) \( -path $(B)/lab -o -path $(B)/clients \) -prune \
	-o -type f -name '*.d' -print 2>/dev/null)

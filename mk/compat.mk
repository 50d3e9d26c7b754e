# SPDX-License-Identifier: BSD-2-Clause
# libunwind's interface: libraries of its sonames in build/lib/compat.

compat := $(wildcard compat/*.c)
# What each library has beside what is common.
compat_local := unwapi_local dynlist trace
compat_apart := unwapi dynlist trace capinfo funcnames objnames upt ucd uxen
compat_common := $(filter-out $(compat_apart),$(compat:compat/%.c=%))
compat_flags := -std=gnu11 -D_GNU_SOURCE $(warn) -fvisibility=hidden \
	-Iinclude/compat -Iinclude -Iuapi -iquote core -iquote lib \
	-iquote targets -iquote compat -MMD -MP $(user_flags)
# They find one another in their own folder, not the system's of the same name.
compat_so := -shared -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,-z,defs -Wl,-z,now \
	-Wl,-rpath,'$$ORIGIN'

# $(1) the machine, $(2) its compiler, $(3) where objects and libraries go.
define compat_machine
$(3)/obj/%.o: compat/%.c
	@mkdir -p $$(@D)
	@echo "  CC    $$@"
	@$(2) $$(compat_flags) $$(CFLAGS) -c $$< -o $$@

$(3)/obj/unwapi_local.o: compat/unwapi.c
	@mkdir -p $$(@D)
	@echo "  CC    $$@"
	@$(2) $$(compat_flags) -DUNW_LOCAL_ONLY $$(CFLAGS) -c $$< -o $$@

$(3)/obj/core_%.o: core/%.c
	@mkdir -p $$(@D)
	@echo "  CC    $$@"
	@$(2) $$(compat_flags) $$(CFLAGS) -c $$< -o $$@

$(3)/obj/%_$(1).o: compat/%_$(1).S
	@mkdir -p $$(@D)
	@$(2) -c $$< -o $$@

$(3)/libunwind.so.8: $$(compat_local:%=$(3)/obj/%.o) \
	$(3)/obj/take_$(1).o compat/libunwind.map
$(3)/libunwind-$(1).so.8: $(3)/obj/unwapi.o $(3)/libunwind.so.8 \
	compat/libunwind-generic.map
$(3)/libunwind.so.8 $(3)/libunwind-$(1).so.8: $(3)/obj/resume_$(1).o \
		$$(compat_common:%=$(3)/obj/%.o) \
		$$(core:core/%.c=$(3)/obj/core_%.o)
	@echo "  LD    $$@"
	@$(2) $$(compat_so) -Wl,-soname,$$(@F) \
		-Wl,--version-script,$$(filter %.map,$$^) $$(LDFLAGS) \
		$$(filter %.o,$$^) $$(filter %.so.8,$$^) -o $$@
	@ln -sf $$(@F) $$(@:.8=)

$(3)/libunwind-generic.so: $(3)/libunwind-$(1).so.8
	@ln -sf libunwind-$(1).so $$@
endef

compat_dir := $(B)/lib/compat
machine := $(shell uname -m)
$(eval $(call compat_machine,$(machine),$(CC),$(compat_dir)))

# Accessors, each a library of its own over what they share with the tools.
$(compat_dir)/libunwind-ptrace.so.0: $(compat_dir)/obj/upt.o $(compat_dir)/obj/capinfo.o $(compat_dir)/obj/objnames.o
$(compat_dir)/libunwind-coredump.so.0: $(compat_dir)/obj/ucd.o $(compat_dir)/obj/capinfo.o $(compat_dir)/obj/objnames.o
$(compat_dir)/libunwind-xen.so.0: $(compat_dir)/obj/uxen.o
compat_accessors := $(addprefix $(compat_dir)/libunwind-,ptrace.so.0 coredump.so.0 xen.so.0)
$(compat_accessors): $(compat_dir)/obj/procinfo.o $(compat_dir)/obj/procname.o \
		$(compat_dir)/obj/funcnames.o \
		$(compat_dir)/obj/loaded.o $(compat_dir)/obj/localmem.o \
		$(compat_dir)/obj/machine_$(machine).o \
		$(B)/user/liboutwind.a compat/accessors.map
	@echo "  LD    $@"
	@$(CC) $(compat_so) -Wl,-soname,$(@F) \
		-Wl,--version-script,compat/accessors.map $(LDFLAGS) \
		$(filter %.o,$^) $(filter %.a,$^) -Wl,--as-needed $(libs) -o $@
	@ln -sf $(@F) $(@:.0=)

compat_libs := $(addprefix $(compat_dir)/,libunwind.so.8 libunwind-generic.so) \
	$(compat_accessors)

all: $(compat_libs)

# Beside libunwind itself.
compat_tests := $(addprefix $(B)/compat/,localdiff remotediff)

$(B)/compat/%: tests/compat/%.cc
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CXX) -std=c++17 -D_GNU_SOURCE -Wall -Werror -O2 -g -Iinclude/compat \
		$< -pthread -MMD -MP -o $@

$(B)/compat/%: tests/compat/%.c
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Werror -O2 -g -Iinclude/compat \
		$< -pthread -MMD -MP -o $@

check-compat: $(compat_tests) $(compat_libs) live-build
	sh scripts/check-compat.sh $(B)/compat $(compat_dir) $(live) \
		$(COMPAT_SECONDS)

.PHONY: check-compat

$(B)/compat/stress: tests/compat/stress.cc $(compat_dir)/libunwind.so.8
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CXX) -std=c++17 -D_GNU_SOURCE -Wall -Werror -O2 -g -Iinclude/compat \
		$< -pthread -L$(compat_dir) -lunwind \
		-Wl,-rpath,$(abspath $(compat_dir)) -o $@

$(B)/compat/stress_a.so $(B)/compat/stress_b.so: tests/compat/stress_lib.cc
	@mkdir -p $(@D)
	@$(CXX) -std=c++17 -Wall -Werror -O2 -shared -fPIC -DROOM=$(if $(filter %_a.so,$@),24,264) $< -o $@

check-compat: $(addprefix $(B)/compat/,stress stress_a.so stress_b.so)

# The other machine's, run by qemu's user mode.
compat_a64 := $(B)/lib/compat-aarch64
ifneq ($(machine),aarch64)
$(eval $(call compat_machine,aarch64,aarch64-linux-gnu-gcc,$(compat_a64)))
endif

$(B)/compat/localunwind: tests/compat/localunwind.c $(compat_dir)/libunwind.so.8
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Werror -O2 -g -Iinclude/compat \
		$< -pthread -L$(compat_dir) -lunwind \
		-Wl,-rpath,$(abspath $(compat_dir)) -o $@

$(B)/compat/localunwind-aarch64: tests/compat/localunwind.c $(compat_a64)/libunwind.so.8
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@aarch64-linux-gnu-gcc -std=gnu11 -D_GNU_SOURCE -Wall -Werror -O2 -g \
		-funwind-tables -Iinclude/compat \
		$< -pthread -L$(compat_a64) -lunwind \
		-Wl,-rpath,$(abspath $(compat_a64)) -o $@

check-compat: $(B)/compat/localunwind $(B)/compat/localunwind-aarch64

$(B)/compat/xenabsent: tests/compat/xenabsent.c $(compat_libs)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Werror -O2 -g -Iinclude/compat \
		$< -L$(compat_dir) -lunwind-xen -lunwind-generic -lunwind \
		-Wl,-rpath,$(abspath $(compat_dir)) -o $@

check-compat: $(B)/compat/xenabsent $(B)/bench/bench_compat

# Its libraries, and those that they need, may lie beside it.
$(B)/bin/xen-stack: examples/xen-stack.c $(compat_libs)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) -std=gnu11 -Wall -Wextra -Werror -O2 -g -Iinclude/compat $(CFLAGS) \
		$< -L$(compat_dir) -lunwind-xen -lunwind-generic -lunwind \
		-Wl,--disable-new-dtags,-rpath,'$$ORIGIN:$$ORIGIN/../lib/compat' \
		$(LDFLAGS) -o $@

all: $(B)/bin/xen-stack

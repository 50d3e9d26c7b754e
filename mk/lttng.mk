# SPDX-License-Identifier: BSD-2-Clause
# lttng-kunwind, LTTng's probe module, beside Debian's lttng-modules, and tests of
# it in a guest.
lttng_kbuild := lttng/Kbuild
lttng_files := $(wildcard lttng/*.[ch])
lttng_headers := $(wildcard lttng/instrumentation/events/*.h)

# LTTNG_TOP: the source of lttng-modules 2.13, built against the same headers.
$(B)/lab/lttng-%/.done: lab/kernel/build-lttng.sh
	KVER=$* LAB=$(abspath $(B)/lab) bash lab/kernel/get-kernel.sh
	KVER=$* LAB=$(abspath $(B)/lab) bash lab/kernel/build-lttng.sh

# The same with our patches, and lttng-tools with theirs.
lttng_patches := $(wildcard lttng/patches/*.patch)
$(B)/lab/lttng-unw-%/.done: lab/kernel/build-lttng.sh $(lttng_patches)
	KVER=$* LAB=$(abspath $(B)/lab) bash lab/kernel/get-kernel.sh
	KVER=$* LAB=$(abspath $(B)/lab) bash $< lttng/patches/lttng-modules-2.13.patch

$(B)/lab/lttng-tools/.done: lab/kernel/build-lttng-tools.sh $(lttng_patches)
	KVER=$(KVER) LAB=$(abspath $(B)/lab) bash $< lttng/patches/lttng-tools-2.13.patch

$(B)/lttng-%/lttng-kunwind.ko: $(lttng_kbuild) $(lttng_files) $(lttng_headers) \
		$(B)/kmod-%/kunwind.ko $(B)/lab/lttng-%/.done
	@mkdir -p $(@D)
	@ln -sf $(abspath $(lttng_kbuild) $(lttng_files)) $(@D)/
	@echo "  KMOD  $@"
	@+$(MAKE) -s -C /usr/src/linux-headers-$* M=$(abspath $(@D)) \
		OW_TOP=$(CURDIR) LTTNG_TOP=$(abspath $(B)/lab/lttng-$*) \
		KUNWIND_SYMVERS=$(abspath $(B)/kmod-$*/Module.symvers) modules
	@touch $@

lttng-kunwind: $(B)/lttng-$(KVER)/lttng-kunwind.ko

$(B)/lttng/calls: tests/lttng/calls.c $(kt_libs)
	@mkdir -p $(@D)
	@echo "  LTTNG $@"
	@$(CC) $(kt_flags) -pthread $< $(kt_libs) -lunwind $(libs) -o $@

$(B)/lttng/vforker: tests/lttng/vforker.c
	@mkdir -p $(@D)
	@echo "  LTTNG $@"
	@$(CC) $(flags) -O2 $< -o $@

lttng_programs := $(addprefix $(B)/lttng/,calls tiny vforker)

check-lttng: lttng-kunwind $(lttng_programs) $(B)/bin/outwind
	sh tests/lttng/run.sh $(B) $(KVER)

# LTTng with the patches of lttng/patches.
check-lttng-patch: lttng-kunwind $(lttng_programs) $(B)/bin/outwind \
		$(B)/lab/lttng-unw-$(KVER)/.done $(B)/lab/lttng-tools/.done
	sh tests/lttng/run.sh $(B) $(KVER) patched

.PHONY: lttng-kunwind check-lttng check-lttng-patch

# A program, and traces of it, that the reader's tests are about: they are kept.
$(B)/lttng/tiny: tests/lttng/tiny.c
	@mkdir -p $(@D)
	@echo "  LTTNG $@"
	@$(CC) -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fcf-protection=none \
		-fno-stack-protector -fasynchronous-unwind-tables -static -nostdlib \
		-Wl,--eh-frame-hdr,--build-id=sha1 $< -o $@

lttng-data: lttng-kunwind $(B)/lttng/tiny $(B)/bin/outwind
	KVER=$(KVER) LAB=$(abspath $(B)/lab) bash lab/kernel/vmrun.sh -s -t 300 -- \
		bash $(abspath tests/lttng/capture.sh) $(abspath $(B)) \
		$(abspath $(B)/lab/out/lttng-data)
	@mkdir -p tests/data/lttng
	tar -C $(B)/lab/out/lttng-data --owner=0 --group=0 --numeric-owner \
		--mtime=@0 --sort=name -cf - . | xz -9e >tests/data/lttng/tiny.tar.xz

.PHONY: lttng-data

# The reader, built with sanitizers, on kept traces; TRACES damaged ones beside.
check-trace: $(B)/asan/outwind $(B)/bin/outwind
	python3 -B tests/trace/run.py $^ tests/data/lttng

.PHONY: check-trace

# What stacks cost in traces: the same program with and without frame pointers.
lttng_benches := $(addprefix $(B)/bench/lttng_calls_,omit fp)
$(lttng_benches): $(B)/bench/lttng_calls_%: bench/lttng_calls.c $(kt_libs)
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) $(kt_flags) -f$(if $(filter omit,$*),,no-)omit-frame-pointer $< \
		$(kt_libs) $(libs) -o $@

lttng_rounds ?= 40
lttng_calls ?= 300

lttng_bench = KVER=$(KVER) LAB=$(abspath $(B)/lab) bash lab/kernel/vmrun.sh $(1) -- \
	bash $(abspath bench/lttng.sh) $(abspath $(B)) \
	$(abspath $(B)/lab/out/bench-lttng$(2)) $(3) $(lttng_calls)

bench-lttng: lttng-kunwind $(lttng_benches) $(B)/bin/outwind
	@mkdir -p $(B)/lab/out/bench-lttng $(B)/lab/out/bench-lttng-counted
	$(call lttng_bench,-i -m 2048 -t 1200,-counted,10)
	$(call lttng_bench,-m 2048 -t 1200,,$(lttng_rounds))
	@python3 -B bench/lttng.py table $(B)/lab/out/bench-lttng \
		$(B)/lab/out/bench-lttng-counted $(lttng_rounds) $(lttng_calls)

.PHONY: bench-lttng

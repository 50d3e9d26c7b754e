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

lttng_programs := $(B)/lttng/calls

check-lttng: lttng-kunwind $(lttng_programs) $(B)/bin/outwind
	sh tests/lttng/run.sh $(B) $(KVER)

.PHONY: lttng-kunwind check-lttng

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Xen under QEMU, with guests whose calls are known; see lab/xen.

xenlab := $(B)/xen
xenlab_a64 := aarch64-linux-gnu-
xenlab_guest_flags := -O2 -g -Wall -Wextra -Werror -ffreestanding -fno-pic -no-pie \
	-mgeneral-regs-only -fno-stack-protector -fomit-frame-pointer \
	-fasynchronous-unwind-tables -nostdlib -static \
	-Wl,--build-id=none,--eh-frame-hdr,-z,max-page-size=4096
xenlab_amd64_flags := -mcmodel=kernel -mno-red-zone -fcf-protection=none
xenlab_arm64_flags := -mno-outline-atomics

# Packages, unpacked: Xen, dom0's kernel and libraries.
$(xenlab)/%/initramfs.cpio: lab/xen/xenlab.sh
	@mkdir -p $(xenlab)
	XENLAB_CACHE=$(abspath $(xenlab)) lab/xen/xenlab.sh -a $*
	@touch $@

# $(1) amd64 or arm64, $(2) the prefix of its tools.
define xenlab_guest
$(xenlab)/guest-$(1).elf $(xenlab)/guest-fp-$(1).elf: lab/xen/guest/start-$(1).S lab/xen/guest/calls.c \
		lab/xen/guest/platform-$(1).c lab/xen/guest/guest-$(1).lds \
		lab/xen/guest/calls.h mk/xenlab.mk $(xenlab)/$(1)/initramfs.cpio
	@echo "  XEN   $$@"
	@$(2)gcc $(xenlab_guest_flags) $(xenlab_$(1)_flags) $$(xenlab_fp) \
		-isystem $(xenlab)/$(1)/sysroot/usr/include \
		-Wl,-T,lab/xen/guest/guest-$(1).lds $$(filter %.S %.c,$$^) -o $$@
	@$(2)objcopy -O binary $$@ $$@.image

# The same with frame pointers, which costs are compared by.
$(xenlab)/guest-fp-$(1).elf: xenlab_fp := -fno-omit-frame-pointer \
	-mno-omit-leaf-frame-pointer
endef
$(eval $(call xenlab_guest,amd64,))
$(eval $(call xenlab_guest,arm64,$(xenlab_a64)))

$(xenlab)/guest-32.elf: lab/xen/guest/start-i386.S lab/xen/guest/calls.c \
		lab/xen/guest/platform-i386.c lab/xen/guest/guest-i386.lds \
		lab/xen/guest/calls.h mk/xenlab.mk $(xenlab)/amd64/initramfs.cpio
	@echo "  XEN   $@"
	@gcc -m32 $(xenlab_guest_flags) -fcf-protection=none \
		-isystem $(xenlab)/amd64/sysroot/usr/include \
		-Wl,-T,lab/xen/guest/guest-i386.lds $(filter %.S %.c,$^) -o $@

# What runs in dom0: on amd64 what is built anyway.
xenlab_tools := $(addprefix bin/,outwind uniprof xen-stack)
xenlab_libs := $(addprefix lib/compat/libunwind,-xen.so.0 .so.8)

$(xenlab)/tools-amd64: $(addprefix $(B)/,$(xenlab_tools) $(xenlab_libs) \
		lib/compat/libunwind-x86_64.so.8)
	@mkdir -p $@
	@cp $^ $@
	@touch $@

xenlab_sys := $(abspath $(xenlab)/arm64/sysroot)
xenlab_lib := $(xenlab_sys)/usr/lib/aarch64-linux-gnu

xenlab_arm64 := $(addprefix $(xenlab)/build-arm64/,$(xenlab_tools) $(xenlab_libs) \
	lib/compat/libunwind-aarch64.so.8)

# Another make, for arm64.
xenlab_cross = PKG_CONFIG_SYSROOT_DIR=$(xenlab_sys) \
	PKG_CONFIG_LIBDIR=$(xenlab_lib)/pkgconfig:$(xenlab_sys)/usr/share/pkgconfig \
	$(MAKE) B=$(xenlab)/build-arm64 machine=aarch64 \
		CC=$(xenlab_a64)gcc AR=$(xenlab_a64)ar \
		CFLAGS="-isystem $(xenlab_sys)/usr/include" \
		LDFLAGS="-L$(xenlab_lib) -Wl,-rpath-link,$(xenlab_lib) \
			-Wl,-rpath-link,$(xenlab_sys)/lib/aarch64-linux-gnu"

$(xenlab)/tools-arm64: $(xenlab_tools:%=$(B)/%) $(xenlab)/arm64/initramfs.cpio
	+$(xenlab_cross) $(xenlab_arm64)
	@mkdir -p $@
	@cp $(xenlab_arm64) $@
	@touch $@

# For so long 500 samples a second are taken, or longer where that is too many:
# each is three stacks.  7 gives 10,500 stacks of each guest; above 2, make check
# needs STAGE_SECONDS raised (scripts/check.sh).
XENLAB_SECONDS ?= 2

# The checker is checked first: it must see what is broken.
check-xenlab-%: $(xenlab)/guest-%.elf $(xenlab)/guest-fp-%.elf $(xenlab)/tools-%
	python3 -B lab/xen/callgraph_test.py $< $(if $(filter arm64,$*),$(xenlab_a64))
	$(if $(filter amd64,$*),python3 -B lab/xen/callgraph_test.py $(xenlab)/guest-32.elf)
	XENLAB_CACHE=$(abspath $(xenlab)) python3 -B lab/xen/lab.py \
		--keep $(xenlab)/run-$* --seconds $(XENLAB_SECONDS) \
		$(if $(filter amd64,$*),--guest-32 $(xenlab)/guest-32.elf) \
		$* $(xenlab)/tools-$* $< $(word 2,$^)

check-xenlab-amd64: $(xenlab)/guest-32.elf

check-xenlab: check-xenlab-amd64 check-xenlab-arm64

.PHONY: check-xenlab

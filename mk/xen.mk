# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The tools end to end, with a fake of the hypervisor in place of Xen's
# libraries.  They are not position-independent, so that the fake's own code is
# an image at its place.

xen_guest_flags := -O2 -g -fomit-frame-pointer -fno-pie -fno-sanitize=all \
	-fno-stack-protector -fasynchronous-unwind-tables

$(B)/asan/tests/xen/guest.o: tests/xen/guest.c tests/xen/guest.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) $(xen_guest_flags) -c $< -o $@

xen_fake := $(B)/asan/tests/xen/backend.o $(B)/asan/tests/xen/guest.o
xen_fakes := $(B)/asan/fake-outwind $(B)/asan/fake-uniprof

$(B)/asan/fake-outwind: $(tool:%.c=$(B)/asan/%.o) \
	$(patsubst %.c,$(B)/asan/%.o,$(wildcard libkunwind/*.c))
$(B)/asan/fake-uniprof: $(uniprof:%.c=$(B)/asan/%.o)
$(xen_fakes): $(xen_fake) $(B)/asan/liboutwind.a
	@echo "  LD    $@"
	@$(CC) $(asan_flags) -no-pie $(filter %.o,$^) $(filter %.a,$^) \
		$(libs) -o $@

check-xen: $(xen_fakes) $(B)/asan/symbolize
	python3 -B tests/xen/run.py $(B)/asan tests/symbolize/collapse.py

.PHONY: check-xen

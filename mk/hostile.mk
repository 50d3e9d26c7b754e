# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Hostile programs and files: what any user can run or write must not hang, crash,
# deceive or bloat a tool that root runs.

hostile := $(B)/hostile
hostile_flags := -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Werror -pthread
hostile_sources := $(wildcard tests/hostile/programs/*.c)
# lib*.c are libraries, user*.c use the library that is tested.
hostile_libraries := $(filter tests/hostile/programs/lib%.c,$(hostile_sources))
hostile_programs := $(patsubst tests/hostile/programs/%.c,$(hostile)/%,\
	$(filter-out $(hostile_libraries),$(hostile_sources))) \
	$(patsubst tests/hostile/programs/%.c,$(hostile)/%.so,$(hostile_libraries)) \
	$(hostile)/ownsegment-i386

$(hostile)/%: tests/hostile/programs/%.c
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) $(hostile_flags) $< -o $@

# Programs that give themselves the same build-id.
$(hostile)/samebuild_%: hostile_flags += \
	-Wl,--build-id=0x5a5a5a5a6b6b6b6b7c7c7c7c8d8d8d8d9e9e9e9e
$(hostile)/samebuild_victim $(hostile)/samebuild_impostor: \
	tests/hostile/programs/samebuild.h

# A program that is executed many times.
$(hostile)/execpaths: hostile_flags += -static

# Programs whose code has the same addresses.
$(hostile)/swapexec_%: hostile_flags += -static -no-pie -nostdlib -Wl,-e,spin \
	-Wl,--section-start=.first=0x10000000,--section-start=.second=0x10001000
$(hostile)/swapexec_a $(hostile)/swapexec_b: tests/hostile/programs/swapexec.h

# Programs whose code is below 4 GiB.
$(hostile)/ownsegment $(hostile)/ownsegment-i386: hostile_flags += -fno-pie -no-pie
$(hostile)/ownsegment-i386: hostile_flags += $(live_x32)
$(hostile)/ownsegment-i386: tests/hostile/programs/ownsegment.c
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) $(hostile_flags) $< -o $@

$(hostile)/swapcode $(hostile)/swapmoved $(hostile)/swapphases $(hostile)/swapshared: \
	tests/hostile/programs/swapcode.h
$(hostile)/swapcode $(hostile)/swapmoved: tests/hostile/programs/swapspin.h

$(hostile)/costlyrows $(hostile)/deepcalls $(hostile)/fewwaits $(hostile)/fusestack $(hostile)/heldsignals $(hostile)/hiddenlock $(hostile)/hiddenstack $(hostile)/hugestack $(hostile)/longcode $(hostile)/manyjits $(hostile)/manysites $(hostile)/tickedthreads $(hostile)/uffdstack: tests/hostile/programs/threads.h

$(hostile)/deepstack $(hostile)/deepwaits $(hostile)/manykin $(hostile)/widestack: tests/hostile/programs/bare.h

$(hostile)/fusestack $(hostile)/manymounts $(hostile)/markedstack $(hostile)/overlaidholes: \
	tests/hostile/programs/ownspace.h
$(hostile)/markedstack $(hostile)/overlaidholes: tests/hostile/programs/ownstack.h

$(hostile)/lib%.so: tests/hostile/programs/lib%.c
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(hostile_flags) -fPIC -shared $< -o $@

$(hostile)/user%: tests/hostile/programs/user%.c $(B)/lib/liboutwind.so \
		$(B)/lib/libkunwind.so
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(hostile_flags) -Iinclude -Iuapi $< -L$(B)/lib -lkunwind -loutwind \
		-Wl,-rpath,$(abspath $(B)/lib) -o $@

$(hostile)/usernames: tests/hostile/programs/usernames.c $(compat_libs)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(hostile_flags) -Iinclude/compat $< -L$(compat_dir) -lunwind-ptrace \
		-lunwind-generic -lunwind -Wl,-rpath,$(abspath $(compat_dir)) -o $@

# HOSTILE='pattern ...' runs only tests whose name contains one of them.
check-hostile: $(addprefix $(B)/bin/,outwind tbstack twindiff uniprof symbolize) \
		live-build $(hostile_programs)
	python3 -B tests/live/run.py --outwind $< --cases tests/hostile \
		--programs $(hostile) $(HOSTILE)

# All hostile programs at once, for an hour or SIEGE seconds.
SIEGE ?= 3600
siege: $(addprefix $(B)/bin/,outwind) live-build $(hostile_programs)
	python3 -B tests/hostile/siege.py --outwind $< --programs $(hostile) \
		--victims $(live) --seconds $(SIEGE)

.PHONY: check-hostile siege

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Hostile programs and files: what any user can run or write must not hang, crash,
# deceive or bloat a tool that root runs.

hostile := $(B)/hostile
hostile_flags := -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Werror -pthread
hostile_programs := $(patsubst tests/hostile/programs/%.c,$(hostile)/%,\
	$(wildcard tests/hostile/programs/*.c))

$(hostile)/%: tests/hostile/programs/%.c
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) $(hostile_flags) $< -o $@

# Programs that give themselves the same build-id.
$(hostile)/samebuild_%: hostile_flags += \
	-Wl,--build-id=0x5a5a5a5a6b6b6b6b7c7c7c7c8d8d8d8d9e9e9e9e
$(hostile)/samebuild_victim $(hostile)/samebuild_impostor: \
	tests/hostile/programs/samebuild.h

# HOSTILE='pattern ...' runs only tests whose name contains one of them.
check-hostile: $(addprefix $(B)/bin/,outwind tbstack twindiff uniprof symbolize) \
		live-build $(hostile_programs)
	python3 -B tests/live/run.py --outwind $< --cases tests/hostile \
		--programs $(hostile) $(HOSTILE)

.PHONY: check-hostile

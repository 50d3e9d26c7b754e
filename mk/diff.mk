# Rows against readelf's, for every ELF file of the system or for a sample.

DIFF_DIRS ?= $(wildcard /usr/bin /usr/lib /usr/lib32 /usr/libexec \
	/usr/aarch64-linux-gnu/lib)

$(B)/diff/rowdiff: tests/diff/rowdiff.c tests/diff/readelfrow.c \
		tests/diff/readelfrow.h tests/diff/holes.c tests/diff/holes.h $(B)/user/liboutwind.a
	@mkdir -p $(@D)
	@$(CC) $(flags) $(user_flags) $(filter %.c %.a,$^) $(libs) -o $@

check-rows: $(B)/diff/rowdiff
	sh scripts/check-rows.sh $< $(DIFF_DIRS)

.PHONY: check-rows check-regs

$(B)/diff/regdiff: tests/diff/regdiff.c $(B)/user/liboutwind.a
	@mkdir -p $(@D)
	@$(CC) $(flags) $(user_flags) $< $(B)/user/liboutwind.a $(libs) \
		-lunwind-ptrace -lunwind-x86_64 -o $@

# Registers of every frame of some programs against libunwind's.
check-regs: $(B)/diff/regdiff live-build
	sh scripts/check-regs.sh $< $(live)

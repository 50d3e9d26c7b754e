# libFuzzer programs over the core and what reads files; clang's, as gcc has no libFuzzer.

FUZZ_CC ?= clang
FUZZ_SECONDS ?= 3
fuzzers := $(patsubst fuzz/fuzz_%.c,%,$(wildcard fuzz/fuzz_*.c))
fuzz_san := -fsanitize=address,undefined -fno-sanitize-recover=all
fuzz_flags := $(filter-out -Wimplicit-fallthrough=5,$(flags)) -O1 -g $(fuzz_san)

$(B)/fuzz/core/%.o: core/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(fuzz_flags) -fsanitize=fuzzer-no-link $(CFLAGS) -c $< -o $@

$(B)/fuzz/libcore.a: $(core:%.c=$(B)/fuzz/%.o)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/fuzz/%.o: fuzz/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(fuzz_flags) -fsanitize=fuzzer-no-link $(CFLAGS) -c $< -o $@

$(B)/fuzz/fuzz_%: $(B)/fuzz/fuzz_%.o $(B)/fuzz/libcore.a
	$(FUZZ_CC) -fsanitize=fuzzer $(fuzz_san) $^ -o $@

# What lies above the core, for the fuzzers that need it.
hosted_fuzzers := core nametext snapshot

$(B)/fuzz/lib/%.o: lib/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(fuzz_flags) -fsanitize=fuzzer-no-link $(CFLAGS) -c $< -o $@

$(B)/fuzz/targets/%.o: targets/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(fuzz_flags) -fsanitize=fuzzer-no-link $(CFLAGS) -c $< -o $@

$(B)/fuzz/bpf/%.o: bpf/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(fuzz_flags) -fsanitize=fuzzer-no-link $(CFLAGS) -c $< -o $@

$(B)/fuzz/lib/syscalls.o: $(B)/gen/syscallnames.h
$(B)/fuzz/targets/xenbycall.o $(B)/fuzz/targets/xenbyctrl.o \
	$(B)/fuzz/targets/xenname.o: $(B)/gen/xennames.h

$(B)/fuzz/libhosted.a: $(hosted:%.c=$(B)/fuzz/%.o)
	@rm -f $@
	$(AR) rcs $@ $^

$(hosted_fuzzers:%=$(B)/fuzz/fuzz_%): $(B)/fuzz/fuzz_%: $(B)/fuzz/fuzz_%.o \
		$(B)/fuzz/libhosted.a
	$(FUZZ_CC) -fsanitize=fuzzer $(fuzz_san) $^ $(libs) -o $@

$(B)/fuzz/fuzz_paging: $(B)/fuzz/targets/paging.o

fuzz-build: $(fuzzers:%=$(B)/fuzz/fuzz_%)

# The corpus, then as many seconds of news as asked for.  What is new goes to
# build/; fuzz-merge keeps of it what covers more.
run-fuzz-%: $(B)/fuzz/fuzz_%
	@mkdir -p $(B)/fuzz/new/$* $(B)/fuzz/found fuzz/corpus/$*
	$< -seed=1 -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=100 \
		-rss_limit_mb=1024 -print_final_stats=1 -verbosity=0 \
		-artifact_prefix=$(B)/fuzz/found/$*- \
		$(B)/fuzz/new/$* fuzz/corpus/$*

check-fuzz: $(fuzzers:%=run-fuzz-%)

fuzz:
	$(MAKE) check-fuzz FUZZ_SECONDS=600

# The corpus again, as few and as small files as cover the same.
merge-fuzz-%: $(B)/fuzz/fuzz_%
	@mkdir -p $(B)/fuzz/new/$* fuzz/corpus/$*
	rm -rf $(B)/fuzz/merged/$* && mkdir -p $(B)/fuzz/merged/$*
	$< -merge=1 -max_len=4096 -verbosity=0 $(B)/fuzz/merged/$* \
		fuzz/corpus/$* $(B)/fuzz/new/$*
	rm -rf fuzz/corpus/$* $(B)/fuzz/new/$*
	mv $(B)/fuzz/merged/$* fuzz/corpus/$*

fuzz-merge: $(fuzzers:%=merge-fuzz-%)

.PHONY: fuzz-build check-fuzz fuzz fuzz-merge

# Times and instruction counts beside other unwinders; asserts no time.

bench_cflags := $(flags) $(user_flags) -iquote bench -fno-omit-frame-pointer
bench_libs := -lunwind-x86_64 -Wl,--wrap=ow_delegate_run $(libs)
bench_peers := common counts stacks visit peer_outwind peer_libunwind peer_dwfl \
	peer_fp

$(B)/bench/%.o: bench/%.c
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) $(bench_cflags) $(CFLAGS) -c $< -o $@

$(B)/bench/functions.c: bench/gen_functions.py
	@mkdir -p $(@D)
	python3 $< >$@

$(B)/bench/functions_%.o: $(B)/bench/functions.c
	@echo "  CC    $@"
	@$(CC) $(bench_cflags) -f$(if $(filter omit,$*),,no-)omit-frame-pointer \
		-DFUNCTIONS=functions_$* $(CFLAGS) -c $< -o $@

$(B)/bench/bench_walk: $(B)/bench/functions_omit.o $(B)/bench/functions_fp.o

$(B)/bench/bench_%: $(B)/bench/bench_%.o $(bench_peers:%=$(B)/bench/%.o) \
		$(B)/user/liboutwind.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) $(bench_libs) -o $@

# libunwind is loaded, ours and the system's.
$(B)/bench/bench_compat: $(B)/bench/bench_compat.o $(B)/bench/functions_omit.o \
		$(B)/bench/common.o $(B)/bench/visit.o
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $^ -o $@

# What is looked at.
bench_targets := $(addprefix $(B)/bench/,small threads freeze_min shortlives)
$(bench_targets): $(B)/bench/%: bench/%.c
	@mkdir -p $(@D)
	@$(CC) $(flags) -O2 -pthread $(CFLAGS) $< -o $@

bench: $(addprefix $(B)/bench/,bench_walk bench_first bench_tables bench_whole bench_compat) \
		$(bench_targets) $(B)/bin/outwind $(B)/lib/compat/libunwind.so.8 \
		$(B)/lib/compat/libunwind-x86_64.so.8
	@sh bench/run.sh $(B)

$(B)/bench/depths: bench/depths.c $(B)/bench/functions_omit.o
	@echo "  LD    $@"
	@$(CC) $(bench_cflags) $(CFLAGS) -pthread $^ -o $@

bench-record: $(B)/bin/outwind $(B)/bench/depths live-build
	@sh bench/record.sh $(B)
	@python3 -B bench/recordcpu.py $(B)
	@python3 -B bench/loads.py $(B)
	@python3 -B bench/recordfirst.py $(B)

# An hour, or as many SECONDS as are given.
bench-record-long: $(B)/bin/outwind $(B)/bench/shortlives
	@python3 -B bench/recordlong.py $(B) $(SECONDS)

.PHONY: bench bench-record bench-record-long

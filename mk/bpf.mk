# BPF programs, and what a profile's page is made of.

bpf_flags := -target bpf -D__TARGET_ARCH_x86 -mcpu=v3 -O2 -g -Wall -Werror \
	-Iuapi -iquote core -idirafter /usr/include/x86_64-linux-gnu

# A program that does not compile is gone with the list of its headers; so is what
# was made of it, as make would take that for newer than all it knows of.
$(B)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF   $@"
	@$(CLANG) $(bpf_flags) -MMD -MP -c $< -o $@ || \
		{ rm -f $(B)/gen/$*.skel.h; exit 1; }

$(B)/gen/%.skel.h: $(B)/bpf/%.bpf.o
	@mkdir -p $(@D)
	@echo "  GEN   $@"
	@$(BPFTOOL) gen skeleton $< >$@

$(B)/gen/flame.h: output/flame.html scripts/embed.sh
	@mkdir -p $(@D)
	@echo "  GEN   $@"
	@sh scripts/embed.sh $< '/*DATA*/' flame >$@

bpf_loader := bpfengine bpfhaste bpfload bpfknown bpfevents bpfwaits
$(foreach f,$(flavours) fuzz,$(bpf_loader:%=$(B)/$(f)/bpf/%.o)): \
	$(B)/gen/sampler.skel.h
$(foreach f,$(flavours) fuzz,$(B)/$(f)/bpf/kernelask.o): $(B)/gen/kernelask.skel.h
$(flavours:%=$(B)/%/output/profhtml.o): $(B)/gen/flame.h

# Headers of user space; the programs' are compiled with them.
bpf_headers := $(addprefix bpf/,bpfbatch.h bpfhaste.h bpfparts.h bpfevents.h bpfknown.h bpfload.h \
	bpfrule.h bpftables.h bpfwaits.h bpfwords.h clocks.h copywalk.h image.h images.h \
	chainwalk.h imagecheck.h imagekin.h imagelook.h imageshares.h imageusers.h imagewalk.h jitmaps.h kernelask.h kernelnames.h lives.h objectnumbers.h perfchecks.h perfcounts.h perfmoves.h perfring.h perfsampling.h perfthreads.h rangeroom.h recorder.h sampledobjects.h samplestore.h \
	tablemap.h usertimes.h)

# The programs' walker in user space, to be compared with core's: a tool of the
# live tests.
twin := $(addprefix $(B)/asan/tests/twin/,twin.o twindiff.o)
$(twin): flags += -DOW_BPF_TWIN -Wno-unknown-pragmas -iquote tests/twin
$(B)/bin/twindiff: $(twin) $(B)/asan/liboutwind.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(asan_flags) $(filter %.o,$^) $(filter %.a,$^) $(libs) -o $@

# Linux 5.15 has all that the sampler calls.
check-bpf: $(if $(filter yes,$(BPF)),$(B)/bpf/sampler.bpf.o)
	$(if $^,sh scripts/check-bpf.sh $^,@echo "# skip: built without BPF")

.PHONY: check-bpf

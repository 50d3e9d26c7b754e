# make check: all tests and gates.  Each stage is a target of its own.

# Everything that can fail, in the order of what it costs.
stages = check-layers check-free check-bpf check-kstack check-headers check-format \
	check-shell check-install check-unit check-symbolize check-trace check-xen check-fuzz check-live check-hostile \
	check-regs check-compat check-clients check-rows check-xenlab check-kunwind check-lttng \
	check-lttng-patch check-kunwind-arm64 check-kunwind-uml

check: deps-test
	@env --default-signal sh scripts/check.sh $(stages)

deps-build:
	@sh scripts/deps.sh build

deps-test:
	@sh scripts/deps.sh test

check-unit: $(tests:%=$(B)/asan/%)
	@set -e; for t in $^; do echo "# $$t"; $$t; done

# A file may include only what stands above it in ./layers.
check-layers:
	sh scripts/check-layers.sh

# The core may want nothing from outside but the four mem* functions.
check-free: $(B)/free/libcore.a
	$(LD) -r --whole-archive $< -o $(B)/free/core.o
	@! nm -u $(B)/free/core.o | grep -vE ' mem(cpy|move|set|cmp)$$'

# Every header compiles alone; the public ones as C99 and as C++ too.
check-headers:
	@set -e; for h in $(wildcard core/*.h lib/*.h libkunwind/*.h targets/*.h \
		output/*.h $(bpf_headers)); do \
		$(CC) $(filter-out -MMD -MP,$(flags)) -fsyntax-only -x c $$h; done
	@set -e; for h in $(wildcard compat/*.h); do \
		$(CC) $(filter-out -MMD -MP,$(compat_flags)) -fsyntax-only \
			-x c $$h; done
	@set -e; for h in $(filter-out %-common.h %-dynamic.h %-aarch64.h,$(wildcard include/compat/*.h)); do \
		$(CC) -std=c99 -D_GNU_SOURCE -Wall -Werror -Iinclude/compat \
			-fsyntax-only -x c $$h; \
		$(CXX) -std=c++11 -Wall -Werror -Iinclude/compat \
			-fsyntax-only -x c++ $$h; done
	$(CC) -std=c99 -pedantic -Wall -Werror -Iuapi -fsyntax-only -x c \
		-D_DEFAULT_SOURCE include/outwind/outwind.h
	$(CC) -std=c99 -pedantic -Wall -Werror -Iuapi -fsyntax-only -x c \
		-D_DEFAULT_SOURCE include/outwind/xen.h
	$(CC) -std=c99 -pedantic -Wall -Werror -Iuapi -fsyntax-only -x c \
		-D_DEFAULT_SOURCE include/outwind/record.h
	$(CXX) -std=c++11 -Wall -Werror -Iuapi -fsyntax-only -x c++ \
		include/outwind/outwind.h
	$(CXX) -std=c++11 -Wall -Werror -Iuapi -fsyntax-only -x c++ \
		include/outwind/xen.h
	$(CC) -std=c99 -pedantic -Wall -Werror -Iuapi -fsyntax-only -x c \
		-D_DEFAULT_SOURCE include/outwind/kunwind.h
	$(CXX) -std=c++11 -Wall -Werror -Iuapi -fsyntax-only -x c++ \
		include/outwind/kunwind.h
	$(CXX) -std=c++11 -Wall -Werror -Iuapi -fsyntax-only -x c++ \
		include/outwind/record.h

sources = $(wildcard $(foreach d,core lib targets bpf output tools uapi tests \
	tests/unit tests/hostile/programs tests/diff tests/twin tests/xen lab/xen/guest tests/compat tests/clients fuzz bench examples \
	include/outwind \
	compat include/compat kmod lttng libkunwind tests/kunwind tests/lttng \
	tests/kunwind/kmod bench/kmod,$(d)/*.c $(d)/*.h))

check-format:
	@clang-format --dry-run -Werror $(sources)

format:
	@clang-format -i $(sources)

check-shell:
	shellcheck $(shell git ls-files '*.sh' '*.bash' .ci/run)

.PHONY: check check-unit check-layers check-free check-headers check-format \
	format check-shell deps-build deps-test

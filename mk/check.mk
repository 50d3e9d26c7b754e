# Unit tests under sanitizers, and the gates on the sources.

check-unit: $(tests:%=$(B)/asan/%)
	@set -e; for t in $^; do $$t; done

# A file may include only what stands above it in ./layers.
check-layers:
	sh scripts/check-layers.sh

# The core may want nothing from outside but the four mem* functions.
check-free: $(B)/free/libcore.a
	$(LD) -r --whole-archive $< -o $(B)/free/core.o
	@! nm -u $(B)/free/core.o | grep -vE ' mem(cpy|move|set|cmp)$$'

.PHONY: check-unit check-layers check-free

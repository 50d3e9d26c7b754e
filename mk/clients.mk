# SPDX-License-Identifier: BSD-2-Clause
# Programs written for libunwind, with what `make install` puts in place.
clients := $(abspath $(B)/clients)

# Fast to build; the others are for check-clients-all.
client_tests = prebuilt libunwind-tests strace gperftools
client_tests_all = gperftools glog

$(clients)/installed: $(compat_libs) scripts/install-compat.sh \
		$(wildcard include/compat/*.h compat/*.in)
	@rm -rf $(clients)/prefix
	@mkdir -p $(clients)
	@$(MAKE) --no-print-directory -s install DESTDIR= LIBDIR=$(clients)/prefix/lib \
		PREFIX=$(clients)/prefix >/dev/null
	@touch $@

check-clients: $(clients)/installed live-build
	@status=0; for t in $(client_tests); do \
		echo "# $$t"; \
		sh tests/clients/$$t.sh $(clients) $(clients)/prefix $(live) || \
			status=1; \
	done; exit $$status

check-clients-all: check-clients
	@status=0; for t in $(client_tests_all); do \
		echo "# $$t"; \
		sh tests/clients/$$t.sh $(clients) $(clients)/prefix all || \
			status=1; \
	done; exit $$status

.PHONY: check-clients check-clients-all

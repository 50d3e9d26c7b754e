# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# symbolize end to end, built with sanitizers.

check-symbolize: $(B)/asan/symbolize
	python3 -B tests/symbolize/run.py $< tests/data/uniprof

.PHONY: check-symbolize

// SPDX-License-Identifier: BSD-2-Clause
/* Memory for what is large: it keeps what it has as it grows. */
#include <stdint.h>
#include <string.h>

#include "env.h"
#include "hugemem.h"
#include "test.h"

static void test_grow(void)
{
	static const size_t sizes[] = { 1,       4096,    400000,  524288,
					2 << 20, 3 << 20, 4 << 20, 9 << 20 };
	uint8_t *p = ow_hugemem_alloc(sizes[0]);
	size_t i, k;

	for (i = 0; i < OW_ARRAY_SIZE(sizes); i++) {
		if (i)
			p = ow_hugemem_grow(p, sizes[i - 1], sizes[i]);
		CHECK(p);
		for (k = 0; i && k < sizes[i - 1]; k += 1 + sizes[i - 1] / 99)
			CHECK(p[k] == (uint8_t)i);
		memset(p, (int)i + 1, sizes[i]);
	}
	ow_hugemem_free(p, sizes[i - 1]);
}

static void test_none(void)
{
	CHECK(!ow_hugemem_alloc(SIZE_MAX));
	CHECK(!ow_hugemem_alloc(SIZE_MAX / 4));
	ow_hugemem_free(NULL, 0);
	ow_hugemem_free(NULL, 1 << 20);
}

/* What there was stays if there is no room for more. */
static void test_failed_growth(void)
{
	uint8_t *p = ow_hugemem_alloc(1 << 20);

	memset(p, 7, 1 << 20);
	CHECK(!ow_hugemem_grow(p, 1 << 20, SIZE_MAX / 4));
	CHECK(p[0] == 7 && p[(1 << 20) - 1] == 7);
	ow_hugemem_free(p, 1 << 20);
}

int main(void)
{
	static const struct test tests[] = {
		{ "grow", test_grow },
		{ "none", test_none },
		{ "failed growth", test_failed_growth },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}

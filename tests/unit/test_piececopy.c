// SPDX-License-Identifier: BSD-2-Clause
#include "piececopy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <outwind/outwind.h>

#include "owner.h"
#include "test.h"

#define NR 200 /* pages, and a byte */

static size_t page, size;
static struct ow_owner own;
static uint8_t *from, *to;
static struct ow_piececopy p;

static void begin(void)
{
	page = ow_piececopy_page();
	size = NR * page + 1;
	own = (struct ow_owner){ 0 };
	from = malloc(size);
	to = mmap(NULL, (NR + 1) * page, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(from, 'a', size);
	CHECK(ow_piececopy_init(&p, from, size, &own) && own.bytes == 4 * 8);
	p.to = to;
}

static void end(void)
{
	ow_piececopy_deinit(&p);
	ow_owner_give(&own, own.bytes);
	munmap(to, (NR + 1) * page);
	free(from);
}

static void test_pages(void)
{
	begin();
	CHECK(ow_piececopy_want(&p, to + 2 * page - 1, 2));
	CHECK(to[page] == 'a' && to[3 * page - 1] == 'a');
	CHECK(!to[page - 1] && !to[3 * page] && own.bytes == 32 + 2 * page);
	CHECK(ow_piececopy_want(&p, to + page, 1) &&
	      own.bytes == 32 + 2 * page);
	/* The last one has a byte. */
	CHECK(ow_piececopy_want(&p, to + size - 1, SIZE_MAX));
	CHECK(to[size - 1] == 'a' && !to[size] && own.bytes == 32 + 3 * page);
	end();
}

static void test_elsewhere(void)
{
	begin();
	CHECK(ow_piececopy_has(&p, to) && ow_piececopy_has(&p, to + size - 1));
	CHECK(!ow_piececopy_has(&p, to - 1) &&
	      !ow_piececopy_has(&p, to + size));
	CHECK(ow_piececopy_want(&p, to + size, 1));
	CHECK(ow_piececopy_want(&p, to - 1, 9) && ow_piececopy_want(&p, to, 0));
	CHECK(ow_piececopy_want_text(&p, (char *)to + size, 9));
	CHECK(!to[0] && own.bytes == 32);
	end();
}

static void test_stays(void)
{
	begin();
	CHECK(ow_piececopy_want(&p, to, 1));
	memset(from, 'b', size);
	CHECK(ow_piececopy_want(&p, to, page + 1));
	CHECK(to[0] == 'a' && to[page - 1] == 'a' && to[page] == 'b');
	end();
}

static void test_texts(void)
{
	begin();
	from[3 * page + 7] = '\0';
	CHECK(ow_piececopy_want_text(&p, (char *)to + page + 5, SIZE_MAX));
	CHECK(strlen((char *)to + page + 5) == 2 * page + 2);
	CHECK(own.bytes == 32 + 3 * page);
	/* No more than is asked for, nor than there is. */
	CHECK(ow_piececopy_want_text(&p, (char *)to + 5 * page - 3, 4));
	CHECK(own.bytes == 32 + 5 * page && !to[6 * page]);
	CHECK(ow_piececopy_want_text(&p, (char *)to + 199 * page, SIZE_MAX));
	CHECK(strlen((char *)to + 199 * page) == page + 1);
	end();
}

/* What is given back is copied again; what lies in part elsewhere stays. */
static void test_drop(void)
{
	begin();
	CHECK(ow_piececopy_want(&p, to, 5 * page));
	memset(from, 'b', size);
	ow_piececopy_drop(&p, to + 1, to + 4 * page - 1);
	CHECK(to[page - 1] == 'a' && !to[page] && !to[3 * page - 1] &&
	      to[3 * page] == 'a');
	CHECK(own.bytes == 32 + 3 * page);
	ow_piececopy_drop(&p, to + page, to + 3 * page);
	ow_piececopy_drop(&p, to + page + 1, to + 2 * page);
	ow_piececopy_drop(&p, to, to + size);
	ow_piececopy_drop(&p, to - 1, to + page);
	CHECK(to[0] == 'a' && own.bytes == 32 + 3 * page);
	CHECK(ow_piececopy_want(&p, to, 5 * page) && to[2 * page] == 'b');
	CHECK(own.bytes == 32 + 5 * page);
	end();
}

static void test_limit(void)
{
	begin();
	ow_memory_limit(4 * (32 + 3 * page));
	CHECK(!ow_piececopy_want(&p, to, 4 * page));
	CHECK(own.bytes == 32 + 3 * page && to[3 * page - 1] && !to[3 * page]);
	CHECK(!ow_piececopy_want_text(&p, (char *)to + page, SIZE_MAX));
	CHECK(ow_piececopy_want(&p, to, 3 * page));
	ow_memory_limit(512 << 20);
	CHECK(ow_piececopy_want(&p, to, 4 * page));
	end();
}

int main(void)
{
	static const struct test tests[] = {
		{ "pages", test_pages },        { "elsewhere", test_elsewhere },
		{ "a page stays", test_stays }, { "texts", test_texts },
		{ "given back", test_drop },    { "the budget", test_limit },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}

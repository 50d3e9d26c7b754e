// SPDX-License-Identifier: BSD-2-Clause
/* DIEs as objdump(1) lists them: all, and those right below the units. */
#include "dies.h"

#include <fcntl.h>
#include <unistd.h>

#include "owner.h"
#include "scratch.h"
#include "test.h"

static const char source[] = "#include <map>\n"
			     "#include <string>\n"
			     "int main(int argc, char **argv)\n"
			     "{\n"
			     "	std::map<std::string, int> m;\n"
			     "	for (int i = 0; i < argc; i++)\n"
			     "		m[argv[i]] = i;\n"
			     "	return (int)m.size();\n"
			     "}\n";

#define MUCH ((uint64_t)1 << 40)

struct counts {
	size_t all, top;
	uint64_t work;
};

/* All DIEs of a unit, one after another. */
static size_t count_all(const struct ow_dies *d, const uint8_t *at)
{
	struct ow_die die;
	size_t nr = 0;

	while (at < d->end) {
		if (ow_dies_is_end(d, at)) {
			at++;
		} else if (ow_dies_read(d, at, &die)) {
			at = die.after;
			nr++;
		} else {
			break;
		}
	}
	return nr;
}

static size_t count_top(const struct ow_dies *d, const uint8_t *at)
{
	struct ow_die die;
	size_t nr = 0;

	if (!ow_dies_read(d, at, &die) || !die.has_children)
		return 0;
	for (at = die.after; at && ow_dies_read(d, at, &die); nr++)
		at = ow_dies_after(d, &die);
	return nr;
}

static struct counts count(const char *path, uint64_t work)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf *dw = dwarf_begin(fd, DWARF_C_READ);
	struct counts c = { .work = work };
	Dwarf_Off off = 0, next;
	struct ow_dies d;
	size_t head;
	struct ow_owner own = { 0 };
	Dwarf_Die unit;

	for (; dwarf_nextcu(dw, off, &next, &head, NULL, NULL, NULL) == 0;
	     off = next) {
		if (!dwarf_offdie(dw, off + head, &unit))
			continue;
		if (ow_dies_init(&d, &unit, NULL, &c.work, &own)) {
			c.all += count_all(&d, unit.addr);
			c.top += count_top(&d, unit.addr);
		}
		ow_dies_deinit(&d);
	}
	CHECK(own.bytes == 0);
	dwarf_end(dw);
	close(fd);
	return c;
}

static size_t listed(const char *level)
{
	size_t nr = 0;
	FILE *in;

	CHECK(scratch_run(
		"objdump --dwarf=info p | grep -c '^ <%s><[^>]*>: Abbrev "
		"Number: [1-9]' >nr",
		level));
	in = fopen("nr", "re");
	CHECK(in && fscanf(in, "%zu", &nr) == 1);
	if (in)
		fclose(in);
	return nr;
}

static void check_flags(const char *flags)
{
	struct counts c, less;

	CHECK(scratch_run("%s p.cc -o p", flags));
	c = count("p", MUCH);
	printf("# %s: %zu DIEs\n", flags, c.all);
	CHECK(c.all > 1000 && c.all == listed("[0-9a-f]*"));
	CHECK(c.top > 10 && c.top == listed("1"));
	/* What may not be done is not done. */
	less = count("p", (MUCH - c.work) / 2);
	CHECK(less.work == 0 && less.all + less.top < c.all + c.top);
}

static void test_compiled(void)
{
	scratch_write("p.cc", source);
	check_flags("g++ -O2 -gdwarf-2");
	check_flags("g++ -O2 -gdwarf-4");
	check_flags("g++ -O2 -gdwarf-5");
	check_flags("g++ -O2 -gdwarf-5 -gdwarf64");
	if (scratch_run("which clang++ >/dev/null 2>&1"))
		check_flags("clang++ -O2 -gdwarf-5");
}

int main(void)
{
	static const struct test tests[] = {
		{ "what compilers write", test_compiled },
	};

	scratch_enter();
	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}

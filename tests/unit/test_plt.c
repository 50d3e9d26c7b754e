// SPDX-License-Identifier: BSD-2-Clause
#include "plt.h"

#include <string.h>

#include "object.h"
#include "scratch.h"
#include "test.h"

static const char source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"int main(int c, char **v)\n{\n"
	"	void *(*volatile p)(size_t) = malloc;\n"
	"	free(p(1)); puts(v[0]); printf(\"%d\", atoi(v[c - 1]));\n"
	"	free(malloc(strlen(v[0])));\n"
	"	return 0;\n}\n";

/*
 * "0000000000001030 <puts@plt>:" begins a stub in a disassembly; at
 * "<puts@plt-0x10>" is what all of them share.
 */
static size_t check_stubs(const struct ow_plt *plt, const char *path,
			  const char *objdump)
{
	char line[512], name[400];
	unsigned long long at;
	size_t nr = 0;
	FILE *f;

	snprintf(line, sizeof(line), "%s -d %s", objdump, path);
	f = popen(line, "r");
	while (f && fgets(line, sizeof(line), f)) {
		struct ow_plt_stub stub = { 0 };
		char *end;

		if (sscanf(line, "%llx <%399[^>]>:", &at, name) != 2 ||
		    !(end = strstr(name, "@plt")) || end[4] || name[0] == '*')
			continue;
		*end = '\0';
		nr++;
		for (int i = 0; i < 8; i += 4) {
			bool found = ow_plt_find(plt, at + i, &stub);

			CHECK(found && stub.vaddr == at);
			CHECK(found && stub.name &&
			      strncmp(stub.name, name, strcspn(name, "@")) ==
				      0);
			if (!found || !stub.name)
				printf("# %s", line);
		}
	}
	if (f)
		pclose(f);
	return nr;
}

static void check_program(const char *gcc, const char *objdump,
			  const char *options)
{
	struct ow_object *obj;

	scratch_write("p.c", source);
	if (!scratch_run("%s -fno-builtin %s p.c -o p 2>/dev/null", gcc,
			 options)) {
		printf("# no %s %s here\n", gcc, options);
		return;
	}
	obj = ow_object_open("p", NULL);
	CHECK(obj);
	if (obj) {
		struct ow_plt *plt = ow_plt_create(obj);

		CHECK(check_stubs(plt, "p", objdump) >= 5);
		ow_plt_destroy(plt);
	}
	ow_object_close(obj);
}

static void test_x86(void)
{
	check_program("gcc", "objdump", "");
	check_program("gcc", "objdump", "-Wl,-z,lazy -fcf-protection=none");
	check_program("gcc", "objdump", "-Wl,-z,now");
	check_program("gcc", "objdump", "-no-pie -Wl,-z,lazy");
	check_program("gcc", "objdump", "-Wl,-z,now -Wl,-z,ibtplt");
	check_program("gcc", "objdump", "-m32");
	check_program("gcc", "objdump", "-m32 -no-pie -Wl,-z,lazy");
}

static void test_aarch64(void)
{
	const char *gcc = "aarch64-linux-gnu-gcc";
	const char *objdump = "aarch64-linux-gnu-objdump";

	check_program(gcc, objdump, "");
	check_program(gcc, objdump,
		      "-mbranch-protection=standard "
		      "-Wl,-z,force-bti");
}

static void test_elsewhere(void)
{
	struct ow_object *obj = ow_object_open("/proc/self/exe", NULL);
	struct ow_plt *plt = obj ? ow_plt_create(obj) : NULL;
	struct ow_plt_stub stub;

	CHECK(plt);
	CHECK(plt && !ow_plt_find(plt, 0, &stub));
	CHECK(plt && !ow_plt_find(plt, ~0ULL, &stub));
	ow_plt_destroy(plt);
	ow_object_close(obj);
}

int main(void)
{
	static const struct test tests[] = {
		{ "x86", test_x86 },
		{ "aarch64", test_aarch64 },
		{ "no stub", test_elsewhere },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}

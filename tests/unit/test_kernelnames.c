// SPDX-License-Identifier: BSD-2-Clause
/* Names of the running kernel's functions, beside its own list of them. */
#include "kernelnames.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

#define APART 997 /* symbols from one that is looked at to the next */
#define NEAR  64  /* symbols among which others of its address stand */

struct symbol {
	uint64_t addr;
	char type, name[512];
};

static struct symbol *symbols;
static size_t nr;

/* Functions; none where addresses aren't shown. */
static void read_symbols(void)
{
	FILE *in = fopen("/proc/kallsyms", "re");
	unsigned long long addr;
	struct symbol s;

	while (in && fscanf(in, "%llx %c %511[^\t\n]%*[^\n]", &addr, &s.type,
			    s.name) == 3) {
		if (!addr || !strchr("tT", s.type))
			continue;
		if (nr % 65536 == 0)
			symbols = realloc(symbols,
					  (nr + 65536) * sizeof(*symbols));
		s.addr = addr;
		symbols[nr++] = s;
	}
	if (in)
		fclose(in);
}

/* Is it one of the names of what stands at the i-th one's address? */
static bool is_name(const char *name, size_t i)
{
	size_t k = i > NEAR ? i - NEAR : 0;

	for (; name && k < nr && k < i + NEAR; k++)
		if (symbols[k].addr == symbols[i].addr &&
		    strcmp(symbols[k].name, name) == 0)
			return true;
	return false;
}

static void check_name(struct ow_kernelnames *k, size_t i)
{
	struct ow_frame f = { .pc = symbols[i].addr };
	struct ow_name name, again;

	ow_kernelnames_name(k, &f, &name);
	CHECK(is_name(name.function, i) && name.offset == 0);
	CHECK(strcmp(name.module, "[kernel]") == 0);
	CHECK(name.module_offset == f.pc);
	/* as a return address it is the function's in front of it */
	f.pc++;
	f.flags = OW_FRAME_RETURN;
	ow_kernelnames_name(k, &f, &again);
	CHECK(is_name(again.function, i) && again.offset == 1);
	ow_kernelnames_name(k, &f, &again);
	CHECK(is_name(again.function, i) && again.offset == 1);
}

static uint64_t address_of(const char *name)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (strcmp(symbols[i].name, name) == 0)
			return symbols[i].addr;
	return 0;
}

static void check_all(struct ow_kernelnames *k)
{
	struct ow_frame user = { .pc = 0x40000000 };
	struct ow_frame in = { .pc = address_of("schedule") };
	struct ow_module_info m;
	struct ow_name name;
	size_t i;

	for (i = 0; i < nr; i += APART)
		check_name(k, i);
	ow_kernelnames_name(k, &user, &name);
	CHECK(!name.function && name.module_offset == user.pc);
	CHECK(!ow_kernelnames_module(k, &user, &m));
	CHECK(ow_kernelnames_module(k, &in, &m) == (nr > 0));
	if (nr == 0)
		return;
	CHECK(m.start == address_of("_stext") && m.end == address_of("_etext"));
	CHECK(strcmp(m.path, "[kernel.kallsyms]") == 0);
}

static bool is_entry(struct ow_kernelnames *k, uint64_t addr)
{
	const struct ow_frame f = { .pc = addr + 1, .flags = OW_FRAME_RETURN };

	return ow_kernelnames_is_entry(k, &f);
}

/* Where the kernel is entered, of all symbols whose names say so; and others. */
static void check_entries(struct ow_kernelnames *k)
{
	static const char *const names[] = {
		"entry_SYSCALL_64_after_hwframe",
		"entry_SYSENTER_compat_after_hwframe",
		"asm_exc_page_fault",
		"asm_int80_emulation",
		"asm_sysvec_apic_timer_interrupt",
		"ret_from_fork",
		"ret_from_fork_asm",
		"el0t_64_sync",
		"el0t_64_irq",
		"el0t_32_sync",
	}, *const others[] = {
		"schedule", "do_syscall_64", "vm_mmap_pgoff", "invoke_syscall",
		"el_not_there", "handle_mm_fault", "__x86_indirect_thunk_rax",
		"bpf_trace_run2",
	};
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(names); i++)
		CHECK(!address_of(names[i]) ||
		      is_entry(k, address_of(names[i])));
	for (i = 0; i < OW_ARRAY_SIZE(others); i++)
		CHECK(!address_of(others[i]) ||
		      !is_entry(k, address_of(others[i])));
	CHECK(is_entry(k, 0x40000000)); /* not known what it is */
}

/* The kernel is asked, if it may be; else they are those of the list. */
static void test_names(void)
{
	struct ow_kernelask *ask = ow_kernelask_open();
	struct ow_kernelnames k = { .tried = false };

	check_all(&k);
	CHECK(!k.ask == !ask && k.listed == !ask);
	check_entries(&k);
	ow_kernelnames_deinit(&k);
	ow_kernelask_close(ask);
}

/* The list, which others go by. */
static void test_list(void)
{
	struct ow_kernelnames k = { .tried = false };

	ow_kernelnames_read_list(&k);
	check_all(&k);
	CHECK(!k.ask && k.listed);
	check_entries(&k);
	k.entry_start = k.entry_end = 0;
	check_entries(&k);
	ow_kernelnames_deinit(&k);
}

int main(void)
{
	static const struct test tests[] = {
		{ "names", test_names },
		{ "names of the list", test_list },
	};

	read_symbols();
	if (nr == 0)
		printf("# the kernel shows no addresses\n");
	return test_main(tests, OW_ARRAY_SIZE(tests));
}

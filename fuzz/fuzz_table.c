// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Input: the architecture; bit 7 leaves the rest as it is.  Else its head is
 * put right, as chance doesn't find a size that fits all its parts.
 */
#include "fuzz.h"
#include "table.h"

static struct ow_table table;

/* A page more than there are, and a sequence more. */
#define MIN_SIZE (sizeof(struct ow_table_head) + 4 + 2)

static void fix_head(uint8_t *bytes, size_t size, const struct ow_arch *arch)
{
	struct ow_table_head head;
	size_t left = size - MIN_SIZE;

	memcpy(&head, bytes, sizeof(head));
	head.magic = OW_TABLE_MAGIC;
	head.version = OW_TABLE_VERSION;
	head.machine = arch->machine;
	head.word = arch->word;
	head.ra %= arch->nr_regs;
	head.base &= ~(uint64_t)0xffff;
	head.nr_pages %= left / 4 + 1;
	left -= 4 * head.nr_pages;
	head.nr_rows %= left / 4 + 1;
	left -= 4 * head.nr_rows;
	head.nr_rules %= left / 4 + 1;
	left -= 4 * head.nr_rules;
	head.nr_sets %= left / 2 + 1;
	left -= 2 * head.nr_sets;
	head.nr_seqs %= left / 2 + 1;
	left -= 2 * head.nr_seqs;
	head.nr_parts %= left / 3 + 1;
	left -= 3 * head.nr_parts;
	head.sets_size = left;
	memcpy(bytes, &head, sizeof(head));
}

static void check_row(uint64_t vaddr, bool verified)
{
	struct ow_rule rules[OW_MAX_REGS];
	struct ow_row row = { .nr = 77 };
	int err = ow_table_row(&table, vaddr, &row, rules);
	unsigned int i;

	ASSERT(err == 0 || err == -OW_ENOENT || err == -OW_EUNSUPPORTED ||
	       err == -OW_EFORMAT);
	ASSERT(!verified || err != -OW_EFORMAT);
	if (err)
		return;
	ASSERT(row.nr <= OW_TABLE_MAX_SAVES + 1 && row.rules == rules);
	ASSERT(row.how == OW_HOW_TABLE && row.ra < table.arch->nr_regs);
	ASSERT(row.cfa.kind == OW_RULE_REG);
	ASSERT(row.cfa.reg < table.arch->nr_regs);
	for (i = 0; i < row.nr; i++) {
		ASSERT(rules[i].kind == OW_RULE_AT_CFA);
		ASSERT(rules[i].slot < table.arch->nr_regs);
	}
}

static void check_rows(bool verified)
{
	uint64_t vaddr, old = 0;
	uint32_t i, k, parts = 1;

	for (i = 0; i < table.nr_rows; i++) {
		for (k = 0; k < parts; k++) {
			vaddr = ow_table_row_vaddr(&table, i, k, &parts);
			ASSERT(parts > 0 && parts <= OW_TABLE_MAX_PARTS);
			ASSERT(!verified || (i == 0 && k == 0) || vaddr > old);
			check_row(vaddr - 1, verified);
			check_row(vaddr, verified);
			check_row(vaddr + 1, verified);
			old = vaddr;
		}
	}
	for (i = 0; i < table.nr_pages + 1; i++) {
		vaddr = table.base + ((uint64_t)i << OW_TABLE_PAGE_BITS);
		check_row(vaddr - 1, verified);
		check_row(vaddr, verified);
	}
}

static void check_checksum(uint8_t *bytes, size_t size)
{
	uint64_t sum = ow_table_checksum(bytes, size);
	size_t at = size * 2 / 3;

	bytes[at] ^= 0x10;
	ASSERT(ow_table_checksum(bytes, size) != sum);
	bytes[at] ^= 0x10;
	ASSERT(ow_table_checksum(bytes, size) == sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t first = fuzz_take(&data, &size, 1);
	uint8_t *copy = malloc(size ? size : 1); /* aligned */
	int err, damage;

	memcpy(copy, data, size);
	if (!(first & 0x80) && size >= MIN_SIZE)
		fix_head(copy, size, fuzz_arch(first));
	err = ow_table_open(&table, copy, size);
	ASSERT(err == 0 || err == -OW_EFORMAT || err == -OW_EUNSUPPORTED);
	if (err == 0) {
		damage = ow_table_verify(&table);
		ASSERT(damage == 0 || damage == -OW_EFORMAT);
		check_rows(damage == 0);
		check_checksum(copy, size);
	}
	free(copy);
	return 0;
}

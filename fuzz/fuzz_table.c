// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Input: the architecture; bit 7 leaves the rest as it is.  Else its head is
 * put right, as chance doesn't find a size that fits all its parts.
 */
#include "fuzz.h"
#include "table.h"

static struct ow_table table;

/* At most so much of what is left, in pieces of a size. */
static uint32_t part_of(uint64_t wanted, uint32_t piece, size_t *left)
{
	uint32_t nr = (uint32_t)(wanted % (*left / piece + 1));

	*left -= (size_t)nr * piece;
	return nr;
}

static void fix_head(uint8_t *bytes, size_t size, const struct ow_arch *arch)
{
	struct ow_table_head head;
	size_t left = size - sizeof(head);
	uint32_t blocks;

	memcpy(&head, bytes, sizeof(head));
	head.magic = OW_TABLE_MAGIC;
	head.version = OW_TABLE_VERSION;
	head.machine = arch->machine;
	head.word = arch->word;
	head.ra %= arch->nr_regs;
	/* Blocks, the last one of which is not cut, and their places. */
	blocks = part_of(head.rows_size, OW_TABLE_BLOCK + 4, &left);
	head.rows_size = blocks * OW_TABLE_BLOCK;
	head.nr_sets = (uint16_t)part_of(head.nr_sets, 4, &left);
	head.nr_codes = (uint16_t)part_of(head.nr_codes, 3, &left);
	head.saves_size = (uint16_t)part_of(head.saves_size, 1, &left);
	head.seqs_size = (uint32_t)left;
	memcpy(bytes, &head, sizeof(head));
}

/* In brief is what the row is in brief. */
static void check_brief(uint64_t vaddr, const struct ow_row *row)
{
	struct ow_brief direct, made;
	struct ow_table_look l;

	ASSERT(ow_table_code(&table, vaddr, &l) == 0);
	ASSERT(l.last == !!(row->flags & OW_ROW_LAST));
	if (!ow_table_brief(&table, l.code, &direct))
		return;
	ASSERT(ow_brief_make(&made, table.arch, row));
	ASSERT(memcmp(&direct, &made, sizeof(made)) == 0);
}

static int check_row(uint64_t vaddr, bool verified)
{
	struct ow_rule rules[OW_MAX_REGS];
	struct ow_row row = { .nr = 77 };
	int err = ow_table_row(&table, vaddr, &row, rules);
	unsigned int i;

	ASSERT(err == 0 || err == -OW_ENOENT || err == -OW_EUNSUPPORTED ||
	       err == -OW_EFORMAT);
	ASSERT(!verified || err != -OW_EFORMAT);
	if (err)
		return err;
	if (row.how == OW_HOW_SIGNAL) {
		ASSERT(row.rules == table.arch->sigframes->rules);
		ASSERT(row.nr == table.arch->sigframes->nr);
		check_brief(vaddr, &row);
		return 0;
	}
	ASSERT(row.nr <= OW_TABLE_MAX_SAVES + 1 && row.rules == rules);
	ASSERT(row.how == OW_HOW_TABLE && row.ra < table.arch->nr_regs);
	ASSERT(row.cfa.kind == OW_RULE_REG && row.cfa.off >= 0);
	ASSERT(row.cfa.reg < table.arch->nr_regs);
	for (i = 0; i < row.nr; i++) {
		ASSERT(rules[i].kind == OW_RULE_AT_CFA);
		ASSERT(rules[i].slot < table.arch->nr_regs);
	}
	check_brief(vaddr, &row);
	return 0;
}

/* What a look-up of a row with this code is to return. */
static int result_of(uint32_t code)
{
	return code == OW_TABLE_NONE   ? -OW_ENOENT :
	       code == OW_TABLE_ESCAPE ? -OW_EUNSUPPORTED :
					 0;
}

/* Each row that is listed is found where it begins. */
static void check_rows(bool verified)
{
	struct ow_table_pos pos = { .block = 0 };
	uint64_t vaddr, old = 0;
	uint32_t nr = 0, i;
	int more, found;

	while ((more = ow_table_next(&table, &pos)) > 0) {
		vaddr = table.base + pos.off;
		ASSERT(!verified || nr == 0 || vaddr > old);
		check_row(vaddr - 1, verified);
		found = check_row(vaddr, verified);
		ASSERT(!verified || found == result_of(pos.code));
		check_row(vaddr + 1, verified);
		old = vaddr;
		ASSERT(++nr <= table.rows_size * OW_TABLE_BLOCK);
	}
	ASSERT(more == 0 || more == -OW_EFORMAT);
	ASSERT(!verified || more == 0);
	for (i = 0; i < table.nr_blocks; i++) {
		vaddr = table.base + table.blocks[i];
		check_row(vaddr - 1, verified);
		check_row(vaddr, verified);
	}
	ASSERT(ow_table_nr_rules(&table) <= table.nr_codes);
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
	if (!(first & 0x80) && size >= sizeof(struct ow_table_head))
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

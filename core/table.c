// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "table.h"

#include "err.h"

#define CHECK_OFF offsetof(struct ow_table_head, check)

static uint64_t mix(uint64_t lane, uint64_t word)
{
	lane = (lane ^ word) * 0x9e3779b97f4a7c15ULL;
	return lane ^ lane >> 29;
}

static uint64_t word_at(const uint8_t *bytes, uint64_t off, uint64_t size)
{
	uint64_t word = 0;

	if (off < size)
		memcpy(&word, bytes + off, size - off < 8 ? size - off : 8);
	return word;
}

uint64_t ow_table_checksum(const uint8_t *bytes, uint64_t size)
{
	uint64_t lane[4] = { size, 1, 2, 3 };
	uint64_t off = 0, w[4];
	unsigned int i;

	/* Four lanes, as a multiplication takes longer than a load. */
	for (; off + 32 <= size; off += 32) {
		memcpy(w, bytes + off, sizeof(w));
		if (off == 0)
			w[CHECK_OFF / 8] = 0;
		for (i = 0; i < 4; i++)
			lane[i] = mix(lane[i], w[i]);
	}
	for (i = 0; i < 4; i++)
		lane[i] = mix(lane[i], word_at(bytes, off + 8 * i, size));
	return mix(mix(mix(lane[0], lane[1]), lane[2]), lane[3]);
}

int ow_table_open(struct ow_table *t, const uint8_t *bytes, uint64_t size)
{
	struct ow_table_head head;
	struct ow_table n;
	uint64_t need;

	if (size < sizeof(head))
		return -OW_EFORMAT;
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != OW_TABLE_MAGIC)
		return -OW_EFORMAT;
	if (head.version != OW_TABLE_VERSION)
		return -OW_EUNSUPPORTED;
	need = sizeof(head) + ((uint64_t)head.nr_pages + 1) * 4 +
	       (uint64_t)head.nr_rows * 4 + (uint64_t)head.nr_rules * 4 +
	       (uint64_t)head.nr_sets * 2 + head.sets_size;
	if (need != size || head.base & 0xffff ||
	    head.nr_rules > OW_TABLE_MAX_RULES ||
	    head.nr_sets > OW_TABLE_MAX_SETS)
		return -OW_EFORMAT;
	n = (struct ow_table){
		.arch = ow_arch_find(head.machine, head.word == 8),
		.base = head.base,
		.nr_pages = head.nr_pages,
		.nr_rows = head.nr_rows,
		.nr_rules = head.nr_rules,
		.nr_sets = head.nr_sets,
		.sets_size = head.sets_size,
		.pages = (const void *)(bytes + sizeof(head)),
	};
	n.rows = (const void *)(n.pages + n.nr_pages + 1);
	n.rules = (const void *)(n.rows + n.nr_rows);
	n.set_offs = (const void *)(n.rules + n.nr_rules);
	n.sets = (const void *)(n.set_offs + n.nr_sets);
	if (!n.arch || n.arch->word != head.word)
		return -OW_EUNSUPPORTED;
	*t = n;
	return 0;
}

/* Rows of a page, or false if the page table is damaged. */
static bool page_rows(const struct ow_table *t, uint32_t page,
		      uint32_t *first_ret, uint32_t *end_ret)
{
	uint32_t first = t->pages[page], end = t->pages[page + 1];

	*first_ret = first;
	*end_ret = end;
	return first <= end && end <= t->nr_rows;
}

static int decode_set(const struct ow_table *t, uint32_t i, struct ow_row *row,
		      struct ow_rule *rules)
{
	struct ow_table_set set;
	const uint8_t *at;
	uint32_t off;
	unsigned int n;

	if (i >= t->nr_sets)
		return -OW_EFORMAT;
	off = t->set_offs[i];
	if (off > t->sets_size || t->sets_size - off < sizeof(set))
		return -OW_EFORMAT;
	memcpy(&set, t->sets + off, sizeof(set));
	off += sizeof(set);
	if (set.nr > OW_TABLE_MAX_SAVES || set.ra >= t->arch->nr_regs ||
	    set.flags & ~(OW_ROW_SIGNAL | OW_ROW_OUTERMOST) ||
	    t->sets_size - off < 2u * set.nr)
		return -OW_EFORMAT;
	at = t->sets + off;
	for (n = 0; n < set.nr; n++, at += 2) {
		if (at[0] >= t->arch->nr_regs)
			return -OW_EFORMAT;
		rules[n] = (struct ow_rule){ at[0], OW_RULE_AT_CFA, 0,
					     (int8_t)at[1] * t->arch->word };
	}
	row->nr = set.nr;
	row->flags = set.flags;
	row->ra = set.ra;
	return 0;
}

static int decode_rule(const struct ow_table *t, uint32_t rule,
		       struct ow_row *row, struct ow_rule *rules)
{
	struct ow_row r = { .how = OW_HOW_TABLE, .rules = rules };
	uint32_t packed;
	int err;

	if (rule == OW_TABLE_NONE)
		return -OW_ENOENT;
	if (rule == OW_TABLE_ESCAPE)
		return -OW_EUNSUPPORTED;
	if (rule - OW_TABLE_FIRST >= t->nr_rules)
		return -OW_EFORMAT;
	packed = t->rules[rule - OW_TABLE_FIRST];
	if (OW_TABLE_RULE_REG(packed) >= t->arch->nr_regs)
		return -OW_EFORMAT;
	r.cfa = (struct ow_rule){ 0, OW_RULE_REG, OW_TABLE_RULE_REG(packed),
				  OW_TABLE_RULE_WORDS(packed) * t->arch->word };
	err = decode_set(t, OW_TABLE_RULE_SET(packed), &r, rules);
	if (err)
		return err;
	*row = r;
	return 0;
}

int ow_table_row(const struct ow_table *t, uint64_t vaddr, struct ow_row *row,
		 struct ow_rule *rules)
{
	uint64_t page = (vaddr - t->base) >> OW_TABLE_PAGE_BITS;
	uint32_t low, high, mid;
	uint16_t pc = (uint16_t)vaddr;
	int err;

	if (vaddr < t->base || page >= t->nr_pages)
		return -OW_ENOENT;
	if (!page_rows(t, page, &low, &high))
		return -OW_EFORMAT;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->rows[mid].pc <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	/* Before a page's first row, the last one of an earlier page holds. */
	if (low == 0)
		return -OW_ENOENT;
	err = decode_rule(t, t->rows[low - 1].rule, row, rules);
	if (!err && low < t->nr_rows &&
	    t->rows[low].pc == (uint16_t)(pc + 1) &&
	    ow_table_row_vaddr(t, low) == vaddr + 1)
		row->flags |= OW_ROW_LAST;
	return err;
}

uint64_t ow_table_row_vaddr(const struct ow_table *t, uint32_t i)
{
	uint32_t low = 0, high = t->nr_pages, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->pages[mid + 1] <= i)
			low = mid + 1;
		else
			high = mid;
	}
	return t->base + ((uint64_t)low << OW_TABLE_PAGE_BITS) + t->rows[i].pc;
}

int ow_table_verify(const struct ow_table *t)
{
	struct ow_rule rules[OW_TABLE_MAX_SAVES];
	struct ow_row row;
	uint32_t page, i, first, end;

	if (t->pages[0] != 0 || t->pages[t->nr_pages] != t->nr_rows)
		return -OW_EFORMAT;
	for (page = 0; page < t->nr_pages; page++) {
		if (!page_rows(t, page, &first, &end))
			return -OW_EFORMAT;
		for (i = first; i + 1 < end; i++)
			if (t->rows[i].pc >= t->rows[i + 1].pc)
				return -OW_EFORMAT;
	}
	for (i = 0; i < t->nr_rows; i++)
		if (t->rows[i].rule >= OW_TABLE_FIRST + t->nr_rules)
			return -OW_EFORMAT;
	for (i = 0; i < t->nr_rules; i++)
		if (decode_rule(t, OW_TABLE_FIRST + i, &row, rules))
			return -OW_EFORMAT;
	for (i = 0; i < t->nr_sets; i++)
		if (decode_set(t, i, &row, rules))
			return -OW_EFORMAT;
	return 0;
}

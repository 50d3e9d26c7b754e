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
	       (uint64_t)head.nr_sets * 2 + ((uint64_t)head.nr_seqs + 1) * 2 +
	       (uint64_t)head.nr_parts * 3 + head.sets_size;
	if (need != size || head.base & 0xffff ||
	    (uint32_t)head.nr_rules + head.nr_seqs > OW_TABLE_MAX_NUMBERS ||
	    head.nr_sets > OW_TABLE_MAX_SETS)
		return -OW_EFORMAT;
	n = (struct ow_table){
		.arch = ow_arch_find(head.machine, head.word == 8),
		.base = head.base,
		.ra = head.ra,
		.nr_pages = head.nr_pages,
		.nr_rows = head.nr_rows,
		.nr_rules = head.nr_rules,
		.nr_sets = head.nr_sets,
		.sets_size = head.sets_size,
		.nr_seqs = head.nr_seqs,
		.nr_parts = head.nr_parts,
		.pages = (const void *)(bytes + sizeof(head)),
	};
	n.rows = (const void *)(n.pages + n.nr_pages + 1);
	n.rules = (const void *)(n.rows + n.nr_rows);
	n.set_offs = (const void *)(n.rules + n.nr_rules);
	n.seqs = n.set_offs + n.nr_sets;
	n.part_rules = n.seqs + n.nr_seqs + 1;
	n.part_pcs = (const void *)(n.part_rules + n.nr_parts);
	n.sets = n.part_pcs + n.nr_parts;
	if (!n.arch || n.arch->word != head.word || head.ra >= n.arch->nr_regs)
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
	int32_t word = t->arch->word;
	const uint8_t *at, *end;
	uint8_t head;

	if (i >= t->nr_sets || t->set_offs[i] >= t->sets_size)
		return -OW_EFORMAT;
	at = t->sets + t->set_offs[i];
	head = *at++;
	if (2 * OW_TABLE_SET_NR(head) > t->sets + t->sets_size - at)
		return -OW_EFORMAT;
	row->nr = 0;
	if (head & OW_TABLE_SET_RA)
		rules[row->nr++] =
			(struct ow_rule){ t->ra, OW_RULE_AT_CFA, 0, -word };
	for (end = at + 2 * OW_TABLE_SET_NR(head); at < end; at += 2) {
		if (at[0] >= t->arch->nr_regs)
			return -OW_EFORMAT;
		rules[row->nr++] = (struct ow_rule){ at[0], OW_RULE_AT_CFA, 0,
						     (int8_t)at[1] * word };
	}
	row->flags = (head & OW_TABLE_SET_SIGNAL ? OW_ROW_SIGNAL : 0) |
		     (head & OW_TABLE_SET_OUTERMOST ? OW_ROW_OUTERMOST : 0);
	row->ra = t->ra;
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

/* Where a sequence's parts lie, or false if it is no sequence or damaged. */
static bool seq_parts(const struct ow_table *t, uint32_t rule,
		      uint32_t *first_ret, uint32_t *end_ret)
{
	uint32_t seq = rule - OW_TABLE_FIRST - t->nr_rules;
	uint32_t first, end;

	if (rule < OW_TABLE_FIRST + t->nr_rules || seq >= t->nr_seqs)
		return false;
	first = t->seqs[seq];
	end = t->seqs[seq + 1];
	*first_ret = first;
	*end_ret = end;
	return first < end && end <= t->nr_parts &&
	       end - first <= OW_TABLE_MAX_PARTS;
}

/*
 * The rule at off bytes behind a row's vaddr: the row's own, or that of the
 * part of its sequence.
 */
static uint32_t rule_at(const struct ow_table *t, uint32_t rule, uint32_t off)
{
	uint32_t i, end;

	if (!seq_parts(t, rule, &i, &end))
		return rule;
	while (i + 1 < end && t->part_pcs[i + 1] <= off)
		i++;
	return t->part_rules[i];
}

/* The last row of a page at or below pc, plus one: where the next one is. */
static uint32_t search(const struct ow_table *t, uint32_t low, uint32_t high,
		       uint16_t pc)
{
	uint32_t mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->rows[mid].pc <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Does row number i begin at that many bytes into a page, whose rows end before
 * row number end?  At 64 KiB it would have to be the next page's.
 */
static bool begins(const struct ow_table *t, uint32_t i, uint32_t page,
		   uint32_t end, uint32_t pc)
{
	if (i < end)
		return t->rows[i].pc == pc;
	return pc == 0x10000 && i < t->nr_rows && page + 1 < t->nr_pages &&
	       t->pages[page + 2] > i && t->rows[i].pc == 0;
}

int ow_table_row(const struct ow_table *t, uint64_t vaddr, struct ow_row *row,
		 struct ow_rule *rules)
{
	uint64_t page = (vaddr - t->base) >> OW_TABLE_PAGE_BITS;
	uint16_t pc = (uint16_t)vaddr;
	uint32_t first, end, next, off, rule, behind;
	int err;

	if (vaddr < t->base || page >= t->nr_pages)
		return -OW_ENOENT;
	if (!page_rows(t, page, &first, &end))
		return -OW_EFORMAT;
	next = search(t, first, end, pc);
	if (next == 0)
		return -OW_ENOENT;
	/* Before a page's first row, the last one of an earlier page holds;
	   a sequence ends in its own page, so that its last part does. */
	off = next > first ? (uint32_t)(pc - t->rows[next - 1].pc) : 0xffff;
	rule = rule_at(t, t->rows[next - 1].rule, off);
	err = decode_rule(t, rule, row, rules);
	if (err)
		return err;
	behind = begins(t, next, page, end, pc + 1) ?
			 rule_at(t, t->rows[next].rule, 0) :
			 rule_at(t, t->rows[next - 1].rule, off + 1);
	if (behind == OW_TABLE_NONE)
		row->flags |= OW_ROW_LAST;
	return 0;
}

uint64_t ow_table_row_vaddr(const struct ow_table *t, uint32_t i, uint32_t k,
			    uint32_t *parts_ret)
{
	uint32_t low = 0, high = t->nr_pages, mid, first, end;
	uint64_t vaddr;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->pages[mid + 1] <= i)
			low = mid + 1;
		else
			high = mid;
	}
	vaddr = t->base + ((uint64_t)low << OW_TABLE_PAGE_BITS) + t->rows[i].pc;
	*parts_ret = 1;
	if (!seq_parts(t, t->rows[i].rule, &first, &end))
		return vaddr;
	*parts_ret = end - first;
	return k < end - first ? vaddr + t->part_pcs[first + k] : vaddr;
}

static int verify_seq(const struct ow_table *t, uint32_t seq)
{
	uint32_t i, first, end;

	if (!seq_parts(t, OW_TABLE_FIRST + t->nr_rules + seq, &first, &end) ||
	    t->part_pcs[first] != 0)
		return -OW_EFORMAT;
	for (i = first; i < end; i++)
		if (t->part_rules[i] >= OW_TABLE_FIRST + t->nr_rules ||
		    (i > first && t->part_pcs[i] <= t->part_pcs[i - 1]))
			return -OW_EFORMAT;
	return 0;
}

/* Rows in order, with what they name there, and ending before the next. */
static int verify_page(const struct ow_table *t, uint32_t page)
{
	uint32_t i, first, end, part, parts_end, next;

	if (!page_rows(t, page, &first, &end))
		return -OW_EFORMAT;
	for (i = first; i < end; i++) {
		next = i + 1 < end ? t->rows[i + 1].pc : 0x10000;
		if (next <= t->rows[i].pc ||
		    t->rows[i].rule >=
			    OW_TABLE_FIRST + t->nr_rules + t->nr_seqs)
			return -OW_EFORMAT;
		if (seq_parts(t, t->rows[i].rule, &part, &parts_end) &&
		    t->rows[i].pc + t->part_pcs[parts_end - 1] >= next)
			return -OW_EFORMAT;
	}
	return 0;
}

int ow_table_verify(const struct ow_table *t)
{
	struct ow_rule rules[OW_TABLE_MAX_SAVES + 1];
	struct ow_row row;
	uint32_t i;

	if (t->pages[0] != 0 || t->pages[t->nr_pages] != t->nr_rows)
		return -OW_EFORMAT;
	for (i = 0; i < t->nr_seqs; i++)
		if (verify_seq(t, i))
			return -OW_EFORMAT;
	for (i = 0; i < t->nr_pages; i++)
		if (verify_page(t, i))
			return -OW_EFORMAT;
	for (i = 0; i < t->nr_rules; i++)
		if (decode_rule(t, OW_TABLE_FIRST + i, &row, rules))
			return -OW_EFORMAT;
	for (i = 0; i < t->nr_sets; i++)
		if (decode_set(t, i, &row, rules))
			return -OW_EFORMAT;
	return 0;
}

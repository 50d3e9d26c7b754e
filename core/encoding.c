// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "encoding.h"

#include "memory.h"

unsigned int ow_encoding_size(uint8_t enc, uint8_t word)
{
	switch (enc & OW_PE_FORMAT) {
	case OW_PE_ABSPTR: return word;
	case OW_PE_UDATA2:
	case OW_PE_SDATA2: return 2;
	case OW_PE_UDATA4:
	case OW_PE_SDATA4: return 4;
	case OW_PE_UDATA8:
	case OW_PE_SDATA8: return 8;
	default: return 0;
	}
}

static uint64_t read_format(const struct ow_encoding *e, struct ow_cursor *c)
{
	unsigned int size = ow_encoding_size(e->enc, e->word);

	switch (e->enc & OW_PE_FORMAT) {
	case OW_PE_ULEB128: return ow_cursor_uleb(c);
	case OW_PE_SLEB128: return ow_cursor_sleb(c);
	case OW_PE_SDATA2: return (int64_t)(int16_t)ow_cursor_uint(c, 2);
	case OW_PE_SDATA4: return (int64_t)(int32_t)ow_cursor_uint(c, 4);
	}
	if (size == 0)
		c->bad = true;
	return ow_cursor_uint(c, size);
}

static uint64_t base(const struct ow_encoding *e, struct ow_cursor *c)
{
	switch (e->enc & OW_PE_BASE) {
	case 0:
	case OW_PE_ALIGNED: return 0;
	case OW_PE_PCREL: return e->field;
	case OW_PE_TEXTREL: return e->text;
	case OW_PE_DATAREL: return e->data;
	case OW_PE_FUNCREL: return e->func;
	}
	c->bad = true;
	return 0;
}

uint64_t ow_encoding_read(const struct ow_encoding *e, struct ow_cursor *c,
			  const struct ow_memory *mem)
{
	uint64_t mask = e->word == 8 ? ~(uint64_t)0 : 0xffffffff;
	uint64_t value;

	if (e->enc == OW_PE_OMIT) {
		c->bad = true;
		return 0;
	}
	if ((e->enc & OW_PE_BASE) == OW_PE_ALIGNED)
		ow_cursor_skip(c, -e->field & (e->word - 1));
	value = read_format(e, c);
	/* A null pointer stays null, whatever its base. */
	if (value == 0 || c->bad)
		return 0;
	value = (value + base(e, c)) & mask;
	if (e->enc & OW_PE_INDIRECT && !c->bad) {
		if (ow_memory_word(mem, (value + e->bias) & mask, e->word,
				   &value))
			c->bad = true;
		value -= e->bias; /* memory holds an addr, not a vaddr */
	}
	return c->bad ? 0 : value & mask;
}

// SPDX-License-Identifier: BSD-2-Clause
/* Snapshots that are damaged, or made to do harm: each is told in one line. */
#include "snapformat.h"
#include "snapmake.h"
#include "test.h"

/* Is it refused, in one line that names the file? */
static bool refused(const uint8_t *bytes, size_t size)
{
	struct ow_error err = { 0 };
	struct ow_unpacked to;
	int failed = ow_snap_unpack(bytes, size, "x.snap", &to, &err);

	ow_snap_unpack_free(&to);
	return failed && err.code && strncmp(err.msg, "x.snap: ", 8) == 0 &&
	       !strchr(err.msg, '\n');
}

static void test_damage(void)
{
	struct ow_bytebuf b = build(make_rich(), 0);
	size_t size, i, missed = 0;
	uint8_t *bytes = ow_snap_pack(b.bytes, b.size, &size, NULL);

	bytes = realloc(bytes, size + 1);
	CHECK(size > 300 && !refused(bytes, size));
	for (i = 0; i < size; i++)
		missed += !refused(bytes, i);
	CHECK(missed == 0);
	for (i = 0; i < 8 * size; i++) {
		bytes[i / 8] ^= 1 << i % 8;
		missed += !refused(bytes, size);
		bytes[i / 8] ^= 1 << i % 8;
	}
	CHECK(missed == 0);
	bytes[size] = 0;
	CHECK(refused(bytes, size + 1));
	free(bytes);
	ow_bytebuf_deinit(&b);
}

/* Heads that are right by their checksum, but not by what they say. */
static void test_hostile_heads(void)
{
	struct ow_bytebuf b = build(make_rich(), 0);
	struct ow_error err = { 0 };
	size_t size;
	uint8_t *bytes = ow_snap_pack(b.bytes, b.size, &size, NULL);
	struct ow_snap_head head;

	static const struct {
		uint32_t version, reserved;
		int64_t size; /* added to the right one */
		const char *msg;
	} cases[] = {
		{ 1, 0, 0, NULL },
		{ 2, 0, 0,
		  "x.snap: a snapshot of version 2; this outwind knows 1" },
		{ 1, 1, 0, "x.snap: the snapshot is damaged or cut off" },
		{ 1, 0, 1, "x.snap: the snapshot is damaged" },
		{ 1, 0, -1, "x.snap: the snapshot is damaged" },
		{ 1, 0, 1LL << 29,
		  "x.snap: the snapshot is damaged or cut "
		  "off" },
		{ 1, 0, 1LL << 31,
		  "x.snap: the snapshot is damaged or cut "
		  "off" },
		{ 1, 0, INT64_MIN,
		  "x.snap: the snapshot is damaged or cut "
		  "off" },
	};

	for (size_t i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		struct ow_unpacked to;
		int failed;

		memcpy(&head, bytes, sizeof(head));
		head.version = cases[i].version;
		head.reserved = cases[i].reserved;
		head.size = b.size + (uint64_t)cases[i].size;
		memcpy(bytes, &head, sizeof(head));
		head.check = ow_table_checksum(bytes, size);
		memcpy(bytes, &head, sizeof(head));
		failed = ow_snap_unpack(bytes, size, "x.snap", &to, &err);
		CHECK(!failed == !(cases[i].msg != NULL));
		if (cases[i].msg && strcmp(err.msg, cases[i].msg) != 0)
			printf("# case %zu: %s\n", i, err.msg);
		CHECK(!cases[i].msg || strcmp(err.msg, cases[i].msg) == 0);
		ow_snap_unpack_free(&to);
	}
	free(bytes);
	ow_bytebuf_deinit(&b);
}

/* One field of one record made wrong. */
#define FIELD(kind, type)                      \
	offsetof(struct ow_snap_##kind, type), \
		sizeof(((struct ow_snap_##kind *)0)->type)

static const struct hostile {
	enum ow_snap_type type;
	uint32_t i;
	size_t at, size;
	uint64_t value;
	const char *msg; /* NULL: it does no harm */
} hostile[] = {
	{ OW_SNAP_META, 0, FIELD(meta, machine), 8,
	  "of a machine that outwind doesn't know (8)" },
	{ OW_SNAP_META, 0, FIELD(meta, word), 4,
	  "of a machine that outwind doesn't know (62)" },
	{ OW_SNAP_META, 0, FIELD(meta, program), 0xfffffff, NULL },
	{ OW_SNAP_META, 0, FIELD(meta, jit_path), 0xfffffff, NULL },
	{ OW_SNAP_META, 0, FIELD(meta, nr_shared), 4,
	  "number of pieces, 3 makes no sense" },
	{ OW_SNAP_META, 0, FIELD(meta, nr_shared), 0xffffffff,
	  "number of pieces, 3 makes no sense" },
	{ OW_SNAP_META, 0, FIELD(meta, nr_shared), 3,
	  "piece of memory 2 makes no sense" },
	{ OW_SNAP_META, 0, FIELD(meta, nr_shared), 0, NULL },
	{ OW_SNAP_REG_NAMES, 3, 0, 4, 0, "register 3 makes no sense" },
	{ OW_SNAP_PIECES, 0, FIELD(piece, size), 0,
	  "piece of memory 0 makes no sense" },
	{ OW_SNAP_PIECES, 0, FIELD(piece, size), 0x100000,
	  "piece of memory 0 makes no sense" },
	{ OW_SNAP_PIECES, 0, FIELD(piece, size), 0x78,
	  "number of pieces, 3 makes no sense" },
	{ OW_SNAP_PIECES, 2, FIELD(piece, size), UINT64_MAX,
	  "piece of memory 2 makes no sense" },
	{ OW_SNAP_PIECES, 0, FIELD(piece, start), -8ULL,
	  "piece of memory 0 makes no sense" },
	{ OW_SNAP_PIECES, 1, FIELD(piece, start), STACK + 0x7f,
	  "piece of memory 1 makes no sense" },
	{ OW_SNAP_THREADS, 0, FIELD(thread, known), 1ULL << RIP,
	  "thread 0 makes no sense" },
	{ OW_SNAP_THREADS, 0, FIELD(thread, known), UINT64_MAX,
	  "thread 0 makes no sense" },
	{ OW_SNAP_THREADS, 1, FIELD(thread, regs), 5,
	  "thread 1 makes no sense" },
	{ OW_SNAP_THREADS, 1, FIELD(thread, regs), UINT64_MAX,
	  "thread 1 makes no sense" },
	{ OW_SNAP_THREADS, 1, FIELD(thread, piece), 3,
	  "thread 1 makes no sense" },
	{ OW_SNAP_THREADS, 0, FIELD(thread, stack), STACK - 8,
	  "thread 0 makes no sense" },
	{ OW_SNAP_THREADS, 0, FIELD(thread, stack), STACK + 0x10,
	  "thread 0 makes no sense" },
	{ OW_SNAP_THREADS, 0, FIELD(thread, stack_size), UINT64_MAX,
	  "thread 0 makes no sense" },
	{ OW_SNAP_THREADS, 0, FIELD(thread, name), 0xffffff, NULL },
	{ OW_SNAP_THREADS, 2, FIELD(thread, why_text), 0xffffff, NULL },
	{ OW_SNAP_MODULES, 0, FIELD(module, path), 0,
	  "object 0 makes no sense" },
	{ OW_SNAP_MODULES, 1, FIELD(module, path), 0xffffff,
	  "object 1 makes no sense" },
	{ OW_SNAP_MODULES, 0, FIELD(module, end), 0x200000,
	  "object 0 makes no sense" },
	{ OW_SNAP_MODULES, 0, FIELD(module, build_id_size), 33,
	  "object 0 makes no sense" },
	{ OW_SNAP_MODULES, 0, FIELD(module, object), 0, NULL },
	{ OW_SNAP_RANGES, 1, FIELD(range, start), CODE + 0xfff,
	  "executable range 1 makes no sense" },
	{ OW_SNAP_RANGES, 1, FIELD(range, end), 0x200000,
	  "executable range 1 makes no sense" },
	{ OW_SNAP_RANGES, 1, FIELD(range, module), 2,
	  "executable range 1 makes no sense" },
};

/* Read the snapshot with that field made wrong, and as it was again. */
static struct ow_capture *take_hostile(const struct ow_bytebuf *b,
				       const struct ow_snap *s,
				       const struct hostile *h,
				       struct ow_error *err)
{
	uint8_t *at = (uint8_t *)s->sections[h->type].bytes +
		      h->i * s->sections[h->type].entry + h->at;
	struct ow_capture *c;
	uint8_t old[8];

	memcpy(old, at, h->size);
	memcpy(at, &h->value, h->size);
	memset(err, 0, sizeof(*err));
	c = take(b, err);
	memcpy(at, old, h->size);
	return c;
}

static void check_hostile(const struct hostile *h, struct ow_capture *c,
			  struct ow_error *err)
{
	struct ow_module_info info;
	char want[128];

	snprintf(want, sizeof(want), "x.snap: damaged snapshot: %s",
		 h->msg ? h->msg : "");
	CHECK(!c == (h->msg != NULL));
	CHECK(c || strcmp(err->msg, want) == 0);
	if (!c == !h->msg || (!c && strcmp(err->msg, want) != 0))
		printf("# case %td: %s\n", h - hostile, err->msg);
	if (!c)
		return;
	ow_capture_ready(c, &c->modules[0]);
	CHECK(ow_capture_lacks(c, 0, &info, err));
}

static void test_hostile_records(void)
{
	struct ow_bytebuf b = build(make_rich(), 0);
	struct ow_capture *c;
	struct ow_error err;
	struct ow_snap s;

	CHECK(!ow_snap_parse(&s, b.bytes, b.size, NULL));
	for (size_t i = 0; i < OW_ARRAY_SIZE(hostile); i++) {
		c = take_hostile(&b, &s, &hostile[i], &err);
		check_hostile(&hostile[i], c, &err);
		if (c)
			ow_capture_destroy(c);
	}
	ow_bytebuf_deinit(&b);
}

static void add_section(struct ow_bytebuf *b, uint32_t type, uint32_t entry,
			uint64_t nr, const void *bytes, size_t size)
{
	struct ow_snap_section head = { type, entry, nr };

	ow_bytebuf_add(b, &head, sizeof(head));
	ow_bytebuf_add(b, bytes, size);
	ow_bytebuf_pad(b, 8);
}

static void check_sections(struct ow_bytebuf *b, const char *want)
{
	struct ow_error err = { 0 };
	struct ow_snap s;
	int failed = ow_snap_parse(&s, b->bytes, b->size, &err);

	CHECK(failed == (want ? -OW_CODE_FORMAT : 0));
	CHECK(!want || strcmp(err.msg, want) == 0);
	if (want && strcmp(err.msg, want) != 0)
		printf("# %s\n", err.msg);
	ow_bytebuf_deinit(b);
}

static void test_sections(void)
{
	static const uint8_t meta[sizeof(struct ow_snap_meta) + 8];
	struct ow_bytebuf b = { 0 };

	check_sections(&b, "no section says what it is of");
	/* Longer records and unknown sections are a later writer's. */
	add_section(&b, OW_SNAP_META, sizeof(meta), 1, meta, sizeof(meta));
	add_section(&b, 1000, 3, 1, "abc", 3);
	add_section(&b, OW_SNAP_STRINGS, 1, 3, "\0a\0", 3);
	check_sections(&b, NULL);
	/* shorter ones are nobody's */
	add_section(&b, OW_SNAP_META, sizeof(meta) - 9, 1, meta,
		    sizeof(meta) - 9);
	check_sections(&b, "malformed section, at byte 0 of it");
	add_section(&b, OW_SNAP_META, sizeof(meta), 1, meta, sizeof(meta));
	add_section(&b, OW_SNAP_META, sizeof(meta), 1, meta, sizeof(meta));
	check_sections(&b, "malformed section, at byte 104 of it");
	add_section(&b, OW_SNAP_META, sizeof(meta), 2, meta, sizeof(meta));
	check_sections(&b, "malformed section, at byte 0 of it");
	add_section(&b, OW_SNAP_THREADS, 1U << 31, 1ULL << 33, "", 0);
	check_sections(&b, "malformed section, at byte 0 of it");
	add_section(&b, OW_SNAP_STRINGS, 2, 2, "\0\0\0", 4);
	check_sections(&b, "malformed section, at byte 0 of it");
	add_section(&b, OW_SNAP_STRINGS, 1, 2, "\0a", 2);
	check_sections(&b, "text without an end, at byte 17 of it");
	add_section(&b, OW_SNAP_META, sizeof(meta), 1, meta, sizeof(meta));
	ow_bytebuf_add(&b, "abc", 3);
	check_sections(&b, "malformed section, at byte 104 of it");
}

int main(void)
{
	static const struct test tests[] = {
		{ "damage", test_damage },
		{ "hostile heads", test_hostile_heads },
		{ "hostile records", test_hostile_records },
		{ "sections", test_sections },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}

// SPDX-License-Identifier: BSD-2-Clause
/* Redacted snapshots: of a stack no more is saved than leads to its frames. */
#include "snapmake.h"
#include "test.h"

/* A stack by frame pointers, with secrets between and around them. */
static struct ow_capture *make_secretive(void)
{
	struct ow_capture *c = make_capture(1, 0);
	struct ow_regs *regs;
	size_t i;

	for (i = 0; i < 64; i++)
		words[i] = SECRET;
	words[4] = STACK + 8 * 10; /* caller's rbp, and where it goes on */
	words[5] = CODE + 0x20;
	words[10] = STACK + 8 * 20;
	words[11] = CODE + 0x30;
	words[20] = 0; /* outermost */
	words[21] = CODE + 0x40;
	set_thread(c, 0, 1);
	regs = &c->threads[0].regs;
	ow_regs_set(regs, RBP, STACK + 8 * 4);
	ow_regs_set(regs, RAX, SECRET);
	ow_regs_set(regs, RBX, SECRET);
	ow_regs_set(regs, R12, STACK + 8); /* looks well, leads nowhere */
	c->threads[0].info.syscall_nr = 1;
	c->threads[0].info.syscall_args[1] = SECRET;
	c->threads[0].stack =
		(struct ow_window){ STACK, sizeof(words), (uint8_t *)words };
	c->regions[0] = (struct ow_region){ .start = STACK,
					    .size = sizeof(words),
					    .bytes = (uint8_t *)words };
	c->nr_regions = 1;
	ow_capture_sort(c);
	return c;
}

static bool has_secret(const struct ow_bytebuf *b)
{
	uint64_t secret = SECRET;

	return memmem(b->bytes, b->size, &secret, sizeof(secret)) != NULL;
}

static void test_redacted(void)
{
	struct ow_bytebuf b = build(make_secretive(), 0);
	struct ow_frame frames[8];
	struct ow_capture *c;
	struct ow_error err;
	enum ow_end end;
	uint64_t word;

	CHECK(has_secret(&b));
	ow_bytebuf_deinit(&b);
	b = build(make_secretive(), OW_SAVE_REDACT);
	CHECK(!has_secret(&b));
	c = take(&b, &err);
	CHECK(c != NULL);
	/* Three records, and nothing beside them. */
	CHECK(c->nr_regions == 3 && c->threads[0].stack.size == 0);
	CHECK(c->regions[0].start == STACK + 32 && c->regions[0].size == 16);
	CHECK(c->regions[1].start == STACK + 80 && c->regions[1].size == 16);
	CHECK(c->regions[2].start == STACK + 160 && c->regions[2].size == 16);
	CHECK(memcmp(c->regions[1].bytes, words + 10, 16) == 0);
	CHECK(c->target.mem.read(&c->target.mem, STACK, &word, 8) != 0);
	CHECK(c->threads[0].regs.known ==
	      (1ULL << RIP | 1ULL << RSP | 1ULL << RBP));
	CHECK(c->threads[0].info.syscall_nr == OW_SYSCALL_UNKNOWN);
	CHECK(c->threads[0].info.syscall_args[1] == 0);
	CHECK(ow_capture_walk(c, 0, frames, 8, &end, &err) == 4);
	CHECK(end == OW_END_OUTERMOST);
	CHECK(frames[0].pc == CODE + 0x10 && frames[1].pc == CODE + 0x20 &&
	      frames[2].pc == CODE + 0x30 && frames[3].pc == CODE + 0x40);
	ow_capture_destroy(c);
	ow_bytebuf_deinit(&b);
}

/* Where a stack ends is told alike, though a secret may be what ended it. */
static void test_redacted_end(void)
{
	struct ow_capture *c = make_secretive();
	struct ow_error before, after;
	struct ow_frame frames[8];
	enum ow_end end;

	words[20] = 0x1234567; /* not towards the base */
	CHECK(ow_capture_walk(c, 0, frames, 8, &end, &before) == 4);
	CHECK(end == OW_END_NO_CFI);
	c = again(c, OW_SAVE_REDACT);
	CHECK(ow_capture_walk(c, 0, frames, 8, &end, &after) == 4);
	CHECK(end == OW_END_NO_CFI && strcmp(before.msg, after.msg) == 0);
	CHECK(c->nr_regions == 3 && c->regions[2].size == 16);
	ow_capture_destroy(c);
	/* What was not captured is missing as before. */
	c = make_secretive();
	c->threads[0].stack.size = c->regions[0].size = 8 * 11;
	CHECK(ow_capture_walk(c, 0, frames, 8, &end, &before) == 2);
	CHECK(end == OW_END_FAULT);
	c = again(c, OW_SAVE_REDACT);
	CHECK(ow_capture_walk(c, 0, frames, 8, &end, &after) == 2);
	CHECK(end == OW_END_FAULT && strcmp(before.msg, after.msg) == 0);
	ow_capture_destroy(c);
}

/* Two copies of the same addrs that differ: both are read by their threads. */
static void test_redacted_overlap(void)
{
	static uint64_t later[64];
	struct ow_capture *c = make_secretive();
	struct ow_bytebuf b = { 0 };
	struct ow_error err = { 0 };

	free(c->threads);
	c->threads = calloc(2, sizeof(*c->threads));
	c->nr_threads = 2;
	memcpy(later, words, sizeof(later));
	later[11] = CODE + 0x50;
	set_thread(c, 0, 1);
	set_thread(c, 1, 2);
	ow_regs_set(&c->threads[0].regs, RBP, STACK + 8 * 4);
	ow_regs_set(&c->threads[1].regs, RBP, STACK + 8 * 4);
	c->threads[0].stack =
		(struct ow_window){ STACK, sizeof(words), (uint8_t *)words };
	c->threads[1].stack =
		(struct ow_window){ STACK, sizeof(later), (uint8_t *)later };
	CHECK(ow_snap_build(c, OW_SAVE_REDACT, &b, &err) != 0);
	CHECK(err.code == OW_CODE_UNSUPPORTED && strstr(err.msg, "overlaps"));
	ow_bytebuf_deinit(&b);
	/* Without it each has its own. */
	c = again(c, 0);
	CHECK(memcmp(c->threads[0].stack.bytes, words, sizeof(words)) == 0);
	CHECK(memcmp(c->threads[1].stack.bytes, later, sizeof(later)) == 0);
	ow_capture_destroy(c);
}

int main(void)
{
	static const struct test tests[] = {
		{ "redacted", test_redacted },
		{ "redacted: ends", test_redacted_end },
		{ "redacted: overlap", test_redacted_overlap },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}

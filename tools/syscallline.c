// SPDX-License-Identifier: BSD-2-Clause
#include "syscallline.h"

#include <fcntl.h>
#include <string.h>

#include "quoted.h"
#include "sitenames.h"
#include "syscalladdress.h"

#define MOST_ERRORS 4096
#define MOST_NAMES  1024 /* bytes of an argument's */
#define PLAIN       128  /* of a line, but for what size_of() counts */
#define BRIEF_TEXT  128  /* of a text that isn't whole */
#define BRIEF_PLACE 128

/* include/linux/errno.h of Linux: a program never sees these. */
static const struct {
	int nr;
	const char *name, *text;
} restarts[] = {
	{ 512, "ERESTARTSYS", "To be restarted if SA_RESTART is set" },
	{ 513, "ERESTARTNOINTR", "To be restarted" },
	{ 514, "ERESTARTNOHAND", "To be restarted if no handler" },
	{ 516, "ERESTART_RESTARTBLOCK", "Interrupted by signal" },
};

/* There are many lines: what is in them is put without printf(). */
static void put_unsigned(FILE *out, uint64_t value, unsigned int base,
			 unsigned int least)
{
	char text[24], *at = text + sizeof(text) - 1;

	*at = '\0';
	do {
		*--at = "0123456789abcdef"[value % base];
		value /= base;
	} while (value || text + sizeof(text) - 1 - at < (int)least);
	fputs_unlocked(at, out);
}

static void put_signed(FILE *out, int64_t value)
{
	if (value < 0)
		putc_unlocked('-', out);
	put_unsigned(out, value < 0 ? -(uint64_t)value : (uint64_t)value, 10,
		     1);
}

static void put_hex(FILE *out, uint64_t value)
{
	if (value)
		fputs_unlocked("0x", out);
	put_unsigned(out, value, 16, 1);
}

static void put_octal(FILE *out, uint64_t value)
{
	if (value)
		putc_unlocked('0', out);
	put_unsigned(out, value, 8, 1);
}

/* kind: a letter as struct ow_syscall_shape has them. */
static void put_arg(FILE *out, char kind, uint64_t value, bool is_short)
{
	char names[MOST_NAMES];

	if (kind == 'f' && (int32_t)value == AT_FDCWD) {
		fputs_unlocked("AT_FDCWD", out);
		return;
	}
	if (ow_syscall_arg_text(kind, value, names, sizeof(names))) {
		fputs_unlocked(names, out);
		return;
	}
	switch (kind) {
	case 'f':
	case 'S':
	case 'd': put_signed(out, (int32_t)value); return;
	case 'l':
		put_signed(out, is_short ? (int32_t)value : (int64_t)value);
		return;
	case 'u': put_unsigned(out, value, 10, 1); return;
	case 'o': put_octal(out, value); return;
	}
	put_hex(out, value);
}

int syscallline_put_name(FILE *out, int nr)
{
	const char *name = ow_syscall_text(nr);

	if (!name && nr < 0)
		return fprintf(out, "syscall_%#llx", (long long)nr);
	if (!name)
		return fprintf(out, "syscall_%#x", nr & ~OW_SYSCALL_I386);
	fputs_unlocked(name, out);
	return (int)strlen(name);
}

/* What an argument points to; or nothing, as text is NULL. */
struct pointed {
	const char *text;
	size_t size;
	bool is_brief;
};

static struct pointed pointed_of(const struct syscall_begun *b,
				 const struct ow_recorded_syscall *end)
{
	struct pointed p = { b->text, b->call.text_size, false };

	if (!p.text && end) {
		p.text = end->text;
		p.size = end->text_size;
	}
	return p;
}

static void put_pointed(FILE *out, const struct pointed *p)
{
	bool is_cut = p->is_brief && p->size > BRIEF_TEXT;

	quoted_put(out, p->text, is_cut ? BRIEF_TEXT : p->size);
	if (is_cut)
		fputs_unlocked("...", out);
}

static void put_call(FILE *out, const struct syscall_begun *b,
		     const struct ow_syscall_shape *shape, struct pointed p)
{
	static const struct ow_syscall_shape unknown = { .args = "xxxxxx" };
	const struct ow_recorded_syscall *c = &b->call;
	unsigned int i;
	char kind;

	syscallline_put_name(out, c->nr);
	putc_unlocked('(', out);
	if (!shape)
		shape = &unknown;
	for (i = 0; (kind = ow_syscall_arg_kind(shape, c->args, i)); i++) {
		if (i)
			fputs_unlocked(", ", out);
		if (kind == 's' && p.text) {
			put_pointed(out, &p);
			p.text = NULL; /* one argument's only */
		} else if (kind == 'a' && p.text) {
			syscalladdress_put(out, p.text, p.size);
		} else {
			put_arg(out, kind, c->args[i], c->nr & OW_SYSCALL_I386);
		}
	}
	putc_unlocked(')', out);
}

bool syscallline_is_error(int64_t result)
{
	return result < 0 && result > -MOST_ERRORS;
}

static void put_error(FILE *out, int nr)
{
	const char *name = strerrorname_np(nr);
	size_t i;

	for (i = 0; i < sizeof(restarts) / sizeof(restarts[0]); i++)
		if (restarts[i].nr == nr) {
			fprintf(out, "? %s (%s)", restarts[i].name,
				restarts[i].text);
			return;
		}
	if (name)
		fprintf(out, "-1 %s (%s)", name, strerrordesc_np(nr));
	else
		fprintf(out, "-1 (errno %d)", nr);
}

static void put_result(FILE *out, const struct syscall_begun *b,
		       const struct ow_recorded_syscall *end,
		       const struct ow_syscall_shape *shape)
{
	uint64_t us;

	fputs_unlocked(" = ", out);
	if (!end) {
		putc_unlocked('?', out);
		return;
	}
	if (syscallline_is_error(end->result))
		put_error(out, (int)-end->result);
	else if (shape && shape->result[0] == 'x')
		put_hex(out, b->call.nr & OW_SYSCALL_I386 ?
				     (uint32_t)end->result :
				     (uint64_t)end->result);
	else
		put_signed(out, end->result);
	us = end->time > b->call.time ? (end->time - b->call.time) / 1000 : 0;
	fputs_unlocked(" <", out);
	put_unsigned(out, us / 1000000, 10, 1);
	putc_unlocked('.', out);
	put_unsigned(out, us % 1000000, 10, 6);
	putc_unlocked('>', out);
}

void syscallline_print(FILE *out, const struct syscall_begun *b,
		       const struct ow_recorded_syscall *end,
		       const struct syscallsite *site, bool is_brief)
{
	const struct ow_syscall_shape *shape = ow_syscall_shape(b->call.nr);
	struct pointed p = pointed_of(b, end);

	p.is_brief = is_brief;
	putc_unlocked('[', out);
	put_signed(out, b->call.tid);
	fputs_unlocked("] ", out);
	put_call(out, b, shape, p);
	put_result(out, b, end, shape);
	if (site && site->place) {
		fputs_unlocked(" at ", out);
		sitenames_put_part(out, site->place, strlen(site->place),
				   is_brief ? BRIEF_PLACE : SIZE_MAX);
	}
	putc_unlocked('\n', out);
	if (!site || !site->names || !site->names->stack)
		return;
	if (is_brief)
		sitenames_put_brief(out, site->names);
	else
		fwrite_unlocked(site->names->stack, 1, site->names->stack_size,
				out);
}

uint64_t syscallline_size(const struct syscall_begun *b,
			  const struct ow_recorded_syscall *end,
			  const struct syscallsite *site)
{
	struct pointed p = pointed_of(b, end);
	uint64_t size = PLAIN;

	if (p.text)
		size += quoted_size(p.text, p.size);
	if (site && site->place)
		size += strlen(site->place);
	if (site && site->names)
		size += site->names->stack_size;
	return size;
}

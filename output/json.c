// SPDX-License-Identifier: BSD-2-Clause
/* Stacks for programs: one JSON object (RFC 8259). */
#include "stackview.h"

#include <string.h>

/* Bytes at s that are ASCII and stand for themselves. */
static size_t plain_size(const unsigned char *s)
{
	size_t n = 0;

	while (s[n] >= ' ' && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

/*
 * One character that may need an escape; return its size.  What is odd has one,
 * so that JSON shown on a terminal does nothing to it; none has over three bytes.
 */
static size_t put_special(FILE *out, const unsigned char *s)
{
	bool is_odd;
	size_t n;

	is_odd = ow_view_is_odd(s, &n);
	if (ow_view_utf8_size(s) == 0)
		fputs("\\ufffd", out);
	else if (*s == '"' || *s == '\\')
		fprintf(out, "\\%c", *s);
	else if (is_odd)
		ow_view_put_escaped(out, s, n);
	else
		fwrite_unlocked(s, 1, n, out);
	return n;
}

static void put_string(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	putc_unlocked('"', out);
	while (*s) {
		n = plain_size(s);
		fwrite_unlocked(s, 1, n, out);
		s += n;
		if (*s)
			s += put_special(out, s);
	}
	putc_unlocked('"', out);
}

/* ,"key": */
static void put_key(FILE *out, const char *key)
{
	fputs_unlocked(",\"", out);
	fputs_unlocked(key, out);
	fputs_unlocked("\":", out);
}

static void put_member(FILE *out, const char *key, const char *value)
{
	if (!value)
		return;
	put_key(out, key);
	put_string(out, value);
}

static void put_number(FILE *out, const char *key, uint64_t value)
{
	put_key(out, key);
	fprintf(out, "%llu", (unsigned long long)value);
}

/* As a string: a JSON number is a double to many a reader. */
static void put_address(FILE *out, const char *key, uint64_t value)
{
	put_key(out, key);
	putc_unlocked('"', out);
	ow_view_put_hex(out, value);
	putc_unlocked('"', out);
}

static void begin(FILE *out, pid_t pid, const char *program)
{
	fprintf(out, "{\"pid\":%d", pid);
	put_member(out, "program", program);
	fputs(",\"threads\":[", out);
}

static void put_name(FILE *out, const struct ow_view_frame *f,
		     const struct ow_name *name, bool first)
{
	fputs_unlocked(first ? "\n  {\"pc\":\"" : ",\n  {\"pc\":\"", out);
	ow_view_put_hex(out, f->frame.pc);
	putc_unlocked('"', out);
	put_address(out, "sp", f->frame.sp);
	put_member(out, "how", ow_how_text(f->frame.how));
	if (f->frame.flags & OW_FRAME_SIGNAL)
		fputs(",\"signal\":true", out);
	if (name) {
		put_member(out, "function", name->function);
		if (name->function && !name->is_inline)
			put_number(out, "offset", name->offset);
		if (name->is_inline)
			fputs(",\"inlined\":true", out);
		put_member(out, "module", name->module);
		if (name->module)
			put_address(out, "module_offset", name->module_offset);
		put_member(out, "build_id", name->build_id);
		put_member(out, "file", name->file);
		if (name->line)
			put_number(out, "line", name->line);
		if (name->column)
			put_number(out, "column", name->column);
	}
	putc_unlocked('}', out);
}

static void put_truth(FILE *out, const char *key, bool value)
{
	fprintf(out, ",\"%s\":%s", key, value ? "true" : "false");
}

/* An object, null if the thread is in none, or nothing if that isn't known. */
static void put_syscall(FILE *out, const struct ow_view *view)
{
	const struct ow_thread *t = view->thread;
	size_t i;

	if (t->syscall_nr == OW_SYSCALL_UNKNOWN)
		return;
	fputs(",\"syscall\":", out);
	if (t->syscall_nr == OW_SYSCALL_NONE) {
		fputs("null", out);
		return;
	}
	fprintf(out, "{\"number\":%d", t->syscall_nr);
	put_member(out, "name", view->syscall);
	put_member(out, "abi", ow_view_abi(t->syscall_abi));
	fputs(",\"args\":[", out);
	for (i = 0; i < 6; i++)
		fprintf(out, "%s\"%#llx\"", i ? "," : "",
			(unsigned long long)t->syscall_args[i]);
	fputs("]}", out);
}

static void put_kernel_stack(FILE *out, const char *lines)
{
	char line[256];
	bool first = true;

	if (!lines)
		return;
	fputs(",\"kernel_stack\":[", out);
	for (; *lines; first = false) {
		lines = ow_view_line(lines, line, sizeof(line));
		if (!first)
			putc(',', out);
		put_string(out, line);
	}
	putc(']', out);
}

static void put_in_kernel(FILE *out, const struct ow_view *view,
			  unsigned int flags)
{
	const struct ow_thread *t = view->thread;

	if (flags & OW_VIEW_SYSCALL)
		put_syscall(out, view);
	if (flags & OW_VIEW_WCHAN)
		put_member(out, "wchan", t->wchan);
	if (flags & OW_VIEW_KERNEL)
		put_kernel_stack(out, t->kernel_stack);
	if (t->extras_errno)
		put_member(out, "unknown_because", strerror(t->extras_errno));
}

/* The rest of a thread that has no stack in its program. */
static void put_none(FILE *out, const struct ow_thread *t)
{
	put_truth(out, "stopped", false);
	put_truth(out, "certain", true);
	put_truth(out, "complete", true);
	put_member(out, "end", t->why.msg);
	fputs(",\"frames\":[]}", out);
}

static void thread(FILE *out, const struct ow_view *view, bool first,
		   unsigned int flags)
{
	const struct ow_thread *t = view->thread;
	const char state[2] = { t->state, '\0' };
	const struct ow_view_frame *f;
	size_t i, k;

	fprintf(out, "%s\n {\"tid\":%d", first ? "" : ",", t->tid);
	put_member(out, "name", t->name);
	put_member(out, "state", state);
	put_in_kernel(out, view, flags);
	if (t->why.code == OW_CODE_NO_STACK) {
		put_none(out, t);
		return;
	}
	if (!t->captured) {
		put_member(out, "error", t->why.msg);
		putc('}', out);
		return;
	}
	put_truth(out, "stopped", t->stopped);
	put_truth(out, "certain", t->certain);
	put_truth(out, "complete", view->end == OW_END_OUTERMOST);
	put_member(out, "end", ow_end_text(view->end));
	if (view->end != OW_END_OUTERMOST)
		put_member(out, "end_detail", view->why->msg);
	fputs(",\"frames\":[", out);
	for (i = 0; i < view->nr; i++) {
		f = &view->frames[i];
		if (f->nr_names == 0)
			put_name(out, f, NULL, i == 0);
		for (k = 0; k < f->nr_names; k++)
			put_name(out, f, &f->names[k], i == 0 && k == 0);
	}
	fputs("]}", out);
}

static void end(FILE *out)
{
	fputs("]}\n", out);
}

const struct ow_view_writer ow_json_writer = {
	.name = "json",
	.begin = begin,
	.thread = thread,
	.end = end,
};

// SPDX-License-Identifier: BSD-2-Clause
#include "syscallline.h"

#include <string.h>

#include "stackview.h"
#include "syscallcount.h"

void syscallline_site(struct ow_recorder *r, const struct ow_recorded *s,
		      struct ow_name *name)
{
	struct ow_name names[OW_VIEW_NAMES], first = { 0 };
	struct ow_module_info m;
	const char *libc = NULL;
	size_t i, n;

	for (i = s->nr_kernel; i < s->nr_kernel + s->nr; i++) {
		n = ow_recorder_name(r, s, i, names, OW_VIEW_NAMES);
		*name = names[n - 1];
		if (i == s->nr_kernel) {
			first = *name;
			libc = ow_recorder_module(r, s, i, &m) ? m.path : NULL;
			continue;
		}
		if (!libc || !ow_recorder_module(r, s, i, &m) ||
		    strcmp(m.path, libc) != 0)
			return;
	}
	*name = first;
}

static void put_name(FILE *out, const struct ow_name *name)
{
	if (name->function) {
		ow_view_put_clean(out, name->function);
		fprintf(out, "+%#llx", (unsigned long long)name->offset);
	} else if (name->module) {
		ow_view_put_clean(out, name->module);
		fprintf(out, "+%#llx", (unsigned long long)name->module_offset);
	} else {
		fprintf(out, "%#llx", (unsigned long long)name->module_offset);
	}
}

static void put_stack(FILE *out, struct ow_recorder *r,
		      const struct ow_recorded *s)
{
	struct ow_name names[OW_VIEW_NAMES];
	size_t i, k, n;

	for (i = 0; i < s->nr_kernel + s->nr; i++) {
		n = ow_recorder_name(r, s, i, names, OW_VIEW_NAMES);
		for (k = 0; k < n; k++) {
			fputs(" > ", out);
			put_name(out, &names[k]);
			if (names[k].function && names[k].module) {
				fputs(" (", out);
				ow_view_put_clean(out, names[k].module);
				putc(')', out);
			}
			putc('\n', out);
		}
	}
	if (s->end != OW_END_OUTERMOST)
		fprintf(out, " > [%s]\n", ow_end_text(s->end));
}

static void put_call(FILE *out, int nr, const struct ow_recorded_syscall *c)
{
	const char *name = ow_syscall_text(nr);
	unsigned int i;

	if (name)
		fputs(name, out);
	else
		fprintf(out, "syscall_%d", nr);
	putc('(', out);
	for (i = 0; i < 6; i++) {
		if (i)
			fputs(", ", out);
		if (c->text_arg == i + 1) {
			putc('"', out);
			ow_view_put_clean(out, c->text);
			putc('"', out);
		} else if (c->args[i] < 10) {
			fprintf(out, "%u", (unsigned int)c->args[i]);
		} else {
			fprintf(out, "%#llx", (unsigned long long)c->args[i]);
		}
	}
	putc(')', out);
}

static void put_result(FILE *out, const struct ow_recorded_syscall *end,
		       uint64_t began)
{
	const char *why;

	if (!end) {
		fputs(" = ?", out);
		return;
	}
	if (end->result < 0 && end->result > -4096) {
		why = strerrorname_np((int)-end->result);
		fprintf(out, " = -1 %s", why ? why : "?");
	} else if (end->result >= 0 && end->result < 1000000) {
		fprintf(out, " = %lld", (long long)end->result);
	} else {
		fprintf(out, " = %#llx", (unsigned long long)end->result);
	}
	fprintf(out, " <%.6f>", (double)(end->time - began) / 1e9);
}

void syscallline_print(FILE *out, struct ow_recorder *r,
		       const struct syscall_begun *b,
		       const struct ow_recorded_syscall *end, bool stacks)
{
	struct ow_name site;

	fprintf(out, "[%d] ", b->call.tid);
	put_call(out, b->call.nr, &b->call);
	put_result(out, end, b->call.time);
	if (b->call.stack && b->call.stack->nr) {
		fputs(" at ", out);
		syscallline_site(r, b->call.stack, &site);
		put_name(out, &site);
	}
	putc('\n', out);
	if (stacks && b->call.stack)
		put_stack(out, r, b->call.stack);
}

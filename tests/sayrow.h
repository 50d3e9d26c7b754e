/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A row as one line of text, so that a test expects all of it:
 * "cfa=rsp+16 rbp=[cfa-16] rip=[cfa-8]", "rbx=[expr@5]" for an expression at
 * offset 5 of its section, "rbx=u" undefined, "rbx=s" same; then flags.
 */
#ifndef OW_TEST_SAYROW_H
#define OW_TEST_SAYROW_H

#include <stdarg.h>
#include <string.h>

#include "arch.h"
#include "err.h"
#include "row.h"
#include "test.h"

struct text {
	char at[8192];
	size_t size;
};

__attribute__((format(printf, 2, 3))) static inline void
say(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->at + t->size, sizeof(t->at) - t->size, format, args);
	va_end(args);
	t->size += (size_t)n;
	if (t->size >= sizeof(t->at))
		t->size = sizeof(t->at) - 1;
}

static inline void say_rule(struct text *t, const struct ow_arch *arch,
			    const struct ow_rule *rule)
{
	const char *reg = arch->names[rule->reg];

	switch (rule->kind) {
	case OW_RULE_UNDEFINED: say(t, "u"); break;
	case OW_RULE_SAME: say(t, "s"); break;
	case OW_RULE_AT_CFA: say(t, "[cfa%+d]", rule->off); break;
	case OW_RULE_IS_CFA: say(t, "cfa%+d", rule->off); break;
	case OW_RULE_REG: say(t, "%s%+d", reg, rule->off); break;
	case OW_RULE_AT_REG: say(t, "[%s%+d]", reg, rule->off); break;
	case OW_RULE_AT_EXPR: say(t, "[expr@%d]", rule->off); break;
	case OW_RULE_IS_EXPR: say(t, "expr@%d", rule->off); break;
	default: say(t, "none");
	}
}

static inline void say_row(struct text *t, const struct ow_arch *arch,
			   const struct ow_row *row)
{
	say(t, "cfa=");
	say_rule(t, arch, &row->cfa);
	for (unsigned int i = 0; i < row->nr; i++) {
		say(t, " %s=", arch->names[row->rules[i].slot]);
		say_rule(t, arch, &row->rules[i]);
	}
	say(t, "%s%s%s", row->flags & OW_ROW_SIGNAL ? " signal" : "",
	    row->flags & OW_ROW_OUTERMOST ? " outermost" : "",
	    row->flags & OW_ROW_LAST ? " last" : "");
}

static inline void say_err(struct text *t, int err)
{
	static const char *const names[] = {
		[0] = "ok",
		[OW_EFORMAT] = "EFORMAT",
		[OW_EUNSUPPORTED] = "EUNSUPPORTED",
		[OW_EFAULT] = "EFAULT",
		[OW_ENOENT] = "ENOENT",
		[OW_EUNKNOWN] = "EUNKNOWN",
		[OW_ELIMIT] = "ELIMIT",
	};

	if (err <= 0 && err > -OW_ERR_HOSTED)
		say(t, "%s", names[-err]);
	else
		say(t, "%d", err);
}

#define CHECK_TEXT(t, want)                                              \
	do {                                                             \
		if (strcmp((t)->at, want) != 0) {                        \
			printf("%s:%d:\n got  %s\n want %s\n", __FILE__, \
			       __LINE__, (t)->at, want);                 \
			test_failures++;                                 \
		}                                                        \
		test_checks++;                                           \
	} while (0)

#endif /* OW_TEST_SAYROW_H */

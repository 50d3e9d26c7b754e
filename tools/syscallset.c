// SPDX-License-Identifier: BSD-2-Clause
#include "syscallset.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

#define NR_OF(list) (sizeof(list) / sizeof((list)[0]))

static const int abis[SYSCALLSET_ABIS] = { 0, OW_SYSCALL_X32, OW_SYSCALL_I386 };

/* strace's sets; '%' before a name may be left out, but of "net". */
static const struct {
	const char *name;
	char letter; /* in struct ow_syscall_shape */
} sets[] = {
	{ "desc", 'd' },    { "file", 'f' },    { "ipc", 'i' },
	{ "memory", 'm' },  { "network", 'n' }, { "%net", 'n' },
	{ "process", 'p' }, { "signal", 's' },
};

/* Which calls are meant: those of a set, of a name, or that match. */
struct meaning {
	char letter; /* or 0 */
	const char *name;
	const regex_t *regex; /* or NULL */
};

static bool is_meant(const struct meaning *m, int nr)
{
	const struct ow_syscall_shape *shape;
	const char *name = ow_syscall_text(nr);

	if (!name)
		return false;
	if (m->regex)
		return regexec(m->regex, name, 0, NULL, 0) == 0;
	if (!m->letter)
		return strcmp(name, m->name) == 0;
	shape = ow_syscall_shape(nr);
	return shape && strchr(shape->sets, m->letter);
}

/* Add what is meant; false if there is nothing. */
static bool add(struct syscallset *s, const struct meaning *m)
{
	bool any = false;
	size_t a, nr;

	for (a = 0; a < SYSCALLSET_ABIS; a++)
		for (nr = 0; nr < OW_SYSCALL_NUMBERS; nr++)
			if (is_meant(m, (int)nr | abis[a]))
				s->has[a][nr] = any = true;
	return any;
}

static bool add_regex(struct syscallset *s, const char *text)
{
	regex_t regex;
	struct meaning m = { .regex = &regex };
	bool any;

	if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB))
		return false;
	any = add(s, &m);
	regfree(&regex);
	return any;
}

static char letter_of(const char *name)
{
	size_t i;

	for (i = 0; i < NR_OF(sets); i++)
		if (strcmp(name, sets[i].name) == 0 ||
		    (name[0] == '%' && strcmp(name + 1, sets[i].name) == 0))
			return sets[i].letter;
	return 0;
}

static bool add_word(struct syscallset *s, const char *word)
{
	struct meaning m = { .name = word };

	if (strcmp(word, "none") == 0)
		return true;
	if (strcmp(word, "all") == 0) {
		memset(s->has, true, sizeof(s->has));
		s->others = true;
		return true;
	}
	if (word[0] == '/')
		return add_regex(s, word + 1);
	if (word[0] == '?') {
		m.name = word + 1;
		add(s, &m);
		return true;
	}
	m.letter = letter_of(word);
	return add(s, &m);
}

static void invert(struct syscallset *s)
{
	bool *has = &s->has[0][0];
	size_t i;

	for (i = 0; i < sizeof(s->has) / sizeof(*has); i++)
		has[i] = !has[i];
	s->others = !s->others;
}

/* What is behind "trace=" or "t="; NULL, with a complaint, behind others. */
static const char *skip_key(const char *text)
{
	const char *behind = strchr(text, '=');
	size_t size = behind ? (size_t)(behind - text) : 0;

	if (!behind || memchr(text, '/', size))
		return text;
	if (strncmp(text, "trace", size) == 0 && (size == 5 || size == 1))
		return behind + 1;
	complain("-e %s: of strace's expressions only trace= is known", text);
	return NULL;
}

bool syscallset_parse(struct syscallset *s, const char *text)
{
	char *copy, *word, *next = NULL;
	bool good = true, inverted;

	/* As with strace, the last one holds. */
	*s = (struct syscallset){ .is_set = true };
	text = skip_key(text);
	if (!text)
		return false;
	inverted = *text == '!';
	copy = strdup(text + inverted);
	for (word = copy ? strtok_r(copy, ",", &next) : NULL; word && good;
	     word = strtok_r(NULL, ",", &next)) {
		good = add_word(s, word);
		if (!good)
			complain("no system call '%s': give names of x86-64, "
				 "x32 or i386, /REGEX, or %%desc, %%file, "
				 "%%ipc, %%memory, %%network, %%process, "
				 "%%signal",
				 word);
	}
	free(copy);
	if (inverted)
		invert(s);
	return good && copy;
}

bool syscallset_has(const struct syscallset *s, int nr)
{
	int n = nr & ~(nr & OW_SYSCALL_I386 ? OW_SYSCALL_I386 : OW_SYSCALL_X32);
	size_t a = nr & OW_SYSCALL_I386 ? 2 : nr & OW_SYSCALL_X32 ? 1 : 0;

	if (!s->is_set)
		return true;
	return nr >= 0 && n < OW_SYSCALL_NUMBERS ? s->has[a][n] : s->others;
}

int *syscallset_list(const struct syscallset *s, size_t *nr)
{
	const char *name;
	size_t a, i, n = 0;
	int *list;

	*nr = 0;
	if (!s->is_set)
		return NULL;
	list = calloc(SYSCALLSET_ABIS * OW_SYSCALL_NUMBERS + 1, sizeof(*list));
	if (list && s->others)
		list[n++] = -1;
	for (a = 0; list && a < SYSCALLSET_ABIS; a++)
		for (i = 0; i < OW_SYSCALL_NUMBERS; i++) {
			name = ow_syscall_text((int)i | abis[a]);
			if (s->has[a][i] ||
			    (name && strcmp(name, "execve") == 0))
				list[n++] = (int)i | abis[a];
		}
	*nr = n;
	return list;
}

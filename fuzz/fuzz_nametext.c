// SPDX-License-Identifier: BSD-2-Clause
/*
 * Input: eight bytes, an address to ask for; then a table of symbols as text,
 * whose lines are gone through here once more, in another way.
 */
#include <string.h>

#include "fuzz.h"
#include "nametext.h"

/* A symbol's line as the standard library reads it; name has 256 bytes. */
static bool scan(const char *line, uint64_t *addr, char *name)
{
	char digits[20], type[3];

	if (strlen(line) >= 256 ||
	    sscanf(line, "%19s %2s %255s", digits, type, name) != 3 || type[1])
		return false;
	if (strncasecmp(digits, "0x", 2) == 0 && digits[2])
		memmove(digits, digits + 2, strlen(digits + 2) + 1);
	if (digits[strspn(digits, "0123456789abcdefABCDEF")] ||
	    strlen(digits) > 16)
		return false;
	*addr = strtoull(digits, NULL, 16);
	return true;
}

/* Does a later line of the same address name it? */
static bool is_better(const char *name, const char *best,
		      enum ow_aliases aliases)
{
	return aliases == OW_ALIASES_LAST ||
	       strspn(name, "_") < strspn(best, "_");
}

/* Compare with the best of all lines. */
static void check_find(const struct ow_nametext *t, char *text, uint64_t addr,
		       enum ow_aliases aliases)
{
	char name[256], best[256];
	const char *got;
	uint64_t at, offset, best_at = 0;
	bool found = false;
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		if (!scan(line, &at, name) || at > addr ||
		    (found && at < best_at) ||
		    (found && at == best_at && !is_better(name, best, aliases)))
			continue;
		found = true;
		best_at = at;
		memcpy(best, name, sizeof(best));
	}
	ASSERT(ow_nametext_find(t, addr, &got, &offset) == found);
	ASSERT(!found || (offset == addr - best_at && !strcmp(got, best)));
}

/* What the scan here takes for the same: no NULs, no numbers that are long. */
static bool is_plain(const char *text, size_t size)
{
	size_t run = 0, line = 0;

	for (size_t i = 0; i < size; i++) {
		run = strchr(" \t\r\v\f\n", text[i]) ? 0 : run + 1;
		line = text[i] == '\n' ? 0 : line + 1;
		if (!text[i] || run > 16 || line >= 255)
			return false;
	}
	return true;
}

static void check_table(const uint8_t *data, size_t size, uint64_t addr,
			enum ow_aliases aliases)
{
	char *text = malloc(size + 1), *copy = malloc(size + 1);
	struct ow_nametext *t;
	const char *name;
	uint64_t offset;

	ASSERT(text && copy);
	memcpy(text, data, size);
	memcpy(copy, data, size);
	copy[size] = '\0';
	t = ow_nametext_create(&(struct ow_text){ text, size, 0, "text" },
			       aliases);
	ASSERT(t && ow_nametext_nr(t) <= size / 6 + 1);
	if (ow_nametext_nr(t) && is_plain(copy, size))
		check_find(t, copy, addr, aliases);
	ASSERT(ow_nametext_find(t, UINT64_MAX, &name, &offset) ==
	       (ow_nametext_nr(t) > 0));
	ASSERT(!ow_nametext_nr(t) || *name);
	ow_nametext_destroy(t);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t addr = fuzz_take(&data, &size, 8);

	check_table(data, size, addr, OW_ALIASES_LAST);
	check_table(data, size, addr, OW_ALIASES_PLAIN);
	return 0;
}

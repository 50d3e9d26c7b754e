// SPDX-License-Identifier: BSD-2-Clause
#include "syscalladdress.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "test.h"

/* Is an address of that many bytes written so? */
static bool is_written(const void *bytes, size_t size, const char *wanted)
{
	char *copy = malloc(size + 1), *text = NULL;
	size_t written;
	FILE *out = open_memstream(&text, &written);
	bool is_same;

	/* None of its bytes is read that isn't there: a sanitizer would see it. */
	memcpy(copy, bytes, size);
	copy = realloc(copy, size ? size : 1);
	syscalladdress_put(out, copy, size);
	fclose(out);
	is_same = strcmp(text, wanted) == 0;
	if (!is_same)
		printf("# %s\n", text);
	free(text);
	free(copy);
	return is_same;
}

static void test_inet(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(0xfffe),
				 .sin_addr.s_addr = htonl(0x01020304) };
	struct sockaddr_in6 b = { .sin6_family = AF_INET6,
				  .sin6_port = htons(53),
				  .sin6_scope_id = 2 };

	CHECK(is_written(&a, sizeof(a),
			 "{sa_family=AF_INET, sin_port=htons(65534), "
			 "sin_addr=inet_addr(\"1.2.3.4\")}"));
	CHECK(is_written(&b, sizeof(b),
			 "{sa_family=AF_INET6, sin6_port=htons(53), "
			 "sin6_flowinfo=htonl(0), inet_pton(AF_INET6, \"::\", "
			 "&sin6_addr), sin6_scope_id=2}"));
	CHECK(is_written(&a, sizeof(a) - 1,
			 "{sa_family=AF_INET, sa_data=\"\\377\\376\\1\\2\\3\\4"
			 "\\0\\0\\0\\0\\0\\0\\0\"}"));
}

static void test_unix(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "/a\tb" };
	size_t head = offsetof(struct sockaddr_un, sun_path);

	CHECK(is_written(&a, sizeof(a),
			 "{sa_family=AF_UNIX, sun_path=\"/a\\tb\"}"));
	CHECK(is_written(&a, head + 3,
			 "{sa_family=AF_UNIX, sun_path=\"/a\\t\"}"));
	CHECK(is_written(&a, head, "{sa_family=AF_UNIX}"));
	a.sun_path[0] = '\0';
	CHECK(is_written(&a, head + 4,
			 "{sa_family=AF_UNIX, sun_path=@\"a\\tb\"}"));
	CHECK(is_written(&a, head + 1, "{sa_family=AF_UNIX, sun_path=@\"\"}"));
}

static void test_others(void)
{
	static const char unknown[] = "\xff\xff\x1b[2J\x01\x31\"\\";

	CHECK(is_written(
		unknown, sizeof(unknown) - 1,
		"{sa_family=0xffff, sa_data=\"\\33[2J\\0011\\\"\\\\\"}"));
	CHECK(is_written(unknown, 2, "{sa_family=0xffff, sa_data=\"\"}"));
	CHECK(is_written(unknown, 1, "\"\\377\""));
	CHECK(is_written(unknown, 0, "\"\""));
}

int main(void)
{
	static const struct test tests[] = {
		{ "inet", test_inet },
		{ "unix", test_unix },
		{ "others", test_others },
	};

	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}

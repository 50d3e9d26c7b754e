// SPDX-License-Identifier: BSD-2-Clause
#include "syscalladdress.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <outwind/record.h>
#include <string.h>
#include <sys/socket.h>

#include "quoted.h"

/* What is behind the family. */
static void put_bytes(FILE *out, const char *bytes, size_t size)
{
	fputs(", sa_data=", out);
	quoted_put(out, bytes, size);
}

/* unix(7): a path, or a name behind a NUL. */
static void put_unix(FILE *out, const char *bytes, size_t size)
{
	if (size == 0)
		return;
	fputs(", sun_path=", out);
	if (*bytes) {
		quoted_put(out, bytes, strnlen(bytes, size));
	} else {
		putc('@', out);
		quoted_put(out, bytes + 1, size - 1);
	}
}

static void put_inet(FILE *out, const void *bytes)
{
	char text[INET_ADDRSTRLEN];
	struct sockaddr_in a;

	memcpy(&a, bytes, sizeof(a));
	fprintf(out, ", sin_port=htons(%u), sin_addr=inet_addr(\"%s\")",
		ntohs(a.sin_port),
		inet_ntop(AF_INET, &a.sin_addr, text, sizeof(text)));
}

static void put_inet6(FILE *out, const void *bytes)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in6 a;

	memcpy(&a, bytes, sizeof(a));
	fprintf(out,
		", sin6_port=htons(%u), sin6_flowinfo=htonl(%u), "
		"inet_pton(AF_INET6, \"%s\", &sin6_addr), sin6_scope_id=%u",
		ntohs(a.sin6_port), ntohl(a.sin6_flowinfo),
		inet_ntop(AF_INET6, &a.sin6_addr, text, sizeof(text)),
		a.sin6_scope_id);
}

static void put_netlink(FILE *out, const void *bytes)
{
	struct sockaddr_nl a;

	memcpy(&a, bytes, sizeof(a));
	if (a.nl_pad)
		fprintf(out, ", nl_pad=%#x", a.nl_pad);
	fprintf(out, ", nl_pid=%d, nl_groups=%#08x", (int)a.nl_pid,
		a.nl_groups);
}

/* Those of one size. */
static const struct form {
	sa_family_t family;
	size_t size;
	void (*put)(FILE *out, const void *bytes);
} forms[] = {
	{ AF_INET, sizeof(struct sockaddr_in), put_inet },
	{ AF_INET6, sizeof(struct sockaddr_in6), put_inet6 },
	{ AF_NETLINK, sizeof(struct sockaddr_nl), put_netlink },
};

static void put_rest(FILE *out, sa_family_t family, const char *bytes,
		     size_t size)
{
	const struct form *f;

	for (f = forms; f < forms + sizeof(forms) / sizeof(*forms); f++)
		if (f->family == family && size >= f->size) {
			f->put(out, bytes);
			return;
		}
	if (family == AF_UNIX)
		put_unix(out, bytes + sizeof(family), size - sizeof(family));
	else
		put_bytes(out, bytes + sizeof(family), size - sizeof(family));
}

void syscalladdress_put(FILE *out, const void *bytes, size_t size)
{
	sa_family_t family;
	char name[64];

	if (size < sizeof(family)) {
		quoted_put(out, bytes, size);
		return;
	}
	memcpy(&family, bytes, sizeof(family));
	if (!ow_syscall_arg_text('D', family, name, sizeof(name)))
		snprintf(name, sizeof(name), "%#x", family);
	fprintf(out, "{sa_family=%s", name);
	put_rest(out, family, bytes, size);
	putc('}', out);
}

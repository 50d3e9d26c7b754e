// SPDX-License-Identifier: BSD-2-Clause
/* Names of domains, as the toolstack keeps them in xenstore. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xenseam.h"

#ifdef OW_HAVE_XENSTORE

#include <xenstore.h>

#include "library.h"
#include "xennames.h"

#define NAME_SIZE 64

/* What is called of libxenstore. */
static struct {
	__typeof__(&xs_open) open;
	__typeof__(&xs_close) close;
	__typeof__(&xs_read) read;
	__typeof__(&xs_directory) directory;
} lib;

static const struct ow_library_function functions[] = {
	{ "xs_open", &lib.open },
	{ "xs_close", &lib.close },
	{ "xs_read", &lib.read },
	{ "xs_directory", &lib.directory },
};

/* /local/domain/ID/name; false if there is none. */
static bool read_name(struct xs_handle *xs, const char *id, char *ret)
{
	char path[64];
	unsigned int size;
	char *text;

	snprintf(path, sizeof(path), "/local/domain/%s/name", id);
	text = lib.read(xs, XBT_NULL, path, &size);
	if (!text)
		return false;
	snprintf(ret, NAME_SIZE, "%s", text);
	free(text);
	return true;
}

static int search(struct xs_handle *xs, const char *wanted, uint32_t *ret)
{
	char name[NAME_SIZE];
	unsigned int nr, i;
	char **ids = lib.directory(xs, XBT_NULL, "/local/domain", &nr);
	int err = ids ? -ENOENT : errno ? -errno : -EIO;

	for (i = 0; ids && i < nr && err; i++)
		if (read_name(xs, ids[i], name) && strcmp(name, wanted) == 0) {
			*ret = (uint32_t)strtoul(ids[i], NULL, 10);
			err = 0;
		}
	free(ids);
	return err;
}

int ow_xen_find_name(const char *name, uint32_t *ret)
{
	struct xs_handle *xs;
	char why[256];
	int err;

	if (!ow_library_load(OW_LIBXENSTORE, functions,
			     OW_ARRAY_SIZE(functions), why, sizeof(why)))
		return -ENOSYS;
	errno = 0;
	xs = lib.open(XS_OPEN_READONLY);
	if (!xs)
		return -ENODEV;
	err = search(xs, name, ret);
	lib.close(xs);
	return err;
}

#else

int ow_xen_find_name(const char *name, uint32_t *ret)
{
	(void)name;
	(void)ret;
	return -ENOSYS;
}

#endif

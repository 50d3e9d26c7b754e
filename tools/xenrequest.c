// SPDX-License-Identifier: BSD-2-Clause
#include "xenrequest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

/* A hexadecimal number, "0x" before it or not; all of the text. */
static bool parse_bias(const char *text, uint64_t *ret)
{
	char *end;

	if (!strchr("0123456789abcdefABCDEF", *text) || !*text)
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 16);
	return !errno && !*end;
}

bool xen_request_image(struct xen_request *r, const char *text)
{
	size_t i = r->options.nr_images;
	char *path, *at;

	if (i == XEN_MOST_IMAGES) {
		complain("--image %s: more than %d images", text,
			 XEN_MOST_IMAGES);
		return false;
	}
	path = strdup(text);
	if (!path) {
		complain("out of memory");
		return false;
	}
	r->paths[i] = path;
	r->images[i] = (struct ow_xen_image){ .path = path };
	r->options.images = r->images;
	r->options.nr_images++;
	at = strrchr(path, '@');
	if (!at)
		return true;
	if (!parse_bias(at + 1, &r->images[i].bias)) {
		complain("--image %s: not a hexadecimal number behind '@'",
			 text);
		return false;
	}
	r->images[i].placed = true;
	*at = '\0';
	return true;
}

bool xen_request_unwinding(struct xen_request *r, const char *text)
{
	static const char *const names[] = { [OW_XEN_BY_BOTH] = "both",
					     [OW_XEN_BY_CFI] = "cfi",
					     [OW_XEN_BY_FP] = "fp" };
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], text) == 0) {
			r->options.unwinding = (enum ow_xen_unwinding)i;
			return true;
		}
	complain("--unwind %s: both, cfi or fp", text);
	return false;
}

const char *xen_request_domain(const char *target)
{
	size_t n = strlen(XEN_PREFIX);

	return strncmp(target, XEN_PREFIX, n) == 0 ? target + n : NULL;
}

struct ow_capture *xen_request_take(struct xen_request *r, const char *domain,
				    const struct ow_capture_options *options,
				    struct ow_error *err)
{
	r->x = ow_xen_open(domain, r->backend, err);
	return r->x ? ow_capture_xen(r->x, &r->options, options, err) : NULL;
}

void xen_request_free(struct xen_request *r)
{
	size_t i;

	ow_xen_close(r->x);
	for (i = 0; i < r->options.nr_images; i++)
		free(r->paths[i]);
}

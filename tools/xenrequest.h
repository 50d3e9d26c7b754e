/* SPDX-License-Identifier: BSD-2-Clause */
/* A domain of Xen as commands are asked for it. */
#ifndef OW_XENREQUEST_H
#define OW_XENREQUEST_H

#include <outwind/xen.h>

#define XEN_PREFIX      "xen:" /* before a domain, as a target */
#define XEN_MOST_IMAGES 64

struct xen_request {
	const char *backend; /* or NULL: the default */
	struct ow_xen_image images[XEN_MOST_IMAGES];
	char *paths[XEN_MOST_IMAGES]; /* that the images borrow */
	struct ow_xen_options options;
	struct ow_xen *x; /* once it is open */
};

/* Options' arguments: "ELF" or "ELF@BIAS"; "both", "cfi" or "fp". */
bool xen_request_image(struct xen_request *r, const char *text);
bool xen_request_unwinding(struct xen_request *r, const char *text);

/* The domain behind "xen:", or NULL if the target is something else. */
const char *xen_request_domain(const char *target);

/*
 * Open the domain and take its stacks; NULL with err filled.  The capture is to
 * be destroyed before xen_request_free(), which is due in any case.
 */
struct ow_capture *xen_request_take(struct xen_request *r, const char *domain,
				    const struct ow_capture_options *options,
				    struct ow_error *err);
void xen_request_free(struct xen_request *r);

#endif /* OW_XENREQUEST_H */

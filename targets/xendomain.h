/* SPDX-License-Identifier: BSD-2-Clause */
/* A domain that has been opened (outwind/xen.h). */
#ifndef OW_XENDOMAIN_H
#define OW_XENDOMAIN_H

#include <outwind/xen.h>

#include "xenpages.h"

struct ow_xen {
	struct ow_xen_seam *seam;
	struct ow_xen_info info; /* as it was last asked for */
	char name[64];
	struct ow_xen_vcpu *vcpus; /* of info.nr_vcpus as it was opened */
	uint32_t nr_vcpus;
	struct ow_xenpages pages;
};

/*
 * Take over a backend's domain, also on failure.  NULL and err as of
 * ow_xen_open().
 */
struct ow_xen *ow_xen_from_seam(struct ow_xen_seam *seam, const char *name,
				struct ow_error *err);

/* The calls of the backend, counted. */
int ow_xen_ask_info(struct ow_xen *x);
int ow_xen_ask_run(struct ow_xen *x, uint32_t vcpu, struct ow_xen_run *ret);
int ow_xen_ask_vcpu(struct ow_xen *x, uint32_t vcpu);
int ow_xen_ask_pause(struct ow_xen *x);
int ow_xen_ask_unpause(struct ow_xen *x);

/* What a negative errno of a call means; "what" says what was being done. */
int ow_xen_fail(const struct ow_xen *x, int err_nr, const char *what,
		struct ow_error *err);

#endif /* OW_XENDOMAIN_H */

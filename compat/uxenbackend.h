/* SPDX-License-Identifier: BSD-2-Clause */
/* What libunwind-xen asks of Xen's libraries; the one place to put them in. */
#ifndef OW_UXENBACKEND_H
#define OW_UXENBACKEND_H

#include "regs.h"

struct ow_uxen_backend {
	/* A handle of the domain, or NULL with errno set. */
	void *(*open)(int domid);
	void (*close)(void *handle);
	/* The vCPU's registers now; 0 or -1. */
	int (*regs)(void *handle, int vcpu, struct ow_regs *ret);
	/* Bytes at a vCPU's virtual address; 0 or -1. */
	int (*read)(void *handle, int vcpu, uint64_t addr, void *buf,
		    size_t size);
};

/* NULL where this was built without Xen's libraries. */
const struct ow_uxen_backend *ow_uxen_backend(void);

#endif /* OW_UXENBACKEND_H */

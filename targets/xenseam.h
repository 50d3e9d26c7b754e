/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What outwind asks of a hypervisor, and nothing more: a backend fills a
 * struct ow_xen_ops.  Those of Xen's own libraries are in xenbycall.c and
 * xenbyctrl.c; tests put a guest of their own behind it.
 *
 * All calls return 0 or a negative errno: -ESRCH where the domain is gone,
 * -ENODATA of a vCPU that was never brought up.  None allocates, but open() and
 * map(), so that a guest may be paused meanwhile.
 */
#ifndef OW_XENSEAM_H
#define OW_XENSEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch.h"
#include "paging.h"
#include "regs.h"

#define OW_XEN_PAGE 4096 /* of a frame, whatever the guest's pages are */

struct ow_xen_info {
	uint32_t domid;
	bool is_hvm;    /* or PVH: frames are the guest's own, not machine's */
	bool is_paused; /* by whomever */
	bool is_dying;  /* being torn down */
	bool is_shutdown; /* the guest said so, with this reason */
	uint8_t reason;   /* SHUTDOWN_... of Xen's public/sched.h */
	uint8_t word;     /* bytes; of a paravirtual guest's kernel */
	uint32_t nr_vcpus;
	uint64_t pages; /* that it has, which changes where it balloons */
};

/* How a vCPU is scheduled. */
struct ow_xen_run {
	bool online, blocked, running;
	uint64_t cpu_time; /* that it has run, in ns */
};

/* The state of a vCPU that stacks are found by. */
struct ow_xen_vcpu {
	const struct ow_arch *arch; /* of the code that it runs */
	struct ow_regs regs;
	struct ow_paging paging;
	bool is_user;  /* not in its kernel */
	uint64_t idt;  /* addr of the interrupt table, or 0 */
	uint64_t gate; /* where vector 0, the division's, leads, or 0 */
};

struct ow_xen_seam;

struct ow_xen_ops {
	const char *name; /* as --backend takes it */
	void (*close)(struct ow_xen_seam *s);
	int (*info)(struct ow_xen_seam *s, struct ow_xen_info *ret);
	int (*run)(struct ow_xen_seam *s, uint32_t vcpu,
		   struct ow_xen_run *ret);
	/* info is what info() gave. */
	int (*vcpu)(struct ow_xen_seam *s, const struct ow_xen_info *info,
		    uint32_t vcpu, struct ow_xen_vcpu *ret);
	/* Each pause is to be taken back; they are counted by Xen. */
	int (*pause)(struct ow_xen_seam *s);
	int (*unpause)(struct ow_xen_seam *s);
	/*
	 * Map frames read-only, one page after another; errors[i] is 0, or the
	 * errno of one that is not there.  NULL with errno: none could be.
	 */
	const uint8_t *(*map)(struct ow_xen_seam *s, const uint64_t *frames,
			      size_t nr, int *errors);
	void (*unmap)(struct ow_xen_seam *s, const uint8_t *at, size_t nr);
};

/* A domain as a backend has it, which embeds this. */
struct ow_xen_seam {
	const struct ow_xen_ops *ops;
	uint32_t domid;
	uint64_t nr_calls; /* hypercalls so far, of all kinds but map() */
	uint64_t nr_maps;  /* calls of map() */
};

struct ow_xen_backend {
	const char *name;
	/* Load the libraries it calls, or say why not; NULL: it has none. */
	bool (*load)(char *why, size_t size);
	/* Connect; NULL with errno.  The domain needn't exist. */
	struct ow_xen_seam *(*open)(uint32_t domid);
};

/* What was built in, the default first, up to a NULL. */
extern const struct ow_xen_backend *const ow_xen_backends[];

/* What wasn't, in words, or NULL. */
extern const char *const ow_xen_lacking;

extern const struct ow_xen_backend ow_xen_by_call, ow_xen_by_ctrl;

/*
 * The domain of that name, by xenstore: 0 or a negative errno; -ENOENT: there
 * is none, -ENODEV: xenstore can't be reached, -ENOSYS: built without it.
 */
int ow_xen_find_name(const char *name, uint32_t *ret);

#endif /* OW_XENSEAM_H */

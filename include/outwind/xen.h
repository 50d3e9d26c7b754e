/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outwind: domains of Xen, for programs in the control domain.
 *
 * Open a domain (ow_xen_open()), then either take its stacks
 * (ow_capture_xen(), and ow_capture_again() for each further sample), or read
 * its vCPUs' registers and memory by hand.  A build without Xen's libraries has
 * all of this, but ow_xen_open() says what is missing.
 */
#ifndef OUTWIND_XEN_H
#define OUTWIND_XEN_H

#include "outwind.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ow_xen;

/*
 * Connect to a domain, by its id or (in decimal) or its name in xenstore.
 * backend is "libxencall" or "libxc"; NULL takes the first that was built in.
 * Return NULL and fill err: OW_CODE_ABSENT if there is no such domain,
 * OW_CODE_ARGUMENT if the text can't be one's, OW_CODE_FORMAT if its words are
 * of no size that outwind knows, and another code if the hypervisor can't be
 * asked.
 */
struct ow_xen *ow_xen_open(const char *domain, const char *backend,
			   struct ow_error *err);
void ow_xen_close(struct ow_xen *x);

struct ow_xen_domain {
	unsigned int id;
	char name[64];       /* "" if it was opened by its id */
	const char *backend; /* borrowed for ever */
	unsigned int nr_vcpus;
	unsigned int word;  /* bytes; of a paravirtual guest's kernel */
	bool hvm;           /* or PVH, or on Arm */
	bool paused;        /* by whomever */
	bool ended;         /* it has shut down, or is being torn down */
	const char *ending; /* how, in a word, where it has; borrowed */
};

/* Ask anew.  Return 0 or fill err; OW_CODE_ABSENT: the domain is gone. */
int ow_xen_domain(struct ow_xen *x, struct ow_xen_domain *ret,
		  struct ow_error *err);

/*
 * Pauses are counted by the hypervisor: one that somebody else made lasts.
 * Nothing takes a pause back if the program dies meanwhile.
 */
int ow_xen_pause(struct ow_xen *x, struct ow_error *err);
int ow_xen_unpause(struct ow_xen *x, struct ow_error *err);

/*
 * The registers of a vCPU, at most max of them by their DWARF numbers (x86-64:
 * 17, the last one rip; i386: 9; AArch64: 33, 31 being sp and 32 pc); return
 * how many, or a negative code and fill err: OW_CODE_ABSENT for a vCPU that is
 * down.  *word_ret, if not NULL, says how many bytes the words have of the code
 * that it runs.
 */
int ow_xen_registers(struct ow_xen *x, unsigned int vcpu, uint64_t *regs,
		     size_t max, unsigned int *word_ret, struct ow_error *err);

/*
 * Copy memory of the guest as a vCPU saw it when its registers were last asked
 * for.  Return 0, or a negative code and fill err: OW_CODE_FAULT where the
 * guest has nothing.  Pages stay mapped; a guest that runs may move them, and
 * ow_xen_forget() has all mapped anew then.
 */
int ow_xen_read(struct ow_xen *x, unsigned int vcpu, uint64_t addr, void *buf,
		size_t size, struct ow_error *err);
void ow_xen_forget(struct ow_xen *x);

/* How many hypercalls were made, and how many times pages were mapped. */
struct ow_xen_counts {
	uint64_t hypercalls, mappings;
};

void ow_xen_get_counts(const struct ow_xen *x, struct ow_xen_counts *ret);

/*
 * Stacks.
 */

/* An ELF file that the guest runs, its kernel or another. */
struct ow_xen_image {
	const char *path;
	bool placed; /* bias is known; else 0, or what the guest tells */
	uint64_t bias;
};

enum ow_xen_unwinding {
	OW_XEN_BY_BOTH, /* CFI, and frame pointers where there is none */
	OW_XEN_BY_CFI,
	OW_XEN_BY_FP,
};

/* All zero is a good default: by frame pointer, as there is no image. */
struct ow_xen_options {
	const struct ow_xen_image *images;
	size_t nr_images;
	enum ow_xen_unwinding unwinding;
	const char *symbols; /* a table as nm -n or /proc/kallsyms gives, or
				NULL */
};

/*
 * Take the stacks of all vCPUs: the guest is paused while their registers and
 * stacks are copied, or, if options say OW_STOPPING_NEVER, it is not, and only
 * a vCPU that did not run meanwhile is certain.  Threads are the vCPUs, by their
 * numbers.  x is borrowed and has to outlive the capture.
 */
struct ow_capture *ow_capture_xen(struct ow_xen *x,
				  const struct ow_xen_options *xen,
				  const struct ow_capture_options *options,
				  struct ow_error *err);

#ifdef __cplusplus
}
#endif

#endif /* OUTWIND_XEN_H */

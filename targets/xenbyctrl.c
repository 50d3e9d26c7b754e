// SPDX-License-Identifier: BSD-2-Clause
/*
 * The hypervisor by libxenctrl (libxc), which every version of Xen has; it
 * makes more copies than xenbycall.c does.
 */
#define XC_WANT_COMPAT_MAP_FOREIGN_API 1

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xenctrl.h>

#include <xen/foreign/arm64.h>
#include <xen/foreign/x86_32.h>
#include <xen/foreign/x86_64.h>
#if defined(__x86_64__)
#include <xen/hvm/save.h>
#endif

#include "library.h"
#include "xennames.h"
#include "xenregs.h"
#include "xensilent.h"

/* What is called of libxenctrl. */
static struct {
	__typeof__(&xc_interface_open) interface_open;
	__typeof__(&xc_interface_close) interface_close;
	__typeof__(&xc_domain_getinfolist) domain_getinfolist;
	__typeof__(&xc_vcpu_getinfo) vcpu_getinfo;
	__typeof__(&xc_vcpu_getcontext) vcpu_getcontext;
	__typeof__(&xc_domain_pause) domain_pause;
	__typeof__(&xc_domain_unpause) domain_unpause;
	__typeof__(&xc_map_foreign_bulk) map_foreign_bulk;
#if defined(__x86_64__)
	__typeof__(&xc_domain_get_guest_width) domain_get_guest_width;
	__typeof__(&xc_domain_hvm_getcontext_partial)
		domain_hvm_getcontext_partial;
#endif
} lib;

static const struct ow_library_function functions[] = {
	{ "xc_interface_open", &lib.interface_open },
	{ "xc_interface_close", &lib.interface_close },
	{ "xc_domain_getinfolist", &lib.domain_getinfolist },
	{ "xc_vcpu_getinfo", &lib.vcpu_getinfo },
	{ "xc_vcpu_getcontext", &lib.vcpu_getcontext },
	{ "xc_domain_pause", &lib.domain_pause },
	{ "xc_domain_unpause", &lib.domain_unpause },
	{ "xc_map_foreign_bulk", &lib.map_foreign_bulk },
#if defined(__x86_64__)
	{ "xc_domain_get_guest_width", &lib.domain_get_guest_width },
	{ "xc_domain_hvm_getcontext_partial",
	  &lib.domain_hvm_getcontext_partial },
#endif
};

struct by_ctrl {
	struct ow_xen_seam seam; /* first: calls cast back */
	xc_interface *xc;
	vcpu_guest_context_any_t state;
};

static int failure(int n)
{
	if (n >= 0)
		return 0;
	return errno ? -errno : -EIO;
}

static void close_all(struct ow_xen_seam *s)
{
	struct by_ctrl *x = (struct by_ctrl *)s;

	if (x->xc)
		lib.interface_close(x->xc);
	free(x);
}

static int get_word(struct by_ctrl *x, struct ow_xen_info *ret)
{
	unsigned int width = 8;
	int n = 0;

#if defined(__x86_64__)
	if (!ret->is_hvm)
		n = lib.domain_get_guest_width(x->xc, x->seam.domid, &width);
#else
	(void)x;
	ret->is_hvm = true; /* all of Arm's guests have frames of their own */
#endif
	ret->word = (uint8_t)width;
	return failure(n);
}

static int get_info(struct ow_xen_seam *s, struct ow_xen_info *ret)
{
	struct by_ctrl *x = (struct by_ctrl *)s;
	xc_domaininfo_t i;
	int n = lib.domain_getinfolist(x->xc, s->domid, 1, &i);

	if (n < 0)
		return failure(n);
	if (n == 0 || i.domain != s->domid)
		return -ESRCH;
	*ret = (struct ow_xen_info){
		.domid = s->domid,
		.is_hvm = i.flags & XEN_DOMINF_hvm_guest,
		.is_paused = i.flags & XEN_DOMINF_paused,
		.is_dying = i.flags & XEN_DOMINF_dying,
		.is_shutdown = i.flags & XEN_DOMINF_shutdown,
		.reason = i.flags >> XEN_DOMINF_shutdownshift &
			  XEN_DOMINF_shutdownmask,
		.nr_vcpus = i.max_vcpu_id == XEN_INVALID_MAX_VCPU_ID ?
				    0 :
				    i.max_vcpu_id + 1,
		.pages = i.tot_pages,
	};
	return get_word(x, ret);
}

static int get_run(struct ow_xen_seam *s, uint32_t vcpu, struct ow_xen_run *ret)
{
	struct by_ctrl *x = (struct by_ctrl *)s;
	xc_vcpuinfo_t i;
	int n = lib.vcpu_getinfo(x->xc, s->domid, vcpu, &i);

	if (n < 0)
		return failure(n);
	*ret = (struct ow_xen_run){ i.online, i.blocked, i.running,
				    i.cpu_time };
	return 0;
}

#if defined(__x86_64__)
static int get_hvm(struct by_ctrl *x, uint32_t vcpu, struct ow_xen_vcpu *ret)
{
	struct hvm_hw_cpu cpu;
	int n;

	memset(&cpu, 0, sizeof(cpu));
	n = lib.domain_hvm_getcontext_partial(x->xc, x->seam.domid,
					      HVM_SAVE_CODE(CPU),
					      (uint16_t)vcpu, &cpu,
					      sizeof(cpu));
	if (n < 0)
		return errno == ENOENT ? -ENODATA : failure(n);
	ow_xenregs_hvm(&cpu, ret);
	return 0;
}
#endif

static int get_vcpu(struct ow_xen_seam *s, const struct ow_xen_info *info,
		    uint32_t vcpu, struct ow_xen_vcpu *ret)
{
	struct by_ctrl *x = (struct by_ctrl *)s;
	int n;

#if defined(__x86_64__)
	if (info->is_hvm)
		return get_hvm(x, vcpu, ret);
#endif
	memset(&x->state, 0, sizeof(x->state));
	n = lib.vcpu_getcontext(x->xc, s->domid, vcpu, &x->state);
	if (n < 0)
		return failure(n);
#if defined(__x86_64__)
	if (info->word == 4)
		ow_xenregs_pv32((const void *)&x->state, ret);
	else
		ow_xenregs_pv64((const void *)&x->state, ret);
#else
	(void)info;
	ow_xenregs_arm((const void *)&x->state, ret);
#endif
	return 0;
}

static int pause_it(struct ow_xen_seam *s)
{
	return failure(lib.domain_pause(((struct by_ctrl *)s)->xc, s->domid));
}

static int unpause_it(struct ow_xen_seam *s)
{
	return failure(lib.domain_unpause(((struct by_ctrl *)s)->xc, s->domid));
}

static const uint8_t *map(struct ow_xen_seam *s, const uint64_t *frames,
			  size_t nr, int *errors)
{
	struct by_ctrl *x = (struct by_ctrl *)s;

	_Static_assert(sizeof(xen_pfn_t) == sizeof(*frames), "the same array");
	return lib.map_foreign_bulk(x->xc, s->domid, PROT_READ,
				    (const xen_pfn_t *)frames, errors,
				    (unsigned int)nr);
}

static void unmap(struct ow_xen_seam *s, const uint8_t *at, size_t nr)
{
	(void)s;
	munmap((void *)at, nr * OW_XEN_PAGE);
}

static const struct ow_xen_ops ops = {
	.name = "libxc",
	.close = close_all,
	.info = get_info,
	.run = get_run,
	.vcpu = get_vcpu,
	.pause = pause_it,
	.unpause = unpause_it,
	.map = map,
	.unmap = unmap,
};

static bool load(char *why, size_t size)
{
	return ow_library_load(OW_LIBXENCTRL, functions,
			       OW_ARRAY_SIZE(functions), why, size);
}

static struct ow_xen_seam *open_all(uint32_t domid)
{
	struct by_ctrl *x = calloc(1, sizeof(*x));
	int why;

	if (!x)
		return NULL;
	x->seam = (struct ow_xen_seam){ .ops = &ops, .domid = domid };
	errno = 0;
	x->xc = lib.interface_open(&ow_xen_silent, &ow_xen_silent,
				   XC_OPENFLAG_NON_REENTRANT);
	if (x->xc)
		return &x->seam;
	why = errno ? errno : ENODEV;
	free(x);
	errno = why;
	return NULL;
}

const struct ow_xen_backend ow_xen_by_ctrl = { "libxc", load, open_all };

// SPDX-License-Identifier: BSD-2-Clause
/*
 * The hypervisor by libxencall and libxenforeignmemory: domctls of our own.
 * Their layout is of one version of Xen (XEN_DOMCTL_INTERFACE_VERSION), whose
 * hypervisor alone answers; another says EACCES.
 */
#define __XEN_TOOLS__ 1

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xencall.h>
#include <xenforeignmemory.h>

#include <xen/xen.h>

#include <xen/domctl.h>
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

#define NON_REENTRANT 1 /* of both libraries' flags when opened */

/* What is called of libxencall and libxenforeignmemory. */
static struct {
	__typeof__(&xencall_open) open_call;
	__typeof__(&xencall_close) close_call;
	__typeof__(&xencall1) call1;
	__typeof__(&xencall_alloc_buffer) alloc_buffer;
	__typeof__(&xencall_free_buffer) free_buffer;
	__typeof__(&xenforeignmemory_open) open_memory;
	__typeof__(&xenforeignmemory_close) close_memory;
	__typeof__(&xenforeignmemory_map) map;
	__typeof__(&xenforeignmemory_unmap) unmap;
} lib;

static const struct ow_library_function of_call[] = {
	{ "xencall_open", &lib.open_call },
	{ "xencall_close", &lib.close_call },
	{ "xencall1", &lib.call1 },
	{ "xencall_alloc_buffer", &lib.alloc_buffer },
	{ "xencall_free_buffer", &lib.free_buffer },
};

static const struct ow_library_function of_memory[] = {
	{ "xenforeignmemory_open", &lib.open_memory },
	{ "xenforeignmemory_close", &lib.close_memory },
	{ "xenforeignmemory_map", &lib.map },
	{ "xenforeignmemory_unmap", &lib.unmap },
};

/* What a vCPU's state is written to. */
union state {
	vcpu_guest_context_t native;
	struct vcpu_guest_context_x86_64 pv64;
	struct vcpu_guest_context_x86_32 pv32;
	struct vcpu_guest_context_arm64 arm;
#if defined(__x86_64__)
	struct hvm_hw_cpu hvm;
#endif
};

/* Buffers are the library's, as the hypervisor writes to them. */
struct by_call {
	struct ow_xen_seam seam; /* first: calls cast back */
	xencall_handle *call;
	xenforeignmemory_handle *memory;
	struct xen_domctl *domctl;
	union state *state;
};

static int domctl(struct by_call *x, uint32_t cmd)
{
	x->domctl->cmd = cmd;
	x->domctl->interface_version = XEN_DOMCTL_INTERFACE_VERSION;
	x->domctl->domain = (domid_t)x->seam.domid;
	if (lib.call1(x->call, __HYPERVISOR_domctl, (uintptr_t)x->domctl) < 0)
		return errno ? -errno : -EIO;
	return 0;
}

static void close_all(struct ow_xen_seam *s)
{
	struct by_call *x = (struct by_call *)s;

	if (x->state)
		lib.free_buffer(x->call, x->state);
	if (x->domctl)
		lib.free_buffer(x->call, x->domctl);
	if (x->memory)
		lib.close_memory(x->memory);
	if (x->call)
		lib.close_call(x->call);
	free(x);
}

/* Only of a paravirtual guest the hypervisor knows it. */
static int get_word(struct by_call *x, struct ow_xen_info *ret)
{
	int err;

	ret->word = 8;
#if defined(__x86_64__)
	if (ret->is_hvm)
		return 0;
	memset(x->domctl, 0, sizeof(*x->domctl));
	err = domctl(x, XEN_DOMCTL_get_address_size);
	if (err)
		return err;
	ret->word = (uint8_t)(x->domctl->u.address_size.size / 8);
#else
	(void)x;
	(void)err;
	ret->is_hvm = true; /* all of Arm's guests have frames of their own */
#endif
	return 0;
}

static int get_info(struct ow_xen_seam *s, struct ow_xen_info *ret)
{
	struct by_call *x = (struct by_call *)s;
	const struct xen_domctl_getdomaininfo *i = &x->domctl->u.getdomaininfo;
	int err;

	memset(x->domctl, 0, sizeof(*x->domctl));
	err = domctl(x, XEN_DOMCTL_getdomaininfo);
	if (err)
		return err;
	if (x->domctl->domain != s->domid)
		return -ESRCH;
	*ret = (struct ow_xen_info){
		.domid = s->domid,
		.is_hvm = i->flags & XEN_DOMINF_hvm_guest,
		.is_paused = i->flags & XEN_DOMINF_paused,
		.is_dying = i->flags & XEN_DOMINF_dying,
		.is_shutdown = i->flags & XEN_DOMINF_shutdown,
		.reason = i->flags >> XEN_DOMINF_shutdownshift &
			  XEN_DOMINF_shutdownmask,
		.nr_vcpus = i->max_vcpu_id == XEN_INVALID_MAX_VCPU_ID ?
				    0 :
				    i->max_vcpu_id + 1,
		.pages = i->tot_pages,
	};
	return get_word(x, ret);
}

static int get_run(struct ow_xen_seam *s, uint32_t vcpu, struct ow_xen_run *ret)
{
	struct by_call *x = (struct by_call *)s;
	const struct xen_domctl_getvcpuinfo *i = &x->domctl->u.getvcpuinfo;
	int err;

	memset(x->domctl, 0, sizeof(*x->domctl));
	x->domctl->u.getvcpuinfo.vcpu = vcpu;
	err = domctl(x, XEN_DOMCTL_getvcpuinfo);
	if (err)
		return err;
	*ret = (struct ow_xen_run){ i->online, i->blocked, i->running,
				    i->cpu_time };
	return 0;
}

/* The hypervisor's own record of an HVM guest's CPU has what paging needs. */
static int get_hvm(struct by_call *x, uint32_t vcpu)
{
#if defined(__x86_64__)
	struct xen_domctl_hvmcontext_partial *p =
		&x->domctl->u.hvmcontext_partial;

	p->type = HVM_SAVE_CODE(CPU);
	p->instance = vcpu;
	p->bufsz = sizeof(x->state->hvm);
	set_xen_guest_handle(p->buffer, (uint8_t *)x->state);
	return domctl(x, XEN_DOMCTL_gethvmcontext_partial);
#else
	(void)x;
	(void)vcpu;
	return -ENOSYS;
#endif
}

static int get_context(struct by_call *x, uint32_t vcpu)
{
	struct xen_domctl_vcpucontext *p = &x->domctl->u.vcpucontext;

	p->vcpu = vcpu;
	set_xen_guest_handle(p->ctxt, &x->state->native);
	return domctl(x, XEN_DOMCTL_getvcpucontext);
}

static int get_vcpu(struct ow_xen_seam *s, const struct ow_xen_info *info,
		    uint32_t vcpu, struct ow_xen_vcpu *ret)
{
	struct by_call *x = (struct by_call *)s;
	bool by_hvm = false;
	int err;

#if defined(__x86_64__)
	by_hvm = info->is_hvm;
#endif
	memset(x->domctl, 0, sizeof(*x->domctl));
	memset(x->state, 0, sizeof(*x->state));
	err = by_hvm ? get_hvm(x, vcpu) : get_context(x, vcpu);
	if (err)
		return by_hvm && err == -ENOENT ? -ENODATA : err;
#if defined(__x86_64__)
	if (by_hvm)
		ow_xenregs_hvm(&x->state->hvm, ret);
	else if (info->word == 4)
		ow_xenregs_pv32(&x->state->pv32, ret);
	else
		ow_xenregs_pv64(&x->state->pv64, ret);
#else
	(void)info;
	ow_xenregs_arm(&x->state->arm, ret);
#endif
	return 0;
}

static int pause_it(struct ow_xen_seam *s)
{
	return domctl((struct by_call *)s, XEN_DOMCTL_pausedomain);
}

static int unpause_it(struct ow_xen_seam *s)
{
	return domctl((struct by_call *)s, XEN_DOMCTL_unpausedomain);
}

static const uint8_t *map(struct ow_xen_seam *s, const uint64_t *frames,
			  size_t nr, int *errors)
{
	struct by_call *x = (struct by_call *)s;

	_Static_assert(sizeof(xen_pfn_t) == sizeof(*frames), "the same array");
	return lib.map(x->memory, s->domid, PROT_READ, nr,
		       (const xen_pfn_t *)frames, errors);
}

static void unmap(struct ow_xen_seam *s, const uint8_t *at, size_t nr)
{
	lib.unmap(((struct by_call *)s)->memory, (void *)at, nr);
}

static const struct ow_xen_ops ops = {
	.name = "libxencall",
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
	return ow_library_load(OW_LIBXENCALL, of_call, OW_ARRAY_SIZE(of_call),
			       why, size) &&
	       ow_library_load(OW_LIBXENFOREIGNMEMORY, of_memory,
			       OW_ARRAY_SIZE(of_memory), why, size);
}

static struct ow_xen_seam *open_all(uint32_t domid)
{
	struct by_call *x = calloc(1, sizeof(*x));
	int why;

	if (!x)
		return NULL;
	x->seam = (struct ow_xen_seam){ .ops = &ops, .domid = domid };
	errno = 0;
	x->call = lib.open_call(&ow_xen_silent, NON_REENTRANT);
	if (x->call)
		x->memory = lib.open_memory(&ow_xen_silent, NON_REENTRANT);
	if (x->memory)
		x->domctl = lib.alloc_buffer(x->call, sizeof(*x->domctl));
	if (x->domctl)
		x->state = lib.alloc_buffer(x->call, sizeof(*x->state));
	if (x->state) {
		memset(x->domctl, 0, sizeof(*x->domctl));
		return &x->seam;
	}
	why = errno ? errno : ENODEV;
	close_all(&x->seam);
	errno = why;
	return NULL;
}

const struct ow_xen_backend ow_xen_by_call = { "libxencall", load, open_all };

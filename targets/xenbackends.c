// SPDX-License-Identifier: BSD-2-Clause
/* What of Xen's libraries was there when outwind was built. */
#include "xenseam.h"

const struct ow_xen_backend *const ow_xen_backends[] = {
#ifdef OW_HAVE_XENCALL
	&ow_xen_by_call,
#endif
#ifdef OW_HAVE_LIBXC
	&ow_xen_by_ctrl,
#endif
	NULL,
};

#if defined(OW_HAVE_XENCALL) && defined(OW_HAVE_LIBXC)
const char *const ow_xen_lacking = NULL;
#elif defined(OW_HAVE_XENCALL)
const char *const ow_xen_lacking = "libxenctrl (libxc)";
#elif defined(OW_HAVE_LIBXC)
const char *const ow_xen_lacking = "libxencall and libxenforeignmemory";
#else
const char *const ow_xen_lacking =
	"libxencall and libxenforeignmemory, or libxenctrl (Debian: "
	"libxen-dev)";
#endif

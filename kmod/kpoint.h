/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's own tracepoints, by name: it exports no few of them. */
#ifndef KW_POINT_H
#define KW_POINT_H

#include <linux/errno.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

struct kw_point {
	const char *name;
	void *func; /* as the tracepoint calls it, with NULL for data */
	struct tracepoint *tp; /* once it is found */
};

/* for_each_kernel_tracepoint(kw_point_match, point) */
static inline void kw_point_match(struct tracepoint *tp, void *point)
{
	struct kw_point *p = point;

	if (strcmp(tp->name, p->name) == 0)
		p->tp = tp;
}

/* Be told no more by the first nr; nothing is called once this returns. */
static inline void kw_points_leave(struct kw_point *points, size_t nr)
{
	while (nr-- > 0)
		tracepoint_probe_unregister(points[nr].tp, points[nr].func,
					    NULL);
	tracepoint_synchronize_unregister();
}

/* Be told by all or none; -EOPNOTSUPP: there is no such tracepoint. */
static inline int kw_points_join(struct kw_point *points, size_t nr)
{
	size_t i;
	int err;

	for (i = 0; i < nr; i++) {
		for_each_kernel_tracepoint(kw_point_match, &points[i]);
		err = -EOPNOTSUPP;
		if (points[i].tp)
			err = tracepoint_probe_register(points[i].tp,
							points[i].func, NULL);
		if (err) {
			kw_points_leave(points, i);
			return err;
		}
	}
	return 0;
}

#endif /* KW_POINT_H */

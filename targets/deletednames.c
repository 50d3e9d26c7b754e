// SPDX-License-Identifier: BSD-2-Clause
#include "deletednames.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "delegate.h"
#include "identity.h"
#include "mappings.h"
#include "monotonic.h"
#include "procfs.h"
#include "reach.h"
#include "userefforts.h"

#define MOST_LOOKED_AT 1000 /* files of one list */

/*
 * ns of CPU that a run may take, for each user, to look for names: a name may lead over
 * mounts that lie on one another, each of which the kernel steps over.
 */
static struct ow_userefforts lookups = OW_USEREFFORTS(1000000000, 20000000);

struct looking {
	pid_t pid;
	int own, root;  /* ours and the process', or -1: not opened so far */
	uint32_t share; /* of the process' user, once they are */
	size_t nr_looked_at; /* files */
};

/*
 * Of a subvolume or a layer, stat(2) and the list tell different devices, both of major
 * 0; so do two file systems without a disk, which may give two files one number.
 */
static bool is_mapped(const struct looking *l, const struct ow_mapping *m,
		      const struct ow_identity *file)
{
	struct ow_identity mapped;

	if (file->inode != m->inode || file->dev == m->dev)
		return file->inode == m->inode;
	return major(file->dev) == 0 && major(m->dev) == 0 &&
	       ow_mapping_look(l->pid, m, &mapped) &&
	       ow_identity_is_inode(file, &mapped);
}

static bool is_below(const struct looking *l, int root, const char *path,
		     const struct ow_mapping *m)
{
	struct ow_identity file;

	return root >= 0 && ow_identity_look_below(root, path, &file) &&
	       is_mapped(l, m, &file);
}

static void open_roots(struct looking *l)
{
	char root[32];

	if (l->nr_looked_at > 0)
		return;
	l->share = ow_process_owner(l->pid).share;
	snprintf(root, sizeof(root), "/proc/%d/root", l->pid);
	l->own = ow_reach_open("/", O_PATH | O_DIRECTORY);
	l->root = ow_reach_open(root, O_PATH | O_DIRECTORY);
}

/* Return true if path, which the kernel has told, leads to what is mapped. */
static bool has_name(struct looking *l, const char *path,
		     const struct ow_mapping *m)
{
	struct ow_identity mapped;
	uint64_t begun;
	bool found;

	/* Most are; no name leads to these. */
	if (ow_mapping_look(l->pid, m, &mapped) && mapped.is_unlinked)
		return false;
	if (l->nr_looked_at >= MOST_LOOKED_AT || ow_delegate_must_end())
		return false;
	open_roots(l);
	l->nr_looked_at++;
	if (!ow_userefforts_left(&lookups, l->share))
		return false;
	begun = ow_cpu_ns();
	found = is_below(l, l->own, path, m) || is_below(l, l->root, path, m);
	ow_userefforts_spend(&lookups, l->share, ow_cpu_ns() - begun);
	return found;
}

static bool is_same_file(const struct ow_mapping *a, const struct ow_mapping *b)
{
	return a->path == b->path && a->dev == b->dev && a->inode == b->inode;
}

void ow_deletednames_settle(struct ow_mappings *maps, pid_t pid)
{
	struct looking l = { .pid = pid, .own = -1, .root = -1 };
	struct ow_mapping last = { .path = NULL }; /* as it was listed */
	const char *own = NULL;                    /* name of last, if whole */
	char path[PATH_MAX + 16];
	struct ow_mapping *m;

	for (m = maps->list; m < maps->list + maps->nr; m++) {
		if (!m->executable || !m->deleted || m->path[0] != '/')
			continue;
		if (!is_same_file(m, &last)) {
			last = *m;
			snprintf(path, sizeof(path), "%s" OW_DELETED, m->path);
			own = has_name(&l, path, m) ?
				      ow_intern_add(&maps->names, path) :
				      NULL;
		}
		if (own) {
			m->path = own;
			m->deleted = false;
		}
	}
	ow_reach_closep(&l.own);
	ow_reach_closep(&l.root);
}

// SPDX-License-Identifier: BSD-2-Clause
#include "capinfo.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "capture.h"
#include "deletednames.h"
#include "err.h"
#include "identity.h"
#include "machine.h"
#include "mappings.h"
#include "objnames.h"
#include "ownproc.h"
#include "procinfo.h"
#include "procname.h"
#include "procobject.h"

static struct ow_capture_module *module_at(struct ow_capture *c, unw_word_t ip)
{
	struct ow_capture_module *m = c ? ow_capture_module_at(c, ip) : NULL;

	return m && m->object ? m : NULL;
}

int ow_capinfo_find(struct ow_capture *c, unw_word_t ip, unw_proc_info_t *pi,
		    int need)
{
	struct ow_capture_module *m = module_at(c, ip);
	struct ow_cfi_env env;
	struct ow_fde fde;
	uint8_t how;

	if (!m || !m->base.cfi)
		return -UNW_ENOINFO;
	env = (struct ow_cfi_env){ &c->target.mem, m->base.bias, NULL };
	if (ow_cfi_find(m->base.cfi, &env, ip - m->base.bias, &fde, &how))
		return -UNW_ENOINFO;
	return ow_procinfo_fill(pi, m->base.cfi, &env, &fde, how, need, NULL);
}

int ow_capinfo_name(struct ow_capture *c, struct ow_objnames *names,
		    unw_word_t ip, char *buf, size_t size, unw_word_t *off_ret)
{
	struct ow_capture_module *m = module_at(c, ip);

	if (!m)
		return -UNW_ENOINFO;
	return ow_objnames_find(names, m->object, ip - m->base.bias, buf, size,
				off_ret);
}

int ow_capinfo_file(struct ow_capture *c, unw_word_t ip, char *buf, size_t size,
		    unw_word_t *off_ret)
{
	struct ow_capture_module *m = module_at(c, ip);

	if (!m)
		return -UNW_ENOINFO;
	if (off_ret)
		*off_ret = ip - m->base.bias;
	return ow_procname_copy(buf, size, m->path, strlen(m->path));
}

int ow_capinfo_word(struct ow_capture *c, unw_word_t addr, unw_word_t *ret)
{
	const struct ow_memory *mem = &c->target.mem;

	return mem->read(mem, addr, ret, sizeof(*ret)) ? -UNW_EINVAL : 0;
}

static bool add_module(struct ow_capture *c, const struct ow_mapping *p)
{
	struct ow_capture_module *m = &c->modules[c->nr_modules];

	*m = (struct ow_capture_module){
		.path = strdup(p->path),
		.start = p->start,
		.end = p->end,
		.off = p->off,
		.dev = p->dev,
		.inode = p->inode,
		.deleted = p->deleted,
	};
	if (!m->path)
		return false;
	c->ranges[c->target.map.nr++] =
		(struct ow_range){ p->start, p->end, &m->base };
	c->nr_modules++;
	return true;
}

static bool add_modules(struct ow_capture *c, const struct ow_mappings *maps)
{
	const struct ow_mapping *p;

	c->modules = calloc(maps->nr + 1, sizeof(*c->modules));
	c->ranges = calloc(maps->nr + 1, sizeof(*c->ranges));
	if (!c->modules || !c->ranges)
		return false;
	for (p = maps->list; p < maps->list + maps->nr; p++)
		if (p->executable &&
		    (ow_identity_is_file(p->dev, p->inode) ||
		     strcmp(p->path, "[vdso]") == 0) &&
		    !add_module(c, p))
			return false;
	ow_capture_sort(c);
	return true;
}

/* Straight from the process, as it is now. */
static int read_process(const struct ow_memory *mem, uint64_t addr, void *buf,
			size_t size)
{
	const struct ow_capture *c = (const struct ow_capture *)mem;
	struct iovec local = { buf, size };
	struct iovec remote = { (void *)(uintptr_t)addr, size };

	if (process_vm_readv(c->pid, &local, 1, &remote, 1, 0) != (ssize_t)size)
		return -OW_EFAULT;
	return 0;
}

struct ow_capture *ow_capinfo_process(pid_t pid)
{
	struct ow_error err;
	struct ow_mappings maps = { 0 };
	struct ow_capture *c = ow_capture_create(&err);
	bool good;

	if (!c)
		return NULL;
	c->pid = c->live = pid;
	c->open = ow_procobject_open;
	c->target.mem.read = read_process;
	c->target.arch = ow_machine.arch;
	good = !ow_ownproc_check(&err) &&
	       !ow_mappings_read_code(pid, &maps, &err);
	if (good) {
		ow_deletednames_settle(&maps, pid);
		good = add_modules(c, &maps);
	}
	ow_mappings_free(&maps);
	if (good)
		return c;
	ow_capture_destroy(c);
	return NULL;
}

// SPDX-License-Identifier: BSD-2-Clause
#include "xendomain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

#define FIRST_RESERVED 0x7ff0 /* domids from here on are no domains' */
#define MOST_VCPUS     8192

int ow_xen_ask_info(struct ow_xen *x)
{
	x->seam->nr_calls++;
	return x->seam->ops->info(x->seam, &x->info);
}

int ow_xen_ask_run(struct ow_xen *x, uint32_t vcpu, struct ow_xen_run *ret)
{
	x->seam->nr_calls++;
	return x->seam->ops->run(x->seam, vcpu, ret);
}

int ow_xen_ask_vcpu(struct ow_xen *x, uint32_t vcpu)
{
	x->seam->nr_calls++;
	return x->seam->ops->vcpu(x->seam, &x->info, vcpu, &x->vcpus[vcpu]);
}

int ow_xen_ask_pause(struct ow_xen *x)
{
	x->seam->nr_calls++;
	return x->seam->ops->pause(x->seam);
}

int ow_xen_ask_unpause(struct ow_xen *x)
{
	x->seam->nr_calls++;
	return x->seam->ops->unpause(x->seam);
}

int ow_xen_fail(const struct ow_xen *x, int err_nr, const char *what,
		struct ow_error *err)
{
	unsigned int id = x->seam->domid;

	switch (-err_nr) {
	case ESRCH:
		return ow_fail(err, OW_CODE_ABSENT,
			       "domain %u: %s: no such "
			       "domain",
			       id, what);
	case EACCES:
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "domain %u: %s: this hypervisor is of another "
			       "version than what outwind was built for",
			       id, what);
	case EPERM:
		return ow_fail(err, OW_CODE_PERMISSION,
			       "domain %u: %s: not allowed", id, what);
	case ENODATA:
		return ow_fail(err, OW_CODE_ABSENT,
			       "domain %u: %s: the vCPU "
			       "is down",
			       id, what);
	case EFAULT:
		return ow_fail(err, OW_CODE_FAULT,
			       "domain %u: %s: not mapped in the guest", id,
			       what);
	}
	errno = -err_nr;
	return ow_fail(err, OW_CODE_SYSTEM, "domain %u: %s", id, what);
}

static int begin(struct ow_xen *x, struct ow_error *err)
{
	int failed = ow_xen_ask_info(x);

	if (failed)
		return ow_xen_fail(x, failed, "ask what it is", err);
	if (x->info.word != 4 && x->info.word != 8)
		return ow_fail(err, OW_CODE_FORMAT,
			       "domain %u: words of %u bytes", x->seam->domid,
			       x->info.word);
	if (x->info.nr_vcpus == 0 || x->info.nr_vcpus > MOST_VCPUS)
		return ow_fail(err, OW_CODE_ABSENT, "domain %u: %u vCPUs",
			       x->seam->domid, x->info.nr_vcpus);
	x->nr_vcpus = x->info.nr_vcpus;
	x->vcpus = calloc(x->nr_vcpus, sizeof(*x->vcpus));
	if (!x->vcpus || ow_xenpages_init(&x->pages, x->seam))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	return 0;
}

struct ow_xen *ow_xen_from_seam(struct ow_xen_seam *seam, const char *name,
				struct ow_error *err)
{
	struct ow_xen *x = calloc(1, sizeof(*x));

	if (!x) {
		seam->ops->close(seam);
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		return NULL;
	}
	x->seam = seam;
	snprintf(x->name, sizeof(x->name), "%s", name ? name : "");
	if (!begin(x, err))
		return x;
	ow_xen_close(x);
	return NULL;
}

void ow_xen_close(struct ow_xen *x)
{
	if (!x)
		return;
	ow_xenpages_free(&x->pages);
	x->seam->ops->close(x->seam);
	free(x->vcpus);
	free(x);
}

/* An id in decimal, or a name; *by_name says which. */
static int find_domid(const char *text, uint32_t *ret, bool *by_name,
		      struct ow_error *err)
{
	char *end;
	int failed;

	*by_name = strspn(text, "0123456789") != strlen(text);
	if (!*text)
		return ow_fail(err, OW_CODE_ARGUMENT, "a domain without name");
	if (!*by_name) {
		errno = 0;
		*ret = (uint32_t)strtoul(text, &end, 10);
		if (errno || strlen(text) > 5 || *ret >= FIRST_RESERVED)
			return ow_fail(err, OW_CODE_ARGUMENT,
				       "%s: not a domain's id", text);
		return 0;
	}
	failed = ow_xen_find_name(text, ret);
	if (failed == -ENOENT)
		return ow_fail(err, OW_CODE_ABSENT, "no domain is called '%s'",
			       text);
	if (failed == -ENODEV)
		return ow_fail(err, OW_CODE_SYSTEM,
			       "xenstore does not answer, which knows the "
			       "domain '%s' (is this Xen's control domain?)",
			       text);
	if (failed == -ENOSYS)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "no libxenstore to ask: give the domain's id "
			       "in place of '%s'",
			       text);
	errno = -failed;
	return failed ? ow_fail(err, OW_CODE_SYSTEM,
				"ask xenstore for the domain '%s'", text) :
			0;
}

/* Is it that one, and are its libraries there? */
static bool can_use(const struct ow_xen_backend *b, const char *name, char *why,
		    size_t size)
{
	if (name && strcmp(b->name, name) != 0)
		return false;
	return !b->load || b->load(why, size);
}

static const struct ow_xen_backend *find_backend(const char *name,
						 struct ow_error *err)
{
	char why[256] = "";
	size_t i;

	for (i = 0; ow_xen_backends[i]; i++)
		if (can_use(ow_xen_backends[i], name, why, sizeof(why)))
			return ow_xen_backends[i];
	if (name && strcmp(name, "libxencall") && strcmp(name, "libxc"))
		ow_fail(err, OW_CODE_ARGUMENT,
			"no backend '%s': libxencall or libxc", name);
	else if (*why)
		ow_fail(err, OW_CODE_UNSUPPORTED,
			"guests take Xen's libraries (on Debian those that "
			"xen-utils brings): %s",
			why);
	else
		ow_fail(err, OW_CODE_UNSUPPORTED, "built without %s",
			ow_xen_lacking ? ow_xen_lacking : name);
	return NULL;
}

struct ow_xen *ow_xen_open(const char *domain, const char *backend,
			   struct ow_error *err)
{
	const struct ow_xen_backend *b = find_backend(backend, err);
	struct ow_xen_seam *seam;
	bool by_name;
	uint32_t id;

	if (!b || find_domid(domain, &id, &by_name, err))
		return NULL;
	if (id == 0) {
		ow_fail(err, OW_CODE_ARGUMENT,
			"domain 0 cannot be looked at from within");
		return NULL;
	}
	errno = 0;
	seam = b->open(id);
	if (!seam) {
		ow_fail(err,
			errno == EACCES || errno == EPERM ? OW_CODE_PERMISSION :
							    OW_CODE_SYSTEM,
			"connect to the hypervisor by %s (is this Xen's "
			"control domain?)",
			b->name);
		return NULL;
	}
	/* An id suffices, also where xenstore does not answer. */
	return ow_xen_from_seam(seam, by_name ? domain : NULL, err);
}

/* SHUTDOWN_... of Xen's public/sched.h. */
static const char *const endings[] = { "powered off", "rebooted", "suspended",
				       "crashed", "watchdog" };

int ow_xen_domain(struct ow_xen *x, struct ow_xen_domain *ret,
		  struct ow_error *err)
{
	int failed = ow_xen_ask_info(x);
	const struct ow_xen_info *i = &x->info;

	if (failed)
		return ow_xen_fail(x, failed, "ask what it is", err);
	*ret = (struct ow_xen_domain){
		.id = i->domid,
		.backend = x->seam->ops->name,
		.nr_vcpus = x->nr_vcpus,
		.word = i->word,
		.hvm = i->is_hvm,
		.paused = i->is_paused,
		.ended = i->is_dying || i->is_shutdown,
	};
	snprintf(ret->name, sizeof(ret->name), "%s", x->name);
	if (ret->ended)
		ret->ending = i->is_shutdown && i->reason <
							OW_ARRAY_SIZE(endings) ?
				      endings[i->reason] :
				      "being destroyed";
	return 0;
}

int ow_xen_pause(struct ow_xen *x, struct ow_error *err)
{
	int failed = ow_xen_ask_pause(x);

	return failed ? ow_xen_fail(x, failed, "pause", err) : 0;
}

int ow_xen_unpause(struct ow_xen *x, struct ow_error *err)
{
	int failed = ow_xen_ask_unpause(x);

	if (failed == -EINVAL)
		return ow_fail(err, OW_CODE_ABSENT, "domain %u: is not paused",
			       x->seam->domid);
	return failed ? ow_xen_fail(x, failed, "unpause", err) : 0;
}

int ow_xen_registers(struct ow_xen *x, unsigned int vcpu, uint64_t *regs,
		     size_t max, unsigned int *word_ret, struct ow_error *err)
{
	const struct ow_xen_vcpu *v = x->vcpus + vcpu;
	size_t i;
	int failed;

	if (vcpu >= x->nr_vcpus)
		return ow_fail(err, OW_CODE_ARGUMENT, "domain %u: no vCPU %u",
			       x->seam->domid, vcpu);
	failed = ow_xen_ask_vcpu(x, vcpu);
	if (failed)
		return ow_xen_fail(x, failed, "registers of a vCPU", err);
	for (i = 0; i < v->arch->nr_regs && i <= v->arch->pc && i < max; i++)
		regs[i] = v->regs.val[i];
	if (word_ret)
		*word_ret = v->arch->word;
	return (int)i;
}

int ow_xen_read(struct ow_xen *x, unsigned int vcpu, uint64_t addr, void *buf,
		size_t size, struct ow_error *err)
{
	int failed;

	if (vcpu >= x->nr_vcpus || !x->vcpus[vcpu].arch)
		return ow_fail(err, OW_CODE_ARGUMENT,
			       "domain %u: vCPU %u's registers are not known",
			       x->seam->domid, vcpu);
	ow_xenpages_begin(&x->pages);
	failed = ow_xenpages_read(&x->pages, &x->vcpus[vcpu].paging, addr, buf,
				  size);
	return failed ? ow_xen_fail(x, failed, "read memory", err) : 0;
}

void ow_xen_forget(struct ow_xen *x)
{
	ow_xenpages_drop(&x->pages);
}

void ow_xen_get_counts(const struct ow_xen *x, struct ow_xen_counts *ret)
{
	*ret = (struct ow_xen_counts){ x->seam->nr_calls, x->seam->nr_maps };
}

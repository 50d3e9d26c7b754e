// SPDX-License-Identifier: BSD-2-Clause
#include "jitmaps.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytebuf.h"
#include "error.h"
#include "grow.h"
#include "leftout.h"
#include "monotonic.h"
#include "owner.h"
#include "perfmap.h"
#include "perfplace.h"
#include "procfs.h"
#include "reach.h"
#include "walk.h"

#define MAPS_MAX   256                 /* processes */
#define OVER_MANY  64                  /* whose processes have ended */
#define BYTES_MAX  ((size_t)128 << 20) /* that all maps take */
#define MAP_MAX    ((size_t)64 << 20)  /* that one takes */
#define ROOTS_PART 4                   /* of root's bytes that counts */
#define LINE_BYTES 40                  /* that a line takes beside its text */
#define READ_NS    50000000ULL         /* between two reads */
#define ABSENT_NS  1000000000ULL       /* while there is no map */
#define PARSE_NS   1000000000ULL       /* between parsing for newer lines */
#define LATE_NS    1000000000ULL /* after the end, what it ran is told of yet */
#define SLICE_NS   5000000ULL    /* one map is read, then another one */
#define ROUND_NS   100000000ULL  /* maps are read at once, then as long not, */
#define WANTED_NS  1000000000ULL /* or, where names are wanted, and at most */
#define TIME_PART  8             /* of the time is a user's */
#define AHEAD_NS   8000000000ULL /* that a user may be ahead of it */
#define LOOK_NS    500000ULL     /* to look for a map, as a rule, */
#define EVICT_NS   1000000ULL    /* and to have another one go for it */
#define TAIL       64 /* bytes by which a file is known to be the same */

/* How much of a map there was when. */
struct mark {
	uint64_t time;
	size_t size;
};

struct ow_jitmap {
	pid_t pid;
	bool left;      /* the process runs something else by now */
	bool is_over;   /* it has ended, and all is read */
	bool is_due;    /* to be read now */
	bool is_behind; /* the file may have more than there was time for, */
	bool is_told;   /* which is told */
	bool is_cut;    /* there was no room for all of it */
	bool is_silent; /* what serves it did not answer */
	int64_t begun;  /* ns: the process was started then, or soon after */
	uint64_t since, read_at; /* ns */
	uint64_t ended;     /* ns: the process was gone by then; 0: it lives */
	uint64_t wanted_at; /* ns: a stack had frames of such code last */
	struct ow_perfplace place;
	uid_t user; /* who answers for the process */
	char path[OW_PERFPLACE_PATH];
	size_t taken;        /* bytes, with what lines take when parsed */
	struct ow_owner own; /* of the text: a user's */
	struct ow_namesource names; /* that were found */
	struct ow_bytebuf text;     /* files' bytes, one behind the other */
	size_t begin;               /* where in it the present file's begin */
	struct mark *marks;
	size_t nr_marks, room_marks;
	struct ow_perfmap *map; /* of the first parsed bytes of text */
	size_t parsed;
	uint64_t parsed_at; /* ns */
};

static void destroy(struct ow_jitmap *m)
{
	ow_perfplace_deinit(&m->place);
	ow_bytebuf_deinit(&m->text);
	ow_perfmap_close(m->map);
	ow_owner_give(&m->own, m->own.bytes);
	free(m->marks);
	free(m);
}

void ow_jitmaps_deinit(struct ow_jitmaps *j)
{
	size_t i;

	for (i = 0; i < j->nr; i++)
		destroy(j->all[i]);
	free(j->all);
	ow_nameshares_deinit(&j->names);
	ow_usertimes_deinit(&j->times);
	*j = (struct ow_jitmaps){ 0 };
}

/* The one that a process has now, or NULL. */
static struct ow_jitmap *map_of(const struct ow_jitmaps *j, pid_t pid)
{
	size_t i;

	for (i = j->nr; i-- > 0;)
		if (j->all[i]->pid == pid)
			return j->all[i]->left || j->all[i]->ended ? NULL :
								     j->all[i];
	return NULL;
}

/* Those of processes that have ended, and kept no map. */
static void drop_useless(struct ow_jitmaps *j)
{
	size_t i, nr = 0;

	ow_jitmaps_read(j, false);
	for (i = 0; i < j->nr; i++) {
		if (j->all[i]->is_over && j->all[i]->text.size == 0)
			destroy(j->all[i]);
		else
			j->all[nr++] = j->all[i];
	}
	j->nr = nr;
}

static void cut(struct ow_jitmaps *j, struct ow_jitmap *m)
{
	j->nr_cut += !m->is_cut;
	m->is_cut = true;
}

/* Lose what was read of a map. */
static void drop_text(struct ow_jitmaps *j, struct ow_jitmap *m)
{
	j->bytes -= m->taken;
	m->taken = 0;
	ow_owner_give(&m->own, m->own.bytes);
	ow_bytebuf_deinit(&m->text);
	ow_perfmap_close(m->map);
	m->map = NULL;
	m->parsed = m->begin = m->nr_marks = 0;
}

void ow_jitmaps_exec(struct ow_jitmaps *j, pid_t pid)
{
	struct ow_jitmap *m = map_of(j, pid);

	if (m)
		m->left = true;
}

/* Is it the file that was read before, which has become longer? */
static bool is_longer(const struct ow_jitmap *m, int fd, size_t size)
{
	size_t had = m->text.size - m->begin, n = had < TAIL ? had : TAIL;
	char tail[TAIL];

	return size >= had &&
	       ow_reach_pread(fd, tail, n, (off_t)(had - n)) == (ssize_t)n &&
	       (n == 0 ||
		memcmp(tail, m->text.bytes + m->text.size - n, n) == 0);
}

static void put_mark(struct ow_jitmap *m, uint64_t now)
{
	if (m->nr_marks && m->marks[m->nr_marks - 1].time == now)
		m->nr_marks--; /* of another slice */
	if (ow_grow(&m->marks, &m->room_marks, m->nr_marks + 1,
		    sizeof(*m->marks)))
		m->marks[m->nr_marks++] = (struct mark){ now, m->text.size };
}

/* Bytes of all maps whose user is that of one; of root's, a part counts. */
static size_t weight_of_user(const struct ow_jitmaps *j,
			     const struct ow_jitmap *of)
{
	size_t i, sum = 0;

	for (i = 0; i < j->nr; i++)
		if (j->all[i]->user == of->user)
			sum += j->all[i]->taken;
	return of->user ? sum : sum / ROOTS_PART;
}

/* The largest map of the user that has taken the most. */
static struct ow_jitmap *greediest(const struct ow_jitmaps *j)
{
	struct ow_jitmap *ret = j->all[0];
	size_t i, weight, most = 0;

	for (i = 0; i < j->nr; i++) {
		weight = weight_of_user(j, j->all[i]);
		if (weight < most ||
		    (weight == most && j->all[i]->taken <= ret->taken))
			continue;
		most = weight;
		ret = j->all[i];
	}
	return ret;
}

/*
 * Room for another piece of a map: where all have too much, one of the user with most
 * goes, so that one of usual size is never cut by others.
 */
static bool make_room(struct ow_jitmaps *j, struct ow_jitmap *m)
{
	struct ow_jitmap *largest;

	if (m->taken >= MAP_MAX) {
		cut(j, m);
		return false;
	}
	if (j->bytes < BYTES_MAX)
		return true;
	largest = greediest(j);
	cut(j, largest);
	if (largest == m)
		return false;
	drop_text(j, largest);
	return true;
}

static void add_text(struct ow_jitmaps *j, struct ow_jitmap *m,
		     const char *text, size_t size)
{
	size_t taken = size, i;

	for (i = 0; i < size; i++)
		taken += text[i] == '\n' ? LINE_BYTES : 0;
	ow_bytebuf_add(&m->text, text, size);
	m->taken += taken;
	j->bytes += taken;
}

/* What the file has behind what was read, as far as there is time. */
static void append(struct ow_jitmaps *j, struct ow_jitmap *m, int fd,
		   size_t size, uint64_t until)
{
	size_t had = m->text.size - m->begin;
	char piece[16384];
	ssize_t n = 1;

	while (had < size && n > 0 && !m->text.failed && !m->is_behind &&
	       make_room(j, m)) {
		if (!ow_owner_take(&m->own, sizeof(piece))) {
			cut(j, m);
			break;
		}
		n = ow_reach_pread(fd, piece,
				   size - had < sizeof(piece) ? size - had :
								sizeof(piece),
				   (off_t)had);
		ow_owner_give(&m->own, sizeof(piece) - (n > 0 ? (size_t)n : 0));
		if (n <= 0)
			break;
		add_text(j, m, piece, (size_t)n);
		had += (size_t)n;
		m->is_behind = had < size && ow_now_ns() >= until;
	}
}

static void read_more(struct ow_jitmaps *j, struct ow_jitmap *m, uint64_t now,
		      uint64_t until)
{
	_cleanup_(ow_reach_closep) int fd = -1;
	size_t before = m->text.size;
	struct stat st;

	m->read_at = now;
	m->is_behind = false;
	fd = ow_perfplace_open(&m->place, m->path);
	if (fd < 0)
		return;
	if (ow_reach_stat(fd, &st) == 0 && st.st_size > 0) {
		if (!is_longer(m, fd, (size_t)st.st_size)) {
			add_text(j, m, "\n", 1);
			m->begin = m->text.size;
		}
		append(j, m, fd, (size_t)st.st_size, until);
	}
	if (m->text.size > before)
		put_mark(m, now);
}

static bool is_alive(pid_t pid)
{
	return !kill(pid, 0) || errno != ESRCH;
}

/* What a delegate reads, which may be lost with it. */
struct reading {
	struct ow_jitmaps *maps;
	bool all;
	int asked;            /* as it was when the reading began */
	uint64_t now, end;    /* ns: when it began, and ends at the latest, */
	uint64_t until;       /* or for users who are ahead of their time */
	struct ow_jitmap *at; /* the map that is being read, or NULL, */
	uint64_t begun;       /* ns: since then */
};

static bool is_due(const struct reading *r, const struct ow_jitmap *m)
{
	uint64_t wait = m->text.size ? READ_NS : ABSENT_NS;

	return !m->is_over && !m->is_cut && !m->is_silent &&
	       (r->all || m->is_behind || m->ended ||
		r->now - m->read_at >= wait);
}

/* What a process wrote at its end is there when it was seen to have ended. */
static void note_due(const struct reading *r)
{
	struct ow_jitmap *m;
	size_t i;

	for (i = 0; i < r->maps->nr; i++) {
		m = r->maps->all[i];
		if (!m->ended && !is_alive(m->pid))
			m->ended = r->now;
		m->is_due = is_due(r, m);
	}
}

static uint64_t paid_until(const struct ow_jitmaps *j,
			   const struct ow_jitmap *m)
{
	return ow_usertimes_until(&j->times, m->user);
}

/* Return true if a user can take no more time for maps now (CLOCK_MONOTONIC, ns). */
static bool is_ahead(const struct ow_jitmaps *j, uid_t uid, uint64_t now)
{
	return ow_usertimes_until(&j->times, uid) > now + AHEAD_NS;
}

/* The user whose maps have taken less time comes first, then what was read before. */
static bool is_before(const struct ow_jitmaps *j, const struct ow_jitmap *a,
		      const struct ow_jitmap *than)
{
	uint64_t one = paid_until(j, a), other = paid_until(j, than);

	return one != other ? one < other : a->read_at < than->read_at;
}

/* The next one that is to be read, and whose user may take time; or NULL. */
static struct ow_jitmap *next_due(const struct reading *r)
{
	uint64_t now = ow_now_ns();
	uint64_t most = now < r->until ? now + AHEAD_NS : now;
	struct ow_jitmap *next = NULL, *m;
	const struct ow_jitmaps *j = r->maps;
	size_t i;

	for (i = 0; i < j->nr; i++) {
		m = j->all[i];
		if (m->is_due && paid_until(j, m) <= most &&
		    (!next || is_before(j, m, next)))
			next = m;
	}
	return next;
}

/* A signal has told the recorder to end since. */
static bool must_end(const struct reading *r)
{
	const volatile int *asked = r->maps->asked;

	return (asked && *asked != r->asked) || ow_delegate_must_end();
}

static bool must_stop(const struct reading *r)
{
	return must_end(r) || ow_now_ns() >= r->end;
}

/* So many ns count for the user of the map. */
static void pay(struct ow_jitmaps *j, const struct ow_jitmap *m, uint64_t ns)
{
	ow_usertimes_pay(&j->times, m->user, TIME_PART * ns, ow_now_ns());
}

static void read_slice(struct reading *r, struct ow_jitmap *m)
{
	r->begun = ow_now_ns();
	r->at = m;
	read_more(r->maps, m, r->now, r->begun + SLICE_NS);
	m->is_due = m->is_behind;
	m->is_over = m->ended && !m->is_due;
	pay(r->maps, m, ow_now_ns() - r->begun);
	r->at = NULL;
}

static void read_due(void *arg)
{
	struct reading *r = arg;
	struct ow_jitmap *m;

	while (!must_stop(r) && (m = next_due(r)))
		read_slice(r, m);
}

/* Leave a map out whose server did not answer, or that no process can be started for. */
static void leave_out(struct ow_jitmap *m, enum ow_delegation end)
{
	m->is_due = false;
	m->is_silent = end != OW_DELEGATION_NONE;
	ow_reach_leave_out(m->path, end);
}

/*
 * Have one delegate read as much as it can; what does not answer is not asked again,
 * unless that was not waited for.
 */
static enum ow_delegation read_some_due(struct reading *r)
{
	struct reading *own = malloc(sizeof(*own));
	enum ow_delegation end;
	struct ow_jitmap *at;
	int error;

	if (!own)
		return OW_DELEGATION_NONE;
	*own = *r;
	end = ow_reach(read_due, own);
	error = errno;
	at = end == OW_DELEGATION_NONE ? next_due(r) : own->at;
	if (at && end != OW_DELEGATION_NONE)
		pay(r->maps, at, ow_now_ns() - own->begun);
	if (end != OW_DELEGATION_LOST)
		free(own);
	errno = error;
	if (at && !must_end(r))
		leave_out(at, end);
	return end;
}

/* What is due and was not read is missing when names are wanted. */
static void note_unread(const struct reading *r)
{
	struct ow_jitmap *m;
	size_t i;

	for (i = 0; i < r->maps->nr; i++) {
		m = r->maps->all[i];
		m->is_behind |= r->all && m->is_due;
		m->is_over |= m->ended && (m->is_cut || m->is_silent);
		if (m->is_over)
			ow_perfplace_deinit(&m->place);
	}
}

/*
 * How long maps of users who are ahead may be read.  Where that was not enough, other work
 * has as much time.
 */
static uint64_t time_for(const struct ow_jitmaps *j, bool all, uint64_t now)
{
	if (now < j->rests_until)
		return all ? ROUND_NS : 0;
	return all ? WANTED_NS : ROUND_NS;
}

void ow_jitmaps_read(struct ow_jitmaps *j, bool all)
{
	uint64_t now = ow_now_ns(), ns = time_for(j, all, now);
	struct reading r = { .maps = j,
			     .all = all,
			     .asked = j->asked ? *j->asked : 0,
			     .now = now,
			     .end = now + WANTED_NS,
			     .until = now + ns };
	size_t i;

	for (i = 0; all && i < j->nr; i++)
		j->all[i]->parsed_at = 0; /* names are wanted */
	note_due(&r);
	while (!must_stop(&r) && next_due(&r) &&
	       read_some_due(&r) != OW_DELEGATION_NONE)
		;
	note_unread(&r);
	if (ns && ow_now_ns() >= r.until)
		j->rests_until = 2 * ow_now_ns() - now;
}

/* What a delegate looks for, which may be lost with it. */
struct search {
	struct ow_jitmap *map;
	bool is_there;
};

static void look(void *arg)
{
	struct search *s = arg;
	_cleanup_(ow_reach_closep) int fd = -1;
	struct stat st;

	fd = ow_perfplace_open(&s->map->place, s->map->path);
	s->is_there = fd >= 0 && ow_reach_stat(fd, &st) == 0 && st.st_size > 0;
}

/*
 * Return true if names are missing without a map: some were read, or there are some by
 * now, as far as that can be seen.  What does not answer was told of.
 */
static bool has_names(struct ow_jitmap *m)
{
	enum ow_delegation end;
	struct search *s;
	bool ret;

	if (m->text.size || m->is_over || m->is_silent)
		return m->text.size;
	s = calloc(1, sizeof(*s));
	if (!s)
		return true;
	s->map = m;
	end = ow_reach(look, s);
	ret = end != OW_DELEGATION_DONE || s->is_there;
	if (end != OW_DELEGATION_LOST)
		free(s);
	return ret;
}

/* How many maps there are whose process is of the user that one's is of. */
static size_t nr_of_user(const struct ow_jitmaps *j, const struct ow_jitmap *of)
{
	size_t i, nr = 0;

	for (i = 0; i < j->nr; i++)
		nr += j->all[i]->user == of->user;
	return nr;
}

/* Have the map go that has the least right to stay; there is one. */
static void evict(struct ow_jitmaps *j)
{
	size_t i, worst = 0, most = 0, nr;

	for (i = 0; i < j->nr; i++) {
		nr = nr_of_user(j, j->all[i]);
		if (nr < most ||
		    (nr == most &&
		     j->all[i]->wanted_at >= j->all[worst]->wanted_at))
			continue;
		most = nr;
		worst = i;
	}
	if (has_names(j->all[worst]))
		cut(j, j->all[worst]);
	drop_text(j, j->all[worst]);
	destroy(j->all[worst]);
	memmove(&j->all[worst], &j->all[worst + 1],
		(--j->nr - worst) * sizeof(*j->all));
}

/* The new one of a process, or NULL. */
static struct ow_jitmap *add(struct ow_jitmaps *j, pid_t pid)
{
	struct ow_jitmap *m;

	if (j->nr == MAPS_MAX)
		drop_useless(j);
	if (j->nr == MAPS_MAX)
		evict(j);
	if (!ow_grow(&j->all, &j->room, j->nr + 1, sizeof(*j->all)))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	if (!ow_perfplace_init(&m->place, pid)) {
		free(m);
		return NULL;
	}
	m->pid = pid;
	m->names.path = m->path;
	m->user = (uid_t)ow_process_user(pid);
	m->own = ow_owner_of(m->user);
	m->since = ow_now_ns();
	/* The kernel is not asked twice about one for which it doesn't answer. */
	if (!m->place.is_silent)
		m->begun = ow_process_start_by(pid, CLOCK_MONOTONIC);
	j->all[j->nr++] = m;
	return m;
}

/* Look for the map of a process, which counts for its user; or NULL. */
static struct ow_jitmap *add_paid(struct ow_jitmaps *j, pid_t pid, uid_t uid)
{
	uint64_t price = j->nr < MAPS_MAX ? LOOK_NS : LOOK_NS + EVICT_NS;
	uint64_t now = ow_now_ns();

	if (is_ahead(j, uid, now)) {
		j->nr_cut += j->refused != pid;
		j->refused = pid;
		return NULL;
	}
	ow_usertimes_pay(&j->times, uid, TIME_PART * price, now);
	return add(j, pid);
}

void ow_jitmaps_want(struct ow_jitmaps *j, pid_t pid, uid_t uid)
{
	struct ow_jitmap *m = map_of(j, pid);

	if (!m)
		m = add_paid(j, pid, uid);
	if (m)
		m->wanted_at = ow_now_ns();
}

void ow_jitmaps_drop(struct ow_jitmaps *j, uint64_t time)
{
	size_t i, nr = 0;

	for (i = 0; i < j->nr; i++) {
		if (!j->all[i]->ended || j->all[i]->ended >= time) {
			j->all[nr++] = j->all[i];
			continue;
		}
		drop_text(j, j->all[i]);
		destroy(j->all[i]);
	}
	j->nr = nr;
}

bool ow_jitmaps_is_full(const struct ow_jitmaps *j)
{
	size_t i, over = 0;

	for (i = 0; i < j->nr; i++)
		over += j->all[i]->ended != 0;
	return over >= OVER_MANY;
}

/* Is it of a process that had ended by then, whose number may be another's? */
static bool is_past(const struct ow_jitmap *m, uint64_t time)
{
	return m->ended && time > m->ended + LATE_NS;
}

/*
 * The map that a process had at a time, or its first one; or NULL: the number was another
 * process's then.
 */
static struct ow_jitmap *map_at(const struct ow_jitmaps *j, pid_t pid,
				uint64_t time)
{
	struct ow_jitmap *found = NULL;
	size_t i;

	for (i = j->nr; i-- > 0;) {
		if (j->all[i]->pid != pid || is_past(j->all[i], time) ||
		    j->all[i]->begun > (int64_t)time)
			continue;
		found = j->all[i];
		if (found->since <= time)
			break;
	}
	return found;
}

/* How much of the text there was at the first read after that. */
static size_t size_at(const struct ow_jitmap *m, uint64_t time)
{
	size_t low = 0, high = m->nr_marks, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (m->marks[mid].time < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->nr_marks ? m->marks[low].size : SIZE_MAX;
}

static bool look_up(const struct ow_jitmap *m, uint64_t time, uint64_t addr,
		    struct ow_symbol *sym)
{
	return m->map &&
	       ow_perfmap_find_as_of(m->map, addr, size_at(m, time), sym);
}

/* It waits for nothing but a CPU, which is nobody's fault. */
static void parse(struct ow_jitmaps *j, struct ow_jitmap *m, uint64_t now)
{
	uint64_t begun = ow_cpu_ns();

	ow_perfmap_close(m->map);
	m->map = ow_perfmap_parse((const char *)m->text.bytes, m->text.size,
				  m->own, m->path);
	m->parsed = m->text.size;
	m->parsed_at = now;
	pay(j, m, ow_cpu_ns() - begun);
}

/*
 * Parsing takes its time: between two reads of all, what has grown is parsed for
 * what isn't known, and now and then; but not where the user is ahead of the time that
 * reads may take, too.
 */
static bool find(struct ow_jitmaps *j, struct ow_jitmap *m, uint64_t time,
		 uint64_t addr, struct ow_symbol *sym)
{
	uint64_t now = ow_now_ns();
	bool grown = m->parsed < m->text.size;

	if ((!grown || now - m->parsed_at < PARSE_NS) &&
	    look_up(m, time, addr, sym))
		return true;
	if (!grown)
		return false;
	if (is_ahead(j, m->user, now))
		m->is_behind = true;
	else
		parse(j, m, now);
	return look_up(m, time, addr, sym);
}

/*
 * Return true if a map of the process that a child's list was made of can be the child's:
 * that process's number may be another one's since, of any user.
 */
static bool is_of_parent(const struct ow_jitmap *parent,
			 const struct ow_jitmap *child)
{
	return parent && child && parent->begun <= child->begun &&
	       (parent->place.uid == child->place.uid ||
		parent->place.uid == 0);
}

static bool name_by(struct ow_jitmaps *j, struct ow_jitmap *m, uint64_t time,
		    const struct ow_frame *f, struct ow_name *name)
{
	struct ow_symbol sym;

	if (!m || !find(j, m, time, ow_frame_lookup_pc(f), &sym))
		return false;
	name->function =
		ow_nameshares_keep(&j->names, m->user, &m->names, sym.name);
	name->offset = f->pc - sym.vaddr;
	name->module = m->path;
	return name->function;
}

/* A name may be missing as there was no time to read the map. */
static void tell_behind(struct ow_jitmap *m)
{
	if (!m || !m->is_behind || m->is_told)
		return;
	m->is_told = true;
	ow_lose_processes(m->user, "there was no time to read all that their "
				   "maps of JITs tell");
}

bool ow_jitmaps_name(struct ow_jitmaps *j, pid_t pid, pid_t parent,
		     uint64_t time, const struct ow_frame *f,
		     struct ow_name *name)
{
	struct ow_jitmap *own = map_at(j, pid, time), *other;

	if (name_by(j, own, time, f, name))
		return true;
	other = parent != pid ? map_at(j, parent, time) : NULL;
	if (is_of_parent(other, own) && name_by(j, other, time, f, name))
		return true;
	tell_behind(own);
	if (is_of_parent(other, own))
		tell_behind(other);
	return false;
}

bool ow_jitmaps_lacks_names(const struct ow_jitmaps *j)
{
	return j->names.is_short;
}

void ow_jitmaps_drop_names(struct ow_jitmaps *j)
{
	size_t i;

	ow_nameshares_clear(&j->names);
	for (i = 0; i < j->nr; i++)
		j->all[i]->names.used = 0;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compare every row of ELF files with what readelf makes of the same bytes:
 * looked up by the full CFI, and by the compact table, at the first and at the
 * last address that readelf's row covers; the table's rows between these are
 * listed.  Where readelf shows no FDE, neither may have a row.
 *
 * The table is to have at most OW_TABLE_MAX_PERCENT of the size of its CFI, but
 * for objects with little of that.
 *
 * rowdiff FILE... prints a line per difference and totals at the end; exit
 * status 1 if there is any difference.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "error.h"
#include "find.h"
#include "holes.h"
#include "object.h"
#include "readelfrow.h"
#include "step.h"
#include "tablegen.h"

#define ET_REL     1
#define MOST_SHOWN 20 /* differences of one file */
#define LITTLE     4096

struct line {
	uint64_t loc;
	char *text; /* the values, as readelf has them */
};

struct cie_row {
	uint64_t off;
	char *columns, *text;
};

/* A row of the table: it holds up to the next one. */
struct table_row {
	uint64_t vaddr;
	uint32_t code;
};

/* What is compared in one file. */
struct diff {
	const char *path;
	struct ow_object *obj;
	struct ow_target target;
	struct ow_module module;
	struct ow_cfi cfi; /* the section under comparison alone */
	struct ow_table table;
	bool has_table;
	struct table_row *table_rows; /* all, in order */
	size_t nr_table_rows;
	struct holes holes; /* between the section's FDEs */
	struct ow_finder finder, brief_finder;

	bool is_debug;
	struct cie_row *cies;
	size_t nr_cies;

	char columns[1024]; /* of the entry being read */
	struct line *lines;
	size_t nr_lines, room;
	uint64_t start, end, cie; /* of the FDE being read; start 0: none */
	bool in_cie;

	unsigned long rows, escapes, signals, differences, shadowed;
	struct ow_table_stats stats;
	bool is_large; /* its table */
};

/* Any memory: bytes that their addresses alone tell. */
static int read_any(const struct ow_memory *mem, uint64_t addr, void *buf,
		    size_t size)
{
	size_t i;

	(void)mem;
	for (i = 0; i < size; i++)
		((uint8_t *)buf)[i] =
			(uint8_t)((addr + i) * 0x9e3779b97f4a7c15ULL >> 56);
	return 0;
}

static int no_memory(const struct ow_memory *mem, uint64_t addr, void *buf,
		     size_t size)
{
	(void)mem;
	(void)addr;
	(void)buf;
	(void)size;
	return -OW_EFAULT;
}

static void differ(struct diff *d, uint64_t vaddr, const char *by,
		   const char *why)
{
	if (d->differences++ < MOST_SHOWN)
		printf("%s: %#llx by %s: %s\n", d->path,
		       (unsigned long long)vaddr, by, why);
}

/* In brief, as a walk asks for it, is what the row is in brief. */
static bool same_brief(struct diff *d, uint64_t vaddr, const struct ow_row *row)
{
	struct ow_brief direct, made;
	int err =
		ow_find_ready_row(&d->brief_finder, &d->module, vaddr, &direct);

	if (err == OW_FIND_FULL)
		err = ow_find_full_row(&d->brief_finder, &d->target,
				       &d->module);
	return err != OW_FIND_BRIEF ||
	       (ow_brief_make(&made, d->obj->elf.arch, row) &&
		memcmp(&direct, &made, sizeof(made)) == 0);
}

static int step_up(const struct diff *d, const struct ow_row *row,
		   struct ow_regs *regs)
{
	const struct ow_target any = { .mem.read = read_any,
				       .arch = d->obj->elf.arch };
	static struct ow_step step;
	unsigned int i;

	memset(&step, 0, sizeof(step));
	step.target = &any;
	step.pc_mask = any.arch->pc_mask;
	memset(regs, 0, sizeof(*regs));
	for (i = 0; i < any.arch->nr_regs; i++)
		ow_regs_set(regs, i, 0x7000 + 0x10000 * (uint64_t)i);
	return ow_step(&step, row, regs);
}

/*
 * What the table says of a signal frame is compared by what comes of it: the
 * CFI's own row, which readelf shows, leads to the same caller.
 */
static void compare_signal(struct diff *d, uint64_t vaddr, const char *columns,
			   const char *text, const struct ow_row *row)
{
	struct ow_regs regs, by_cfi;
	struct ow_row full;
	char why[256];
	int err;

	d->signals++;
	d->module.table = NULL;
	err = ow_find_row(&d->brief_finder, &d->target, &d->module, vaddr,
			  &full);
	if (err) {
		differ(d, vaddr, "table", ow_err_text(err));
		return;
	}
	if (!readelfrow_is(d->obj->elf.arch, columns, text, &full, why,
			   sizeof(why)))
		differ(d, vaddr, "table", why);
	else if (step_up(d, row, &regs) || step_up(d, &full, &by_cfi) ||
		 memcmp(&regs, &by_cfi, sizeof(regs)) != 0)
		differ(d, vaddr, "table", "another caller than the CFI's");
}

/* One address by one source. */
static void compare_at(struct diff *d, uint64_t vaddr, bool by_table,
		       const char *columns, const char *text)
{
	const char *by = by_table    ? "table" :
			 d->is_debug ? "debug_frame" :
				       "cfi";
	struct ow_row row;
	char why[256];
	int err;

	d->module.table = by_table ? &d->table : NULL;
	err = ow_find_row(&d->finder, &d->target, &d->module, vaddr, &row);
	if (err)
		differ(d, vaddr, by, ow_err_text(err));
	else if (by_table && row.how == OW_HOW_SIGNAL)
		compare_signal(d, vaddr, columns, text, &row);
	else if (!readelfrow_is(d->obj->elf.arch, columns, text, &row, why,
				sizeof(why)))
		differ(d, vaddr, by, why);
	else if (!same_brief(d, vaddr, &row))
		differ(d, vaddr, by, "not the same in brief");
	else if (by_table && row.how != OW_HOW_TABLE)
		d->escapes++;
}

/*
 * Where FDEs overlap, the last one that begins below an address is asked for
 * it: that of another than the one being compared is no difference.
 */
static bool is_shadowed(struct diff *d, uint64_t vaddr)
{
	struct ow_cfi_env env = { .bias = 0 };
	struct ow_fde fde;
	uint8_t how;

	return ow_cfi_find(&d->cfi, &env, vaddr, &fde, &how) == 0 &&
	       (fde.start != d->start || fde.end != d->end);
}

/* The table's row that begins last up to vaddr, or NULL. */
static const struct table_row *table_row_at(const struct diff *d,
					    uint64_t vaddr)
{
	size_t low = 0, high = d->nr_table_rows, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (d->table_rows[mid].vaddr <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &d->table_rows[low - 1] : NULL;
}

/* No other row of the table may begin between two addresses of one row. */
static void compare_inside(struct diff *d, uint64_t first, uint64_t last)
{
	const struct table_row *row = table_row_at(d, first);
	const struct table_row *end = d->table_rows + d->nr_table_rows;

	if (!row)
		return;
	for (row++; row < end && row->vaddr < last; row++)
		if (row->code != row[-1].code)
			differ(d, row->vaddr, "table", "a row inside another");
}

/* An address that no FDE covers. */
static void compare_hole(void *arg, uint64_t vaddr)
{
	struct diff *d = arg;
	struct ow_row row;

	d->module.table = NULL;
	if (ow_find_row(&d->finder, &d->target, &d->module, vaddr, &row) !=
	    -OW_ENOENT)
		differ(d, vaddr, d->is_debug ? "debug_frame" : "cfi",
		       "a row where no FDE is");
	if (!d->has_table || d->is_debug)
		return;
	d->module.table = &d->table;
	if (ow_find_row(&d->finder, &d->target, &d->module, vaddr, &row) !=
	    -OW_ENOENT)
		differ(d, vaddr, "table", "a row where no FDE is");
}

static void compare_row(struct diff *d, uint64_t from, uint64_t to,
			const char *columns, const char *text)
{
	uint64_t at[2] = { from, to - 1 };
	bool shadowed = false;
	int i;

	if (from >= to)
		return;
	d->rows++;
	for (i = 0; i < 2; i++) {
		if (is_shadowed(d, at[i])) {
			d->shadowed++;
			shadowed = true;
			continue;
		}
		compare_at(d, at[i], false, columns, text);
		if (d->has_table && !d->is_debug)
			compare_at(d, at[i], true, columns, text);
	}
	if (d->has_table && !d->is_debug && !shadowed)
		compare_inside(d, at[0], at[1]);
}

static const struct cie_row *cie_at(const struct diff *d, uint64_t off)
{
	size_t i;

	for (i = d->nr_cies; i-- > 0;)
		if (d->cies[i].off == off)
			return &d->cies[i];
	return NULL;
}

static void keep_cie(struct diff *d)
{
	struct cie_row *c;

	d->cies = realloc(d->cies, (d->nr_cies + 1) * sizeof(*d->cies));
	c = &d->cies[d->nr_cies++];
	c->off = d->cie;
	c->columns = strdup(d->columns);
	c->text = strdup(d->nr_lines ? d->lines[d->nr_lines - 1].text : "");
}

static void compare_fde(struct diff *d)
{
	const struct cie_row *cie;
	size_t i;
	uint64_t to;

	if (d->nr_lines == 0) {
		/* An FDE that changes nothing has its CIE's row. */
		cie = cie_at(d, d->cie);
		if (cie)
			compare_row(d, d->start, d->end, cie->columns,
				    cie->text);
		return;
	}
	for (i = 0; i < d->nr_lines; i++) {
		to = i + 1 < d->nr_lines ? d->lines[i + 1].loc : d->end;
		compare_row(d, d->lines[i].loc, to < d->end ? to : d->end,
			    d->columns, d->lines[i].text);
	}
}

/* The entry that was being read is complete. */
static void finish_entry(struct diff *d)
{
	size_t i;

	if (d->in_cie)
		keep_cie(d);
	else if (d->end > d->start && d->start) {
		holes_cover(&d->holes, d->start, d->end);
		compare_fde(d);
	}
	for (i = 0; i < d->nr_lines; i++)
		free(d->lines[i].text);
	d->nr_lines = 0;
	d->columns[0] = '\0';
	d->in_cie = false;
	d->start = d->end = 0;
}

static void begin_section(struct diff *d, bool is_debug)
{
	size_t i;

	finish_entry(d);
	holes_visit(&d->holes, compare_hole, d);
	holes_clear(&d->holes);
	for (i = 0; i < d->nr_cies; i++) {
		free(d->cies[i].columns);
		free(d->cies[i].text);
	}
	d->nr_cies = 0;
	d->is_debug = is_debug;
	d->cfi = d->obj->cfi;
	if (is_debug) {
		d->cfi.hdr_table = NULL;
		d->cfi.eh_index.nr = 0;
	} else {
		d->cfi.debug_index.nr = 0;
	}
}

static void add_line(struct diff *d, uint64_t loc, const char *text)
{
	if (d->nr_lines == d->room) {
		d->room = 2 * d->room + 16;
		d->lines = realloc(d->lines, d->room * sizeof(*d->lines));
	}
	d->lines[d->nr_lines++] = (struct line){ loc, strdup(text) };
}

static void read_line(struct diff *d, char *line)
{
	unsigned long long off, a, b, c;
	char *rest;

	if (strncmp(line, "Contents of the ", 16) == 0) {
		begin_section(d, strstr(line, "debug_frame") != NULL);
		return;
	}
	if (sscanf(line, "%llx %llx %llx FDE cie=%llx pc=%llx..%llx", &off, &a,
		   &b, &c, &a, &b) == 6) {
		finish_entry(d);
		d->cie = c;
		d->start = a;
		d->end = b;
		return;
	}
	if (strstr(line, " CIE ") && sscanf(line, "%llx", &off) == 1) {
		finish_entry(d);
		d->in_cie = true;
		d->cie = off;
		return;
	}
	if (strncmp(line, "   LOC", 6) == 0) {
		snprintf(d->columns, sizeof(d->columns), "%s", line + 6);
		return;
	}
	if (strstr(line, " ZERO terminator")) {
		finish_entry(d);
		return;
	}
	off = strtoull(line, &rest, 16);
	if (rest - line >= 8 && *rest == ' ' && d->columns[0])
		add_line(d, off, rest);
}

static void check_size(struct diff *d)
{
	uint64_t most = d->stats.cfi_size * OW_TABLE_MAX_PERCENT / 100;
	char why[128];

	d->is_large = d->stats.size > most;
	if (!d->is_large || d->stats.cfi_size < LITTLE)
		return;
	snprintf(why, sizeof(why), "%llu bytes for %llu of CFI",
		 (unsigned long long)d->stats.size,
		 (unsigned long long)d->stats.cfi_size);
	differ(d, 0, "table", why);
}

static void list_table(struct diff *d)
{
	struct ow_table_pos pos = { .block = 0 };
	size_t room = 0;

	while (ow_table_next(&d->table, &pos) > 0) {
		if (d->nr_table_rows == room) {
			room = 2 * room + 1024;
			d->table_rows = realloc(d->table_rows,
						room * sizeof(*d->table_rows));
		}
		d->table_rows[d->nr_table_rows++] =
			(struct table_row){ d->table.base + pos.off, pos.code };
	}
}

static bool open_all(struct diff *d, uint8_t **bytes_ret)
{
	struct ow_error err;
	size_t size;

	*bytes_ret = NULL;
	d->obj = ow_object_open(d->path, &err);
	/* What is not linked yet has no addresses to compare at. */
	if (!d->obj || d->obj->elf.type == ET_REL ||
	    ow_object_load_cfi(d->obj, &err))
		return false;
	d->cfi = d->obj->cfi;
	d->module = (struct ow_module){
		.state = OW_MODULE_READY,
		.cfi = &d->cfi,
	};
	d->target.arch = d->obj->elf.arch;
	d->target.mem.read = no_memory;
	*bytes_ret = ow_table_generate(d->obj, &size, &d->stats, NULL, &err);
	d->has_table = *bytes_ret &&
		       !ow_table_open(&d->table, *bytes_ret, size);
	if (d->has_table && ow_table_verify(&d->table))
		differ(d, 0, "table", "fails its own verification");
	if (d->has_table) {
		list_table(d);
		check_size(d);
	}
	return true;
}

/* readelf's output on a pipe; its process in *child. */
static FILE *run_readelf(const char *path, pid_t *child)
{
	int fds[2];

	if (pipe(fds))
		return NULL;
	*child = fork();
	if (*child == 0) {
		dup2(fds[1], 1);
		close(fds[0]);
		close(fds[1]);
		if (!freopen("/dev/null", "w", stderr))
			_exit(127);
		execlp("readelf", "readelf", "--debug-dump=frames-interp", path,
		       (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	return fdopen(fds[0], "r");
}

static bool compare_file(struct diff *d)
{
	uint8_t *bytes;
	char *line = NULL;
	size_t room = 0;
	pid_t child = -1;
	FILE *in;

	if (!open_all(d, &bytes)) {
		ow_object_close(d->obj);
		return false;
	}
	in = run_readelf(d->path, &child);
	while (in && getline(&line, &room, in) > 0)
		read_line(d, line);
	begin_section(d, false);
	if (in)
		fclose(in);
	waitpid(child, NULL, 0);
	free(line);
	free(bytes);
	free(d->lines);
	free(d->cies);
	free(d->table_rows);
	ow_object_close(d->obj);
	return true;
}

int main(int argc, char **argv)
{
	unsigned long objects = 0, rows = 0, escapes = 0, signals = 0,
		      differences = 0, shadowed = 0, large = 0;
	unsigned long long size = 0, cfi_size = 0;
	static struct diff d;
	int i;

	for (i = 1; i < argc; i++) {
		memset(&d, 0, sizeof(d));
		d.path = argv[i];
		if (!compare_file(&d))
			continue;
		objects += d.rows > 0;
		rows += d.rows;
		escapes += d.escapes;
		signals += d.signals;
		differences += d.differences;
		shadowed += d.shadowed;
		large += d.is_large;
		if (d.has_table) {
			size += d.stats.size;
			cfi_size += d.stats.cfi_size;
		}
	}
	printf("total %lu objects %lu rows %lu escapes %lu shadowed "
	       "%lu differences %lu large %llu size %llu cfi %lu signals\n",
	       objects, rows, escapes, shadowed, differences, large, size,
	       cfi_size, signals);
	return differences != 0;
}

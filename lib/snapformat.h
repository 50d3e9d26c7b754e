/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The format of a snapshot file: what was captured of a target, to be unwound
 * later and elsewhere.
 *
 * A file is struct ow_snap_head and, up to the file's end, one frame of zstd
 * (RFC 8878), which holds the sections: each is a struct ow_snap_section, nr
 * records of entry bytes each, and zeros up to the next multiple of 8.  All
 * numbers are little-endian, all records as the structs below, without holes.
 *
 * A reader skips sections of types that it doesn't know, and the end of records
 * that are longer than it knows; no section occurs twice.  So a writer may add
 * sections, and fields at the end of records, under the same version; the
 * version changes when what is there gets another meaning.
 */
#ifndef OW_SNAPFORMAT_H
#define OW_SNAPFORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inflate.h"
#include "object.h"

#define OW_SNAP_MAGIC   "OWSNAP\r\n" /* which transfers as text damage */
#define OW_SNAP_VERSION 1
#define OW_SNAP_LARGEST ((uint64_t)1 << 30) /* bytes of all sections */
#define OW_SNAP_NONE    0xffffffff          /* no such index */

struct ow_snap_head {
	uint8_t magic[8];
	uint64_t check; /* of the whole file, this left out, as
			   ow_table_checksum() makes it */
	uint32_t version;
	uint32_t reserved; /* 0 */
	uint64_t size;     /* of the sections, decompressed */
};

enum ow_snap_type {
	OW_SNAP_META = 1,     /* one struct ow_snap_meta */
	OW_SNAP_STRINGS,      /* bytes: texts, each with its NUL.  Others refer
				 to them by offset; offset 0 has an empty one,
				 that stands for none. */
	OW_SNAP_THREADS,      /* struct ow_snap_thread */
	OW_SNAP_REG_NAMES,    /* u32: offsets of names; column by column */
	OW_SNAP_REGS,         /* u64: the known ones of each thread */
	OW_SNAP_PIECES,       /* struct ow_snap_piece */
	OW_SNAP_MEMORY,       /* bytes: of all pieces, one after another */
	OW_SNAP_RANGES,       /* struct ow_snap_range, in address order */
	OW_SNAP_MODULES,      /* struct ow_snap_module */
	OW_SNAP_OBJECTS,      /* struct ow_snap_object */
	OW_SNAP_OBJECT_BYTES, /* bytes: of all objects, one after another */
	OW_SNAP_JIT_NAMES,    /* bytes: lines as in a JIT's map for perf */
	OW_SNAP_NR_TYPES
};

struct ow_snap_section {
	uint32_t type;
	uint32_t entry; /* bytes of a record */
	uint64_t nr;
};

enum ow_snap_flags {
	OW_SNAP_REDACTED = 1, /* only what unwinding needs is in it */
};

struct ow_snap_meta {
	uint16_t machine; /* e_machine of the target */
	uint8_t word;     /* bytes of an address: 4 or 8 */
	uint8_t reserved;
	uint32_t flags; /* enum ow_snap_flags */
	int32_t pid;
	uint32_t program;   /* text: its path */
	uint32_t kernel;    /* text: release of the host's */
	uint32_t nr_shared; /* the first pieces, which reads may find: in
			       address order, none overlapping.  The others
			       are of one thread only. */
	uint64_t time;      /* when it was made: seconds since 1970, UTC */
	uint64_t pc_mask;   /* bits of a code address; 0: the architecture's */
	uint64_t freeze_ns, longest_ns, bytes_copied;
	uint32_t stopped, sleeps;
	uint32_t jit_path; /* text: where the JIT's names came from */
	uint32_t reserved2;
};

enum ow_snap_thread_flags {
	OW_SNAP_CAPTURED = 1,
	OW_SNAP_STOPPED = 2,
	OW_SNAP_CERTAIN = 4,
};

/* See struct ow_thread. */
struct ow_snap_thread {
	int32_t tid;
	uint8_t state;
	uint8_t flags;       /* enum ow_snap_thread_flags */
	uint8_t syscall_abi; /* enum ow_call_abi */
	uint8_t reserved;
	uint32_t name; /* text */
	int32_t why;   /* enum ow_code */
	int32_t why_errno;
	uint32_t why_text; /* text */
	uint64_t known;    /* bit n: OW_SNAP_REGS has column n */
	uint64_t regs;     /* index of the first in OW_SNAP_REGS */
	uint32_t piece;    /* its stack's, or OW_SNAP_NONE */
	int32_t syscall_nr;
	uint64_t stack, stack_size; /* within the piece */
	uint64_t syscall_args[6];
	uint32_t wchan;        /* text */
	uint32_t kernel_stack; /* text */
};

struct ow_snap_piece {
	uint64_t start, size; /* addrs */
};

struct ow_snap_range {
	uint64_t start, end; /* addrs of executable memory */
	uint32_t module;     /* or OW_SNAP_NONE */
	uint32_t reserved;
};

enum ow_snap_module_flags {
	OW_SNAP_DELETED = 1, /* the file had no name any more */
	OW_SNAP_LOOKED = 2,  /* it could be looked at: build_id, digest and bias
				are known */
};

struct ow_snap_module {
	uint64_t start, end; /* addrs of the mapping */
	uint64_t off;        /* file offset at start */
	uint64_t dev, inode; /* which mappings are of the same file */
	uint64_t bias;       /* addr - vaddr */
	uint64_t digest;     /* of a file without build-id; see
				ow_snap_digest() */
	uint32_t path;       /* text */
	uint32_t why;        /* text: why it could not be looked at */
	uint32_t object;     /* its bytes are here; or OW_SNAP_NONE */
	uint8_t flags;       /* enum ow_snap_module_flags */
	uint8_t reserved[2];
	uint8_t build_id_size; /* 0: it has none */
	uint8_t build_id[OW_BUILD_ID_MAX];
};

/* An ELF file that can't be had elsewhere, such as the vDSO. */
struct ow_snap_object {
	uint64_t size;
};

/* The sections of a snapshot; borrowed from its bytes. */
struct ow_snap {
	struct {
		const uint8_t *bytes;
		uint64_t nr;
		uint32_t entry;
	} sections[OW_SNAP_NR_TYPES];
};

/*
 * Find the sections in size bytes, and check that records are as long as their
 * struct and that strings end.  Return 0 or fill err.
 */
int ow_snap_parse(struct ow_snap *s, const uint8_t *bytes, size_t size,
		  struct ow_error *err);

/* Bytes of a type's records, as they are written. */
uint32_t ow_snap_entry(enum ow_snap_type type);

/* Record i of a type, size being its struct's; false if there is none. */
bool ow_snap_get(const struct ow_snap *s, enum ow_snap_type type, uint64_t i,
		 void *ret, size_t size);

/* The text at that offset, or NULL: an empty one, or no such. */
const char *ow_snap_text(const struct ow_snap *s, uint32_t off);

/* Tells files without build-id apart: by their headers and their size. */
uint64_t ow_snap_digest(const struct ow_object *obj);

/* Is this how a snapshot begins? */
bool ow_snap_is_snapshot(const void *bytes, size_t size);

/* Return 0 if a snapshot may have sections of that size, or fill err. */
int ow_snap_check_size(size_t size, struct ow_error *err);

/* The whole file of these sections, from malloc(); NULL: err has why. */
uint8_t *ow_snap_pack(const uint8_t *bytes, size_t size, size_t *size_ret,
		      struct ow_error *err);

/*
 * The sections in a whole file, if it is as it was written, for
 * ow_snap_unpack_free().  No more than OW_SNAP_LARGEST bytes, and no more than zstd
 * can have made of the file's size, are ever allocated, and they are taken from the
 * budget.  Return 0, or fill err, with path.
 */
int ow_snap_unpack(const uint8_t *bytes, size_t size, const char *path,
		   struct ow_unpacked *ret, struct ow_error *err);

void ow_snap_unpack_free(struct ow_unpacked *sections);

_Static_assert(sizeof(struct ow_snap_head) == 32, "as in files");
_Static_assert(sizeof(struct ow_snap_section) == 16, "as in files");
_Static_assert(sizeof(struct ow_snap_meta) == 80, "as in files");
_Static_assert(sizeof(struct ow_snap_thread) == 120, "as in files");
_Static_assert(sizeof(struct ow_snap_piece) == 16, "as in files");
_Static_assert(sizeof(struct ow_snap_range) == 24, "as in files");
_Static_assert(sizeof(struct ow_snap_module) == 104, "as in files");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as in files");

#endif /* OW_SNAPFORMAT_H */

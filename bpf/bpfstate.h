/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a walk keeps, and has found. */
#ifndef OW_BPF_STATE_H
#define OW_BPF_STATE_H

#include "bpflookup.h"

#define SLOTS      32   /* of registers; a power of two */
#define FRAMES     2048 /* room; a power of two */
#define WINDOW     256  /* words of the stack; a power of two */
#define WALLS      64   /* a power of two */
#define RUN        8    /* steps in one go */
#define BRIEFS     4096 /* a power of two */
#define PLACES     4096 /* in the index of briefs; a power of two */
#define PAGE_BYTES 4096
#define KNOWN      16 /* processes, by their ids' low bits; a power of two */

/* A piece of the stack, as it was when it was read. */
struct window {
	__u64 start;
	__u64 size;         /* bytes that could be read */
	volatile __u64 top; /* of the frame that is read, from start */
	__u64 words[WINDOW];
};

enum brief_kind {
	BRIEF_NOTHING,
	BRIEF_BY_SP, /* CFA = sp + off; the return address is below it */
	BRIEF_BY_FP, /* CFA = fp + off; likewise */
	BRIEF_BARE,  /* a rule whose kind, flags and how are all there is */
	BRIEF_BASE,  /* likewise, and the stack ends there in the usual way */
	BRIEF_ROW,   /* a rule in a table */
};

/*
 * What is known of an address in an image.  Images aren't changed, and their
 * numbers not used again: this holds for ever.
 */
struct brief {
	__u64 addr;
	__u32 image;
	__s32 off;   /* BRIEF_ROW: of the rule in its table */
	__u32 saves; /* of registers but fp, five bits each: words below the
			 CFA, or 0.  BRIEF_ROW: number of the object */
	__u8 kind;   /* enum brief_kind */
	__u8 what;   /* where fp is saved: bytes below the CFA, or 0.
			 BRIEF_BARE: the rule's kind; BRIEF_ROW: it stands in
			 the list of those left to the CFI */
	__u8 flags;  /* of the rule; of steps: bytes to the lowest save */
	__u8 how;    /* enum ow_how */
	__u32 next;  /* which brief the caller had last */
	__u32 reserved;
};

/* Which briefs an address may have: the newer one first. */
struct place {
	__u16 of[2];
};

/* What a process was when it was sampled last: in a cache line. */
struct known {
	__u64 lives; /* so many changes of anyone had been counted */
	__u32 pid;
	__u32 is_wanted;
	struct ow_bpf_process process; /* image 0: its mappings aren't known */
	__u32 used; /* the loader's time when that was noted last */
	__u32 reserved;
	__u64 untold; /* changed so without being told of: CLOCK_MONOTONIC, ns */
};

/* A stack as it leaves. */
struct stack {
	struct ow_bpf_stack out; /* and right behind it: */
	__u64 frames[FRAMES + RUN];
};

/*
 * One for each CPU and for each program that may interrupt others, from page to
 * page: what every sample needs is in the first ones.
 */
struct walk {
	/* What the usual way up a stack needs. */
	__u64 reg[SLOTS];
	__u64 known;
	__u64 hash;
	struct ow_bpf_process process;
	__u64 untold;    /* of the process; see struct known */
	__u32 nr_kernel; /* frames of the kernel, which come first */
	__u32 nr, max;   /* frames of the program */
	__u32 cold;
	__u8 end;        /* enum ow_end */
	__u8 flags, how; /* of the last frame */
	__u8 evicted;    /* end is because range.object's table is gone */
	__u8 copied;     /* it left as a copy */
	__u8 careful;    /* all registers are restored */
	__u8 forgot;     /* some were not */
	__u8 guessed;    /* sp of the last frame is a guess */
	struct window window;
	/*
	 * Where a read ended as nothing was there, by the page's number: the end
	 * of a stack as a rule.  Others end there without trying again, which
	 * only takes longer where there is something by then, or in another
	 * process: what a piece lacks is read by itself.
	 */
	__u64 walls[WALLS];

	__u32 now;  /* the loader's time */
	__u32 slot; /* of the program that walks */
	__u32 mark_at;
	__u64 mark_pc, mark_sp;
	struct ow_bpf_range range; /* that was found last */
	struct ow_bpf_rule rule;
	__u64 area[SLOTS];
	struct lookup lookup;
	struct known known_of[KNOWN] __attribute__((aligned(64)));
	struct stack stack;

	/*
	 * Briefs lie in the order in which walks came by, so that those of a
	 * stack lie together, and each tells which is next: the index is for
	 * where stacks part.  The first one is no address'; a walk's begin.
	 */
	__u32 newest, last; /* brief: made last, and of the last frame */
	struct place places[PLACES] __attribute__((aligned(64)));
	struct brief briefs[BRIEFS] __attribute__((aligned(64)));
} __attribute__((aligned(PAGE_BYTES)));

static __always_inline bool is_known(const struct walk *w, __u32 slot)
{
	return w->known >> (slot % SLOTS) & 1;
}

static __always_inline __u64 reg_of(const struct walk *w, __u32 slot)
{
	return w->reg[slot % SLOTS];
}

static __always_inline int read_word(__u64 addr, __u64 *ret)
{
	return bpf_probe_read_user(ret, sizeof(*ret), (void *)addr) ? -1 : 0;
}

/*
 * The hash uses a key of this run, so that no program can choose stacks that are taken
 * for one another.  A product alone would not do: where all keys are odd, a multiple of
 * (key * key - 1) to the 21st power is 0 whichever it is, and so are stacks whose
 * frames differ by its coefficients alike.
 */
static __always_inline __u64 hash_more(__u64 hash, __u64 frame)
{
	hash = (hash ^ frame) * hash_key;
	return hash ^ hash >> 32;
}

static __always_inline void push_pc(struct walk *w, __u64 pc, __u8 how,
				    __u8 flags)
{
	__u64 f = OW_SAMPLE_FRAME(pc, how, flags);

	w->stack.frames[(w->nr_kernel + w->nr) % FRAMES] = f;
	w->nr++;
	w->how = how;
	w->flags = flags;
	w->hash = hash_more(w->hash, f);
}

static __always_inline void push_frame(struct walk *w, __u8 how, __u8 flags)
{
	push_pc(w, reg_of(w, arch.pc), how, flags);
}

#endif /* OW_BPF_STATE_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libunwind's interface has on all machines.  Included by the header of
 * one of them only, which has defined unw_word_t and the UNW_TDEP_ names.
 *
 * Functions return 0 or more, or a negated enum unw_error_t.
 */
#ifndef OUTWIND_COMPAT_LIBUNWIND_COMMON_H
#define OUTWIND_COMPAT_LIBUNWIND_COMMON_H

#define UNW_VERSION_MAJOR          1
#define UNW_VERSION_MINOR          8
#define UNW_VERSION_EXTRA          1
#define UNW_VERSION_CODE(maj, min) (((maj) << 16) | (min))
#define UNW_VERSION                UNW_VERSION_CODE(UNW_VERSION_MAJOR, UNW_VERSION_MINOR)

/* Is this outwind's? */
#define UNW_OUTWIND 1

#define UNW_PASTE2(x, y) x##y
#define UNW_PASTE(x, y)  UNW_PASTE2(x, y)
#define UNW_OBJ(fn)      UNW_PASTE(UNW_PREFIX, fn)
#define UNW_ARCH_OBJ(fn) UNW_PASTE(UNW_PASTE(UNW_PASTE(_U, UNW_TARGET), _), fn)

#ifdef UNW_LOCAL_ONLY
#define UNW_PREFIX UNW_PASTE(UNW_PASTE(_UL, UNW_TARGET), _)
#else
#define UNW_PREFIX UNW_PASTE(UNW_PASTE(_U, UNW_TARGET), _)
#endif

typedef enum {
	UNW_ESUCCESS = 0,
	UNW_EUNSPEC,      /* unspecified */
	UNW_ENOMEM,       /* out of memory, or a buffer is too short */
	UNW_EBADREG,      /* no such register, or its value is lost */
	UNW_EREADONLYREG, /* the register can't be written */
	UNW_ESTOPUNWIND,  /* a callback said: stop here */
	UNW_EINVALIDIP,   /* no instruction can be there */
	UNW_EBADFRAME,    /* the frame makes no sense */
	UNW_EINVAL,       /* not supported, or a bad value */
	UNW_EBADVERSION,  /* a version of unwind information not known */
	UNW_ENOINFO       /* no unwind information */
} unw_error_t;

typedef enum {
	UNW_REG_IP = UNW_TDEP_IP,
	UNW_REG_SP = UNW_TDEP_SP, /* read only */
	UNW_REG_EH = UNW_TDEP_EH, /* first of those for exception handlers */
	UNW_REG_LAST = UNW_TDEP_LAST_REG
} unw_frame_regnum_t;

#define UNW_NUM_EH_REGS UNW_TDEP_NUM_EH_REGS

typedef enum {
	UNW_CACHE_NONE,
	UNW_CACHE_GLOBAL,
	UNW_CACHE_PER_THREAD
} unw_caching_policy_t;

typedef enum {
	/* The context is that of a signal's ucontext: its ip is no return
	   address. */
	UNW_INIT_SIGNAL_FRAME = 1
} unw_init_local2_flags_t;

typedef int unw_regnum_t;

/* May be copied. */
typedef struct unw_cursor {
	unw_word_t opaque[UNW_TDEP_CURSOR_LEN];
} unw_cursor_t;

typedef unw_tdep_context_t unw_context_t;
typedef unw_tdep_fpreg_t unw_fpreg_t;
typedef struct unw_addr_space *unw_addr_space_t;

#define UNW_PI_FLAG_FIRST_TDEP_BIT 16
#define UNW_PI_FLAG_DEBUG_FRAME    32 /* it comes from .debug_frame */

typedef struct unw_proc_info {
	unw_word_t start_ip, end_ip;
	unw_word_t lsda;    /* data for the handler, or 0 */
	unw_word_t handler; /* personality routine, or 0 */
	unw_word_t gp;
	unw_word_t flags; /* UNW_PI_FLAG_... */
	int format;       /* unw_dyn_info_format_t */
	int unwind_info_size;
	void *unwind_info; /* for unw_step() only */
	unw_tdep_proc_info_t extra;
} unw_proc_info_t;

typedef int (*unw_reg_states_callback)(void *token, void *reg_states_data,
				       size_t reg_states_data_size,
				       unw_word_t start_ip, unw_word_t end_ip);

/* How another process, or what else there is, is read; see unw_accessors(3). */
typedef struct unw_accessors {
	int (*find_proc_info)(unw_addr_space_t as, unw_word_t ip,
			      unw_proc_info_t *pi, int need_unwind_info,
			      void *arg);
	void (*put_unwind_info)(unw_addr_space_t as, unw_proc_info_t *pi,
				void *arg);
	int (*get_dyn_info_list_addr)(unw_addr_space_t as, unw_word_t *ret,
				      void *arg);
	int (*access_mem)(unw_addr_space_t as, unw_word_t addr, unw_word_t *val,
			  int write, void *arg);
	int (*access_reg)(unw_addr_space_t as, unw_regnum_t reg,
			  unw_word_t *val, int write, void *arg);
	int (*access_fpreg)(unw_addr_space_t as, unw_regnum_t reg,
			    unw_fpreg_t *val, int write, void *arg);
	int (*resume)(unw_addr_space_t as, unw_cursor_t *cursor, void *arg);
	int (*get_proc_name)(unw_addr_space_t as, unw_word_t ip, char *buf,
			     size_t size, unw_word_t *off_ret, void *arg);
	/* The rest may be missing in programs built for older versions, and is
	   read only where a function needs it. */
	int (*get_elf_filename)(unw_addr_space_t as, unw_word_t ip, char *buf,
				size_t size, unw_word_t *off_ret, void *arg);
	int (*get_proc_ip_range)(unw_addr_space_t as, unw_word_t ip,
				 unw_word_t *start_ret, unw_word_t *end_ret,
				 void *arg);
	unw_word_t (*ptrauth_insn_mask)(unw_addr_space_t as, void *arg);
} unw_accessors_t;

typedef enum unw_save_loc_type {
	UNW_SLT_NONE,
	UNW_SLT_MEMORY,
	UNW_SLT_REG
} unw_save_loc_type_t;

typedef struct unw_save_loc {
	unw_save_loc_type_t type;

	union {
		unw_word_t addr;     /* UNW_SLT_MEMORY */
		unw_regnum_t regnum; /* UNW_SLT_REG */
	} u;

	unw_tdep_save_loc_t extra;
} unw_save_loc_t;

#define unw_getcontext(uc)         unw_tdep_getcontext(uc)
#define unw_is_fpreg(reg)          unw_tdep_is_fpreg(reg)
#define unw_local_addr_space       UNW_OBJ(local_addr_space)
#define unw_create_addr_space      UNW_OBJ(create_addr_space)
#define unw_destroy_addr_space     UNW_OBJ(destroy_addr_space)
#define unw_get_accessors          UNW_ARCH_OBJ(get_accessors)
#define unw_init_local             UNW_OBJ(init_local)
#define unw_init_local2            UNW_OBJ(init_local2)
#define unw_init_remote            UNW_OBJ(init_remote)
#define unw_step                   UNW_OBJ(step)
#define unw_resume                 UNW_OBJ(resume)
#define unw_get_proc_info          UNW_OBJ(get_proc_info)
#define unw_get_proc_info_by_ip    UNW_OBJ(get_proc_info_by_ip)
#define unw_reg_states_iterate     UNW_OBJ(reg_states_iterate)
#define unw_apply_reg_state        UNW_OBJ(apply_reg_state)
#define unw_get_reg                UNW_OBJ(get_reg)
#define unw_set_reg                UNW_OBJ(set_reg)
#define unw_get_fpreg              UNW_OBJ(get_fpreg)
#define unw_set_fpreg              UNW_OBJ(set_fpreg)
#define unw_get_save_loc           UNW_OBJ(get_save_loc)
#define unw_is_signal_frame        UNW_OBJ(is_signal_frame)
#define unw_is_plt_entry           UNW_OBJ(is_plt_entry)
#define unw_get_proc_name          UNW_OBJ(get_proc_name)
#define unw_get_proc_name_by_ip    UNW_OBJ(get_proc_name_by_ip)
#define unw_get_elf_filename       UNW_OBJ(get_elf_filename)
#define unw_get_elf_filename_by_ip UNW_OBJ(get_elf_filename_by_ip)
#define unw_set_caching_policy     UNW_OBJ(set_caching_policy)
#define unw_set_cache_size         UNW_OBJ(set_cache_size)
#define unw_regname                UNW_ARCH_OBJ(regname)
#define unw_flush_cache            UNW_ARCH_OBJ(flush_cache)
#define unw_strerror               UNW_ARCH_OBJ(strerror)

extern unw_addr_space_t unw_local_addr_space;

unw_addr_space_t unw_create_addr_space(unw_accessors_t *acc, int byteorder);
void unw_destroy_addr_space(unw_addr_space_t as);
unw_accessors_t *unw_get_accessors(unw_addr_space_t as);
void unw_flush_cache(unw_addr_space_t as, unw_word_t low, unw_word_t high);
int unw_set_caching_policy(unw_addr_space_t as, unw_caching_policy_t policy);
int unw_set_cache_size(unw_addr_space_t as, size_t size, int flag);
const char *unw_regname(unw_regnum_t reg);
const char *unw_strerror(int err);

int unw_init_local(unw_cursor_t *cursor, unw_context_t *uc);
int unw_init_local2(unw_cursor_t *cursor, unw_context_t *uc, int flag);
int unw_init_remote(unw_cursor_t *cursor, unw_addr_space_t as, void *arg);
int unw_step(unw_cursor_t *cursor);
int unw_resume(unw_cursor_t *cursor);

int unw_get_reg(unw_cursor_t *cursor, int reg, unw_word_t *ret);
int unw_set_reg(unw_cursor_t *cursor, int reg, unw_word_t val);
int unw_get_fpreg(unw_cursor_t *cursor, int reg, unw_fpreg_t *ret);
int unw_set_fpreg(unw_cursor_t *cursor, int reg, unw_fpreg_t val);
int unw_get_save_loc(unw_cursor_t *cursor, int reg, unw_save_loc_t *ret);

int unw_is_signal_frame(unw_cursor_t *cursor);
int unw_is_plt_entry(unw_cursor_t *cursor);
int unw_get_proc_info(unw_cursor_t *cursor, unw_proc_info_t *ret);
int unw_get_proc_info_by_ip(unw_addr_space_t as, unw_word_t ip,
			    unw_proc_info_t *ret, void *arg);
int unw_get_proc_name(unw_cursor_t *cursor, char *buf, size_t size,
		      unw_word_t *off_ret);
int unw_get_proc_name_by_ip(unw_addr_space_t as, unw_word_t ip, char *buf,
			    size_t size, unw_word_t *off_ret, void *arg);
int unw_get_elf_filename(unw_cursor_t *cursor, char *buf, size_t size,
			 unw_word_t *off_ret);
int unw_get_elf_filename_by_ip(unw_addr_space_t as, unw_word_t ip, char *buf,
			       size_t size, unw_word_t *off_ret, void *arg);
int unw_reg_states_iterate(unw_cursor_t *cursor, unw_reg_states_callback cb,
			   void *token);
int unw_apply_reg_state(unw_cursor_t *cursor, void *reg_states_data);

/* Up to size return addresses, beginning with that of this very call. */
int unw_backtrace(void **buffer, int size);
/* The same of a context, beginning with its ip; flag as unw_init_local2(). */
int unw_backtrace2(void **buffer, int size, unw_context_t *uc, int flag);

#endif /* OUTWIND_COMPAT_LIBUNWIND_COMMON_H */

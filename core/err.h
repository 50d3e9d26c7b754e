/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef OW_ERR_H
#define OW_ERR_H

/* Every way the core can fail.  Returned negated; 0 is success. */
enum ow_err {
	OW_EFORMAT = 1,  /* the unwind data contradicts itself */
	OW_EUNSUPPORTED, /* well-formed, but not something we implement */
	OW_EFAULT,       /* the target's memory could not be read */
	OW_ENOENT,       /* nothing covers this address */
	OW_EUNKNOWN,     /* a register that the rule needs is not known */
	OW_ELIMIT,       /* a named limit was reached */
	OW_ERR_HOSTED,   /* the hosted library's own codes begin here */
};

/* One line for people, for a code of either sign; never NULL. */
const char *ow_err_text(int code);

#endif /* OW_ERR_H */

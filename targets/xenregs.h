/* SPDX-License-Identifier: BSD-2-Clause */
/* From what Xen tells of a vCPU to registers and paging. */
#ifndef OW_XENREGS_H
#define OW_XENREGS_H

#include "xenseam.h"

struct vcpu_guest_context_x86_64;
struct vcpu_guest_context_x86_32;
struct vcpu_guest_context_arm64;
struct hvm_hw_cpu;

/* Of a paravirtual guest. */
void ow_xenregs_pv64(const struct vcpu_guest_context_x86_64 *from,
		     struct ow_xen_vcpu *ret);
void ow_xenregs_pv32(const struct vcpu_guest_context_x86_32 *from,
		     struct ow_xen_vcpu *ret);

/* Of an HVM or PVH one. */
void ow_xenregs_hvm(const struct hvm_hw_cpu *from, struct ow_xen_vcpu *ret);

/* Of a guest on Arm, of 64 or 32 bits. */
void ow_xenregs_arm(const struct vcpu_guest_context_arm64 *from,
		    struct ow_xen_vcpu *ret);

#endif /* OW_XENREGS_H */

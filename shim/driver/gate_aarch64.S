/* The gates of gate.h on AArch64; see gate_x86_64.S. */
#ifdef __aarch64__
#include "driver/gate_count.h"

	.text
	.p2align 4
	.type	gate_common, %function
gate_common:
	.cfi_startproc
	stp	x29, x30, [sp, #-224]!
	.cfi_def_cfa_offset 224
	.cfi_offset 29, -224
	.cfi_offset 30, -216
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	str	x8, [sp, #80]
	stp	q0, q1, [sp, #96]
	stp	q2, q3, [sp, #128]
	stp	q4, q5, [sp, #160]
	stp	q6, q7, [sp, #192]
	mov	w0, w16
	bl	gate_pass
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldr	x8, [sp, #80]
	ldp	q0, q1, [sp, #96]
	ldp	q2, q3, [sp, #128]
	ldp	q4, q5, [sp, #160]
	ldp	q6, q7, [sp, #192]
	ldp	x29, x30, [sp], #224
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	br	x16
	.cfi_endproc
	.size	gate_common, . - gate_common

	.globl	gate_entries
	.hidden	gate_entries
	.type	gate_entries, %function
	.p2align 4
gate_entries:
	.cfi_startproc
	.set	index, 0
	.rept	GATES
	.p2align 4
	hint	#34		/* bti c */
	mov	w16, #index
	b	gate_common
	.p2align 4
	.set	index, index + 1
	.endr
	.cfi_endproc
	.size	gate_entries, . - gate_entries

	.section .note.gnu.property, "a"
	.p2align 3
	.word	4, 16, 5
	.asciz	"GNU"
	.word	0xc0000000, 4, 1, 0

#endif
	.section .note.GNU-stack, "", %progbits

/*
 * The front ends of dlsym, dlvsym, dlopen and dlmopen on AArch64; the reasons stand in
 * frontend_x86_64.S.
 *
 * `bti c` allows the entry by an indirect call; the real function is entered by br x16,
 * which `bti c` allows too.
 */
#ifdef __aarch64__

	.text

.macro FRONTEND name
	.globl	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	hint	#34		/* bti c */
	stp	x29, x30, [sp, #-64]!
	.cfi_def_cfa_offset 64
	.cfi_offset 29, -64
	.cfi_offset 30, -56
	mov	x29, sp
	stp	x0, x1, [sp, #16]	/* struct door_call */
	stp	x2, x30, [sp, #32]
	add	x0, sp, #16
	bl	door_\name
	mov	w9, w0
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	ldr	x16, [sp, #48]
	ldp	x29, x30, [sp], #64
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	tst	w9, #0xff
	b.ne	1f
	br	x16
1:	mov	x0, x16
	ret
	.cfi_endproc
	.size	\name, . - \name
.endm

	FRONTEND dlsym
	FRONTEND dlvsym
	FRONTEND dlopen
	FRONTEND dlmopen

/* This object keeps to branch target identification. */
	.section .note.gnu.property, "a"
	.p2align 3
	.word	4, 16, 5
	.asciz	"GNU"
	.word	0xc0000000, 4, 1, 0

#endif
	.section .note.GNU-stack, "", %progbits

/*
 * The front ends of dlsym, dlvsym, dlopen and dlmopen on x86-64.
 *
 * The C library's own functions tell who calls by their return address: RTLD_NEXT and RTLD_DEFAULT,
 * the caller's RUNPATH and its namespace hang on it. So a front end keeps the arguments in a struct
 * door_call (door.h), asks a C function, and then either returns its answer or jumps, as if it had
 * never been there, to the real one.
 * No return address is ever changed (shadow stacks hold), and each entry begins with endbr64.
 */
#ifdef __x86_64__

	.text

.macro FRONTEND name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	movq	(%rsp), %rax
	/* struct door_call and 8 bytes, so that the stack is aligned for the call */
	subq	$56, %rsp
	.cfi_adjust_cfa_offset 56
	movq	%rdi, 0(%rsp)
	movq	%rsi, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rax, 24(%rsp)
	movq	%rsp, %rdi
	call	door_\name
	movq	0(%rsp), %rdi
	movq	8(%rsp), %rsi
	movq	16(%rsp), %rdx
	movq	32(%rsp), %r11
	addq	$56, %rsp
	.cfi_adjust_cfa_offset -56
	testb	%al, %al
	jne	1f
	jmp	*%r11
1:	movq	%r11, %rax
	ret
	.cfi_endproc
	.size	\name, . - \name
.endm

	FRONTEND dlsym
	FRONTEND dlvsym
	FRONTEND dlopen
	FRONTEND dlmopen

/* This object keeps to indirect branch tracking and shadow stacks. */
	.section .note.gnu.property, "a"
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000002, 4, 3, 0

#endif
	.section .note.GNU-stack, "", %progbits

/*
 * The gates of gate.h on x86-64: each keeps every register that can hold an argument, asks
 * gate_pass, and jumps where it says.
 */
#ifdef __x86_64__
#include "driver/gate_count.h"

	.text
	.p2align 4
	.type	gate_common, @function
gate_common:
	.cfi_startproc
	endbr64
	/* six registers, eight of 16 bytes, 8 bytes to align the stack for the call */
	subq	$184, %rsp
	.cfi_adjust_cfa_offset 184
	movq	%rdi, 0(%rsp)
	movq	%rsi, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rcx, 24(%rsp)
	movq	%r8, 32(%rsp)
	movq	%r9, 40(%rsp)
	movaps	%xmm0, 48(%rsp)
	movaps	%xmm1, 64(%rsp)
	movaps	%xmm2, 80(%rsp)
	movaps	%xmm3, 96(%rsp)
	movaps	%xmm4, 112(%rsp)
	movaps	%xmm5, 128(%rsp)
	movaps	%xmm6, 144(%rsp)
	movaps	%xmm7, 160(%rsp)
	movl	%eax, %edi
	call	gate_pass
	movq	%rax, %r11
	movq	0(%rsp), %rdi
	movq	8(%rsp), %rsi
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rcx
	movq	32(%rsp), %r8
	movq	40(%rsp), %r9
	movaps	48(%rsp), %xmm0
	movaps	64(%rsp), %xmm1
	movaps	80(%rsp), %xmm2
	movaps	96(%rsp), %xmm3
	movaps	112(%rsp), %xmm4
	movaps	128(%rsp), %xmm5
	movaps	144(%rsp), %xmm6
	movaps	160(%rsp), %xmm7
	addq	$184, %rsp
	.cfi_adjust_cfa_offset -184
	jmp	*%r11
	.cfi_endproc
	.size	gate_common, . - gate_common

	.globl	gate_entries
	.hidden	gate_entries
	.type	gate_entries, @function
	.p2align 4
gate_entries:
	.cfi_startproc
	.set	index, 0
	.rept	GATES
	.p2align 4
	endbr64
	movl	$index, %eax
	jmp	gate_common
	.p2align 4
	.set	index, index + 1
	.endr
	.cfi_endproc
	.size	gate_entries, . - gate_entries

	.section .note.gnu.property, "a"
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000002, 4, 3, 0

#endif
	.section .note.GNU-stack, "", %progbits

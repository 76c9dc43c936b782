/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 32-bit code that goes to 64-bit code and back: MODE.Exec, far branches whose
 * target is traced, and INT 80H.
 */
	.section .note.GNU-stack, "", @progbits
	.text
	.globl	_start

	.code32
_start:
	mov	$50, %esi
again:
	call	function
	mov	$5, %ecx
1:	loop	1b
	jecxz	2f
	nop
2:	mov	$20, %eax			/* getpid */
	int	$0x80
	mov	$function, %eax
	call	*%eax
	ljmp	$0x33, $long_mode

	.code64
long_mode:
	mov	$3, %ecx
3:	dec	%ecx
	jnz	3b
	call	function64
	pushq	$0x23
	mov	$short_mode, %eax
	push	%rax
	lretq
function64:
	ret

	.code32
short_mode:
	dec	%esi
	jnz	again
	mov	$1, %eax			/* exit */
	xor	%ebx, %ebx
	int	$0x80

function:
	push	%ebp
	mov	%esp, %ebp
	pop	%ebp
	ret

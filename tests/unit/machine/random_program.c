// SPDX-License-Identifier: GPL-2.0
/*
 * A random program.
 */
#include "random_program.h"

#include <string.h>

static uint64_t rng;

void random_seed(uint64_t seed)
{
	rng = seed * 0x9e3779b97f4a7c15ULL + 1;
}

uint64_t random_bits(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

uint32_t rnd(uint32_t n)
{
	return (random_bits() >> 16) % n;
}

bool chance(uint32_t percent)
{
	return rnd(100) < percent;
}

struct part parts[PARTS] = {
	[USER64] = { .base = 0x7f1234560000, .cpl = 3, .mode = X86_MODE_64 },
	[USER32] = { .base = 0x08048000, .cpl = 3, .mode = X86_MODE_32 },
	[KERNEL] = { .base = 0xffffffff81000000, .cpl = 0, .mode = X86_MODE_64 },
};

static void set_bytes(struct insn *i, const char *bytes, uint8_t len)
{
	memcpy(i->bytes, bytes, len);
	i->len = len;
}

static void make_insn(struct part *p, struct insn *i, unsigned int function,
		      unsigned int number, unsigned int len)
{
	const bool last = number == len - 1;

	static const char nops[][8] = {
		"\x90", "\x66\x90", "\x0f\x1f\x00", "\x0f\x1f\x40\x00",
	};
	const unsigned int n = rnd(4);

	*i = (struct insn) { .class = X86_OTHER };
	if (last) {
		if (p->cpl == 0 && function < RANDOM_ENTRIES) {
			i->class = X86_IRET;
			set_bytes(i, "\x48\xcf", 2);
		} else if (!function) {
			/*
			 * The main loop. A loop of direct jumps alone has no
			 * packet: no decoder can tell its rounds.
			 */
			i->class = X86_JMP_IND;
			set_bytes(i, "\xff\xe0", 2);
		} else {
			i->class = X86_RET;
			set_bytes(i, "\xc3", 1);
		}
		return;
	}

	/*
	 * libipt takes MOV CR3 for the cause of a TIP.PGD without IP, though a PIP
	 * said that ContextEn stayed, if no other packet stands between.
	 */
	if (number && i[-1].class == X86_MOV_CR3) {
		i->class = X86_COND;
		set_bytes(i, "\x0f\x84\0\0\0\0", 6);
		return;
	}

	switch (rnd(16)) {
	case 0 ... 3:
		i->class = X86_COND;
		set_bytes(i, "\x0f\x84\0\0\0\0", 6);
		break;
	case 4:
		i->class = X86_JMP;
		set_bytes(i, "\xe9\0\0\0\0", 5);
		break;
	case 5: case 6:
		if (function + 1 < RANDOM_FUNCTIONS) {
			i->class = X86_CALL;
			set_bytes(i, "\xe8\0\0\0\0", 5);
			break;
		}
		goto nop;
	case 7:
		if (function + 1 < RANDOM_FUNCTIONS) {
			i->class = X86_CALL_IND;
			set_bytes(i, "\xff\xd0", 2);
			break;
		}
		goto nop;
	case 8:
		i->class = X86_JMP_IND;
		set_bytes(i, "\xff\xe0", 2);
		break;
	case 9:
		if (p->cpl == 3) {
			i->class = X86_FAR;
			set_bytes(i, "\x0f\x05", 2);	/* SYSCALL */
		} else if (chance(50) && number + 2 < len) {
			i->class = X86_MOV_CR3;
			set_bytes(i, "\x0f\x22\xd8", 3);
		} else {
			i->class = X86_HALT;
			i->mwait = chance(50);
			set_bytes(i, i->mwait ? "\x0f\x01\xc9" : "\xf4", i->mwait ? 3 : 1);
		}
		break;
	case 10:
		i->ptwrite = true;
		set_bytes(i, "\xf3\x0f\xae\xe0", 4);
		break;
	default:
nop:
		set_bytes(i, nops[n], n + 1);
	}
}

/*
 * Calls go to later functions, so that each ends; not to one that ends by IRET:
 * libipt would leave its call on the stack (docs/PT-MACHINE.md).
 */
unsigned int random_callee(const struct part *p, unsigned int caller, unsigned int distance)
{
	unsigned int to = caller + distance;

	if (p->cpl == 0 && to < RANDOM_ENTRIES)
		to = RANDOM_ENTRIES;
	return to < RANDOM_FUNCTIONS ? to : RANDOM_FUNCTIONS - 1;
}

static void make_part(struct part *p)
{
	uint64_t ip = p->base;
	unsigned int f, n, i;

	p->count = 0;
	for (f = 0; f < RANDOM_FUNCTIONS; f++) {
		const unsigned int len = f ? 2 + rnd(RANDOM_FUNCTION_INSNS - 1) :
					 RANDOM_FUNCTION_INSNS;

		p->start[f] = p->count;
		for (n = 0; n < len; n++)
			make_insn(p, &p->insns[p->count++], f, n, len);
	}
	p->start[f] = p->count;

	for (i = 0; i < p->count; i++) {
		/* Some functions are far from each other, for IP compression. */
		for (f = 0; f < RANDOM_FUNCTIONS; f++)
			if (p->start[f] == i && chance(10))
				ip += 0x12340 * (1 + rnd(8));
		p->insns[i].ip = ip;
		ip += p->insns[i].len;
	}

	/* Displacements; branches stay in their function. */
	for (f = 0; f < RANDOM_FUNCTIONS; f++) {
		for (i = p->start[f]; i < p->start[f + 1]; i++) {
			struct insn *insn = &p->insns[i];
			int32_t disp;

			if (insn->class == X86_CALL) {
				const unsigned int near = 1 + rnd(chance(80) ? 2 : 20);
				insn->target = p->start[random_callee(p, f, near)];
			} else if (insn->class == X86_COND) {
				insn->target = p->start[f] + rnd(p->start[f + 1] - p->start[f]);
			} else if (insn->class == X86_JMP) {
				insn->target = i + 1 + rnd(p->start[f + 1] - i - 1);
			} else {
				continue;
			}
			disp = p->insns[insn->target].ip - (insn->ip + insn->len);
			memcpy(insn->bytes + insn->len - 4, &disp, 4);
		}
	}
}

size_t random_program_read(uint64_t ip, uint8_t *buf, size_t size)
{
	unsigned int k;
	size_t n = 0;

	for (k = 0; k < PARTS && !n; k++) {
		const struct part *p = &parts[k];
		unsigned int low = 0, high = p->count;

		/* The last instruction at or before @ip. */
		while (high - low > 1) {
			const unsigned int mid = (low + high) / 2;

			if (p->insns[mid].ip <= ip)
				low = mid;
			else
				high = mid;
		}
		for (; low < p->count && n < size && ip + n >= p->insns[low].ip; low++) {
			const struct insn *insn = &p->insns[low];

			while (n < size && ip + n < insn->ip + insn->len) {
				buf[n] = insn->bytes[ip + n - insn->ip];
				n++;
			}
		}
	}
	return n;
}

unsigned int function_of(const struct part *p, unsigned int insn)
{
	unsigned int f = 0;

	while (p->start[f + 1] <= insn)
		f++;
	return f;
}

void random_program(void)
{
	unsigned int i;

	for (i = 0; i < PARTS; i++)
		make_part(&parts[i]);
}

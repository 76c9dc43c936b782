// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks and discontinuities.
 *
 * What QEMU 11.1 does, whatever its documentation says:
 * - One translation serves the same physical page at several virtual addresses
 *   (CF_PCREL). RIP read at the start of a block tells which; the difference to
 *   the address at translation relocates all that was noted then. Within a block
 *   RIP is not kept up to date.
 * - The INTERRUPT discontinuity fires at each real delivery, of faults too, with
 *   the exact source and the handler's address, after the registers changed.
 *   The EXCEPTION one fires when an exception is raised, with an address that
 *   may be stale: no more than a hint that the next delivery is a fault.
 *   SYSCALL, SYSRET and IRET fire none.
 * - Privilege level and code size are constant within a block.
 * - An instruction that hits a data breakpoint, or writes into its own block, is
 *   abandoned and begun again, alone in a block. The #DB follows as a trap.
 */
#include "follow.h"
#include "intercept.h"

#define PAGE_OFFSET	PT_MASK(11, 0)
#define RFLAGS_IF	PT_BIT(9)

#define JUMPS_A_STEP	8

enum {
	VECTOR_DB	= 1,
	VECTOR_NMI	= 2,
	VECTOR_PF	= 14,
};

static bool same_offset(uint64_t a, uint64_t b)
{
	return !((a ^ b) & PAGE_OFFSET);
}

static bool intr(const struct vcpu *v)
{
	return (v->needs & PT_FLOW_NEEDS_IF) && (reg_read(REG_EFLAGS) & RFLAGS_IF);
}

void follow_start(struct vcpu *v, const struct block *block, uint64_t ip, uint64_t delta)
{
	v->at = (struct pt_where) {
		.ip = ip,
		.cs_base = block->cs_base,
		.cpl = block->cpl,
		.mode = block->mode,
		.intr = reg_read(REG_EFLAGS) & RFLAGS_IF,
	};
	v->at_known = true;
	v->trace_delta = delta;
	v->fault_hint = false;
	v->asleep = false;
	v->shared->pending = 0;
	v->shared->cr3_written = 0;
}

/* The instruction that ended the last block, as noted at its translation. */
static const struct block *take_pending(struct vcpu *v)
{
	const struct block *block = (const void *)v->shared->pending;

	v->shared->pending = 0;
	return block;
}

static struct pt_branch real_branch(const struct vcpu *v, const struct block *block)
{
	struct pt_branch branch = block->branch;

	branch.ip += v->trace_delta;
	branch.next += v->trace_delta;
	branch.target += v->trace_delta;
	return branch;
}

static void take_cr3(struct vcpu *v, const struct pt_where *at)
{
	if (!v->shared->cr3_written)
		return;
	v->shared->cr3_written = 0;
	pt_flow_cr3(&v->flow, reg_read(REG_CR3), at);
}

static void wake(struct vcpu *v, enum pt_wake reason)
{
	if (!v->asleep)
		return;
	v->asleep = false;
	pt_flow_wake(&v->flow, reason);
}

static void check_active(struct vcpu *v)
{
	if (!pt_flow_active(&v->flow))
		v->shared->active &= ~VCPU_TRACING;
}

/*
 * Nothing is due at this block but, perhaps, time: ContextEn is clear, and nothing
 * that could set it has happened.
 */
static bool is_dull(const struct vcpu *v, const struct block *done, const struct block *block)
{
	return !v->flow.context_en && !v->pclog && !v->needs && !v->shared->cr3_written &&
	       block->cpl == v->at.cpl && !(done && x86_is_far(done->branch.class));
}

/* RIP at the start of @block, which is slow to read and often follows. */
static uint64_t address(const struct vcpu *v, const struct block *done,
			const struct block *block)
{
	if (!done || !done->distinct || !v->at_known)
		return reg_read(REG_RIP);
	if (done->branch.class == X86_COND && same_offset(block->start, done->branch.next))
		return done->branch.next + v->trace_delta;
	if (same_offset(block->start, done->branch.target))
		return done->branch.target + v->trace_delta;
	return reg_read(REG_RIP);
}

/*
 * The most frequent case, made short: a near branch within one context, of a trace
 * that needs no more than branches.
 */
static bool quick_block(struct vcpu *v, const struct block *block)
{
	const struct block *done = (const void *)v->shared->pending;
	const uint64_t delta = v->trace_delta;
	bool taken, settle;
	uint64_t next, ip;

	if (!done || !v->flow.quick || !v->at_known || v->shared->cr3_written ||
	    block->cpl != v->at.cpl || block->mode != v->at.mode)
		return false;

	/* At the branch itself? Then it may have been abandoned. */
	if (same_offset(block->start, done->branch.ip) && done->branch.class != X86_COND &&
	    done->branch.class != X86_JMP)
		return false;

	next = done->branch.next + delta;
	ip = done->branch.target + delta;
	switch (done->branch.class) {
	case X86_COND:
		taken = !same_offset(block->start, next);
		ip = taken ? ip : next;
		if (!done->distinct || !same_offset(block->start, ip))
			return false;
		settle = pt_flow_quick(&v->flow, X86_COND, taken, next, ip);
		break;
	case X86_JMP:
		if (!same_offset(block->start, ip))
			return false;
		settle = pt_flow_quick(&v->flow, X86_JMP, true, next, ip);
		break;
	case X86_CALL:
		if (!same_offset(block->start, ip))
			return false;
		settle = pt_flow_quick(&v->flow, X86_CALL, true, next, ip);
		break;
	case X86_RET:
		ip = reg_read(REG_RIP);
		settle = pt_flow_quick(&v->flow, X86_RET, true, next, ip);
		break;
	case X86_JMP_IND:
		ip = reg_read(REG_RIP);
		settle = pt_flow_quick(&v->flow, X86_JMP_IND, true, next, ip);
		break;
	case X86_CALL_IND:
		ip = reg_read(REG_RIP);
		settle = pt_flow_quick(&v->flow, X86_CALL_IND, true, next, ip);
		break;
	default:
		return false;
	}

	v->shared->pending = 0;
	v->at.ip = ip;
	v->trace_delta = ip - block->start;
	v->fault_hint = false;
	if (settle) {
		pt_flow_settle(&v->flow, &v->at);
		check_active(v);
	}
	return true;
}

/* Is the operand of the indirect near branch at @ip in memory? */
static bool through_memory(uint64_t ip)
{
	uint8_t byte = 0;

	while (virt_read(ip, &byte, 1) && byte != 0xff)
		ip++;
	return !virt_read(ip + 1, &byte, 1) || byte < 0xc0;
}

/*
 * @branch was begun, and execution is at its own address: did QEMU begin it again,
 * or has it come back to itself? What it did to the stack tells.
 */
static bool begun_again(const struct pt_branch *branch, uint8_t mode)
{
	const unsigned int size = mode == X86_MODE_64 ? 8 : 4;
	const uint64_t rsp = reg_read(REG_RSP);
	uint64_t slot = 0;

	switch (branch->class) {
	case X86_CALL:
	case X86_CALL_IND:
		return !virt_read(rsp, &slot, size) || slot != branch->next;
	case X86_RET:
		return !virt_read(rsp - size, &slot, size) || slot != branch->ip;
	case X86_JMP_IND:
		return through_memory(branch->ip);
	default:
		return x86_is_far(branch->class);
	}
}

/* The branch of @done, which may be the one that is about to be executed. */
static bool abandoned(const struct vcpu *v, const struct block *done, const struct block *block)
{
	const uint64_t ip = done->branch.ip + v->trace_delta;
	struct pt_branch branch;

	if (!v->at_known || !same_offset(block->start, ip) || reg_read(REG_RIP) != ip)
		return false;
	branch = real_branch(v, done);
	return begun_again(&branch, v->at.mode);
}

void follow_block(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct block *block = udata, *done;
	struct pt_branch branch;
	uint64_t ip;

	if (v->shared->active == VCPU_TRACING && quick_block(v, block))
		return;
	if (v->shared->active & VCPU_AMEND)
		intercept_amend(v);
	if (!(v->shared->active & VCPU_TRACING))
		return;
	wake(v, PT_WAKE_STORE);

	done = take_pending(v);
	if (done && abandoned(v, done, block)) {
		if (v->pclog)
			pclog_event(v->pclog, done->branch.ip + v->trace_delta, true);
		done = NULL;
	}
	if (is_dull(v, done, block)) {
		v->at_known = false;
		pt_flow_step(&v->flow, NULL, &v->at);
		check_active(v);
		return;
	}

	ip = address(v, done, block);
	if (done)
		branch = real_branch(v, done);
	v->at = (struct pt_where) {
		.ip = ip,
		.cs_base = block->cs_base,
		.cpl = block->cpl,
		.mode = block->mode,
		.intr = intr(v),
	};
	v->at_known = true;
	v->trace_delta = ip - block->start;
	v->fault_hint = false;

	/* A jump that the decoder follows by itself has no packet, but takes time. */
	if (done && branch.class == X86_JMP && !v->needs && !v->filtered &&
	    v->flow.packet_en && ++v->jumps % JUMPS_A_STEP)
		return;

	take_cr3(v, &v->at);
	pt_flow_step(&v->flow, done ? &branch : NULL, &v->at);
	check_active(v);
}

void follow_halt(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct hook *hook = udata;

	if (!(v->shared->active & VCPU_TRACING))
		return;
	pt_flow_halt(&v->flow, hook->ip + v->trace_delta, &v->at);
	v->asleep = true;
}

void follow_mwait(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct hook *hook = udata;
	const uint32_t ecx = reg_read(REG_RCX);

	/* QEMU raises #GP for any extension. */
	if (!(v->shared->active & VCPU_TRACING) || ecx)
		return;
	pt_flow_mwait(&v->flow, hook->ip + v->trace_delta, reg_read(REG_RAX), ecx, &v->at);
	v->asleep = true;
}

void follow_if(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct hook *hook = udata;
	struct pt_where at = v->at;

	if (!(v->shared->active & VCPU_TRACING) || !(v->needs & PT_FLOW_NEEDS_IF))
		return;
	at.ip = hook->ip + v->trace_delta;
	at.intr = intr(v);
	if (at.intr != v->at.intr) {
		v->at.intr = at.intr;
		pt_flow_step(&v->flow, NULL, &at);
		check_active(v);
	}
}

/*
 * What no block has shown of the code that was interrupted at @from: where a far
 * branch had led just before, and a new RFLAGS.IF. It is in the frame that the
 * delivery pushed.
 */
static void look_at_frame(const struct vcpu *v, uint64_t from, bool after_far,
			  struct pt_where *source)
{
	struct vcpu_frame frame;
	bool found;

	if (!after_far && !(v->needs & PT_FLOW_NEEDS_IF))
		return;
	found = vcpu_find_frame(from, &frame);
	if (found && (v->needs & PT_FLOW_NEEDS_IF))
		source->intr = frame.rflags & RFLAGS_IF;
	if (!after_far)
		return;
	source->cpl = found ? frame.cs & 3 : from >> 63 ? 0 : 3;
	if (found) {
		source->mode = code_mode(frame.cs);
		source->cs_base = code_base(frame.cs);
	}
}

static struct pt_event describe(struct vcpu *v, uint64_t from, uint64_t to, uint8_t mode,
				bool fault, bool soft_int)
{
	struct pt_event ev = {
		.kind = soft_int ? PT_EVENT_SOFT_INT : fault ? PT_EVENT_FAULT : PT_EVENT_INTR,
		.from = from,
	};
	int vector;

	/* Only the event trace tells more than the source. */
	if (!(v->needs & PT_FLOW_NEEDS_IF))
		return ev;

	vector = idt_vector(&v->idt, to, mode == X86_MODE_64);
	if (vector < 0)
		return ev;
	ev.vector = vector;
	ev.vector_known = true;
	if (vector == VECTOR_NMI && ev.kind == PT_EVENT_INTR)
		ev.kind = PT_EVENT_NMI;
	if (vector == VECTOR_PF && ev.kind == PT_EVENT_FAULT) {
		ev.has_cr2 = true;
		ev.cr2 = reg_read(REG_CR2);
	}
	return ev;
}

/*
 * A fault has the address of @branch, which was begun: did it complete, and lead to
 * itself? A branch that reads no memory does not fault, and #DB is either a trap
 * or of an instruction that has not begun.
 */
static bool led_to_itself(struct vcpu *v, const struct pt_branch *branch, uint64_t to,
			  uint64_t cs)
{
	return branch->class == X86_COND || branch->class == X86_JMP ||
	       (branch->class != X86_SOFT_INT &&
		idt_vector(&v->idt, to, code_mode(cs) == X86_MODE_64) == VECTOR_DB);
}

/* QEMU tells the address after INT1 for its source (table 36-23: its own). */
static bool is_int1(const struct pt_branch *branch, uint64_t from)
{
	uint8_t byte;

	return branch->class == X86_SOFT_INT && from == branch->next &&
	       virt_read(from - 1, &byte, 1) && byte == 0xf1;
}

static void delivered(struct vcpu *v, uint64_t from, uint64_t to)
{
	const uint64_t cs = reg_read(REG_CS);
	const struct block *done = take_pending(v);
	bool fault = v->fault_hint;
	struct pt_where source = v->at;
	struct pt_branch branch;
	struct pt_event ev;
	bool soft_int = false;

	v->fault_hint = false;
	wake(v, PT_WAKE_INTR);

	/* Was that branch itself the source, or did it lead to the source? */
	if (done) {
		branch = real_branch(v, done);
		if (is_int1(&branch, from)) {
			from = branch.ip;
			fault = true;
		}
		if (same_offset(branch.ip, from) && (branch.ip == from || !v->at_known)) {
			fault = fault && !led_to_itself(v, &branch, to, cs);
			soft_int = branch.class == X86_SOFT_INT;
			if (fault || soft_int)
				done = NULL;
		}
	}

	source.ip = from;
	look_at_frame(v, from, done && x86_is_far(branch.class), &source);
	if (v->pclog)
		pclog_event(v->pclog, from, fault);

	take_cr3(v, &source);
	pt_flow_arrive(&v->flow, done ? &branch : NULL, &source);

	v->at = (struct pt_where) {
		.ip = to,
		.cs_base = code_base(cs),
		.cpl = cs & 3,
		.mode = code_mode(cs),
		.intr = intr(v),
	};
	v->at_known = true;
	ev = describe(v, from, to, v->at.mode, fault, soft_int);
	pt_flow_event(&v->flow, &ev, &v->at);
	check_active(v);
}

/* An instruction that did not complete is none: it will be begun again. */
static void uncount(struct vcpu *v, uint64_t from, uint64_t to)
{
	const uint64_t begun = v->shared->begun;
	const bool fetched = v->fault_hint && reg_read(REG_CR2) == from &&
			     idt_vector(&v->idt, to, true) == VECTOR_PF;

	v->shared->begun = 0;
	if ((begun & VCPU_BEGUN) && same_offset(begun, from) && !fetched &&
	    !(begun & VCPU_BEGUN_SOFT_INT) && (v->fault_hint || (begun & VCPU_BEGUN_REP)))
		v->shared->insns[!!(begun & VCPU_BEGUN_USER)]--;
}

void follow_discontinuity(unsigned int index, enum qemu_plugin_discon_type type,
			  uint64_t from, uint64_t to, void *udata)
{
	struct vcpu *v = vcpu_get(index);

	(void)udata;
	vcpu_log(v, 3, "discontinuity %d, %lx to %lx", type, from, to);

	if (type == QEMU_PLUGIN_DISCON_EXCEPTION) {
		v->fault_hint = true;
	} else if (type == QEMU_PLUGIN_DISCON_INTERRUPT) {
		intercept_delivered(v, from);
		if (count_is_on())
			uncount(v, from, to);
		if (v->shared->active & VCPU_TRACING)
			delivered(v, from, to);
		else
			v->fault_hint = false;
	}
}

void follow_reset(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);

	(void)udata;
	intercept_reset(v);
}

/*
 * INIT and SIPI, cases 30 and 31. QEMU tells neither; the processor's last
 * instruction before INIT was at the place that is known last.
 */
void follow_sipi(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct block *block = udata;
	struct pt_event ev = { .kind = PT_EVENT_INIT, .from = v->at.ip };
	struct pt_where at = { .cs_base = block->cs_base, .mode = X86_MODE_16 };

	if (!(v->shared->active & VCPU_TRACING))
		return;

	wake(v, PT_WAKE_INTR);
	pt_flow_event(&v->flow, &ev, NULL);
	ev = (struct pt_event) {
		.kind = PT_EVENT_SIPI,
		.vector = block->cs_base >> 12,
		.vector_known = true,
	};
	v->shared->pending = 0;
	v->at = at;
	v->at_known = true;
	pt_flow_event(&v->flow, &ev, &at);
	check_active(v);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks and discontinuities.
 *
 * What QEMU 11.1 does, whatever its documentation says:
 * - One translation serves the same physical page at several virtual addresses
 *   (CF_PCREL). RIP read at the start of a block tells which; the difference to
 *   the address at translation relocates all that was noted then.
 * - The INTERRUPT discontinuity fires at each real delivery, of faults too, with
 *   the exact source and the handler's address, after the registers changed.
 *   The EXCEPTION one fires when an exception is raised, with an address that
 *   may be stale: no more than a hint that the next delivery is a fault.
 *   SYSCALL, SYSRET and IRET fire none.
 * - Privilege level and code size are constant within a block.
 */
#include "translate.h"
#include "intercept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Addresses are canonical: bit 47 stands for those above, which carry flags. */
#define LOG_BRANCH	PT_BIT(63)
#define LOG_ADDRESS	PT_MASK(47, 0)

#define ARENA_CHUNK	65536

struct chunk {
	struct chunk *next;
	size_t used;
	_Alignas(16) uint8_t data[ARENA_CHUNK];
};

static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *arena;
static bool with_pclog;

/* Memory that lives until QEMU drops all translations. vCPUs translate at once. */
static void *arena_alloc(size_t size)
{
	void *p;

	size = (size + 15) & ~(size_t)15;
	pthread_mutex_lock(&arena_lock);
	if (!arena || arena->used + size > ARENA_CHUNK) {
		struct chunk *chunk = malloc(sizeof(*chunk));

		if (!chunk)
			abort();
		chunk->next = arena;
		chunk->used = 0;
		arena = chunk;
	}
	p = arena->data + arena->used;
	arena->used += size;
	pthread_mutex_unlock(&arena_lock);
	return p;
}

/* Called with all vCPUs stopped between blocks. */
void translate_flush(void *udata)
{
	unsigned int i;

	(void)udata;
	for (i = 0; i < VCPU_MAX; i++) {
		struct vcpu *v = vcpu_if_used(i);
		struct block *block;

		if (!v || !v->shared->pending)
			continue;
		block = (void *)v->shared->pending;
		if (block != &v->pending)
			v->pending = *block;
		v->shared->pending = (uint64_t)&v->pending;
	}

	while (arena) {
		struct chunk *next = arena->next;

		free(arena);
		arena = next;
	}
}

/* The instruction that ended the last block, at its real address. */
static bool take_pending(struct vcpu *v, struct pt_branch *branch)
{
	const struct block *block = (const void *)v->shared->pending;

	if (!block)
		return false;

	v->shared->pending = 0;
	*branch = block->branch;
	branch->ip += v->trace_delta;
	branch->next += v->trace_delta;
	branch->target += v->trace_delta;
	return true;
}

static void take_cr3(struct vcpu *v, const struct pt_where *at)
{
	if (!v->shared->cr3_written)
		return;
	v->shared->cr3_written = 0;
	pt_flow_cr3(&v->flow, reg_read(REG_CR3), at);
}

static void check_active(struct vcpu *v)
{
	if (!pt_flow_active(&v->flow))
		v->shared->active &= ~VCPU_TRACING;
}

/* Each block begins with this while the vCPU is active. */
static void block_begin(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct block *block = udata;
	struct pt_branch branch;
	bool branched;

	if (v->shared->active & VCPU_CPUID)
		intercept_cpuid_done(v);
	if (!(v->shared->active & VCPU_TRACING))
		return;

	branched = take_pending(v, &branch);
	v->at = (struct pt_where) {
		.ip = reg_read(REG_RIP),
		.cpl = block->cpl,
		.mode = block->mode,
	};
	v->trace_delta = v->at.ip - block->start;
	v->fault_hint = false;

	take_cr3(v, &v->at);
	pt_flow_step(&v->flow, branched ? &branch : NULL, &v->at);
	check_active(v);
}

/* Blocks with intercepted instructions begin with this, always. */
static void hooked_block_begin(unsigned int index, void *udata)
{
	const struct block *block = udata;

	vcpu_get(index)->hook_delta = reg_read(REG_RIP) - block->start;
}

static void after_cpuid(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);

	(void)udata;
	if (v->shared->active & VCPU_CPUID)
		intercept_cpuid_done(v);
}

static void log_insn(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const uint64_t arg = (uint64_t)udata;
	uint64_t ip = (uint64_t)((int64_t)(arg << 16) >> 16) + v->trace_delta;

	pclog_insn(v->pclog, ip, arg & LOG_BRANCH);
}

/*
 * The privilege level of the interrupted code, from the frame that the delivery
 * pushed: RIP and CS, above an error code for some exceptions.
 */
static uint8_t interrupted_cpl(uint64_t from)
{
	uint64_t frame[3];

	if (virt_read(reg_read(REG_RSP), frame, sizeof(frame))) {
		if (frame[0] == from)
			return frame[1] & 3;
		if (frame[1] == from)
			return frame[2] & 3;
	}
	return from >> 63 ? 0 : 3;
}

static void delivered(struct vcpu *v, uint64_t from, uint64_t to)
{
	const uint64_t cs = reg_read(REG_CS);
	const bool fault = v->fault_hint;
	const struct pt_event ev = {
		.kind = fault ? PT_EVENT_FAULT : PT_EVENT_INTR,
		.from = from,
	};
	struct pt_where source = v->at;
	struct pt_branch branch;
	bool branched;

	v->fault_hint = false;
	branched = take_pending(v, &branch);

	/* Was that branch itself the source, or did it lead to the source? */
	if (branched && branch.ip == from &&
	    (fault || branch.class == X86_SOFT_INT))
		branched = false;

	source.ip = from;
	if (branched && x86_is_far(branch.class))
		source.cpl = interrupted_cpl(from);
	if (v->pclog)
		pclog_event(v->pclog, from, fault);

	take_cr3(v, &source);
	pt_flow_arrive(&v->flow, branched ? &branch : NULL, &source);

	v->at = (struct pt_where) {
		.ip = to,
		.cpl = cs & 3,
		.mode = code_mode(cs),
	};
	pt_flow_event(&v->flow, &ev, &v->at);
	check_active(v);
}

void translate_discontinuity(unsigned int index, enum qemu_plugin_discon_type type,
			     uint64_t from, uint64_t to, void *udata)
{
	struct vcpu *v = vcpu_get(index);

	(void)udata;
	vcpu_log(v, 3, "discontinuity %d, %lx to %lx", type, from, to);

	if (type == QEMU_PLUGIN_DISCON_EXCEPTION) {
		v->fault_hint = true;
	} else if (type == QEMU_PLUGIN_DISCON_INTERRUPT) {
		intercept_delivered(v);
		if (v->shared->active & VCPU_TRACING)
			delivered(v, from, to);
		else
			v->fault_hint = false;
	}
}

static void hook_insn(struct qemu_plugin_tb *tb, size_t i, const struct block *block,
		      enum x86_class class, uint64_t ip, uint64_t next)
{
	struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
	const qemu_plugin_vcpu_udata_cb_t cb = intercept_cb(class, block->cpl);
	struct hook *hook;

	if (!cb)
		return;

	hook = arena_alloc(sizeof(*hook));
	*hook = (struct hook) {
		.ip = ip,
		.next = next,
		.cpl = block->cpl,
		.class = class,
	};
	qemu_plugin_register_vcpu_tb_exec_cb(tb, hooked_block_begin,
					     QEMU_PLUGIN_CB_R_REGS, (void *)block);
	qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_RW_REGS_PC, hook);

	if (class == X86_CPUID && i + 1 < qemu_plugin_tb_n_insns(tb))
		qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i + 1),
						       after_cpuid,
						       QEMU_PLUGIN_CB_RW_REGS, NULL);
}

static void watch_insn(struct qemu_plugin_tb *tb, size_t i, struct block *block)
{
	struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
	const uint64_t ip = qemu_plugin_insn_vaddr(insn);
	const uint64_t next = ip + qemu_plugin_insn_size(insn);
	struct x86_insn x;
	uint8_t bytes[16];
	size_t len;

	len = qemu_plugin_insn_data(insn, bytes, sizeof(bytes));
	x86_classify(bytes, len, ip, block->mode, &x);

	/* The order of callbacks is the order of registration. */
	if (with_pclog) {
		const uint64_t arg = (ip & LOG_ADDRESS) |
				     (x86_is_branch(x.class) ? LOG_BRANCH : 0);

		qemu_plugin_register_vcpu_insn_exec_cond_cb(insn, log_insn,
							    QEMU_PLUGIN_CB_NO_REGS,
							    QEMU_PLUGIN_COND_NE,
							    VCPU_ENTRY(active), 0,
							    (void *)arg);
	}

	hook_insn(tb, i, block, x.class, ip, next);

	if (x.class == X86_MOV_CR3)
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn,
			QEMU_PLUGIN_INLINE_STORE_U64, VCPU_ENTRY(cr3_written), 1);

	/* A branch ends the block; each of them is the last instruction. */
	if (x86_is_branch(x.class) || x.class == X86_HALT) {
		block->branch = (struct pt_branch) {
			.ip = ip,
			.next = next,
			.target = x.target,
			.class = x.class,
		};
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn,
			QEMU_PLUGIN_INLINE_STORE_U64, VCPU_ENTRY(pending),
			(uint64_t)block);
	}
}

void translate_block(struct qemu_plugin_tb *tb, void *udata)
{
	const size_t n = qemu_plugin_tb_n_insns(tb);
	const uint64_t cs = reg_read(REG_CS);
	struct block *block = arena_alloc(sizeof(*block));
	size_t i;

	(void)udata;
	memset(block, 0, sizeof(*block));
	block->start = qemu_plugin_tb_vaddr(tb);
	block->cpl = cs & 3;
	block->mode = code_mode(cs);

	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, block_begin, QEMU_PLUGIN_CB_RW_REGS,
						  QEMU_PLUGIN_COND_NE,
						  VCPU_ENTRY(active), 0, block);
	for (i = 0; i < n; i++)
		watch_insn(tb, i, block);
}

void translate_setup(bool pclog)
{
	with_pclog = pclog;
}

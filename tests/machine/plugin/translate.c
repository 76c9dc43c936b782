// SPDX-License-Identifier: GPL-2.0
/*
 * Registration of callbacks at translation. The order of registration is the
 * order of the calls.
 */
#include "translate.h"
#include "follow.h"
#include "intercept.h"
#include "watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Addresses are canonical: bit 47 stands for those above, which carry flags. */
#define LOG_BRANCH	PT_BIT(63)
#define LOG_ADDRESS	PT_MASK(47, 0)

#define PAGE_OFFSET	PT_MASK(11, 0)
#define RESET_VECTOR	0xfffffff0ULL

#define ARENA_CHUNK	65536
#define CACHE_LINE	64

struct chunk {
	struct chunk *next;
	size_t used;
	_Alignas(CACHE_LINE) uint8_t data[ARENA_CHUNK];
};

/* Watched code looks at one for each block that it runs. */
_Static_assert(sizeof(struct block) <= CACHE_LINE, "one cache line");

static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *arena;
static bool with_pclog;

/* Memory that lives until QEMU drops all translations. vCPUs translate at once. */
static void *arena_alloc(size_t size)
{
	void *p;

	size = (size + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
	pthread_mutex_lock(&arena_lock);
	if (!arena || arena->used + size > ARENA_CHUNK) {
		struct chunk *chunk = aligned_alloc(CACHE_LINE, sizeof(*chunk));

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

static void log_insn(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const uint64_t arg = (uint64_t)udata;
	uint64_t ip = (uint64_t)((int64_t)(arg << 16) >> 16) + v->trace_delta;

	pclog_insn(v->pclog, ip, arg & LOG_BRANCH);
}

/* Blocks with intercepted instructions begin with this. */
static void hooked_block(unsigned int index, void *udata)
{
	const struct block *block = udata;

	vcpu_get(index)->hook_delta = reg_read(REG_RIP) - block->start;
}

/* One instruction, and its place in the block. */
struct place {
	struct qemu_plugin_tb *tb;
	struct qemu_plugin_insn *insn;
	struct qemu_plugin_insn *after;		/* the next of the block, or NULL */
	struct block *block;
	uint64_t ip;
	uint64_t next;
};

static struct hook *new_hook(const struct place *p, enum x86_class class)
{
	struct hook *hook = arena_alloc(sizeof(*hook));

	*hook = (struct hook) {
		.ip = p->ip,
		.next = p->next,
		.block = p->block,
		.class = class,
		.is_last = !p->after,
	};
	return hook;
}

/* Intercepted instructions are so in plain code, too. */
static void hook_insn(const struct place *p, enum x86_class class)
{
	const struct intercept way = intercept_way(class, p->block->cpl);

	if (way.before && !(way.only_if_last && p->after)) {
		qemu_plugin_register_vcpu_tb_exec_cb(p->tb, hooked_block,
						     QEMU_PLUGIN_CB_R_REGS, p->block);
		qemu_plugin_register_vcpu_insn_exec_cb(p->insn, way.before,
						       QEMU_PLUGIN_CB_RW_REGS_PC,
						       new_hook(p, class));
	}
	if (way.after && p->after)
		qemu_plugin_register_vcpu_insn_exec_cb(p->after, way.after,
						       QEMU_PLUGIN_CB_RW_REGS, NULL);
}

static void when_active(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_udata_cb_t cb,
			enum qemu_plugin_cb_flags flags, void *udata)
{
	qemu_plugin_register_vcpu_insn_exec_cond_cb(insn, cb, flags, QEMU_PLUGIN_COND_NE,
						    VCPU_ENTRY(active), 0, udata);
}

static void watch_insn(const struct place *p, const struct x86_insn *x)
{
	struct block *block = p->block;

	switch (x->class) {
	case X86_HALT:
		if (block->cpl == 0)
			when_active(p->insn, follow_halt, QEMU_PLUGIN_CB_R_REGS,
				    new_hook(p, x->class));
		break;
	case X86_MWAIT:
		if (block->cpl == 0)
			when_active(p->insn, follow_mwait, QEMU_PLUGIN_CB_R_REGS,
				    new_hook(p, x->class));
		break;
	case X86_SET_IF:
		if (p->after) {
			struct hook *hook = new_hook(p, x->class);

			hook->ip = p->next;
			when_active(p->after, follow_if, QEMU_PLUGIN_CB_R_REGS, hook);
		}
		break;
	case X86_MOV_CR3:
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(p->insn,
			QEMU_PLUGIN_INLINE_STORE_U64, VCPU_ENTRY(cr3_written), 1);
		break;
	default:
		break;
	}

	/* A branch ends the block; each of them is the last instruction. */
	if (!x86_is_branch(x->class))
		return;
	block->branch = (struct pt_branch) {
		.ip = p->ip,
		.next = p->next,
		.target = x->target,
		.class = x->class,
	};
	block->distinct = x->class == X86_COND ?
		((x->target ^ p->next) & PAGE_OFFSET) != 0 :
		x->class == X86_JMP || x->class == X86_CALL;
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(p->insn,
		QEMU_PLUGIN_INLINE_STORE_U64, VCPU_ENTRY(pending), (uint64_t)block);
}

/*
 * A repeated string instruction is one, however often QEMU begins it anew; that of
 * an event is seen there.
 */
static void count_rep(unsigned int index, void *udata)
{
	struct vcpu_inline *shared = vcpu_get(index)->shared;
	const uint64_t begun = (uint64_t)udata;
	struct vcpu *v = vcpu_get(index);

	if (shared->begun == begun && shared->insns[0] + shared->insns[1] == v->rep_insns)
		return;
	shared->begun = begun;
	shared->insns[!!(begun & VCPU_BEGUN_USER)]++;
	v->rep_insns = shared->insns[0] + shared->insns[1];
}

static void count_insn(const struct place *p, const struct x86_insn *x)
{
	const bool user = p->block->cpl != 0;
	const uint64_t begun = (p->ip & VCPU_BEGUN_OFFSET) | VCPU_BEGUN |
			       (user ? VCPU_BEGUN_USER : 0) |
			       (x->rep_string ? VCPU_BEGUN_REP : 0) |
			       (x->class == X86_SOFT_INT ? VCPU_BEGUN_SOFT_INT : 0);

	if (x->rep_string) {
		qemu_plugin_register_vcpu_insn_exec_cb(p->insn, count_rep,
						       QEMU_PLUGIN_CB_NO_REGS,
						       (void *)begun);
		return;
	}
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(p->insn,
		QEMU_PLUGIN_INLINE_ADD_U64, VCPU_ENTRY(insns[user]), 1);
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(p->insn,
		QEMU_PLUGIN_INLINE_STORE_U64, VCPU_ENTRY(begun), begun);
}

static void translate_insn(const struct place *p)
{
	struct x86_insn x;
	uint8_t bytes[16];
	size_t len;

	len = qemu_plugin_insn_data(p->insn, bytes, sizeof(bytes));
	x86_classify(bytes, len, p->ip, p->block->mode, &x);

	if (watch_on && with_pclog) {
		const uint64_t arg = (p->ip & LOG_ADDRESS) |
				     (x86_is_branch(x.class) ? LOG_BRANCH : 0);

		when_active(p->insn, log_insn, QEMU_PLUGIN_CB_NO_REGS, (void *)arg);
	}
	hook_insn(p, x.class);
	if (count_is_on())
		count_insn(p, &x);
	if (watch_on)
		watch_insn(p, &x);
}

/* Where a processor begins: QEMU tells of neither RESET nor SIPI. */
static void watch_first(struct qemu_plugin_tb *tb, struct block *block)
{
	if (block->mode != X86_MODE_16 || block->cpl)
		return;
	if (block->start == RESET_VECTOR)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, follow_reset,
						     QEMU_PLUGIN_CB_R_REGS, block);
	else if (block->start == block->cs_base && !(block->start & PAGE_OFFSET))
		qemu_plugin_register_vcpu_tb_exec_cb(tb, follow_sipi,
						     QEMU_PLUGIN_CB_R_REGS, block);
}

void translate_block(struct qemu_plugin_tb *tb, void *udata)
{
	const size_t n = qemu_plugin_tb_n_insns(tb);
	const uint64_t cs = reg_read(REG_CS);
	struct block *block = arena_alloc(sizeof(*block));
	struct qemu_plugin_insn *insn, *after;
	size_t i;

	(void)udata;
	memset(block, 0, sizeof(*block));
	block->start = qemu_plugin_tb_vaddr(tb);
	block->cs_base = code_base(cs);
	block->mode = code_mode(cs);
	block->cpl = block->mode == X86_MODE_16 ? 0 : cs & 3;

	watch_first(tb, block);
	if (watch_on)
		qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, follow_block,
							  QEMU_PLUGIN_CB_RW_REGS,
							  QEMU_PLUGIN_COND_NE,
							  VCPU_ENTRY(active), 0, block);
	after = qemu_plugin_tb_get_insn(tb, 0);
	for (i = 0; i < n; i++) {
		struct place p = {
			.tb = tb,
			.block = block,
		};

		insn = after;
		after = i + 1 < n ? qemu_plugin_tb_get_insn(tb, i + 1) : NULL;
		p.insn = insn;
		p.after = after;
		p.ip = qemu_plugin_insn_vaddr(insn);
		p.next = p.ip + qemu_plugin_insn_size(insn);
		translate_insn(&p);
	}
}

void translate_setup(bool pclog)
{
	with_pclog = pclog;
}

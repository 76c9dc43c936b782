// SPDX-License-Identifier: GPL-2.0
/*
 * The events of one thread's trace, made one step behind the decoder.
 */
#include "user/decode/builder.h"

/*
 * Estimated times may run a little ahead of the moment the trace was taken; what
 * is further ahead comes from damage and is no time at all.
 */
#define TSC_SLACK	(1ULL << 24)

static void flush(struct mt_builder *b)
{
	unsigned int count = b->count;

	b->count = 0;
	if (count && b->err >= 0)
		b->err = b->fn(b->ctx, b->events, count);
}

/* A new event for the caller to fill in further. */
static struct mt_flow *emit(struct mt_builder *b, enum mt_flow_kind kind)
{
	struct mt_flow *event;

	if (b->count == MT_BUILDER_BATCH)
		flush(b);
	event = &b->events[b->count++];
	*event = (struct mt_flow) {
		.kind = kind,
		.tsc = b->tsc,
		.offset = b->offset,
		.insns = b->insns > UINT32_MAX ? UINT32_MAX : (uint32_t)b->insns,
	};
	b->insns = 0;
	return event;
}

void mt_builder_time(struct mt_builder *b, uint64_t tsc)
{
	if (b->end_tsc && tsc > b->end_tsc) {
		if (tsc - b->end_tsc > TSC_SLACK)
			return;
		tsc = b->end_tsc;
	}
	if (tsc > b->tsc)
		b->tsc = tsc;
}

void mt_builder_branch_time(struct mt_builder *b)
{
	if (b->waiting)
		b->branch_tsc = b->tsc;
}

void mt_builder_offset(struct mt_builder *b, uint64_t offset)
{
	b->offset = offset;
}

static enum mt_flow_kind kind_of(const struct mt_insn *insn)
{
	switch (insn->kind) {
	case MT_INSN_CALL:
		/* "call +0" reads the program counter; nothing ever returns from it */
		return insn->direct && !insn->displacement ? MT_FLOW_JUMP : MT_FLOW_CALL;
	case MT_INSN_RETURN:
		return MT_FLOW_RETURN;
	case MT_INSN_FAR_CALL:
		return MT_FLOW_FAR_CALL;
	case MT_INSN_FAR_RETURN:
		return MT_FLOW_FAR_RETURN;
	}
	return MT_FLOW_JUMP;
}

/* The waiting branch went to @to. */
static void resolve(struct mt_builder *b, uint64_t to)
{
	uint64_t insns = b->insns, tsc = b->tsc, offset = b->offset;
	uint64_t next = b->branch_ip + b->branch.size;
	struct mt_flow *event;

	if (!b->waiting)
		return;
	b->waiting = false;
	if (b->branch.kind == MT_INSN_COND && to == next)
		return;				/* not taken */
	b->insns = b->branch_insns;
	b->tsc = b->branch_tsc;
	b->offset = b->branch_offset;
	event = emit(b, kind_of(&b->branch));
	event->from = b->branch_ip;
	event->to = to;
	if (event->kind == MT_FLOW_CALL || event->kind == MT_FLOW_FAR_CALL)
		event->next = next;
	if (event->kind == MT_FLOW_CALL)
		b->stats->calls++;
	b->insns = insns - b->branch_insns;
	b->tsc = tsc;
	b->offset = offset;
}

/* Nothing tells where the waiting branch went, unless it says so itself. */
static void settle(struct mt_builder *b)
{
	uint64_t to = b->branch_ip + b->branch.size + (int64_t)b->branch.displacement;

	if (b->waiting && b->branch.direct && b->branch.kind != MT_INSN_COND) {
		resolve(b, to);
		b->ip = to;
	}
	b->waiting = false;
}

void mt_builder_at(struct mt_builder *b, uint64_t ip)
{
	if (!b->open) {
		b->open = true;
		b->waiting = false;
		b->insns = 0;
		b->stats->segments++;
		emit(b, MT_FLOW_START)->to = ip;
	}
	resolve(b, ip);
	b->ip = ip;
}

void mt_builder_block(struct mt_builder *b, unsigned int insns, uint64_t ip,
		      const struct mt_insn *last)
{
	b->insns += insns;
	b->stats->insns += insns;
	b->ip = ip;
	if (last->kind == MT_INSN_OTHER)
		return;
	b->waiting = true;
	b->branch = *last;
	b->branch_ip = ip;
	b->branch_tsc = b->tsc;
	b->branch_offset = b->offset;
	b->branch_insns = b->insns;
}

void mt_builder_enabled(struct mt_builder *b, uint64_t ip)
{
	struct mt_flow *event;

	if (b->open) {
		b->waiting = false;
		event = emit(b, MT_FLOW_ENABLE);
		event->to = ip;
		if (b->resume && b->resume == ip)
			event->flags |= MT_FLOW_F_RESUMED;
	}
	mt_builder_at(b, ip);
}

void mt_builder_disabled(struct mt_builder *b, uint64_t to)
{
	static const uint16_t flags[] = {
		[MT_INSN_CALL] = MT_FLOW_F_CALL,
		[MT_INSN_RETURN] = MT_FLOW_F_RETURN,
		[MT_INSN_FAR_CALL] = MT_FLOW_F_SYSCALL,
		[MT_INSN_FAR_JUMP] = 0,
	};
	struct mt_flow *event;

	b->resume = 0;
	if (!b->open)
		return;
	event = emit(b, MT_FLOW_DISABLE);
	event->from = b->ip;
	event->to = to;
	if (b->waiting) {
		event->flags = flags[b->branch.kind];
		if (event->flags & (MT_FLOW_F_CALL | MT_FLOW_F_SYSCALL)) {
			b->resume = b->branch_ip + b->branch.size;
			event->next = b->resume;
		}
	}
	b->waiting = false;
}

void mt_builder_async_disabled(struct mt_builder *b, uint64_t at, uint64_t to)
{
	struct mt_flow *event;

	mt_builder_at(b, at);
	event = emit(b, MT_FLOW_DISABLE);
	event->flags = MT_FLOW_F_ASYNC;
	event->from = at;
	event->to = to;
	b->resume = at;
}

void mt_builder_async_branch(struct mt_builder *b, uint64_t from, uint64_t to, bool abort)
{
	struct mt_flow *event;

	mt_builder_at(b, from);
	event = emit(b, abort ? MT_FLOW_JUMP : MT_FLOW_ASYNC);
	event->from = from;
	event->to = to;
	b->ip = to;
}

void mt_builder_gap(struct mt_builder *b, int error)
{
	struct mt_flow *event;

	if (error) {
		b->stats->errors++;
		b->stats->errors_by_code[error < MT_DECODE_ERRORS ? error :
					 MT_DECODE_ERRORS - 1]++;
	} else {
		b->stats->overflows++;
	}
	if (!b->open)
		return;
	settle(b);
	event = emit(b, MT_FLOW_GAP);
	event->from = b->ip;
	event->error = error;
	event->flags = error ? MT_FLOW_F_ERROR : MT_FLOW_F_OVERFLOW;
	b->open = false;
}

int mt_builder_end(struct mt_builder *b)
{
	if (b->open) {
		settle(b);
		emit(b, MT_FLOW_END)->from = b->ip;
		b->open = false;
	}
	flush(b);
	return b->err < 0 ? b->err : 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of the call stack; stack.h lists them.
 */
#include <errno.h>
#include <stdlib.h>

#include "user/base/log.h"
#include "user/timeline/frames.h"
#include "user/timeline/names.h"
#include "user/timeline/stack.h"

#define INSN_MAX	15	/* bytes of the longest instruction */
#define TRAITS_CACHED	1024	/* a power of two */

struct traits_slot {
	const struct mt_function *fn;
	unsigned int traits;
};

struct mt_stack {
	struct mt_frames frames;
	bool in_segment;
	bool in_gap;
	uint64_t gap_slice;
	struct traits_slot traits[TRAITS_CACHED];
};

/* Frames that are not code. */
static const struct mt_function untraced_fn = { .name = "[untraced]", .object = "" };
static const struct mt_function syscall_fn = { .name = "[syscall]", .object = "" };
static const struct mt_function lost_fn = { .name = "[lost trace]", .object = "" };

static const struct mt_function *find(const struct mt_stack *s, uint64_t address)
{
	return s->frames.resolver->find(s->frames.resolver->ctx, address);
}

static unsigned int traits_of(struct mt_stack *s, const struct mt_function *fn)
{
	struct traits_slot *slot = &s->traits[((uintptr_t)fn >> 4) % TRAITS_CACHED];

	if (slot->fn != fn) {
		slot->fn = fn;
		slot->traits = mt_function_traits(fn);
	}
	return slot->traits;
}

/* Would going to @address begin @fn, rather than go on in it? */
static bool is_entry(struct mt_stack *s, const struct mt_function *fn, uint64_t address)
{
	return address == fn->start && !(traits_of(s, fn) & MT_TRAIT_COLD);
}

/* ---- segments ---- */

static int end_segment(struct mt_stack *s)
{
	s->in_segment = false;
	s->frames.outer = 0;
	return mt_frames_lose(&s->frames);
}

static int end_gap(struct mt_stack *s)
{
	if (!s->in_gap)
		return 0;
	s->in_gap = false;
	return mt_held_close(s->frames.held, s->gap_slice);
}

static int begin_segment(struct mt_stack *s, uint64_t address)
{
	const struct mt_function *fn = find(s, address);
	struct mt_frame frame = { .fn = fn, .at = fn, .entry = address, .kind = MT_FRAME_OLD };
	int err;

	err = end_gap(s);
	if (!err)
		err = end_segment(s);
	if (!err)
		err = mt_held_segment(s->frames.held);
	if (err)
		return err;
	s->in_segment = true;
	return mt_frames_push(&s->frames, &frame, 0, MT_SLICE_F_NO_CALL);
}

static int begin_gap(struct mt_stack *s, uint64_t address)
{
	const struct mt_slice slice = {
		.fn = &lost_fn,
		.address = address,
		.flags = MT_SLICE_F_GAP,
	};
	int err;

	if (s->in_gap)
		return 0;
	err = end_segment(s);
	if (!err)
		err = mt_held_segment(s->frames.held);
	if (err)
		return err;
	s->in_gap = true;
	return mt_held_open(s->frames.held, &slice, &s->gap_slice);
}

/* ---- going from one place to another ---- */

/* Go on in frame @index at @address, ending all that it called. */
static int unwind_to(struct mt_stack *s, size_t index, uint64_t address)
{
	struct mt_frame *frame;
	int err;

	err = mt_frames_pop_to(&s->frames, index + 1);
	if (err)
		return err;
	frame = mt_frames_top(&s->frames);
	if (!mt_function_holds(frame->at, address))
		frame->at = find(s, address);
	return 0;
}

/* All that is known is left for a caller that is not. */
static int leave_all(struct mt_stack *s, uint64_t address)
{
	int err;

	err = mt_frames_pop_to(&s->frames, 0);
	if (err)
		return err;
	return mt_frames_push_outer(&s->frames, address);
}

/* Is the top frame one that @traits leave for a caller? */
static bool is_leaving(struct mt_stack *s, unsigned int traits)
{
	size_t count = s->frames.list.count;
	size_t i;

	/* The last step is often in a helper without a name. */
	for (i = 1; i <= 2 && i <= count; i++)
		if (traits_of(s, s->frames.list.data[count - i].fn) & traits)
			return true;
	return false;
}

/*
 * longjmp goes to @address in @fn, behind a call of setjmp that was not seen: so the
 * frame that made it was there before all that was seen to begin.
 */
static int jump_to_old(struct mt_stack *s, const struct mt_function *fn, uint64_t address)
{
	const struct mt_frame *first = &s->frames.list.data[0];

	if (first->kind & MT_FRAME_OLD && mt_function_same(first->fn, fn))
		return unwind_to(s, 0, address);
	return leave_all(s, address);
}

/*
 * The top frame goes to @address, in another function and by no call: unwind to
 * where that is, or take it as a tail call.
 */
static int go_elsewhere(struct mt_stack *s, const struct mt_function *fn, uint64_t address,
			uint64_t call_site, uint32_t kind)
{
	struct mt_frames *f = &s->frames;
	size_t index;
	int err;

	index = mt_frames_by_jump(f, address);
	if (index != MT_FRAMES_NONE)
		return unwind_to(s, index, address);
	if (!is_entry(s, fn, address)) {
		if (is_leaving(s, MT_TRAIT_LONGJMP))
			return jump_to_old(s, fn, address);
		index = mt_frames_by_function(f, f->list.count - 1, fn);
		if (index != MT_FRAMES_NONE)
			return unwind_to(s, index, address);
		if (is_leaving(s, MT_TRAIT_UNWINDER))
			return leave_all(s, address);
	}
	err = mt_frames_replace(f, address, call_site, MT_SLICE_F_TAIL_CALL, kind);
	if (err)
		return err;
	if (traits_of(s, fn) & MT_TRAIT_SETJMP && f->list.count > 1)
		err = mt_frames_mark_jump(f, f->list.count - 2, mt_frames_top(f)->ret);
	return err;
}

/*
 * Bring the top frame to @address, where the next event says that the thread is:
 * it may have run on from one function into another.
 */
static int arrive(struct mt_stack *s, uint64_t address)
{
	struct mt_frame *top = mt_frames_top(&s->frames);
	const struct mt_function *fn;
	int err = 0;

	if (top && top->kind & MT_FRAME_OUT) {
		/* Nothing said that it came back. */
		err = mt_frames_pop(&s->frames);
		top = mt_frames_top(&s->frames);
	}
	if (err)
		return err;
	if (!top)
		return mt_frames_push_outer(&s->frames, address);
	top->stop = 0;
	if (mt_function_holds(top->at, address))
		return 0;
	fn = find(s, address);
	if (mt_function_same(top->fn, fn)) {
		top->at = fn;
		return 0;
	}
	return mt_frames_replace(&s->frames, fn->start, 0, MT_SLICE_F_TAIL_CALL, 0);
}

static int on_call(struct mt_stack *s, const struct mt_flow *ev)
{
	struct mt_frame frame = { .entry = ev->to, .ret = ev->next };
	const struct mt_function *caller;
	int err;

	err = arrive(s, ev->from);
	if (err || ev->to == ev->next)
		return err;
	caller = mt_frames_top(&s->frames)->at;
	frame.fn = find(s, ev->to);
	frame.at = frame.fn;
	if (frame.fn == caller && ev->to != caller->start)
		frame.kind = MT_FRAME_INNER;
	if (traits_of(s, frame.fn) & MT_TRAIT_SETJMP) {
		err = mt_frames_mark_jump(&s->frames, s->frames.list.count - 1, ev->next);
		if (err)
			return err;
	}
	return mt_frames_push(&s->frames, &frame, ev->from, 0);
}

static int on_jump(struct mt_stack *s, const struct mt_flow *ev)
{
	const struct mt_function *fn;
	struct mt_frame *top;
	int err;

	err = arrive(s, ev->from);
	if (err)
		return err;
	top = mt_frames_top(&s->frames);
	if (mt_function_holds(top->at, ev->to))
		return 0;
	fn = find(s, ev->to);
	if (mt_function_same(top->fn, fn) || traits_of(s, fn) & MT_TRAIT_RETURN_THUNK) {
		top->at = fn;
		return 0;
	}
	return go_elsewhere(s, fn, ev->to, ev->from, 0);
}

/* The top frame returns to @ev->to, which is not its return address. */
static int return_elsewhere(struct mt_stack *s, const struct mt_flow *ev)
{
	struct mt_frames *f = &s->frames;
	struct mt_frame *top = mt_frames_top(f);
	const struct mt_function *fn;
	size_t index;
	int err;

	index = mt_frames_by_return(f, f->list.count - 1, ev->to);
	if (index != MT_FRAMES_NONE && index > 0)
		return unwind_to(s, index - 1, ev->to);
	fn = find(s, ev->to);
	/* No call is the last instruction before a function: that is push and ret. */
	if (f->list.count == 1 && !is_entry(s, fn, ev->to))
		return leave_all(s, ev->to);
	if (top->kind & MT_FRAME_HANDLER && !top->ret)
		return mt_frames_replace(f, ev->to, 0, MT_SLICE_F_ASYNC,
					 MT_FRAME_RESTORER | MT_FRAME_RETURNED);
	if (top->kind & MT_FRAME_INNER && f->list.count > 1) {
		/* A call made only to push an address: a retpoline. */
		err = mt_frames_pop(f);
		if (err)
			return err;
		top = mt_frames_top(f);
	}
	if (mt_function_same(top->fn, fn)) {
		top->at = fn;
		return 0;
	}
	return go_elsewhere(s, fn, ev->to, ev->from, MT_FRAME_RETURNED);
}

static int on_return(struct mt_stack *s, const struct mt_flow *ev)
{
	struct mt_frame *top;
	int err;

	err = arrive(s, ev->from);
	if (err)
		return err;
	top = mt_frames_top(&s->frames);
	if (top->ret != ev->to)
		return return_elsewhere(s, ev);
	return mt_frames_pop(&s->frames);
}

/* ---- out of the scope and back ---- */

/* It may have no symbol, but is "mov $15, %eax; syscall", in one of two encodings. */
static bool is_restorer(struct mt_stack *s, const struct mt_frame *frame, uint64_t syscall_at)
{
	uint64_t offset = syscall_at - frame->entry;

	return traits_of(s, frame->fn) & MT_TRAIT_RESTORER ||
	       (frame->kind & MT_FRAME_RETURNED && (offset == 5 || offset == 7));
}

/* The top frame is left at @from, to be gone on with. */
static void interrupt(struct mt_stack *s, uint64_t from, uint32_t kind)
{
	struct mt_frame *top = mt_frames_top(&s->frames);

	top->stop = from;
	if (kind & MT_FRAME_SYSCALL && is_restorer(s, top, from))
		top->kind |= MT_FRAME_RESTORER;
}

static int push_out(struct mt_stack *s, uint64_t from, uint32_t kind)
{
	bool is_syscall = kind & MT_FRAME_SYSCALL;
	struct mt_frame frame = {
		.fn = is_syscall ? &syscall_fn : &untraced_fn,
		.entry = from,
		.kind = MT_FRAME_OUT | kind,
	};

	frame.at = frame.fn;
	return mt_frames_push(&s->frames, &frame, from,
			      is_syscall ? MT_SLICE_F_SYSCALL : MT_SLICE_F_UNTRACED);
}

static int on_disable(struct mt_stack *s, const struct mt_flow *ev, uint32_t kind)
{
	struct mt_frame *top = mt_frames_top(&s->frames);
	int err = 0;

	if (top && top->kind & MT_FRAME_OUT)
		return 0;
	if (ev->from)
		err = arrive(s, ev->from);
	if (err)
		return err;
	if (!mt_frames_top(&s->frames))
		return push_out(s, ev->from, kind);
	if (ev->kind == MT_FLOW_DISABLE && ev->flags & MT_FLOW_F_RETURN)
		err = mt_frames_pop(&s->frames);
	else
		interrupt(s, ev->from, kind);
	if (err)
		return err;
	return push_out(s, ev->from, kind);
}

/*
 * The thread comes into the scope at @ev->to, not where the top frame left it.
 * @kind tells how it had left; @handled: a signal's handler has just ended.
 */
static int enter_elsewhere(struct mt_stack *s, const struct mt_flow *ev, uint32_t kind,
			   bool handled)
{
	const bool asynchronous = kind & (MT_FRAME_SYSCALL | MT_FRAME_ASYNC);
	struct mt_frames *f = &s->frames;
	struct mt_frame *top = mt_frames_top(f);
	const struct mt_function *fn = find(s, ev->to);
	struct mt_frame frame = { .fn = fn, .at = fn, .entry = ev->to };
	size_t index;

	if (asynchronous) {
		index = mt_frames_by_stop(f, f->list.count, ev->to);
		if (index != MT_FRAMES_NONE)
			return unwind_to(s, index, ev->to);
		frame.kind = MT_FRAME_HANDLER;
	} else {
		index = mt_frames_by_return(f, f->list.count, ev->to);
		if (index != MT_FRAMES_NONE && index > 0)
			return unwind_to(s, index - 1, ev->to);
	}
	/* The second: after execve, and where the loader has no symbols. */
	if (kind & MT_FRAME_SYSCALL && !mt_function_same(top->fn, fn) &&
	    ((traits_of(s, fn) & MT_TRAIT_ENTRY_POINT && ev->to == fn->start) ||
	     (traits_of(s, top->fn) & MT_TRAIT_EXEC && !is_entry(s, fn, ev->to))))
		return begin_segment(s, ev->to);
	if (is_entry(s, fn, ev->to))
		return mt_frames_push(f, &frame, 0, asynchronous ? MT_SLICE_F_ASYNC : 0);
	index = mt_frames_by_function(f, f->list.count, fn);
	if (index != MT_FRAMES_NONE)
		return unwind_to(s, index, ev->to);
	/* A handler whose start has no symbol; but sigreturn may go anywhere. */
	if (asynchronous && !handled)
		return mt_frames_push(f, &frame, 0, MT_SLICE_F_ASYNC);
	return mt_frames_replace(f, ev->to, 0, MT_SLICE_F_TAIL_CALL, 0);
}

static int enter(struct mt_stack *s, const struct mt_flow *ev, uint32_t kind)
{
	struct mt_frames *f = &s->frames;
	struct mt_frame *top = mt_frames_top(f);
	const struct mt_function *fn;
	struct mt_frame frame = { .entry = ev->to };
	bool handled = false;
	int err;

	if (top && (ev->flags & MT_FLOW_F_RESUMED || mt_frame_resumes(top, ev->to)))
		return unwind_to(s, f->list.count - 1, ev->to);
	if (top && top->kind & MT_FRAME_RESTORER && kind & MT_FRAME_SYSCALL) {
		err = mt_frames_pop(f);
		if (err)
			return err;
		handled = true;
		top = mt_frames_top(f);
		if (top && mt_frame_resumes(top, ev->to))
			return unwind_to(s, f->list.count - 1, ev->to);
	}
	if (top)
		return enter_elsewhere(s, ev, kind, handled);
	fn = find(s, ev->to);
	if (!is_entry(s, fn, ev->to) || handled)
		return mt_frames_push_outer(f, ev->to);
	frame.fn = fn;
	frame.at = fn;
	return mt_frames_push(f, &frame, 0, 0);
}

static int on_enable(struct mt_stack *s, const struct mt_flow *ev)
{
	struct mt_frame *top = mt_frames_top(&s->frames);
	uint32_t kind = 0;
	int err = 0;

	if (top && top->kind & MT_FRAME_OUT) {
		kind = top->kind;
		err = mt_frames_pop(&s->frames);
	}
	return err ? err : enter(s, ev, kind);
}

/* A syscall, interrupt or fault into code that is in the scope too. */
static int on_far_call(struct mt_stack *s, const struct mt_flow *ev, uint32_t kind)
{
	struct mt_frame frame = { .entry = ev->to, .kind = MT_FRAME_FAR | kind };
	int err;

	if (!ev->to)
		return on_disable(s, ev, kind);
	err = arrive(s, ev->from);
	if (err)
		return err;
	interrupt(s, ev->from, kind);
	frame.fn = find(s, ev->to);
	frame.at = frame.fn;
	return mt_frames_push(&s->frames, &frame, ev->from,
			      kind & MT_FRAME_ASYNC ? MT_SLICE_F_ASYNC : 0);
}

static int on_far_return(struct mt_stack *s, const struct mt_flow *ev)
{
	struct mt_frames *f = &s->frames;
	uint32_t kind = 0;
	size_t index;
	int err;

	err = arrive(s, ev->from);
	if (err)
		return err;
	index = mt_frames_by_kind(f, f->list.count, MT_FRAME_FAR);
	if (index != MT_FRAMES_NONE)
		kind = f->list.data[index].kind;
	err = mt_frames_pop_to(f, index != MT_FRAMES_NONE ? index : 0);
	if (err)
		return err;
	if (!ev->to)
		return push_out(s, ev->from, 0);
	if (!f->list.count)
		return mt_frames_push_outer(f, ev->to);
	return enter(s, ev, kind);
}

/* ---- events ---- */

int mt_stack_event(struct mt_stack *s, const struct mt_flow *ev)
{
	int err = 0;

	s->frames.credit += MT_FRAMES_CREDIT;
	if (ev->kind == MT_FLOW_START || (ev->kind == MT_FLOW_ENABLE && !s->in_segment))
		return begin_segment(s, ev->to);
	if (ev->kind == MT_FLOW_GAP)
		return begin_gap(s, ev->from);
	if (ev->kind == MT_FLOW_END)
		return 0;
	if (!s->in_segment)
		err = begin_segment(s, ev->from);
	if (err)
		return err;

	switch (ev->kind) {
	case MT_FLOW_CALL:
		return on_call(s, ev);
	case MT_FLOW_RETURN:
		return on_return(s, ev);
	case MT_FLOW_JUMP:
		return on_jump(s, ev);
	case MT_FLOW_FAR_CALL:
		return on_far_call(s, ev, MT_FRAME_SYSCALL);
	case MT_FLOW_ASYNC:
		return on_far_call(s, ev, MT_FRAME_ASYNC);
	case MT_FLOW_FAR_RETURN:
		return on_far_return(s, ev);
	case MT_FLOW_DISABLE:
		return on_disable(s, ev,
				  ev->flags & MT_FLOW_F_SYSCALL ? MT_FRAME_SYSCALL
				  : ev->flags & MT_FLOW_F_ASYNC ? MT_FRAME_ASYNC
								: 0);
	case MT_FLOW_ENABLE:
		return on_enable(s, ev);
	}
	mt_error("control flow of an unknown kind %u", ev->kind);
	return -EINVAL;
}

bool mt_stack_is_outside(const struct mt_stack *s)
{
	size_t count = s->frames.list.count;

	return s->in_gap || (count && s->frames.list.data[count - 1].kind & MT_FRAME_OUT);
}

bool mt_stack_outside(const struct mt_stack *s, const struct mt_flow *ev)
{
	return mt_stack_is_outside(s) &&
	       (ev->kind == MT_FLOW_ENABLE || ev->kind == MT_FLOW_START);
}

int mt_stack_trigger(struct mt_stack *s, uint64_t address, bool *stopped)
{
	struct mt_frames *f = &s->frames;
	struct mt_frame *top = mt_frames_top(f);

	*stopped = top && top->kind & MT_FRAME_OUT && top->entry - address <= INSN_MAX;
	if (*stopped) {
		mt_held_withdraw(f->held, top->slice);
		f->list.count--;
		top = mt_frames_top(f);
	}
	if (top && mt_function_holds(top->at, address))
		mt_held_add_flags(f->held, top->slice, MT_SLICE_F_TRIGGER);
	return *stopped ? end_segment(s) : 0;
}

int mt_stack_finish(struct mt_stack *s)
{
	int err;

	err = end_gap(s);
	return err ? err : end_segment(s);
}

int mt_stack_new(const struct mt_resolver *resolver, struct mt_held *held,
		 struct mt_stack **out)
{
	struct mt_stack *s = calloc(1, sizeof(*s));

	if (!s) {
		mt_error("out of memory");
		return -ENOMEM;
	}
	s->frames.resolver = resolver;
	s->frames.held = held;
	*out = s;
	return 0;
}

void mt_stack_free(struct mt_stack *s)
{
	if (!s)
		return;
	mt_array_free(&s->frames.list);
	mt_array_free(&s->frames.marks);
	free(s);
}

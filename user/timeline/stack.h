/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The call stack of one thread, as its control flow tells it. These are the
 * rules; what they make is kept by held.h.
 *
 * - A call pushes a frame with its return address. `call` of the very next
 *   instruction is no call.
 * - A return pops the frame if it goes to its return address. If not, the
 *   nearest caller with that return address is where it goes (longjmp), else the
 *   nearest caller that the target lies in (a landing pad), else it was used as
 *   a jump (push and ret, a retpoline, another stack).
 * - A return from the outermost frame finds a caller that was not seen being
 *   called: it encloses all of the segment.
 * - A jump to another function is a tail call: its slice follows at the same
 *   depth, with the same return address. A jump into the middle of a caller
 *   unwinds to it. Parts of one function (f.cold) are one.
 * - longjmp goes to the frame that was seen to call setjmp there, else to one that
 *   was there before the segment began: the outermost, if it is of that function,
 *   or a caller not seen.
 * - Leaving the scope pushes [syscall] or [untraced], coming back pops it. Where
 *   the thread comes back tells what happened: where it left (nothing did), where
 *   an interrupted frame left (a handler returned), the start of a function (a
 *   handler began, on top of what it interrupted), the entry of a program (exec:
 *   a new segment).
 * - Code that runs on into another function counts as a tail call too.
 *
 * A stack that was guessed wrong heals: whatever is executed is shown under its
 * own function, and return addresses bring back the depth.
 */
#ifndef MTRACE_TIMELINE_STACK_H
#define MTRACE_TIMELINE_STACK_H

#include "user/decode/flow.h"
#include "user/image/function.h"
#include "user/timeline/held.h"

struct mt_stack;

/* @resolver and @held are used until mt_stack_free(). Returns 0 or -ENOMEM. */
int mt_stack_new(const struct mt_resolver *resolver, struct mt_held *held,
		 struct mt_stack **out);
void mt_stack_free(struct mt_stack *stack);

/* Take one event; its time has been set by mt_held_step(). 0 or -errno. */
int mt_stack_event(struct mt_stack *stack, const struct mt_flow *event);

/*
 * Does the time from the last event to this one pass out of the scope? Asked
 * before mt_stack_event().
 */
bool mt_stack_outside(const struct mt_stack *stack, const struct mt_flow *event);

/* Is the thread out of the scope, or the trace lost, after the last event? */
bool mt_stack_is_outside(const struct mt_stack *stack);

/*
 * The trace ends with a hit of the trigger at @address: mark the call. *@stopped:
 * the last event was the tracer's own stop of the thread; all ends there, and no
 * event may follow. 0 or -errno.
 */
int mt_stack_trigger(struct mt_stack *stack, uint64_t address, bool *stopped);

/* No event follows: end what is open. 0 or -errno. */
int mt_stack_finish(struct mt_stack *stack);

#endif /* MTRACE_TIMELINE_STACK_H */

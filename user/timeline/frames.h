/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frames of one call stack: pushing, popping and searching them, each
 * together with its slice. Knows what a frame is, not when there is one: the
 * rules are stack.c's.
 */
#ifndef MTRACE_TIMELINE_FRAMES_H
#define MTRACE_TIMELINE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/array.h"
#include "user/image/function.h"
#include "user/timeline/held.h"

/* mt_frame.kind */
#define MT_FRAME_OUT		(1U << 0)	/* not code: the thread is out of the scope */
#define MT_FRAME_SYSCALL	(1U << 1)	/* OUT or FAR: by a syscall */
#define MT_FRAME_ASYNC		(1U << 2)	/* OUT or FAR: by an interrupt or fault */
#define MT_FRAME_FAR		(1U << 3)	/* entered by a far transfer */
#define MT_FRAME_HANDLER	(1U << 4)	/* a signal's handler */
#define MT_FRAME_RESTORER	(1U << 5)	/* what a handler returns to: sigreturn */
#define MT_FRAME_RETURNED	(1U << 6)	/* entered by a return */
#define MT_FRAME_INNER		(1U << 7)	/* called within one function, not at its start */
#define MT_FRAME_OLD		(1U << 8)	/* begun before the segment, or outside its sight */

struct mt_frame {
	const struct mt_function *fn;	/* whose slice it is */
	const struct mt_function *at;	/* where it executes: fn or a part of it */
	uint64_t entry;			/* first address seen of it */
	uint64_t ret;			/* where it returns to, 0: not known */
	uint64_t stop;			/* where it left the scope or was interrupted, 0: it runs */
	uint64_t slice;
	uint32_t kind;
};

/* A place that longjmp may go to: behind a call of setjmp. */
struct mt_jump_mark {
	uint64_t address;
	uint64_t slice;			/* of the frame that called setjmp */
	size_t index;			/* of that frame */
};

struct mt_frames {
	struct mt_held *held;
	const struct mt_resolver *resolver;
	MT_ARRAY(struct mt_frame) list;	/* outermost first */
	MT_ARRAY(struct mt_jump_mark) marks;
	uint32_t outer;			/* callers found in this segment */
	uint64_t credit;		/* frames that may be searched */
};

/* Events pay for searches, so that deep stacks cost no more than time linear in them. */
#define MT_FRAMES_CREDIT	32

#define MT_FRAMES_NONE		SIZE_MAX

static inline struct mt_frame *mt_frames_top(struct mt_frames *f)
{
	return f->list.count ? &f->list.data[f->list.count - 1] : NULL;
}

static inline bool mt_function_holds(const struct mt_function *fn, uint64_t address)
{
	return address >= fn->start && address < fn->end;
}

/*
 * Push a frame and begin its slice. All functions here that return int return 0
 * or -errno.
 */
int mt_frames_push(struct mt_frames *f, const struct mt_frame *frame, uint64_t call_site,
		   uint32_t flags);

/* The stack is empty: push the caller of all that the segment has seen. */
int mt_frames_push_outer(struct mt_frames *f, uint64_t address);

int mt_frames_pop(struct mt_frames *f);
int mt_frames_pop_to(struct mt_frames *f, size_t count);	/* until @count are left */

/* End all frames, their returns not seen. */
int mt_frames_lose(struct mt_frames *f);

/*
 * End the top frame and begin another in its place, that returns where it would
 * have.
 */
int mt_frames_replace(struct mt_frames *f, uint64_t address, uint64_t call_site,
		      uint32_t flags, uint32_t kind);

/* Note that frame @index calls setjmp, which returns to @address. */
int mt_frames_mark_jump(struct mt_frames *f, size_t index, uint64_t address);

/*
 * Search from frame @below - 1 outwards; the index, or MT_FRAMES_NONE: by the
 * return address, by the function that @address lies in, by the place of an
 * interruption, by a call of setjmp, by kind.
 */
size_t mt_frames_by_return(struct mt_frames *f, size_t below, uint64_t address);
size_t mt_frames_by_function(struct mt_frames *f, size_t below, const struct mt_function *fn);
size_t mt_frames_by_stop(struct mt_frames *f, size_t below, uint64_t address);
size_t mt_frames_by_jump(struct mt_frames *f, uint64_t address);
size_t mt_frames_by_kind(struct mt_frames *f, size_t below, uint32_t kind);

/*
 * Is @address where a thread that left the scope in @frame goes on? It may do so
 * at the instruction (a fault, a syscall restarted) or behind it.
 */
bool mt_frame_resumes(const struct mt_frame *frame, uint64_t address);

#endif /* MTRACE_TIMELINE_FRAMES_H */

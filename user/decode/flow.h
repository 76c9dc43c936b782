/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control flow: what the decoder found in one thread's trace, as a stream of
 * events in order of execution. This is all that the timeline knows of PT.
 *
 * Between two events the program ran straight on, in the function where the
 * event before left it (not-taken branches and taken branches inside one
 * straight block are no events).
 */
#ifndef MTRACE_DECODE_FLOW_H
#define MTRACE_DECODE_FLOW_H

#include <stdint.h>

enum mt_flow_kind {
	MT_FLOW_START,		/* first known instruction is at .to: a segment begins */
	MT_FLOW_CALL,		/* near call at .from to .to; .next is the return address */
	MT_FLOW_RETURN,		/* near return at .from to .to */
	MT_FLOW_JUMP,		/* taken jump, direct or indirect, .from to .to */
	MT_FLOW_FAR_CALL,	/* syscall, int n ... at .from; .to in scope, or 0 */
	MT_FLOW_FAR_RETURN,	/* sysret, iret ... at .from to .to */
	MT_FLOW_ASYNC,		/* interrupt or exception before .from ran; .to in scope */
	MT_FLOW_DISABLE,	/* tracing stopped at .from (see the flags), on the way to
				 * .to where that is known (a filter), else 0 */
	MT_FLOW_ENABLE,		/* tracing began again at .to */
	MT_FLOW_GAP,		/* from here to the next START nothing is known */
	MT_FLOW_END,		/* the trace's last known instruction is at .from */
};

/* mt_flow.flags */
#define MT_FLOW_F_SYSCALL	(1U << 0)	/* DISABLE: by a syscall instruction */
#define MT_FLOW_F_ASYNC		(1U << 1)	/* DISABLE: by an interrupt, fault or trap */
#define MT_FLOW_F_RESUMED	(1U << 2)	/* ENABLE: just where it was disabled */
#define MT_FLOW_F_OVERFLOW	(1U << 3)	/* GAP: the CPU lost packets */
#define MT_FLOW_F_ERROR		(1U << 4)	/* GAP: the decoder could not go on; .error */
#define MT_FLOW_F_CALL		(1U << 5)	/* DISABLE: by a near call out of the scope */
#define MT_FLOW_F_RETURN	(1U << 6)	/* DISABLE: by a near return out of the scope */

struct mt_flow {
	uint64_t tsc;		/* when, never going backwards in a stream; 0 before
				 * the first timing packet */
	uint64_t from;
	uint64_t to;
	uint64_t next;		/* CALL, FAR_CALL and a DISABLE by one of these: address
				 * behind the instruction */
	uint64_t offset;	/* of the nearest packet in the thread's bytes */
	uint32_t insns;		/* executed since the event before, this one's included */
	uint16_t kind;		/* enum mt_flow_kind */
	uint16_t flags;		/* MT_FLOW_F_* */
	int error;		/* GAP with F_ERROR: libipt's pt_error_code, > 0 */
};

/* Takes the next @count events; a negative return stops the decoder with it. */
typedef int (*mt_flow_fn)(void *ctx, const struct mt_flow *events, unsigned int count);

#endif /* MTRACE_DECODE_FLOW_H */

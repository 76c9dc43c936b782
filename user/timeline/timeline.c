// SPDX-License-Identifier: GPL-2.0
/*
 * Composes the timeline's parts; the rules are in stack.c, the times in held.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "user/base/log.h"
#include "user/timeline/held.h"
#include "user/timeline/stack.h"
#include "user/timeline/timeline.h"

struct mt_timeline {
	struct mt_timeline_config config;
	struct mt_held held;
	struct mt_stack *stack;
	uint64_t events;
	bool undecoded;
	bool at_end;		/* MT_FLOW_END has been seen, or the tracee was stopped */
};

int mt_timeline_new(const struct mt_timeline_config *config, struct mt_timeline **out)
{
	struct mt_timeline *tl;
	int err;

	if (!config->clock.tsc_khz) {
		mt_error("the recording does not tell the frequency of its TSC");
		return -EINVAL;
	}
	tl = calloc(1, sizeof(*tl));
	if (!tl) {
		mt_error("out of memory");
		return -ENOMEM;
	}
	tl->config = *config;
	mt_held_init(&tl->held, config->begin_tsc, config->end_tsc);
	err = mt_stack_new(config->resolver, &tl->held, &tl->stack);
	if (err) {
		mt_timeline_free(tl);
		return err;
	}
	*out = tl;
	return 0;
}

/*
 * The trace ends. Asked before the time of the end is looked at: where the tracer
 * has stopped the program, packets go on for a while. *@stopped: it has.
 */
static int end_events(struct mt_timeline *tl, bool *stopped)
{
	tl->at_end = true;
	*stopped = false;
	if (!tl->config.trigger_address)
		return 0;
	return mt_stack_trigger(tl->stack, tl->config.trigger_address, stopped);
}

static int take_event(struct mt_timeline *tl, const struct mt_flow *event)
{
	bool stopped = false;
	int err = 0;

	if (event->kind == MT_FLOW_END)
		err = end_events(tl, &stopped);
	if (err || stopped)
		return err;
	mt_held_step(&tl->held, event->tsc, event->insns, mt_stack_outside(tl->stack, event));
	return mt_stack_event(tl->stack, event);
}

int mt_timeline_flow(void *timeline, const struct mt_flow *events, unsigned int count)
{
	struct mt_timeline *tl = timeline;
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < count && !tl->at_end; i++, tl->events++)
		err = take_event(tl, &events[i]);
	return err;
}

void mt_timeline_undecoded(struct mt_timeline *tl)
{
	tl->undecoded = true;
}

int mt_timeline_finish(struct mt_timeline *tl, const struct mt_sink *sink)
{
	bool stopped;
	int err = 0;

	if (!tl->at_end)
		err = end_events(tl, &stopped);
	/* A thread that sleeps is out of the scope until it is looked at. */
	if (!err && tl->config.end_tsc && mt_stack_is_outside(tl->stack))
		mt_held_step(&tl->held, tl->config.end_tsc, 0, true);
	if (!err)
		err = mt_stack_finish(tl->stack);
	if (err)
		return err;
	mt_held_finish(&tl->held);
	tl->config.track.state = MT_TRACK_SLICES;
	if (!tl->held.slices.count && !tl->held.outer.count)
		tl->config.track.state = tl->undecoded ? MT_TRACK_UNDECODED : MT_TRACK_IDLE;
	return mt_held_emit(&tl->held, &tl->config.clock, &tl->config.track, sink);
}

void mt_timeline_stats(const struct mt_timeline *tl, struct mt_timeline_stats *stats)
{
	stats->events = tl->events;
	stats->slices = tl->held.slices.count + tl->held.outer.count;
	stats->gaps = tl->held.gaps;
}

void mt_timeline_free(struct mt_timeline *tl)
{
	if (!tl)
		return;
	mt_stack_free(tl->stack);
	mt_held_free(&tl->held);
	free(tl);
}

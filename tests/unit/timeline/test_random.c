// SPDX-License-Identifier: GPL-2.0
/*
 * Random programs: a tree of calls is made up, the control flow follows from it,
 * and any window of the flow must give back the part of the tree that can be known
 * from it. Which part that is, is worked out here from the tree, not by a stack.
 */
#include <limits.h>

#include "tests/unit/timeline/flow_text.h"
#include "user/base/array.h"

#define FUNCTIONS	20
#define EVENTS		1500
#define DEPTH_MAX	40
#define NEVER		UINT_MAX

/* One call, syscall or interruption of the made-up program. */
struct node {
	int parent;
	unsigned int depth;
	unsigned int fn;
	unsigned int begin, end;	/* numbers of events */
	uint32_t flags;
	uint64_t ret;
};

struct program {
	struct mt_flow events[EVENTS];
	int current[EVENTS];		/* node after each event */
	struct node nodes[EVENTS + 1];
	unsigned int nr_nodes;
};

struct got {
	MT_ARRAY(struct mt_slice) slices;
};

static uint64_t seed;

static unsigned int random_below(unsigned int n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)((seed >> 33) % n);
}

static uint64_t start_of(unsigned int fn)
{
	return (fn + 1) * FLOW_FN_SIZE;
}

static uint64_t somewhere_in(unsigned int fn)
{
	return start_of(fn) + 0x100 + random_below(0x1000) * 8;
}

static int add_node(struct program *p, int parent, unsigned int fn, unsigned int event,
		    uint32_t flags)
{
	struct node *n = &p->nodes[p->nr_nodes];

	n->parent = parent;
	n->depth = parent >= 0 ? p->nodes[parent].depth + 1 : 0;
	n->fn = fn;
	n->begin = event;
	n->end = NEVER;
	n->flags = flags;
	n->ret = 0;
	return (int)p->nr_nodes++;
}

static int do_call(struct program *p, struct mt_flow *ev, unsigned int i, int now)
{
	int callee = add_node(p, now, random_below(FUNCTIONS), i, 0);

	ev->kind = MT_FLOW_CALL;
	ev->from = somewhere_in(p->nodes[now].fn);
	ev->next = ev->from + 5;
	ev->to = start_of(p->nodes[callee].fn);
	p->nodes[callee].ret = ev->next;
	return callee;
}

static int do_return(struct program *p, struct mt_flow *ev, unsigned int i, int now)
{
	ev->kind = MT_FLOW_RETURN;
	ev->from = somewhere_in(p->nodes[now].fn);
	ev->to = p->nodes[now].ret;
	p->nodes[now].end = i;
	return p->nodes[now].parent;
}

static int do_jump(struct program *p, struct mt_flow *ev, unsigned int i, int now)
{
	unsigned int fn = random_below(FUNCTIONS);
	int other;

	ev->kind = MT_FLOW_JUMP;
	ev->from = somewhere_in(p->nodes[now].fn);
	if (fn == p->nodes[now].fn) {
		ev->to = somewhere_in(fn);
		return now;
	}
	ev->to = start_of(fn);
	p->nodes[now].end = i;
	other = add_node(p, p->nodes[now].parent, fn, i, MT_SLICE_F_TAIL_CALL);
	p->nodes[other].ret = p->nodes[now].ret;
	return other;
}

static int do_leave(struct program *p, struct mt_flow *ev, unsigned int i, int now)
{
	bool is_syscall = random_below(2);

	ev->kind = MT_FLOW_DISABLE;
	ev->flags = is_syscall ? MT_FLOW_F_SYSCALL : MT_FLOW_F_ASYNC;
	ev->from = somewhere_in(p->nodes[now].fn);
	return add_node(p, now, FUNCTIONS, i,
			is_syscall ? MT_SLICE_F_SYSCALL : MT_SLICE_F_UNTRACED);
}

static int do_come_back(struct program *p, struct mt_flow *ev, unsigned int i, int now)
{
	ev->kind = MT_FLOW_ENABLE;
	ev->to = p->events[i - 1].from;
	if (p->nodes[now].flags & MT_SLICE_F_SYSCALL)
		ev->to += 2;
	p->nodes[now].end = i;
	return p->nodes[now].parent;
}

static bool is_out(const struct program *p, int node)
{
	return p->nodes[node].fn == FUNCTIONS;
}

/* A base that never ends, so that there is always a caller. */
static void make_program(struct program *p)
{
	unsigned int i, dice;
	uint64_t tsc = 1000;
	int now;

	memset(p, 0, sizeof(*p));
	now = add_node(p, -1, 0, 0, 0);
	p->events[0] = (struct mt_flow){ .kind = MT_FLOW_START, .to = start_of(0) };
	for (i = 0; i < EVENTS; i++) {
		struct mt_flow *ev = &p->events[i];

		/* Half of the events have the time of the one before. */
		if (random_below(2))
			tsc += 1 + random_below(5000);
		ev->tsc = tsc;
		ev->insns = random_below(20);
		dice = random_below(100);
		if (i && is_out(p, now))
			now = do_come_back(p, ev, i, now);
		else if (i && dice < 10)
			now = do_leave(p, ev, i, now);
		else if (i && dice < 25)
			now = do_jump(p, ev, i, now);
		else if (i && (dice < 60 || p->nodes[now].parent < 0) &&
			 p->nodes[now].depth < DEPTH_MAX)
			now = do_call(p, ev, i, now);
		else if (i)
			now = do_return(p, ev, i, now);
		p->current[i] = now;
	}
}

/* Nodes are in order of their begin; those that this window shows. */
struct view {
	bool visible[EVENTS + 1];
	unsigned int order[EVENTS + 1];
	unsigned int count;
};

/* Events @first..@last, the first of them as the start. */
static void look_at(const struct program *p, unsigned int first, unsigned int last,
		    struct view *view)
{
	unsigned int i, n;
	int node;

	memset(view, 0, sizeof(*view));
	/* What was executed in, and what begins. */
	for (i = first; i <= last; i++)
		view->visible[p->current[i]] = true;
	/* A caller that begins in the window is seen even if it is not returned to. */
	for (n = 0; n < p->nr_nodes; n++)
		if (p->nodes[n].begin > first && p->nodes[n].begin <= last)
			view->visible[n] = true;
	/* The frames between an open caller that is returned to and the first one. */
	for (node = p->current[first]; node >= 0; node = p->nodes[node].parent)
		for (i = first; i <= last && !view->visible[node]; i++)
			if (p->nodes[p->current[i]].depth <= p->nodes[node].depth)
				view->visible[node] = true;
	for (n = 0; n < p->nr_nodes; n++)
		if (view->visible[n])
			view->order[view->count++] = n;
}

static unsigned int visible_depth(const struct program *p, const struct view *view, int node)
{
	unsigned int depth = 0;

	for (node = p->nodes[node].parent; node >= 0; node = p->nodes[node].parent)
		depth += view->visible[node];
	return depth;
}

static int keep_begin(void *ctx, const struct mt_track *track)
{
	(void)ctx;
	(void)track;
	return 0;
}

static int keep_slice(void *ctx, const struct mt_slice *slice)
{
	struct got *got = ctx;

	return mt_array_push(&got->slices, *slice);
}

static int keep_end(void *ctx)
{
	(void)ctx;
	return 0;
}

/* The TSC of the first event after @i with a later one; of the last event if none. */
static uint64_t next_time(const struct program *p, unsigned int i, unsigned int last)
{
	uint64_t tsc = p->events[i].tsc;

	while (i < last && p->events[i].tsc == tsc)
		i++;
	return p->events[i].tsc;
}

/* What the last group of events, that nothing follows, may be spread over. */
#define LAST_GROUP_MAX	5000

static void check_time(const struct program *p, unsigned int event, unsigned int last,
		       uint64_t ns)
{
	uint64_t until = next_time(p, event, last);

	assert_true(ns >= p->events[event].tsc);
	if (until > p->events[event].tsc)
		assert_true(ns <= until);
	else
		assert_true(ns <= until + LAST_GROUP_MAX);
}

static void check_slice(const struct program *p, const struct view *view, unsigned int n,
			unsigned int first, unsigned int last, const struct mt_slice *slice)
{
	const struct node *node = &p->nodes[n];
	uint32_t flags = node->flags;
	bool begun = node->begin > first;
	bool ended = node->end <= last;

	if (!begun)
		flags = MT_SLICE_F_NO_CALL;
	if (!ended)
		flags |= MT_SLICE_F_NO_RETURN;
	if (node->fn < FUNCTIONS)
		assert_int_equal(slice->fn->start, start_of(node->fn));
	else
		assert_string_equal(slice->fn->name, flags & MT_SLICE_F_SYSCALL ? "[syscall]"
										: "[untraced]");
	assert_int_equal(slice->depth, visible_depth(p, view, (int)n));
	assert_int_equal(slice->flags, flags);
	check_time(p, begun ? node->begin : first, last, slice->begin_ns);
	check_time(p, ended ? node->end : last, last, slice->end_ns);
	assert_true(slice->begin_ns <= slice->end_ns);
}

/* A caller before what it calls, and each within the one around it. */
static void check_nesting(const struct got *got)
{
	uint64_t ends[DEPTH_MAX + 3];
	uint64_t begin = 0;
	unsigned int depth = 0;
	size_t i;

	for (i = 0; i < got->slices.count; i++) {
		const struct mt_slice *slice = &got->slices.data[i];

		assert_true(slice->depth <= depth);
		assert_true(slice->begin_ns >= begin);
		if (slice->depth)
			assert_true(slice->end_ns <= ends[slice->depth - 1]);
		begin = slice->begin_ns;
		ends[slice->depth] = slice->end_ns;
		depth = slice->depth + 1;
	}
}

static void check_window(const struct program *p, unsigned int first, unsigned int last)
{
	struct flow_functions *fns = calloc(1, sizeof(*fns));
	struct view *view = malloc(sizeof(*view));
	const struct mt_resolver resolver = { flow_find, fns };
	const struct mt_timeline_config config = {
		.resolver = &resolver,
		.clock = { .tsc_khz = 1000000 },
	};
	struct got got = { 0 };
	const struct mt_sink sink = { keep_begin, keep_slice, keep_end, &got };
	struct mt_flow start = { .kind = MT_FLOW_START };
	struct mt_timeline *tl;
	char name[16];
	unsigned int i;

	for (i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		flow_function(fns, name);
	}
	look_at(p, first, last, view);
	start.tsc = p->events[first].tsc;
	start.to = p->events[first].to;
	assert_int_equal(mt_timeline_new(&config, &tl), 0);
	assert_int_equal(mt_timeline_flow(tl, &start, 1), 0);
	assert_int_equal(mt_timeline_flow(tl, p->events + first + 1, last - first), 0);
	assert_int_equal(mt_timeline_finish(tl, &sink), 0);

	assert_int_equal(got.slices.count, view->count);
	for (i = 0; i < view->count; i++)
		check_slice(p, view, view->order[i], first, last, &got.slices.data[i]);
	check_nesting(&got);

	mt_timeline_free(tl);
	mt_array_free(&got.slices);
	free(view);
	free(fns);
}

static void test_whole_programs(void **state)
{
	struct program *p = malloc(sizeof(*p));
	unsigned int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		seed = i;
		make_program(p);
		check_window(p, 0, EVENTS - 1);
	}
	free(p);
}

static void test_windows(void **state)
{
	struct program *p = malloc(sizeof(*p));
	unsigned int i, k, first, last;

	(void)state;
	for (i = 0; i < 40; i++) {
		seed = 1000 + i;
		make_program(p);
		for (k = 0; k < 40; k++) {
			first = random_below(EVENTS - 1);
			while (is_out(p, p->current[first]))
				first--;
			last = first + random_below(EVENTS - first);
			check_window(p, first, last);
		}
	}
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_programs),
		cmocka_unit_test(test_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

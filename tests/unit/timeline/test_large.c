// SPDX-License-Identifier: GPL-2.0
/*
 * Large traces: the spool beyond memory's measure, stacks millions deep, and work
 * that must not grow with the square of the depth.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/timeline/flow_text.h"
#include "user/timeline/spool.h"

struct big {
	uint64_t number;
	char rest[40];
};

static void test_spool(void **state)
{
	const uint64_t count = 1000000;
	struct mt_spool spool;
	void *at;
	uint64_t i;

	(void)state;
	mt_spool_init(&spool, sizeof(struct big));
	for (i = 0; i < count; i++) {
		assert_int_equal(mt_spool_push(&spool, &at), 0);
		memset(at, (int)i, sizeof(struct big));
		((struct big *)at)->number = i;
	}
	assert_int_equal(spool.count, count);
	for (i = 0; i < count; i++) {
		const struct big *b = mt_spool_at(&spool, i);

		assert_int_equal(b->number, i);
		assert_int_equal((unsigned char)b->rest[39], i & 0xff);
	}
	mt_spool_free(&spool);
	assert_int_equal(spool.count, 0);
	/* as good as new */
	assert_int_equal(mt_spool_push(&spool, &at), 0);
	mt_spool_free(&spool);
}

static unsigned int entries_of(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Push until @spool has a file, or an error, which is returned. */
static int push_to_file(struct mt_spool *spool)
{
	void *at;
	int err = 0;

	while (!err && spool->fd < 0 && spool->count < 1 << 24)
		err = mt_spool_push(spool, &at);
	return err;
}

/* The file has no name that could be left behind, and is where TMPDIR says. */
static void test_spool_folder(void **state)
{
	char folder[] = "/tmp/mtrace-spool-XXXXXX";
	struct mt_spool spool;

	(void)state;
	assert_non_null(mkdtemp(folder));
	setenv("TMPDIR", folder, 1);
	mt_spool_init(&spool, 8);
	assert_int_equal(push_to_file(&spool), 0);
	assert_true(spool.fd >= 0);
	assert_int_equal(entries_of(folder), 2);
	mt_spool_free(&spool);
	rmdir(folder);
	assert_int_equal(push_to_file(&spool), -ENOENT);
	mt_spool_free(&spool);
	unsetenv("TMPDIR");
}

/* A file for each of the many small tracks of a recording would be slow. */
static void test_spool_small(void **state)
{
	struct mt_spool spool;
	void *at;
	unsigned int i;

	(void)state;
	setenv("TMPDIR", "/nonexistent", 1);
	mt_spool_init(&spool, sizeof(struct big));
	for (i = 0; i < 20000; i++) {
		assert_int_equal(mt_spool_push(&spool, &at), 0);
		((struct big *)at)->number = i;
	}
	assert_int_equal(spool.fd, -1);
	for (i = 0; i < 20000; i++)
		assert_int_equal(((struct big *)mt_spool_at(&spool, i))->number, i);
	mt_spool_free(&spool);
	unsetenv("TMPDIR");
}

/* No room: an error, not a signal when the page is touched. */
static void test_spool_is_full(void **state)
{
	struct rlimit old, limit;
	struct mt_spool spool;
	uint64_t pushed = 0;
	void *at;
	int err;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 4 << 20;
	setrlimit(RLIMIT_FSIZE, &limit);
	mt_spool_init(&spool, 64);
	while (!(err = mt_spool_push(&spool, &at))) {
		memset(at, 1, 64);
		pushed++;
	}
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(err, -EFBIG);
	assert_true(spool.fd >= 0);
	assert_true(pushed > 0 && pushed <= (4 << 20) / 64);
	assert_int_equal(spool.count, pushed);
	mt_spool_free(&spool);
}

/* ---- deep stacks ---- */

struct tally {
	uint64_t slices;
	uint32_t deepest;
	uint64_t no_call, no_return, tail_call;
};

static int tally_begin(void *ctx, const struct mt_track *track)
{
	(void)ctx;
	(void)track;
	return 0;
}

static int tally_slice(void *ctx, const struct mt_slice *slice)
{
	struct tally *tally = ctx;

	tally->slices++;
	if (slice->depth > tally->deepest)
		tally->deepest = slice->depth;
	tally->no_call += !!(slice->flags & MT_SLICE_F_NO_CALL);
	tally->no_return += !!(slice->flags & MT_SLICE_F_NO_RETURN);
	tally->tail_call += !!(slice->flags & MT_SLICE_F_TAIL_CALL);
	return 0;
}

static int tally_end(void *ctx)
{
	(void)ctx;
	return 0;
}

struct run {
	struct flow_functions fns;
	struct mt_resolver resolver;
	struct mt_timeline *tl;
	uint64_t tsc;
};

static void run_begin(struct run *run, const char *first)
{
	struct mt_timeline_config config = { .clock = { .tsc_khz = 1000000 } };

	memset(run, 0, sizeof(*run));
	run->resolver = (struct mt_resolver){ flow_find, &run->fns };
	config.resolver = &run->resolver;
	assert_int_equal(mt_timeline_new(&config, &run->tl), 0);
	run->tsc = 1;
	struct mt_flow start = {
		.kind = MT_FLOW_START,
		.tsc = run->tsc,
		.to = flow_place(&run->fns, first),
	};
	assert_int_equal(mt_timeline_flow(run->tl, &start, 1), 0);
}

static void run_event(struct run *run, unsigned int kind, uint64_t from, uint64_t to)
{
	struct mt_flow ev = {
		.kind = (uint16_t)kind,
		.tsc = ++run->tsc,
		.from = from,
		.to = to,
		.next = from + 5,
		.insns = 1,
	};

	assert_int_equal(mt_timeline_flow(run->tl, &ev, 1), 0);
}

static struct tally run_end(struct run *run)
{
	struct tally tally = { 0 };
	const struct mt_sink sink = { tally_begin, tally_slice, tally_end, &tally };

	assert_int_equal(mt_timeline_finish(run->tl, &sink), 0);
	mt_timeline_free(run->tl);
	return tally;
}

static void test_deep_recursion(void **state)
{
	const unsigned int depth = 2000000;
	struct run *run = malloc(sizeof(*run));
	struct tally tally;
	uint64_t f;
	unsigned int i;

	(void)state;
	run_begin(run, "main+10");
	f = flow_place(&run->fns, "f");
	run_event(run, MT_FLOW_CALL, flow_place(&run->fns, "main+20"), f);
	for (i = 1; i < depth; i++)
		run_event(run, MT_FLOW_CALL, f + 8, f);
	for (i = 1; i < depth; i++)
		run_event(run, MT_FLOW_RETURN, f + 20, f + 13);
	run_event(run, MT_FLOW_RETURN, f + 20, flow_place(&run->fns, "main+25"));
	tally = run_end(run);
	assert_int_equal(tally.slices, depth + 1);
	assert_int_equal(tally.deepest, depth);
	assert_int_equal(tally.no_return, 1);
	free(run);
}

/* The trace began at the bottom of the recursion, and saw only returns. */
static void test_deep_recursion_not_seen(void **state)
{
	const unsigned int depth = 1000000;
	struct run *run = malloc(sizeof(*run));
	struct tally tally;
	uint64_t f;
	unsigned int i;

	(void)state;
	run_begin(run, "f+20");
	f = flow_place(&run->fns, "f");
	for (i = 0; i < depth; i++)
		run_event(run, MT_FLOW_RETURN, f + 20, f + 13);
	tally = run_end(run);
	assert_int_equal(tally.slices, depth + 1);
	assert_int_equal(tally.no_call, depth + 1);
	assert_int_equal(tally.deepest, depth);
	free(run);
}

/* longjmp from the bottom to the top. */
static void test_deep_longjmp(void **state)
{
	const unsigned int depth = 1000000;
	struct run *run = malloc(sizeof(*run));
	struct tally tally;
	uint64_t f;
	unsigned int i;

	(void)state;
	run_begin(run, "main+10");
	f = flow_place(&run->fns, "f");
	run_event(run, MT_FLOW_CALL, flow_place(&run->fns, "main+20"), f);
	for (i = 1; i < depth; i++)
		run_event(run, MT_FLOW_CALL, f + 8, f);
	run_event(run, MT_FLOW_JUMP, f + 40, flow_place(&run->fns, "main+99"));
	run_event(run, MT_FLOW_CALL, flow_place(&run->fns, "main+a0"), f);
	tally = run_end(run);
	assert_int_equal(tally.slices, depth + 2);
	assert_int_equal(tally.deepest, depth);
	assert_int_equal(tally.no_return, 2);
	assert_int_equal(tally.tail_call, 0);
	free(run);
}

/*
 * A million jumps to where no caller is, on a stack a million deep: a search of
 * all of it each time would take hours.
 */
static void test_searches_are_bounded(void **state)
{
	const unsigned int depth = 1000000;
	struct run *run = malloc(sizeof(*run));
	struct tally tally;
	uint64_t f, places[2];
	unsigned int i;

	(void)state;
	run_begin(run, "main+10");
	f = flow_place(&run->fns, "f");
	places[0] = flow_place(&run->fns, "a+50");
	places[1] = flow_place(&run->fns, "b+50");
	run_event(run, MT_FLOW_CALL, flow_place(&run->fns, "main+20"), f);
	for (i = 1; i < depth; i++)
		run_event(run, MT_FLOW_CALL, f + 8, f);
	run_event(run, MT_FLOW_JUMP, f + 40, places[0]);
	for (i = 0; i < depth; i++)
		run_event(run, MT_FLOW_RETURN, places[i & 1], places[~i & 1]);
	tally = run_end(run);
	assert_int_equal(tally.slices, 2 * depth + 2);
	assert_int_equal(tally.tail_call, depth + 1);
	assert_int_equal(tally.deepest, depth);
	free(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spool),
		cmocka_unit_test(test_spool_folder),
		cmocka_unit_test(test_spool_small),
		cmocka_unit_test(test_spool_is_full),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_deep_recursion_not_seen),
		cmocka_unit_test(test_deep_longjmp),
		cmocka_unit_test(test_searches_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The judge of instructions: decodes raw traces with libipt's instruction
 * decoder and holds the program counters, one by one, against those that the
 * machine executed.
 *
 *	pt_insns [-j JOBS] [-x N] [-y N] LOGS PREFIX…
 *
 * LOGS is the plugin's pclog prefix; recording.h says what is at each PREFIX.
 * Prints "ok NAME" or "not ok NAME" for each trace, below it the counts or the
 * first difference with what came before it; last the count of all instructions.
 *
 * After an overflow (OVF) instructions are lost. What was decoded between two
 * overflows must be found, whole, in what was executed after the stretch before
 * it; so nothing is lost but around an OVF.
 *
 * A TraceStop must come by a branch into a range that stops the trace; where no
 * filter is on, the TIP.PGD before it says so.
 *
 * -x N		turn round a branch of the Nth TNT packet first: must be found
 * -y N		change the Nth executed program counter: must be found
 *
 * Exit status: 0 equal, 1 different, 2 the input is unusable.
 */
#include "executed.h"
#include "jobs.h"
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CONTEXT		8

static uint64_t change_executed = UINT64_MAX;
static uint64_t change_tnt = UINT64_MAX;

static uint64_t context[CONTEXT];
static uint64_t decoded_count;

static struct executed_pos here;
static uint64_t executed_count;

/* Since the last overflow, if there was one. */
static bool after_overflow;
static uint64_t *stretch;
static size_t n_stretch;
static uint64_t overflows, lost;

static const struct executed_choice *choice;
static uint64_t left_to, stops;

static bool next_executed(struct executed_pos *pos, uint64_t *ip)
{
	if (!executed_next(pos, ip))
		return false;
	if (pos == &here)
		*ip ^= executed_count++ == change_executed;
	return true;
}

static void show_context(void)
{
	uint64_t i = decoded_count < CONTEXT ? 0 : decoded_count - CONTEXT;

	for (; i < decoded_count; i++)
		printf("#\t%" PRIu64 ": %" PRIx64 "\n", i, context[i % CONTEXT]);
}

static void show_executed(struct executed_pos pos)
{
	uint64_t ip;
	int i;

	for (i = 0; i < CONTEXT && next_executed(&pos, &ip); i++)
		printf("#\texecuted next: %" PRIx64 "\n", ip);
}

/* Whether the stretch is what was executed from @pos on, and no more if @last. */
static bool stretch_is_at(struct executed_pos *pos, bool last)
{
	struct executed_pos end;
	uint64_t ip;
	size_t i;

	for (i = 0; i < n_stretch; i++) {
		if (!next_executed(pos, &ip) || ip != stretch[i])
			return false;
	}
	end = *pos;
	return !last || !next_executed(&end, &ip);
}

static bool find_stretch(bool last)
{
	struct executed_pos from = here, end;
	uint64_t skipped = 0, ip;

	for (;;) {
		end = from;
		if (stretch_is_at(&end, last))
			break;
		if (!next_executed(&from, &ip)) {
			show_context();
			printf("# the %zu instructions after overflow %" PRIu64
			       " were not executed like this\n", n_stretch, overflows);
			show_executed(here);
			return false;
		}
		skipped++;
	}
	here = end;
	lost += skipped;
	n_stretch = 0;
	return true;
}

static bool overflow(void)
{
	if (after_overflow && !find_stretch(false))
		return false;
	after_overflow = true;
	overflows++;
	return true;
}

static bool trace_stop(void)
{
	unsigned int i;

	stops++;
	if (choice->n_filter && choice->n_stop)
		return true;
	for (i = 0; i < choice->n_stop; i++) {
		if (left_to >= choice->stop[i].begin && left_to <= choice->stop[i].end)
			return true;
	}
	printf("# a TraceStop, but the trace was left for %" PRIx64 "\n", left_to);
	return false;
}

static bool follow_event(const struct pt_event *event)
{
	switch (event->type) {
	case ptev_overflow:
		return overflow();
	case ptev_stop:
		return trace_stop();
	case ptev_disabled:
		left_to = event->ip_suppressed ? 0 : event->variant.disabled.ip;
		return true;
	case ptev_async_disabled:
		left_to = event->ip_suppressed ? 0 : event->variant.async_disabled.ip;
		return true;
	default:
		return true;
	}
}

static bool compare(uint64_t ip)
{
	uint64_t executed;

	context[decoded_count++ % CONTEXT] = ip;
	if (after_overflow) {
		if (!(n_stretch & (n_stretch - 1)))
			stretch = realloc(stretch, (n_stretch ? 2 * n_stretch : 1) * 8);
		if (!stretch)
			unusable("no memory");
		stretch[n_stretch++] = ip;
		return true;
	}
	if (!next_executed(&here, &executed)) {
		show_context();
		printf("# ... but the machine executed no more\n");
		return false;
	}
	if (ip != executed) {
		show_context();
		printf("# ... but executed %" PRIx64 "\n", executed);
		show_executed(here);
		return false;
	}
	return true;
}

static bool at_end(void)
{
	uint64_t rest;

	if (after_overflow)
		return find_stretch(true);
	if (next_executed(&here, &rest)) {
		show_context();
		printf("# ... but the machine went on to %" PRIx64 "\n", rest);
		show_executed(here);
		return false;
	}
	return true;
}

static bool decode_error(struct pt_insn_decoder *decoder, int status)
{
	uint64_t offset = 0;

	pt_insn_get_offset(decoder, &offset);
	show_context();
	printf("# after instruction %" PRIu64 ", at offset %" PRIx64 ": %s\n", decoded_count,
	       offset, pt_errstr(pt_errcode(status)));
	show_executed(here);
	return false;
}

static bool decode(struct pt_insn_decoder *decoder)
{
	int status = pt_insn_sync_forward(decoder);

	/* Nothing was on, or a filter let nothing through. */
	if (status == -pte_eos)
		return at_end();
	if (status < 0)
		return decode_error(decoder, status);

	for (;;) {
		struct pt_insn insn;

		while (status & pts_event_pending) {
			struct pt_event event;

			status = pt_insn_event(decoder, &event, sizeof(event));
			if (status < 0)
				return decode_error(decoder, status);
			if (!follow_event(&event))
				return false;
		}
		if (status & pts_eos)
			return at_end();

		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (insn.iclass != ptic_error && !compare(insn.ip))
			return false;
		if (status == -pte_eos)
			return at_end();
		if (status < 0)
			return decode_error(decoder, status);
	}
}

/* The youngest branch of a TNT packet goes the other way. */
static void turn_branch(struct pt_config *config, uint64_t n)
{
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(config);
	struct pt_packet packet;
	uint64_t offset;

	pt_pkt_sync_forward(decoder);
	while (pt_pkt_next(decoder, &packet, sizeof(packet)) >= 0) {
		if (packet.type != ppt_tnt_8 || n--)
			continue;
		pt_pkt_get_offset(decoder, &offset);
		config->begin[offset - packet.size] ^= 2;
		pt_pkt_free_decoder(decoder);
		return;
	}
	unusable("there are not so many TNT packets");
}

static int judge(const char *prefix, uint64_t *instructions)
{
	struct pt_insn_decoder *decoder;
	struct pt_image *image;
	struct trace trace;
	bool same = true;

	trace_load(prefix, &trace);
	choice = &trace.executed;
	if (!executed_choose(choice)) {
		printf("# code of another CR3 was traced\n");
		return 1;
	}
	if (change_tnt != UINT64_MAX)
		turn_branch(&trace.config, change_tnt);

	if (trace.size) {
		image = trace_image(&trace);
		decoder = pt_insn_alloc_decoder(&trace.config);
		if (!decoder || pt_insn_set_image(decoder, image) < 0)
			unusable("libipt refuses");
		same = decode(decoder);
	} else {
		same = at_end();
	}
	printf("# %" PRIu64 " instructions, %zu windows, %zu bytes", decoded_count,
	       executed_windows(), trace.size);
	if (overflows)
		printf(", %" PRIu64 " overflows, %" PRIu64 " lost", overflows, lost);
	if (stops)
		printf(", %" PRIu64 " stops", stops);
	putchar('\n');
	*instructions = decoded_count;
	return !same;
}

static void load_logs(const char *prefix)
{
	unsigned int cpu;
	char path[4096];

	for (cpu = 0; cpu < EXECUTED_LOGS; cpu++) {
		const char *wrong;
		struct bytes log;

		snprintf(path, sizeof(path), "%s.%u", prefix, cpu);
		if (cpu && access(path, F_OK))
			break;
		log = map_file(path);
		wrong = executed_add_log(cpu, log.data, log.size);
		if (wrong)
			unusable("%s %s", path, wrong);
	}
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;
	int jobs = 1, opt, status;

	while ((opt = getopt(argc, argv, "j:x:y:")) != -1) {
		switch (opt) {
		case 'j':
			jobs = atoi(optarg);
			break;
		case 'x':
			change_tnt = strtoull(optarg, NULL, 0);
			break;
		case 'y':
			change_executed = strtoull(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	if (argc - optind < 2 || jobs < 1)
		unusable("usage: see the head of pt_insns.c");
	load_logs(argv[optind++]);
	status = jobs_run(argv + optind, argc - optind, jobs, judge, &sum);
	printf("# %" PRIu64 " instructions in all\n", sum);
	return status;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The judge of times: holds the time stamps that a program took itself (ticks.c)
 * against the timing packets around them.
 *
 *	pt_times [-x TICKS] PREFIX STAMPS
 *
 * PREFIX is a recording (recording.h), STAMPS the program's file. libipt's
 * instruction decoder says which instructions ran. Beside it the packets are
 * read, so that each branch is known with the packet that tells it. Then for
 * each RDTSC
 *
 * - a packet that tells a branch or event after it was sent after it, and so
 *   was each timing packet from there on: the first of them is an upper bound;
 * - a timing packet was sent before it if it stands before packets that were
 *   sent before a branch in front of it was taken: the last is a lower bound.
 *   TNT bits wait in the processor, and TIPs wait for TNT bits (36.4.2.3), and
 *   may be sent behind a later timing packet; so the packet that tells the branch
 *   itself does not count, but the one before it does. Where nothing can wait
 *   (behind PSB, TIP.PGD) it does, too.
 *
 * A TSC packet tells its moment. A CYC packet tells the moment of what it stands
 * before, for a TNT that of its first branch (36.3.6); without a threshold
 * nothing is lost in between. An MTC packet is sent at some moment from its tick
 * on to the next tick; if more follow at once, to the tick after the last.
 *
 * The program's own stamp must lie in the bounds. So must libipt's time for the
 * same instruction, which may be any in between, since libipt reads ahead. Its
 * times from CYC packets are estimates, as it calibrates cycles by MTC packets;
 * they are judged with MTC or TSC alone.
 *
 * -x TICKS	shift each stamp by as much: must be found
 *
 * Exit status: 0 right, 1 wrong, 2 the input is unusable.
 */
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CTC_RATIO	102		/* TSC ticks in one of the crystal: CPUID 15H */

/* ---- packets ---- */

enum kind {
	FLOW_TNT,
	FLOW_TIP,			/* TIP, TIP.PGE, TIP.PGD, FUP */
	BARRIER,			/* nothing waits in the processor */
	TIME,
};

/* What matters of a packet; TIME: it was sent from @lo to @hi. */
struct mark {
	enum kind kind;
	enum pt_packet_type type;
	unsigned int bits;		/* of a TNT */
	uint64_t lo, hi;
	uint64_t exact;			/* the moment told by a CYC before it, or 0 */
};

static struct mark *marks;
static size_t n_marks;
static bool has_cyc;

static struct mark *add_mark(enum kind kind, enum pt_packet_type type)
{
	if (!(n_marks & (n_marks - 1)))
		marks = realloc(marks, (n_marks ? 2 * n_marks : 1) * sizeof(*marks));
	if (!marks)
		unusable("no memory");
	marks[n_marks] = (struct mark) { .kind = kind, .type = type };
	return &marks[n_marks++];
}

/* The clocks, as the packets tell them. */
static struct {
	uint64_t tsc;			/* of the last TSC or CYC */
	uint64_t cycles;		/* a CYC that belongs to the next packet */
	bool cyc_pending;
	uint64_t ctc_tsc;		/* the TSC at a known value ... */
	uint64_t ctc;			/* ... of the crystal's counter */
	bool known;
} now;

static void mtc_mark(uint8_t ctc, unsigned int freq)
{
	struct mark *last = n_marks ? &marks[n_marks - 1] : NULL;
	uint64_t period = 1ULL << freq, tick = now.ctc & ~(period - 1), lo, hi;

	while ((tick >> freq & 0xff) != ctc)
		tick += period;
	lo = now.ctc_tsc + (tick - now.ctc) * CTC_RATIO;
	hi = lo + period * CTC_RATIO;
	now.ctc_tsc = lo;
	now.ctc = tick;

	/* All that follow each other may have been late. */
	for (; last && last->kind == TIME && last->type == ppt_mtc; last--) {
		last->hi = hi;
		if (last == marks)
			break;
	}
	last = add_mark(TIME, ppt_mtc);
	last->lo = lo;
	last->hi = hi;
	if (now.cyc_pending) {
		last->lo = last->hi = now.tsc;
		if (now.tsc + 2 < lo || now.tsc > hi)
			printf("# an MTC of %" PRIu64 " to %" PRIu64 " at cycle %" PRIu64 "\n",
			       lo, hi, now.tsc);
	}
}

static void flow_mark(enum kind kind, enum pt_packet_type type, unsigned int bits)
{
	struct mark *m = add_mark(kind, type);

	m->bits = bits;
	if (now.cyc_pending)
		m->exact = now.tsc;
}

static void read_packets(const struct trace *trace)
{
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&trace->config);
	struct pt_packet p;
	bool in_psb = false;
	struct mark *m;
	int status;

	if (!decoder)
		unusable("libipt refuses");
	for (status = pt_pkt_sync_forward(decoder); status >= 0;) {
		status = pt_pkt_next(decoder, &p, sizeof(p));
		if (status < 0)
			break;
		switch (p.type) {
		case ppt_psb:
			in_psb = true;
			add_mark(BARRIER, p.type);
			continue;
		case ppt_psbend:
			in_psb = false;
			continue;
		case ppt_tsc:
			m = add_mark(TIME, p.type);
			m->lo = m->hi = now.tsc = p.payload.tsc.tsc;
			now.known = true;
			break;
		case ppt_tma:
			now.ctc = p.payload.tma.ctc;
			now.ctc_tsc = now.tsc - p.payload.tma.fc;
			continue;
		case ppt_mtc:
			if (now.known)
				mtc_mark(p.payload.mtc.ctc, trace->config.mtc_freq);
			break;
		case ppt_cyc:
			has_cyc = true;
			now.tsc += p.payload.cyc.value;
			now.cyc_pending = true;
			continue;
		case ppt_tnt_8:
		case ppt_tnt_64:
			flow_mark(FLOW_TNT, p.type, p.payload.tnt.bit_size);
			break;
		case ppt_fup:
			if (in_psb)
				continue;
			flow_mark(FLOW_TIP, p.type, 0);
			break;
		case ppt_tip:
		case ppt_tip_pge:
		case ppt_tip_pgd:
			flow_mark(FLOW_TIP, p.type, 0);
			break;
		default:
			continue;
		}
		now.cyc_pending = false;
	}
	pt_pkt_free_decoder(decoder);
	if (status != -pte_eos)
		unusable("the packets cannot be read");
}

/* ---- the cursor: what the instructions have used up ---- */

static size_t tnt_at, tip_at;		/* the next of each kind */
static unsigned int tnt_bit;
static size_t used_tnt = SIZE_MAX, used_tip = SIZE_MAX;

static size_t next_of(size_t at, enum kind kind)
{
	while (at < n_marks && marks[at].kind != kind)
		at++;
	return at;
}

static void lost_the_way(const char *what)
{
	printf("# the packets do not fit the instructions: no %s\n", what);
	exit(1);
}

static void use_tnt(void)
{
	if (tnt_at == n_marks)
		lost_the_way("TNT");
	used_tnt = tnt_at;
	if (++tnt_bit == marks[tnt_at].bits) {
		tnt_bit = 0;
		tnt_at = next_of(tnt_at + 1, FLOW_TNT);
	}
}

static void use_tip(enum pt_packet_type type)
{
	if (tip_at == n_marks || marks[tip_at].type != type)
		lost_the_way(type == ppt_tip ? "TIP" : type == ppt_fup ? "FUP" :
			     type == ppt_tip_pge ? "TIP.PGE" : "TIP.PGD");
	used_tip = tip_at;
	tip_at = next_of(tip_at + 1, FLOW_TIP);
}

/* ---- bounds ---- */

/* The last sure time before the instruction. */
static uint64_t lower_bound(void)
{
	size_t used, i;

	/* The last packet that tells something from before. */
	if (used_tnt == SIZE_MAX && used_tip == SIZE_MAX)
		return 0;
	used = used_tip == SIZE_MAX || (used_tnt != SIZE_MAX && used_tnt > used_tip) ?
	       used_tnt : used_tip;
	if (marks[used].exact)
		return marks[used].exact;

	/* A TIP may have waited for the TNT in front of it. */
	while (marks[used].type == ppt_tip && used && marks[used - 1].kind == FLOW_TIP)
		used--;
	if (marks[used].type == ppt_tip && used && marks[used - 1].kind == FLOW_TNT)
		used--;

	/* Up to the last moment at which nothing waited. */
	for (i = used; i-- > 0;) {
		const struct mark *m = &marks[i];

		if (m->kind == FLOW_TNT || m->kind == FLOW_TIP)
			break;
		if (m->kind == BARRIER)
			break;
		/* Nothing waits while nothing is traced. */
		if (m->kind == TIME && marks[used].type == ppt_tip_pge)
			return m->lo;
	}
	/* A PSB comes when nothing waits, and the times in it after it. */
	if (i != SIZE_MAX && marks[i].kind == BARRIER) {
		for (i++; i < used; i++) {
			if (marks[i].kind == TIME)
				return marks[i].lo;
		}
		return 0;
	}
	for (; i != SIZE_MAX; i--) {
		if (marks[i].kind == TIME)
			return marks[i].lo;
		if (marks[i].exact && i != used)
			return marks[i].exact;
	}
	return 0;
}

/* The first sure time after it. */
static uint64_t upper_bound(void)
{
	size_t i = tnt_at < tip_at ? tnt_at : tip_at;

	/* A CYC before a TNT is the time of its first branch: is that still to come? */
	if (i < n_marks && marks[i].exact && (i != tnt_at || !tnt_bit))
		return marks[i].exact;
	for (i++; i < n_marks; i++) {
		if (marks[i].exact)
			return marks[i].exact;
		if (marks[i].kind == TIME)
			return marks[i].hi;
	}
	return UINT64_MAX;
}

/* ---- stamps ---- */

static uint64_t *stamps, rdtsc_ip;
static size_t n_stamps, n_judged, n_outside, n_libipt, n_open;
static int64_t shift;
static uint64_t widest, sum_width, worst;

static void load_stamps(const char *path)
{
	const struct bytes b = map_file(path);

	stamps = (uint64_t *)b.data;
	n_stamps = b.size / 8;
	if (n_stamps < 3 || stamps[1] != n_stamps - 2)
		unusable("%s is no list of stamps", path);
	rdtsc_ip = stamps[0];
	n_stamps -= 2;
	stamps += 2;
}

static void judge_stamp(uint64_t time)
{
	const uint64_t stamp = stamps[n_judged] + shift;
	const uint64_t lo = lower_bound(), hi = upper_bound();
	uint64_t error;

	if (n_judged == n_stamps)
		lost_the_way("stamp");
	n_judged++;
	if (stamp < lo || stamp > hi) {
		if (!n_outside++)
			printf("# stamp %zu is %" PRIu64 ", but the packets say %" PRIu64
			       " to %" PRIu64 "\n", n_judged, stamp, lo, hi);
	}
	if (time && (time < lo || time > hi)) {
		if (!n_libipt++)
			printf("# stamp %zu: libipt says %" PRIu64 ", the packets %" PRIu64
			       " to %" PRIu64 "\n", n_judged, time, lo, hi);
	}
	if (!lo || hi == UINT64_MAX) {
		n_open++;
		return;
	}
	if (hi - lo > widest)
		widest = hi - lo;
	sum_width += hi - lo;
	error = time > stamp ? time - stamp : stamp - time;
	if (error > worst)
		worst = error;
}

/* ---- instructions ---- */

/* A near CALL or JMP through a register or memory: opcode FFH. */
static bool is_indirect(const struct pt_insn *insn)
{
	unsigned int i;

	for (i = 0; i < insn->size; i++) {
		const uint8_t b = insn->raw[i];

		if (b == 0xff)
			return true;
		/* a legacy prefix or REX goes before */
		if ((b & 0xf0) != 0x40 && b != 0x66 && b != 0xf2 && b != 0xf3 && b != 0x2e &&
		    b != 0x3e && b != 0x64 && b != 0x65)
			return false;
	}
	return false;
}

static void follow(const struct pt_insn *insn, bool traced_on)
{
	switch (insn->iclass) {
	case ptic_cond_jump:
		use_tnt();
		break;
	case ptic_return:
		if (!traced_on)
			break;
		/* A TIP whose branch came before this return would have been used. */
		if (tip_at < n_marks && marks[tip_at].type == ppt_tip && tip_at < tnt_at)
			use_tip(ppt_tip);
		else
			use_tnt();
		break;
	case ptic_call:
	case ptic_jump:
		if (traced_on && is_indirect(insn))
			use_tip(ppt_tip);
		break;
	default:
		break;
	}
}

static void follow_event(const struct pt_event *event)
{
	switch (event->type) {
	case ptev_enabled:
		use_tip(ppt_tip_pge);
		break;
	case ptev_disabled:
		use_tip(ppt_tip_pgd);
		break;
	case ptev_async_disabled:
		use_tip(ppt_fup);
		use_tip(ppt_tip_pgd);
		break;
	case ptev_async_branch:
		use_tip(ppt_fup);
		use_tip(ppt_tip);
		break;
	default:
		break;
	}
}

static void decode(struct pt_insn_decoder *decoder)
{
	struct pt_insn insn = { 0 };
	bool pending = false;		/* the last instruction's branch */
	int status = pt_insn_sync_forward(decoder);

	while (status >= 0) {
		while (status & pts_event_pending) {
			struct pt_event event;

			status = pt_insn_event(decoder, &event, sizeof(event));
			if (status < 0)
				unusable("an event cannot be read");
			if (event.status_update)
				continue;
			if (pending) {
				/* It left the trace by that branch. */
				follow(&insn, event.type != ptev_disabled);
				pending = false;
			}
			follow_event(&event);
		}
		if (status & pts_eos)
			return;
		if (pending)
			follow(&insn, true);
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (insn.iclass == ptic_error)
			break;
		pending = true;
		if (insn.ip == rdtsc_ip) {
			uint64_t time = 0;

			pt_insn_time(decoder, &time, NULL, NULL);
			judge_stamp(time);
		}
	}
	if (status != -pte_eos) {
		printf("# after %zu stamps: %s\n", n_judged, pt_errstr(pt_errcode(status)));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct pt_insn_decoder *decoder;
	struct trace trace;
	int opt;

	while ((opt = getopt(argc, argv, "x:")) != -1) {
		if (opt != 'x')
			return 2;
		shift = strtoll(optarg, NULL, 0);
	}
	if (argc - optind != 2)
		unusable("usage: see the head of pt_times.c");
	trace_load(argv[optind], &trace);
	load_stamps(argv[optind + 1]);
	read_packets(&trace);
	tnt_at = next_of(0, FLOW_TNT);
	tip_at = next_of(0, FLOW_TIP);

	decoder = pt_insn_alloc_decoder(&trace.config);
	if (!decoder || pt_insn_set_image(decoder, trace_image(&trace)) < 0)
		unusable("libipt refuses");
	decode(decoder);

	printf("# %zu of %zu stamps, %zu outside of the packets' bounds, %zu without bounds, "
	       "libipt's time outside of them %zu times\n",
	       n_judged, n_stamps, n_outside, n_open, n_libipt);
	printf("# bounds are %" PRIu64 " ticks apart in the mean, %" PRIu64
	       " at most; libipt's times are %" PRIu64 " off at most\n",
	       n_judged > n_open ? sum_width / (n_judged - n_open) : 0, widest, worst);
	return n_judged != n_stamps || n_outside || n_open > 0 || (n_libipt && !has_cyc);
}

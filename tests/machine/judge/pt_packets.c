// SPDX-License-Identifier: GPL-2.0
/*
 * The judge of packets: reads every byte of raw traces with libipt's packet
 * decoder and holds each packet against what the machine's encoder meant.
 *
 *	pt_packets [-j JOBS] [-x N] [-m MODE] LOGS PREFIX…
 *
 * LOGS is the plugin's prefix of packet logs (pt_packet_log.h), recording.h says
 * what is at each PREFIX. The sessions of TraceEn that began in a recording's
 * span, in the order of time, must be the recording: packet by packet the same
 * kind, the same size, the same payload. IPs are compressed in the bytes and
 * whole in the log: they are put together here by SDM table 36-18.
 *
 * Prints "ok NAME" or "not ok NAME" for each trace, below it the counts or the
 * first difference; last the count of all packets.
 *
 * -x N		turn a bit in the last byte of the Nth packet first: must be found
 * -m MODE	each MODE.Exec must say so, as a number: of a program that runs in
 *		one mode
 *
 * libipt 2.0.5 knows neither CFE and EVD packets nor IF in MODE.Exec: those are
 * read here.
 *
 * Exit status: 0 equal, 1 different, 2 the input is unusable.
 */
#include "../plugin/pt_packet_log.h"
#include "jobs.h"
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t change = UINT64_MAX;
static int only_mode = -1;

static const char *const names[PT_PACKET_TYPES] = {
	[PT_PSB] = "PSB", [PT_PSBEND] = "PSBEND", [PT_TNT] = "TNT", [PT_TIP] = "TIP",
	[PT_TIP_PGE] = "TIP.PGE", [PT_TIP_PGD] = "TIP.PGD", [PT_FUP] = "FUP",
	[PT_MODE_EXEC] = "MODE.Exec", [PT_PIP] = "PIP", [PT_TRACESTOP] = "TraceStop",
	[PT_OVF] = "OVF", [PT_TSC] = "TSC", [PT_TMA] = "TMA", [PT_MTC] = "MTC",
	[PT_CYC] = "CYC", [PT_CBR] = "CBR", [PT_PTW] = "PTW", [PT_EXSTOP] = "EXSTOP",
	[PT_MWAIT] = "MWAIT", [PT_PWRE] = "PWRE", [PT_PWRX] = "PWRX", [PT_CFE] = "CFE",
	[PT_EVD] = "EVD",
};

/* A packet, as its kind and the numbers of pt_packet_values(). */
struct said {
	unsigned int type;
	unsigned int size;
	unsigned int n;
	uint64_t v[3];
};

static void show(const char *what, const struct said *s)
{
	unsigned int i;

	printf("# %s %s of %u bytes:", what,
	       s->type < PT_PACKET_TYPES && names[s->type] ? names[s->type] : "?", s->size);
	for (i = 0; i < s->n; i++)
		printf(" %" PRIx64, s->v[i]);
	putchar('\n');
}

/* ---- the logs ---- */

struct session {
	uint64_t tsc;
	unsigned int cpu;
	const uint8_t *begin, *end;
};

static struct session *sessions, *chosen;
static size_t n_sessions, n_chosen;

static uint64_t get_number(const uint8_t **pos, const uint8_t *end)
{
	unsigned int shift = 0;
	uint64_t n = 0;

	while (*pos < end && shift < 64) {
		const uint8_t b = *(*pos)++;

		n |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return n;
		shift += 7;
	}
	unusable("a log is cut off");
}

static void get_record(const uint8_t **pos, const uint8_t *end, struct said *s)
{
	unsigned int i;

	s->type = get_number(pos, end);
	s->size = get_number(pos, end);
	s->n = get_number(pos, end);
	if (s->n > 3)
		unusable("a log has a record that is too long");
	for (i = 0; i < s->n; i++)
		s->v[i] = get_number(pos, end);
}

static void add_session(const struct session *session)
{
	if (!(n_sessions & (n_sessions - 1)))
		sessions = realloc(sessions,
				   (n_sessions ? 2 * n_sessions : 1) * sizeof(*sessions));
	if (!sessions)
		unusable("no memory");
	sessions[n_sessions++] = *session;
}

static void load_log(const char *path, unsigned int cpu)
{
	const struct bytes log = map_file(path);
	const uint8_t *pos = log.data, *const end = log.data + log.size;
	struct session session = { .cpu = cpu };

	while (pos < end) {
		const uint8_t *const at = pos;
		struct said s;

		get_record(&pos, end, &s);
		if (s.type < PT_LOG_TRACE_ON)
			continue;
		session.end = at;
		if (session.begin)
			add_session(&session);
		session.begin = NULL;
		if (s.type == PT_LOG_TRACE_ON) {
			session.tsc = s.v[0];
			session.begin = pos;
		}
	}
	session.end = end;
	if (session.begin)
		add_session(&session);
}

static int by_time(const void *a, const void *b)
{
	const struct session *x = a, *y = b;

	return x->tsc < y->tsc ? -1 : x->tsc > y->tsc;
}

static void choose(const struct executed_choice *c)
{
	size_t i;

	chosen = calloc(n_sessions + 1, sizeof(*chosen));
	for (i = 0; i < n_sessions; i++) {
		const struct session *s = &sessions[i];

		if (s->tsc >= c->span[0] && s->tsc <= c->span[1] &&
		    (c->cpu < 0 || s->cpu == (unsigned int)c->cpu))
			chosen[n_chosen++] = *s;
	}
	qsort(chosen, n_chosen, sizeof(*chosen), by_time);
}

static bool next_meant(struct said *s)
{
	static const uint8_t *pos;
	static size_t i;

	for (; i < n_chosen; i++, pos = NULL) {
		if (!pos)
			pos = chosen[i].begin;
		if (pos < chosen[i].end) {
			get_record(&pos, chosen[i].end, s);
			return true;
		}
	}
	return false;
}

/* ---- the bytes ---- */

static uint64_t last_ip;

/* SDM table 36-18 */
static void read_ip(struct said *s, unsigned int type, const struct pt_packet_ip *ip)
{
	static const uint64_t sign = 1ULL << 47;
	const uint64_t p = ip->ip;

	switch (ip->ipc) {
	case pt_ipc_suppressed:
		*s = (struct said) { .type = type, .n = 2, .v = { 0, 1 } };
		return;
	case pt_ipc_update_16:
		last_ip = (last_ip & ~0xffffULL) | p;
		break;
	case pt_ipc_update_32:
		last_ip = (last_ip & ~0xffffffffULL) | p;
		break;
	case pt_ipc_sext_48:
		last_ip = (p ^ sign) - sign;
		break;
	case pt_ipc_update_48:
		last_ip = (last_ip & ~0xffffffffffffULL) | p;
		break;
	case pt_ipc_full:
		last_ip = p;
		break;
	}
	*s = (struct said) { .type = type, .n = 2, .v = { last_ip, 0 } };
}

static bool read_packet(const struct pt_packet *p, const uint8_t *bytes, struct said *s)
{
#define SAYS(kind, values, ...)	\
	(*s = (struct said) { .type = (kind), .n = (values), .v = { __VA_ARGS__ } })
	switch (p->type) {
	case ppt_psb:
		last_ip = 0;
		SAYS(PT_PSB, 0, 0);
		break;
	case ppt_psbend:
		SAYS(PT_PSBEND, 0, 0);
		break;
	case ppt_ovf:
		SAYS(PT_OVF, 0, 0);
		break;
	case ppt_stop:
		SAYS(PT_TRACESTOP, 0, 0);
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		SAYS(PT_TNT, 2, p->payload.tnt.payload, p->payload.tnt.bit_size);
		break;
	case ppt_tip:
		read_ip(s, PT_TIP, &p->payload.ip);
		break;
	case ppt_tip_pge:
		read_ip(s, PT_TIP_PGE, &p->payload.ip);
		break;
	case ppt_tip_pgd:
		read_ip(s, PT_TIP_PGD, &p->payload.ip);
		break;
	case ppt_fup:
		read_ip(s, PT_FUP, &p->payload.ip);
		break;
	case ppt_mode:
		if (p->payload.mode.leaf != pt_mol_exec)
			return false;
		/* libipt 2.0.5 does not know the bit of RFLAGS.IF. */
		SAYS(PT_MODE_EXEC, 1, p->payload.mode.bits.exec.csl |
		     (unsigned int)p->payload.mode.bits.exec.csd << 1 | (bytes[1] & PT_MODE_IF));
		break;
	case ppt_pip:
		SAYS(PT_PIP, 2, p->payload.pip.cr3, p->payload.pip.nr);
		break;
	case ppt_tsc:
		SAYS(PT_TSC, 1, p->payload.tsc.tsc);
		break;
	case ppt_tma:
		SAYS(PT_TMA, 2, p->payload.tma.ctc, p->payload.tma.fc);
		break;
	case ppt_mtc:
		SAYS(PT_MTC, 1, p->payload.mtc.ctc);
		break;
	case ppt_cyc:
		SAYS(PT_CYC, 1, p->payload.cyc.value);
		break;
	case ppt_cbr:
		SAYS(PT_CBR, 1, p->payload.cbr.ratio);
		break;
	case ppt_ptw:
		SAYS(PT_PTW, 3, p->payload.ptw.payload, pt_ptw_size(p->payload.ptw.plc),
		     p->payload.ptw.ip);
		break;
	case ppt_exstop:
		SAYS(PT_EXSTOP, 1, p->payload.exstop.ip);
		break;
	case ppt_mwait:
		SAYS(PT_MWAIT, 2, p->payload.mwait.hints, p->payload.mwait.ext);
		break;
	case ppt_pwre:
		SAYS(PT_PWRE, 3, p->payload.pwre.state, p->payload.pwre.sub_state,
		     p->payload.pwre.hw);
		break;
	case ppt_pwrx:
		SAYS(PT_PWRX, 3, p->payload.pwrx.last, p->payload.pwrx.deepest,
		     p->payload.pwrx.interrupt | (unsigned int)p->payload.pwrx.store << 2 |
		     (unsigned int)p->payload.pwrx.autonomous << 3);
		break;
	default:
		return false;
	}
#undef SAYS
	s->size = p->size;
	return true;
}

/* CFE: 02 13, type and IP bit, vector. EVD: 02 53, type, eight bytes. */
static bool read_event(const uint8_t *pos, size_t left, struct said *s)
{
	if (left >= 4 && pos[0] == 0x02 && pos[1] == 0x13) {
		*s = (struct said) {
			.type = PT_CFE, .size = 4, .n = 3,
			.v = { pos[2] & 0x1f, pos[3], pos[2] >> 7 },
		};
		return true;
	}
	if (left >= 11 && pos[0] == 0x02 && pos[1] == 0x53) {
		*s = (struct said) {
			.type = PT_EVD, .size = 11, .n = 2, .v = { pos[2] & 0x3f },
		};
		memcpy(&s->v[1], pos + 3, 8);
		return true;
	}
	return false;
}

static bool equal(const struct said *a, const struct said *b)
{
	return a->type == b->type && a->size == b->size && a->n == b->n &&
	       !memcmp(a->v, b->v, a->n * sizeof(a->v[0]));
}

static int wrong(uint64_t count, uint64_t offset, const char *what)
{
	printf("# packet %" PRIu64 " at offset %" PRIx64 ": %s\n", count, offset, what);
	return 1;
}

static int compare(struct pt_packet_decoder *decoder, const struct trace *trace, uint64_t *count)
{
	uint64_t offset = 0;
	struct pt_packet p;
	struct said read, meant;
	int status;

	for (; offset < trace->size; offset += read.size, ++*count) {
		status = pt_pkt_sync_set(decoder, offset);
		if (status >= 0)
			status = pt_pkt_next(decoder, &p, sizeof(p));
		if (status == -pte_bad_opc || (status >= 0 && p.type == ppt_unknown)) {
			if (!read_event(trace->config.begin + offset, trace->size - offset, &read))
				return wrong(*count, offset, "unknown");
		} else if (status < 0) {
			return wrong(*count, offset, pt_errstr(pt_errcode(status)));
		} else if (!read_packet(&p, trace->config.begin + offset, &read)) {
			return wrong(*count, offset, "a packet that the machine never sends");
		}
		if (!next_meant(&meant)) {
			show("read", &read);
			return wrong(*count, offset, "the encoder sent no more");
		}
		if (!equal(&read, &meant)) {
			show("read ", &read);
			show("meant", &meant);
			return wrong(*count, offset, "not what the encoder meant");
		}
		if (only_mode >= 0 && read.type == PT_MODE_EXEC &&
		    read.v[0] != (uint64_t)only_mode)
			return wrong(*count, offset, "a mode that the program does not have");
	}
	if (next_meant(&meant)) {
		show("meant", &meant);
		return wrong(*count, offset, "the trace ends, but the encoder went on");
	}
	return 0;
}

static void turn_bit(struct pt_packet_decoder *decoder, const struct trace *trace)
{
	struct pt_packet p;
	uint64_t offset = 0, n;

	for (n = 0; n <= change; n++) {
		if (pt_pkt_sync_set(decoder, offset) < 0 ||
		    pt_pkt_next(decoder, &p, sizeof(p)) < 0)
			unusable("there are not so many packets");
		offset += p.size;
	}
	trace->config.begin[offset - 1] ^= 8;
}

static int judge(const char *prefix, uint64_t *count)
{
	struct pt_packet_decoder *decoder;
	struct trace trace;
	int status;

	trace_load(prefix, &trace);
	choose(&trace.executed);
	if (!trace.size)
		return next_meant(&(struct said) { 0 }) ? wrong(0, 0, "not in the trace") : 0;
	decoder = pt_pkt_alloc_decoder(&trace.config);
	if (!decoder)
		unusable("libipt refuses");
	if (change != UINT64_MAX)
		turn_bit(decoder, &trace);
	status = compare(decoder, &trace, count);
	printf("# %" PRIu64 " packets, %zu sessions, %zu bytes\n", *count, n_chosen, trace.size);
	return status;
}

int main(int argc, char **argv)
{
	int jobs = 1, opt, status;
	char path[4096];
	unsigned int cpu;
	uint64_t sum = 0;

	while ((opt = getopt(argc, argv, "j:m:x:")) != -1) {
		if (opt == 'j')
			jobs = atoi(optarg);
		else if (opt == 'm')
			only_mode = atoi(optarg);
		else if (opt == 'x')
			change = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	if (argc - optind < 2 || jobs < 1)
		unusable("usage: see the head of pt_packets.c");
	for (cpu = 0; cpu < EXECUTED_LOGS; cpu++) {
		snprintf(path, sizeof(path), "%s.%u", argv[optind], cpu);
		if (cpu && access(path, F_OK))
			break;
		load_log(path, cpu);
	}
	optind++;
	status = jobs_run(argv + optind, argc - optind, jobs, judge, &sum);
	printf("# %" PRIu64 " packets in all\n", sum);
	return status;
}

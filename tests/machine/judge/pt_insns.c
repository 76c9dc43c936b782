// SPDX-License-Identifier: GPL-2.0
/*
 * The judge: decodes a raw trace with libipt's instruction decoder and holds
 * the program counters, one by one, against those that the machine executed.
 *
 *	pt_insns [-m FREQ] [-t FILE [-e ERROR]] [-x N] [-y N] PREFIX LOG…
 *
 * PREFIX.{pt,image,span} are perf_pt's, LOG the plugin's pclog files, one a
 * vCPU; pclog.h says what "executed" means. The windows of PacketEn that began
 * in the span are taken in the order of time, over all vCPUs.
 *
 * -m FREQ	the MTC period
 * -t FILE	also hold the times against those that the program ticks.c took
 *		itself, which are in FILE. A decoder knows of no time before the
 *		packet that told it, so no time may be later than the program's;
 *		and after a sleep there was a TSC packet, so that the time must
 *		be later than the program's last before it.
 * -e ERROR	with MTC or CYC: instead, 19 of 20 must be within ERROR ticks,
 *		whichever way. (libipt reads ahead to the next TNT, so that
 *		some are late, the more the busier the host.)
 * -x N		turn round a branch of the Nth TNT packet first: must be found
 * -y N		change the Nth executed program counter: must be found
 *
 * Prints the first difference with what came before it, or the counts.
 * Exit status: 0 equal, 1 different, 2 the input is unusable.
 */
#include "../plugin/pclog.h"

#include <errno.h>
#include <fcntl.h>
#include <intel-pt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTEXT		8
#define TICKS_SLEEP	64	/* of ticks.c */

static void __attribute__((noreturn, format(printf, 1, 2))) unusable(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "pt_insns: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

struct bytes {
	uint8_t *data;
	size_t size;
};

static struct bytes map_file(const char *path)
{
	struct bytes b = { 0 };
	struct stat st;
	const int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &st))
		unusable("%s: %s", path, strerror(errno));
	b.size = st.st_size;
	if (b.size) {
		b.data = mmap(NULL, b.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (b.data == MAP_FAILED)
			unusable("%s: %s", path, strerror(errno));
	}
	close(fd);
	return b;
}

static char *with_suffix(const char *prefix, const char *suffix)
{
	char *path;

	if (asprintf(&path, "%s.%s", prefix, suffix) < 0)
		abort();
	return path;
}

/* ---- the machine's log ---- */

struct window {
	uint64_t tsc;
	const uint8_t *begin;
	const uint8_t *end;
};

static uint64_t change_executed = UINT64_MAX;
static struct window *windows;
static size_t n_windows;

static bool get_number(const uint8_t **pos, const uint8_t *end, uint64_t *n)
{
	unsigned int shift = 0;

	*n = 0;
	while (*pos < end && shift < 64) {
		const uint8_t b = *(*pos)++;

		*n |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
		shift += 7;
	}
	return false;
}

static void add_window(uint64_t tsc, const uint8_t *begin, const uint8_t *end)
{
	if (!(n_windows & (n_windows - 1)))
		windows = realloc(windows, (n_windows ? 2 * n_windows : 1) * sizeof(*windows));
	windows[n_windows++] = (struct window) { tsc, begin, end };
}

static void read_log(const char *path, const uint64_t span[2])
{
	const struct bytes log = map_file(path);
	const uint8_t *pos = log.data, *const end = log.data + log.size;
	const uint8_t *begin = NULL;
	uint64_t n, tsc = 0, val[3];

	while (pos < end) {
		const uint8_t *const at = pos;
		unsigned int i, values;

		if (!get_number(&pos, end, &n))
			unusable("%s is cut off", path);
		if (!(n & 1))
			continue;
		values = n >> 1 <= PCLOG_TRACE_OFF ? 3 : 2;
		for (i = 0; i < values; i++) {
			if (!get_number(&pos, end, &val[i]))
				unusable("%s is cut off", path);
		}
		if (begin && tsc >= span[0] && tsc <= span[1])
			add_window(tsc, begin, at);
		begin = NULL;
		if (n >> 1 == PCLOG_PACKETS_ON) {
			tsc = val[0];
			begin = pos;
		}
	}
	if (begin && tsc >= span[0] && tsc <= span[1])
		add_window(tsc, begin, end);
}

static int by_time(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return x->tsc < y->tsc ? -1 : x->tsc > y->tsc;
}

/* The next executed program counter. */
static bool next_executed(uint64_t *ip)
{
	static size_t i;
	static const uint8_t *pos;
	static uint64_t last;
	uint64_t n;

	for (;;) {
		if (i == n_windows)
			return false;
		if (!pos) {
			pos = windows[i].begin;
			last = 0;
		}
		if (pos < windows[i].end)
			break;
		pos = NULL;
		i++;
	}
	if (!get_number(&pos, windows[i].end, &n))
		unusable("a log is cut off");
	n >>= 1;
	last += n >> 1 ^ -(n & 1);
	*ip = last ^ !change_executed--;
	return true;
}

/* ---- the decoder ---- */

/* The youngest branch of TNT packet @n goes the other way. */
static void change_tnt(struct pt_config *config, uint64_t n)
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

static void load_image(struct pt_image *image, const char *path)
{
	const struct bytes b = map_file(path);
	size_t pos = 0;

	while (pos + 16 <= b.size) {
		uint64_t header[2];
		int status;

		memcpy(header, b.data + pos, 16);
		pos += 16;
		if (header[1] > b.size - pos)
			unusable("%s is cut off", path);
		status = pt_image_add_file(image, path, pos, header[1], NULL, header[0]);
		if (status < 0)
			unusable("%s at %zu: %s", path, pos, pt_errstr(pt_errcode(status)));
		pos += header[1];
	}
	munmap(b.data, b.size);
}

/* ---- times ---- */

/* ticks.c's file: the address of its RDTSC, how often, and what it gave. */
static uint64_t *ticks;
static size_t n_ticks, tick;
static double worst_early, worst_late, sum_error;
static double max_error = -1;
static size_t n_wrong;

static void load_ticks(const char *path)
{
	const struct bytes b = map_file(path);

	ticks = (uint64_t *)b.data;
	n_ticks = b.size / 8;
	if (n_ticks < 3 || ticks[1] != n_ticks - 2)
		unusable("%s is no list of ticks", path);
	n_ticks -= 2;
}

static void judge_tick(uint64_t time)
{
	const uint64_t *const stamp = &ticks[2 + tick];
	double error;

	if (tick == n_ticks)
		return;
	error = (double)(int64_t)(time - *stamp);
	if (error < worst_early)
		worst_early = error;
	if (error > worst_late)
		worst_late = error;
	sum_error += error < 0 ? -error : error;

	if (max_error >= 0)
		n_wrong += error > max_error || error < -max_error;
	else
		n_wrong += error > 0 || (tick % TICKS_SLEEP == TICKS_SLEEP - 1 && time <= stamp[-1]);
	tick++;
}

static bool times_right(void)
{
	printf("%zu of %zu ticks, error %.0f to %.0f, mean %.0f, %zu wrong\n", tick, n_ticks,
	       worst_early, worst_late, tick ? sum_error / tick : 0, n_wrong);
	return tick == n_ticks && n_wrong <= (max_error >= 0 ? n_ticks / 20 : 0);
}

/* ---- comparison ---- */

static uint64_t context[CONTEXT];
static uint64_t compared;

static void show_context(void)
{
	uint64_t i = compared < CONTEXT ? 0 : compared - CONTEXT;

	for (; i < compared; i++)
		printf("\t%" PRIu64 ": %" PRIx64 "\n", i, context[i % CONTEXT]);
}

static bool compare(uint64_t decoded)
{
	uint64_t executed;

	if (!next_executed(&executed)) {
		show_context();
		printf("decoded %" PRIx64 " as instruction %" PRIu64
		       ", but the machine executed no more\n", decoded, compared);
		return false;
	}
	if (decoded != executed) {
		int i;

		show_context();
		printf("instruction %" PRIu64 ": decoded %" PRIx64 ", executed %" PRIx64 "\n",
		       compared, decoded, executed);
		for (i = 0; i < CONTEXT && next_executed(&executed); i++)
			printf("\texecuted next: %" PRIx64 "\n", executed);
		return false;
	}
	context[compared++ % CONTEXT] = decoded;
	return true;
}

static bool decode_error(struct pt_insn_decoder *decoder, int status)
{
	uint64_t offset = 0;

	pt_insn_get_offset(decoder, &offset);
	show_context();
	printf("after instruction %" PRIu64 ", at offset %" PRIx64 ": %s\n", compared, offset,
	       pt_errstr(pt_errcode(status)));
	return false;
}

static bool decode(struct pt_insn_decoder *decoder)
{
	int status = pt_insn_sync_forward(decoder);

	if (status < 0)
		return decode_error(decoder, status);

	for (;;) {
		struct pt_insn insn;

		while (status & pts_event_pending) {
			struct pt_event event;

			status = pt_insn_event(decoder, &event, sizeof(event));
			if (status < 0)
				return decode_error(decoder, status);
		}
		if (status & pts_eos)
			return true;

		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (insn.iclass != ptic_error) {
			if (!compare(insn.ip))
				return false;
			if (ticks && insn.ip == ticks[0]) {
				uint64_t time = 0;

				pt_insn_time(decoder, &time, NULL, NULL);
				judge_tick(time);
			}
		}
		if (status == -pte_eos)
			return true;
		if (status < 0)
			return decode_error(decoder, status);
	}
}

int main(int argc, char **argv)
{
	struct pt_insn_decoder *decoder;
	struct pt_config config;
	struct pt_image *image;
	uint64_t span[2], rest;
	struct bytes trace;
	uint64_t tnt = UINT64_MAX;
	int opt, i;
	FILE *f;

	pt_config_init(&config);
	while ((opt = getopt(argc, argv, "e:m:t:x:y:")) != -1) {
		switch (opt) {
		case 'e':
			max_error = atof(optarg);
			break;
		case 'm':
			config.mtc_freq = atoi(optarg);
			break;
		case 't':
			load_ticks(optarg);
			break;
		case 'x':
			tnt = strtoull(optarg, NULL, 0);
			break;
		case 'y':
			change_executed = strtoull(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	if (argc - optind < 2)
		unusable("usage: see the head of pt_insns.c");

	f = fopen(with_suffix(argv[optind], "span"), "r");
	if (!f || fscanf(f, "%" SCNu64 " %" SCNu64, &span[0], &span[1]) != 2)
		unusable("%s.span is missing", argv[optind]);
	fclose(f);
	for (i = optind + 1; i < argc; i++)
		read_log(argv[i], span);
	qsort(windows, n_windows, sizeof(*windows), by_time);

	trace = map_file(with_suffix(argv[optind], "pt"));
	if (!trace.size)
		unusable("%s.pt is empty", argv[optind]);
	config.begin = trace.data;
	config.end = trace.data + trace.size;
	/* CPUID 15H of this machine */
	config.cpuid_0x15_eax = 2;
	config.cpuid_0x15_ebx = 204;
	config.nom_freq = 24;
	if (tnt != UINT64_MAX)
		change_tnt(&config, tnt);

	image = pt_image_alloc(NULL);
	load_image(image, with_suffix(argv[optind], "image"));
	decoder = pt_insn_alloc_decoder(&config);
	if (!decoder || pt_insn_set_image(decoder, image) < 0)
		unusable("libipt refuses");

	if (!decode(decoder))
		return 1;
	if (next_executed(&rest)) {
		show_context();
		printf("decoded %" PRIu64 " instructions, but the machine went on to %" PRIx64 "\n",
		       compared, rest);
		return 1;
	}
	printf("%" PRIu64 " instructions, %zu windows, %zu bytes\n", compared, n_windows,
	       trace.size);
	return ticks && !times_right();
}

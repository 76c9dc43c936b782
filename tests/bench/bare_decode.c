// SPDX-License-Identifier: GPL-2.0
/*
 * libipt alone: decodes each thread of a recording and looks at nothing that comes
 * out. The peer by which mtrace-user's decoding is measured; that it goes wrong
 * nowhere is a condition, or the work would not be the same.
 *
 *	bare_decode insn|block RECORDING
 *
 * Prints the number of instructions. Exit status 1: the recording cannot be decoded
 * from end to end.
 */
#include <errno.h>
#include <intel-pt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/image/image.h"
#include "user/recording/recording.h"

static uint64_t insns;

static void __attribute__((noreturn)) die(const char *what, int err)
{
	fprintf(stderr, "bare_decode: %s: %s\n", what,
		err < 0 ? pt_errstr(pt_errcode(err)) : "failed");
	exit(1);
}

static void configure(struct pt_config *config, const struct mt_meta *meta, const uint8_t *bytes,
		      size_t len)
{
	pt_config_init(config);
	config->cpu.vendor = pcv_intel;
	config->cpu.family = meta->cpu_family;
	config->cpu.model = meta->cpu_model;
	config->cpu.stepping = meta->cpu_stepping;
	config->begin = (uint8_t *)bytes;
	config->end = (uint8_t *)bytes + len;
	config->mtc_freq = meta->mtc_freq;
	config->nom_freq = (uint8_t)(meta->nom_freq ? meta->nom_freq : meta->tsc_khz / 100000);
	config->cpuid_0x15_eax = meta->cpuid_15_eax;
	config->cpuid_0x15_ebx = meta->cpuid_15_ebx;
	/* It knows no errata of a CPU that it does not know. */
	if (pt_cpu_errata(&config->errata, &config->cpu) < 0)
		memset(&config->errata, 0, sizeof(config->errata));
}

static void decode_insns(const struct pt_config *config, struct pt_image *image)
{
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(config);
	struct pt_event event;
	struct pt_insn insn;
	int status;

	if (!decoder || pt_insn_set_image(decoder, image) < 0)
		die("pt_insn_alloc_decoder", 0);
	status = pt_insn_sync_forward(decoder);
	while (status >= 0 && !(status & pts_eos)) {
		while (status >= 0 && status & pts_event_pending)
			status = pt_insn_event(decoder, &event, sizeof(event));
		if (status < 0)
			break;
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (status >= 0)
			insns++;
	}
	if (status < 0 && status != -pte_eos)
		die("pt_insn_next", status);
	pt_insn_free_decoder(decoder);
}

static void decode_blocks(const struct pt_config *config, struct pt_image *image)
{
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(config);
	struct pt_event event;
	struct pt_block block;
	int status;

	if (!decoder || pt_blk_set_image(decoder, image) < 0)
		die("pt_blk_alloc_decoder", 0);
	status = pt_blk_sync_forward(decoder);
	while (status >= 0 && !(status & pts_eos)) {
		while (status >= 0 && status & pts_event_pending)
			status = pt_blk_event(decoder, &event, sizeof(event));
		if (status < 0)
			break;
		status = pt_blk_next(decoder, &block, sizeof(block));
		if (status >= 0)
			insns += block.ninsn;
	}
	if (status < 0 && status != -pte_eos)
		die("pt_blk_next", status);
	pt_blk_free_decoder(decoder);
}

static char *image_path(void *rec, const char *name)
{
	return mt_recording_image_path(rec, name);
}

static void decode_thread(struct mt_recording *rec, struct mt_image_cache *cache, size_t snapshot,
			  size_t thread, bool blocks)
{
	const struct mt_process_info *process = &mt_recording_snapshot(rec, snapshot)->processes[0];
	struct pt_config config;
	struct mt_image *image;
	const uint8_t *bytes;
	size_t len;

	if (mt_recording_map_thread(rec, snapshot, thread, &bytes, &len) ||
	    mt_image_new(cache, process->maps, process->nr_maps, &image))
		die("the recording cannot be read", 0);
	configure(&config, mt_recording_meta(rec), bytes, len);
	/* So that a call, a return and an interrupt each end a block, as for mtrace-user. */
	config.flags.variant.block.end_on_call = 1;
	config.flags.variant.block.end_on_jump = 1;
	if (blocks) {
		decode_blocks(&config, mt_image_code(image).image);
	} else {
		memset(&config.flags, 0, sizeof(config.flags));
		decode_insns(&config, mt_image_code(image).image);
	}
	mt_image_free(image);
	mt_recording_unmap(bytes, len);
}

int main(int argc, char **argv)
{
	struct mt_image_cache *cache;
	struct mt_recording *rec;
	size_t i, j;
	bool blocks;

	if (argc != 3 || (strcmp(argv[1], "insn") && strcmp(argv[1], "block"))) {
		fprintf(stderr, "usage: bare_decode insn|block RECORDING\n");
		return 2;
	}
	blocks = !strcmp(argv[1], "block");
	if (mt_recording_open(argv[2], &rec))
		return 1;
	if (mt_image_cache_new(image_path, rec, &cache))
		die("no memory", 0);
	for (i = 0; i < mt_recording_nr_snapshots(rec); i++)
		for (j = 0; j < mt_recording_snapshot(rec, i)->nr_threads; j++)
			decode_thread(rec, cache, i, j, blocks);
	printf("%" PRIu64 "\n", insns);
	mt_image_cache_free(cache);
	mt_recording_close(rec);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Recording -> image, decoder and timeline of each thread -> output files. Only
 * composes, and counts for the summary.
 */
#include "user/cmd/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/log.h"
#include "user/decode/decoder.h"
#include "user/image/image.h"
#include "user/output/output.h"
#include "user/recording/recording.h"
#include "user/timeline/timeline.h"

struct totals {
	uint64_t threads;
	uint64_t bytes;
	uint64_t slices;
	uint64_t gaps;
	struct mt_decode_stats decode;
};

struct job {
	struct mt_recording *rec;
	const struct mt_meta *meta;
	struct mt_image_cache *cache;
	struct mt_output *output;
	struct totals totals;
};

static void add_stats(struct mt_decode_stats *to, const struct mt_decode_stats *from)
{
	size_t i;

	to->segments += from->segments;
	to->calls += from->calls;
	to->insns += from->insns;
	to->overflows += from->overflows;
	to->errors += from->errors;
	to->skipped += from->skipped;
	for (i = 0; i < MT_DECODE_ERRORS; i++)
		to->errors_by_code[i] += from->errors_by_code[i];
}

static void describe_track(struct mt_track *track, const struct mt_snapshot_info *info,
			   const struct mt_thread_info *thread)
{
	size_t i;

	track->snapshot = info->number;
	track->pid = thread->pid;
	track->tid = thread->tid;
	track->thread = thread->comm ? thread->comm : "";
	track->process = track->thread;
	for (i = 0; i < info->nr_processes; i++)
		if (info->processes[i].pid == thread->pid && info->processes[i].comm)
			track->process = info->processes[i].comm;
}

/* Decode @bytes of @thread over @image to the output. */
static int decode_bytes(struct job *job, const struct mt_snapshot_info *info,
			const struct mt_thread_info *thread, struct mt_image *image,
			const uint8_t *bytes, size_t len)
{
	const struct mt_meta *meta = job->meta;
	const struct mt_resolver resolver = mt_image_resolver(image);
	const struct mt_code code = mt_image_code(image);
	const struct mt_decode_config config = {
		.cpu_family = meta->cpu_family,
		.cpu_model = meta->cpu_model,
		.cpu_stepping = meta->cpu_stepping,
		.tsc_khz = meta->tsc_khz,
		.nom_freq = meta->nom_freq,
		.mtc_freq = meta->mtc_freq,
		.cpuid_15_eax = meta->cpuid_15_eax,
		.cpuid_15_ebx = meta->cpuid_15_ebx,
		.end_tsc = thread->end_tsc,
	};
	struct mt_timeline_config timeline_config = {
		.resolver = &resolver,
		.clock = { .start_tsc = meta->start_tsc, .tsc_khz = meta->tsc_khz },
		.begin_tsc = thread->start_tsc,
		.end_tsc = thread->end_tsc,
	};
	struct mt_timeline_stats slices;
	struct mt_decode_stats stats;
	struct mt_timeline *timeline;
	int err;

	if (info->reason == MT_REASON_TRIGGER && info->trigger_tid == thread->tid)
		timeline_config.trigger_address = info->trigger_address;
	describe_track(&timeline_config.track, info, thread);
	err = mt_timeline_new(&timeline_config, &timeline);
	if (err)
		return err;
	err = mt_decode(&config, &code, bytes, len, mt_timeline_flow, timeline, &stats);
	if (!err)
		err = mt_timeline_finish(timeline, mt_output_sink(job->output));
	if (!err) {
		mt_timeline_stats(timeline, &slices);
		job->totals.threads++;
		job->totals.slices += slices.slices;
		job->totals.gaps += slices.gaps;
		add_stats(&job->totals.decode, &stats);
		if (len && !stats.segments)
			mt_warn("snapshot %" PRIu64 ", thread %d: nothing could be decoded of "
				"%zu bytes%s", info->number, thread->tid, len,
				stats.errors ? "" : ": no traced code ran in them, or there is "
				"no whole PSB packet");
	}
	mt_timeline_free(timeline);
	return err;
}

static int decode_thread(struct job *job, size_t index, size_t number, struct mt_image *image)
{
	const struct mt_snapshot_info *info = mt_recording_snapshot(job->rec, index);
	const struct mt_thread_info *thread = &info->threads[number];
	const uint8_t *bytes;
	size_t len;
	int err;

	err = mt_recording_map_thread(job->rec, index, number, &bytes, &len);
	if (err)
		return err;
	if (thread->missing)
		mt_warn("snapshot %" PRIu64 ", thread %d: the last %" PRIu64 " bytes of the trace "
			"are missing from the recording", info->number, thread->tid,
			thread->missing);
	job->totals.bytes += len;
	if (len) {
		err = decode_bytes(job, info, thread, image, bytes, len);
		if (err)
			mt_error("snapshot %" PRIu64 ", thread %d: decoding failed: %s",
				 info->number, thread->tid, strerror(-err));
	}
	mt_recording_unmap(bytes, len);
	return err;
}

/* The threads of one process, one after the other. */
static int decode_process(struct job *job, size_t index, pid_t pid)
{
	const struct mt_snapshot_info *info = mt_recording_snapshot(job->rec, index);
	const struct mt_process_info *process = NULL;
	struct mt_image *image;
	size_t i;
	int err;

	for (i = 0; i < info->nr_processes; i++)
		if (info->processes[i].pid == pid)
			process = &info->processes[i];
	if (!process)
		mt_warn("snapshot %" PRIu64 ": the recording has no maps of process %d; "
			"its code cannot be read", info->number, pid);
	err = mt_image_new(job->cache, process ? process->maps : NULL,
			   process ? process->nr_maps : 0, &image);
	if (err) {
		mt_error("out of memory");
		return err;
	}
	for (i = 0; i < info->nr_threads && !err; i++)
		if (info->threads[i].pid == pid)
			err = decode_thread(job, index, i, image);
	mt_image_free(image);
	return err;
}

static int decode_snapshot(struct job *job, size_t index)
{
	const struct mt_snapshot_info *info = mt_recording_snapshot(job->rec, index);
	size_t i, before;
	int err;

	if (info->nr_unswitched)
		mt_warn("snapshot %" PRIu64 ": %" PRIu32 " thread%s missing: "
			"the buffer had no room", info->number, info->nr_unswitched,
			info->nr_unswitched == 1 ? " is" : "s are");
	err = mt_output_snapshot(job->output, info);
	for (i = 0; i < info->nr_threads && !err; i++) {
		for (before = 0; before < i; before++)
			if (info->threads[before].pid == info->threads[i].pid)
				break;
		if (before == i)
			err = decode_process(job, index, info->threads[i].pid);
	}
	return err;
}

/* "12,345" */
static const char *number(uint64_t value, char buf[32])
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, value), i;
	char *to = buf;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return buf;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void summarize(const struct totals *totals, uint64_t snapshots)
{
	const struct mt_decode_stats *stats = &totals->decode;
	char text[5][32], gaps[128] = "no gap", *to = gaps;
	size_t i;

	for (i = 0; i < MT_DECODE_ERRORS; i++)
		if (stats->errors_by_code[i])
			mt_warn("%s place%s in the trace cannot be decoded: %s",
				number(stats->errors_by_code[i], text[0]),
				plural(stats->errors_by_code[i]), mt_decode_error((int)i));
	if (stats->overflows || stats->errors) {
		to += sprintf(to, "%s gap%s (", number(stats->overflows + stats->errors, text[0]),
			      plural(stats->overflows + stats->errors));
		if (stats->overflows)
			to += sprintf(to, "%s overflow%s%s", number(stats->overflows, text[1]),
				      plural(stats->overflows), stats->errors ? ", " : "");
		if (stats->errors)
			to += sprintf(to, "%s error%s", number(stats->errors, text[1]),
				      plural(stats->errors));
		sprintf(to, ")");
	}
	mt_info("%s snapshot%s, %s thread%s: %s call%s, %s slice%s, %s",
		number(snapshots, text[0]), plural(snapshots),
		number(totals->threads, text[1]), plural(totals->threads),
		number(stats->calls, text[2]), plural(stats->calls),
		number(totals->slices, text[3]), plural(totals->slices), gaps);
}

/* A file of the default name stays as .old, beside itself if that is a link. */
static int keep_old(void)
{
	char *path, *old = NULL;
	struct stat st;
	int err;

	err = mt_output_resolve(MT_DEFAULT_OUTPUT, &path);
	if (err)
		goto fail;
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		goto out;
	err = -ENOMEM;
	if (asprintf(&old, "%s.old", path) < 0) {
		old = NULL;
		goto fail;
	}
	err = rename(path, old) ? -errno : 0;
	if (!err)
		goto out;
fail:
	mt_error("the old " MT_DEFAULT_OUTPUT " cannot be kept: %s", strerror(-err));
out:
	free(old);
	free(path);
	return err;
}

static char *image_path(void *ctx, const char *name)
{
	return mt_recording_image_path(ctx, name);
}

static int decode_all(struct job *job)
{
	size_t i, count = mt_recording_nr_snapshots(job->rec);
	int err = 0;

	for (i = 0; i < count && !err; i++)
		err = decode_snapshot(job, i);
	if (!err && !job->totals.slices) {
		mt_error("nothing was recorded: %s",
			 job->totals.bytes ? "nothing can be decoded of what the snapshots hold" :
			 count ? "no snapshot has any trace" : "there is no snapshot");
		err = -ENODATA;
	}
	return err;
}

static const char *const default_output = MT_DEFAULT_OUTPUT;

int mt_cmd_check_outputs(const char *const *outputs, size_t nr_outputs)
{
	return mt_output_check(nr_outputs ? outputs : &default_output,
			       nr_outputs ? nr_outputs : 1);
}

int mt_cmd_decode_files(const char *recording, const char *const *outputs, size_t nr_outputs)
{
	struct job job = { 0 };
	int err;

	err = mt_recording_open(recording, &job.rec);
	if (err)
		return err;
	job.meta = mt_recording_meta(job.rec);
	if (!job.meta->tsc_khz) {
		mt_error("%s: meta.json does not tell the frequency of the TSC (tsc_khz)",
			 recording);
		err = -EINVAL;
		goto out_recording;
	}
	err = mt_image_cache_new(image_path, job.rec, &job.cache);
	if (err) {
		mt_error("out of memory");
		goto out_recording;
	}
	err = mt_output_open(nr_outputs ? outputs : &default_output, nr_outputs ? nr_outputs : 1,
			     &job.output);
	if (err)
		goto out_cache;
	err = decode_all(&job);
	if (!err && !nr_outputs)
		err = keep_old();
	if (!err)
		err = mt_output_commit(job.output);
	if (!err)
		summarize(&job.totals, mt_recording_nr_snapshots(job.rec));
	mt_output_close(job.output);
out_cache:
	mt_image_cache_free(job.cache);
out_recording:
	mt_recording_close(job.rec);
	return err;
}

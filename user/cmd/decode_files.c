// SPDX-License-Identifier: GPL-2.0
/*
 * Recording -> image, decoder and timeline of each thread -> output files. Only
 * composes.
 */
#include "user/cmd/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/mtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/log.h"
#include "user/cmd/summary.h"
#include "user/decode/decoder.h"
#include "user/image/image.h"
#include "user/output/output.h"
#include "user/recording/recording.h"
#include "user/timeline/timeline.h"

struct job {
	struct mt_recording *rec;
	const struct mt_meta *meta;
	struct mt_image_cache *cache;
	struct mt_output *output;
	struct mt_summary summary;
};

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

static void warn_undecoded(const struct mt_snapshot_info *info,
			   const struct mt_thread_info *thread, size_t len,
			   const struct mt_decode_stats *stats)
{
	mt_warn("snapshot %" PRIu64 ", thread %d: nothing could be decoded of %zu bytes%s",
		info->number, thread->tid, len,
		stats->synced || stats->errors ? "" : ": there is no whole PSB packet");
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
	if (!err && mt_outcome_of(&stats) == MT_OUTCOME_UNDECODED) {
		warn_undecoded(info, thread, len, &stats);
		mt_timeline_undecoded(timeline);
	}
	if (!err)
		err = mt_timeline_finish(timeline, mt_output_sink(job->output));
	if (!err) {
		mt_timeline_stats(timeline, &slices);
		err = mt_summary_add(&job->summary, thread->tid, &stats, slices.slices);
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
	if (thread->flags & (MTRACE_REGION_LOST | MTRACE_REGION_ERROR)) {
		mt_warn("snapshot %" PRIu64 ", thread %d: the processor lost a part of the trace",
			info->number, thread->tid);
		job->summary.lossy++;
	}
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
	if (!err && !job->summary.slices) {
		mt_error("nothing was recorded: %s", mt_summary_nothing(&job->summary, count));
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
		mt_summary_tell(&job.summary, mt_recording_nr_snapshots(job.rec));
	mt_output_close(job.output);
	mt_summary_free(&job.summary);
out_cache:
	mt_image_cache_free(job.cache);
out_recording:
	mt_recording_close(job.rec);
	return err;
}

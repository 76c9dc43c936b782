/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The recording: what one run of the tracer left on disk, to be decoded on any
 * machine. This is the only place that knows its files; docs/FORMAT.md is
 * their description.
 *
 *	meta.json			struct mt_meta
 *	snapshots/N/snapshot.json	struct mt_snapshot_info, its processes
 *					and threads; written before the data
 *	snapshots/N/TID.pt		one thread's raw PT bytes, oldest first,
 *					just as libipt's own tools read them
 *	images/NAME			code that no file holds (vdso), by hash
 *	sideband			the module's records, as it gave them
 *
 * A recording that was cut off at any byte is readable up to there: every
 * .json is put in place by rename, and a .pt file may be shorter than its
 * snapshot.json says (mt_thread_info.missing tells by how much).
 *
 * Errors are -errno, and a message that names the file has then been given
 * by mt_error().
 */
#ifndef MTRACE_RECORDING_RECORDING_H
#define MTRACE_RECORDING_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MT_RECORDING_FORMAT	1

/* Of the whole recording. Strings are owned by the structure. */
struct mt_meta {
	char *tool;		/* "mtrace-user 0.1" */
	char *kernel;		/* uname -r */
	char **command;		/* argv of the traced program, NULL-terminated */
	uint32_t cpu_family;
	uint32_t cpu_model;
	uint32_t cpu_stepping;
	uint32_t tsc_khz;
	uint32_t cpuid_15_eax;	/* TSC to crystal ratio, denominator ... */
	uint32_t cpuid_15_ebx;	/* ... and numerator; 0 where unknown */
	uint32_t nom_freq;	/* max non-turbo ratio, 0 where unknown */
	uint32_t mtc_freq;
	uint64_t rtit_ctl;
	uint64_t start_tsc;	/* the three clocks at one moment */
	uint64_t start_monotonic_ns;
	uint64_t start_realtime_ns;
};

/* One executable mapping of a process at the moment of the snapshot. */
struct mt_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset;	/* of start in the file */
	char *path;		/* as in /proc/PID/maps: a file, "[vdso]", ... */
	char *build_id;		/* hex, NULL where there is none or unknown */
	char *image;		/* file below the recording's images/ with just
				 * the bytes [start, end), or NULL: use @path */
};

struct mt_process_info {
	pid_t pid;
	char *comm;
	struct mt_map *maps;
	size_t nr_maps;
};

/* One frozen region: one thread's trace in one snapshot. */
struct mt_thread_info {
	pid_t pid;
	pid_t tid;
	char *comm;
	char *file;		/* name of the .pt file in the snapshot's folder */
	uint64_t bytes;		/* that were frozen */
	uint64_t missing;	/* reader only: bytes of these not in the file */
	uint64_t start_tsc;
	uint64_t end_tsc;
	uint32_t flags;		/* MTRACE_REGION_* */
	uint32_t cpu;
};

/* Why a snapshot was taken. */
enum mt_reason {
	MT_REASON_TRIGGER,	/* a breakpoint of --trigger was hit */
	MT_REASON_COMMAND,	/* asked for: Ctrl-C */
	MT_REASON_EXIT,		/* the program ended */
	MT_REASON_EXEC,		/* it became another: this is of the one before */
};

struct mt_snapshot_info {
	uint64_t number;	/* from 1 */
	enum mt_reason reason;
	uint64_t tsc;
	uint64_t tsc_end;
	char *trigger_symbol;	/* MT_REASON_TRIGGER only, else NULL */
	uint64_t trigger_address;
	pid_t trigger_tid;
	uint32_t nr_unswitched;	/* threads that are missing from it */
	struct mt_process_info *processes;
	size_t nr_processes;
	struct mt_thread_info *threads;
	size_t nr_threads;
};

void mt_meta_free(struct mt_meta *meta);		/* contents only */
void mt_process_info_free(struct mt_process_info *process);	/* likewise */
void mt_snapshot_info_free(struct mt_snapshot_info *info);	/* likewise */

/* ---- writing ---- */

struct mt_recording_writer;

/*
 * Create directory @path (which must not exist, or be empty: -EEXIST) and
 * write meta.json.
 */
int mt_recording_create(const char *path, const struct mt_meta *meta,
			struct mt_recording_writer **out);

/*
 * Keep @len bytes of code as an image and return its name (for mt_map.image)
 * in *@name, owned by the caller. Equal bytes are kept once.
 */
int mt_recording_add_image(struct mt_recording_writer *w, const char *label,
			   const void *bytes, size_t len, char **name);

/* Bytes of a thread: up to two pieces of a region that wrapped, in time order. */
struct mt_piece {
	const void *bytes;
	size_t len;
};

/*
 * Write one snapshot: snapshot.json first, then @info->threads[i] with
 * @pieces[i][0..1]. mt_thread_info.file and .bytes are set by this call.
 */
int mt_recording_add_snapshot(struct mt_recording_writer *w,
			      struct mt_snapshot_info *info,
			      const struct mt_piece (*pieces)[2]);

/*
 * Map the bytes of file @file of snapshot @number, that was added before: *@bytes
 * of *@len (0 and NULL where it is empty). Unmap with mt_recording_unmap().
 */
int mt_recording_map_written(const struct mt_recording_writer *w, uint64_t number,
			     const char *file, const uint8_t **bytes, size_t *len);

/*
 * Append records of the sideband. May be called by another thread than all others
 * of the writer, and at the same time.
 */
int mt_recording_add_sideband(struct mt_recording_writer *w, const void *records, size_t len);

int mt_recording_finish(struct mt_recording_writer *w);

/* Remove a recording, and whatever else is in its directory. Returns 0 or -errno. */
int mt_recording_remove(const char *path);

/* ---- reading ---- */

struct mt_recording;

int mt_recording_open(const char *path, struct mt_recording **out);
void mt_recording_close(struct mt_recording *rec);

const struct mt_meta *mt_recording_meta(const struct mt_recording *rec);

/* Snapshots that can be read, in order of their number. */
size_t mt_recording_nr_snapshots(const struct mt_recording *rec);
const struct mt_snapshot_info *mt_recording_snapshot(const struct mt_recording *rec,
						     size_t index);

/*
 * Map thread @thread of snapshot @index read-only: *@bytes of *@len (0 and
 * NULL where the file is empty). Unmap with mt_recording_unmap().
 */
int mt_recording_map_thread(const struct mt_recording *rec, size_t index,
			    size_t thread, const uint8_t **bytes, size_t *len);
void mt_recording_unmap(const uint8_t *bytes, size_t len);

/* Full path of an image below the recording, to be freed by the caller. */
char *mt_recording_image_path(const struct mt_recording *rec, const char *name);

#endif /* MTRACE_RECORDING_RECORDING_H */

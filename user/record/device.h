/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client of /dev/mtrace: one session of the kernel module. The only place
 * that makes its ioctls. Knows nothing of why anything is asked of it.
 *
 * Functions return 0 or -errno; where "with a message" is said, mt_error() has
 * told what was wrong and what to do.
 */
#ifndef MTRACE_RECORD_DEVICE_H
#define MTRACE_RECORD_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/mtrace.h>

struct mt_device {
	int fd;
	struct mtrace_caps caps;
	struct mtrace_setup setup;	/* as the module filled it */
	const uint8_t *buffer;		/* the mapping, NULL before set-up */
};

/* Open the device and ask what it can do. With a message. */
int mt_device_open(struct mt_device *dev);

/* Ends the session and all its tracing. */
void mt_device_close(struct mt_device *dev);

/*
 * Set the session up as @setup says, and map its buffer. With a message, but for
 * -ENOMEM where @try_less: the caller tries again with less memory.
 */
int mt_device_setup(struct mt_device *dev, const struct mtrace_setup *setup, bool try_less);

/* Whether the last -ENOMEM of that is for what the user may lock (ulimit -l). */
bool mt_device_is_limited(const struct mt_device *dev);

/* Trace a thread. With a message, but for -EEXIST: it is traced already. */
int mt_device_attach(struct mt_device *dev, pid_t tid);

/* Start or stop tracing; to do it again is no error. With a message. */
int mt_device_start(struct mt_device *dev);
int mt_device_stop(struct mt_device *dev);

/*
 * Take a snapshot. mt_device_release() is to follow. Without a message, which
 * mt_device_snapshot_error() gives.
 */
int mt_device_snapshot(struct mt_device *dev, struct mtrace_snapshot *snapshot);
void mt_device_snapshot_error(int err);

/*
 * The oldest snapshot that another process has asked for and that was not given
 * here before: as if it had been taken now. While there is one, poll() gives
 * POLLPRI for @dev's fd. Returns 1; 0: there is none; -errno after a message.
 */
int mt_device_next_snapshot(struct mt_device *dev, struct mtrace_snapshot *snapshot);

/*
 * List a snapshot's regions: *@regions of *@count, to be freed by the caller. With
 * a message.
 */
int mt_device_describe(struct mt_device *dev, uint64_t id, struct mtrace_region **regions,
		       size_t *count);
int mt_device_release(struct mt_device *dev, uint64_t id);

/*
 * Read records of the sideband (linux/mtrace_sideband.h) without waiting: returns
 * their bytes, 0 where there are none, or -errno with a message.
 */
ssize_t mt_device_read(struct mt_device *dev, void *records, size_t len);

/* The session's counters. Without a message: nothing depends on them. */
int mt_device_status(struct mt_device *dev, struct mtrace_status *status);

/* What a set-up asked for and this machine cannot do (MTRACE_CAP_*), as one line for people. */
void mt_device_missing(uint32_t missing, char *line, size_t len);

/* Why the device could not be opened, as one line for people. */
void mt_device_explain(int err, bool cpu_has_pt, char *line, size_t len);

#endif /* MTRACE_RECORD_DEVICE_H */

// SPDX-License-Identifier: GPL-2.0
/* From the module's ring to the recording; see the header. */
#include "user/record/sideband.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <linux/mtrace_sideband.h>

#include "user/base/log.h"

struct mt_sideband {
	struct mt_device *dev;
	struct mt_recording_writer *writer;
	pthread_t thread;
	int end;		/* an eventfd that ends the thread */
	pthread_mutex_t lock;	/* of all below: who reads also writes */
	int err;		/* the recording takes no more */
	uint64_t lost;
	_Alignas(8) uint8_t records[256 * 1024];
};

static uint64_t count_lost(const uint8_t *records, size_t len)
{
	const struct mtrace_record *head;
	uint64_t lost = 0;

	for (size_t at = 0; at + sizeof(*head) <= len; at += head->size) {
		head = (const void *)(records + at);
		if (head->size < sizeof(*head))
			break;
		if (head->type == MTRACE_RECORD_LOST)
			lost += ((const struct mtrace_record_lost *)head)->count;
	}
	return lost;
}

void mt_sideband_drain(struct mt_sideband *sideband)
{
	ssize_t n;

	pthread_mutex_lock(&sideband->lock);
	while (!sideband->err) {
		n = mt_device_read(sideband->dev, sideband->records, sizeof(sideband->records));
		if (n <= 0) {
			sideband->err = (int)n;
			break;
		}
		sideband->lost += count_lost(sideband->records, (size_t)n);
		sideband->err = mt_recording_add_sideband(sideband->writer, sideband->records,
							  (size_t)n);
	}
	pthread_mutex_unlock(&sideband->lock);
}

static bool has_failed(struct mt_sideband *sideband)
{
	bool failed;

	pthread_mutex_lock(&sideband->lock);
	failed = sideband->err;
	pthread_mutex_unlock(&sideband->lock);
	return failed;
}

static void *carry(void *data)
{
	struct mt_sideband *sideband = data;
	struct pollfd fds[] = {
		{ .fd = sideband->dev->fd, .events = POLLIN },
		{ .fd = sideband->end, .events = POLLIN },
	};

	/* What cannot be written need not be read: the module counts it. */
	while (!has_failed(sideband)) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents)
			break;
		mt_sideband_drain(sideband);
	}
	return NULL;
}

/* Signals are for the thread that holds the program. */
static int start_thread(struct mt_sideband *sideband)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&sideband->thread, NULL, carry, sideband);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int mt_sideband_start(struct mt_device *dev, struct mt_recording_writer *w,
		      struct mt_sideband **out)
{
	struct mt_sideband *sideband = calloc(1, sizeof(*sideband));
	int err = -ENOMEM;

	if (!sideband)
		goto fail;
	sideband->dev = dev;
	sideband->writer = w;
	pthread_mutex_init(&sideband->lock, NULL);
	sideband->end = eventfd(0, EFD_CLOEXEC);
	if (sideband->end < 0) {
		err = -errno;
		goto fail;
	}
	err = start_thread(sideband);
	if (err) {
		close(sideband->end);
		goto fail;
	}
	*out = sideband;
	return 0;

fail:
	free(sideband);
	mt_error("the sideband cannot be recorded: %s", strerror(-err));
	return err;
}

uint64_t mt_sideband_finish(struct mt_sideband *sideband)
{
	uint64_t lost;

	if (!sideband)
		return 0;
	eventfd_write(sideband->end, 1);
	pthread_join(sideband->thread, NULL);
	mt_sideband_drain(sideband);
	lost = sideband->lost;
	close(sideband->end);
	pthread_mutex_destroy(&sideband->lock);
	free(sideband);
	return lost;
}

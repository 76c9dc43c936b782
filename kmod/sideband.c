// SPDX-License-Identifier: GPL-2.0
/*
 * The sideband of sessions
 *
 * Owns when a session has one and who reads it, what all its records have in
 * common, and when the kernel is watched for any. Does not know what there is
 * to tell of threads (sideband_thread.c) and of their code (sideband_space.c),
 * nor how records get to a reader (ring.c).
 *
 * Locks: records are written under any of those that are taken here or by the
 * callers, which are the session's lock and that of a run queue. The list of
 * all sidebands is read under RCU.
 */
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/jump_label.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "access.h"
#include "compat.h"
#include "session.h"
#include "sideband.h"
#include "space.h"
#include "thread.h"

/*
 * How often at most all is put into its place that sees what there is to tell. It
 * stays there for so long when there is no sideband any more: to put it in or out
 * patches the kernel's code, which interrupts every CPU several times, and who may
 * have sessions could have that done over and over.
 */
#define SIDEBAND_LINGER	(10 * HZ)

DEFINE_STATIC_KEY_FALSE(mt_sideband_is_wanted);
static DEFINE_MUTEX(sideband_mutex);	/* of those that change the list */
LIST_HEAD(mt_sideband_list);
static bool sideband_watching;

/* Room for a path: used with preemption off, there while anything is watched. */
static char __percpu *sideband_paths;

/**
 * mt_sideband_head - begin a record
 * @sideband: the sideband that it is for
 * @type: MTRACE_RECORD_*
 * @task: whose doing it tells of
 *
 * Return: the head; its size and time are filled in when it is put.
 */
struct mtrace_record mt_sideband_head(const struct mt_sideband *sideband,
				      u16 type, struct task_struct *task)
{
	struct pid_namespace *ns = sideband->session->pid_ns;

	return (struct mtrace_record){
		.type = type,
		.tid = task_pid_nr_ns(task, ns),
		.pid = task_tgid_nr_ns(task, ns),
		.cpu = raw_smp_processor_id(),
	};
}

/**
 * mt_sideband_put - put a record into a sideband, or count it as lost
 * @sideband: the sideband
 * @record: the record, with its head
 * @size: its size
 * @path: what comes behind that, or NULL
 */
void mt_sideband_put(struct mt_sideband *sideband, struct mtrace_record *record,
		     u32 size, const char *path)
{
	if (mt_ring_write(&sideband->ring, record, size, path,
			  path ? strlen(path) + 1 : 0,
			  record->type != MTRACE_RECORD_SWITCH))
		mt_session_wake(sideband->session);
}

/**
 * mt_sideband_path - tell the path of a file
 * @file: the file
 *
 * Called by what is watched, with preemption disabled.
 *
 * Return: the path, there until preemption is enabled.
 */
const char *mt_sideband_path(struct file *file)
{
	char *path = d_path(mt_file_path(file), this_cpu_ptr(sideband_paths),
			    PATH_MAX);

	return IS_ERR(path) ? "//toolong" : path;
}

/**
 * mt_sideband_may_tell - ask whether a session may know what a thread does
 * @trace: the session's part of the thread
 * @task: the thread's task
 *
 * It may have lost that since it has the thread, see mt_attach_review().
 */
bool mt_sideband_may_tell(const struct mt_trace *trace,
			  const struct task_struct *task)
{
	return !trace->tracer || mt_access_is_tracer(trace->tracer, task);
}

/**
 * mt_sideband_check - check what a set-up wants of the sideband
 * @setup: the set-up; a size of 0 becomes what is used then
 *
 * Return: 0 or -EINVAL.
 */
int mt_sideband_check(struct mtrace_setup *setup)
{
	if (!(setup->flags & MTRACE_SETUP_SIDEBAND))
		return setup->sideband_size ? -EINVAL : 0;
	if (!setup->sideband_size)
		setup->sideband_size = MTRACE_SIDEBAND_DEFAULT;
	if (!is_power_of_2(setup->sideband_size) ||
	    setup->sideband_size < MTRACE_SIDEBAND_MIN ||
	    setup->sideband_size > MTRACE_SIDEBAND_MAX)
		return -EINVAL;
	return 0;
}

/* The mutex is held. */
static int sideband_watch(void)
{
	int ret;

	if (sideband_watching)
		return 0;
	sideband_paths = __alloc_percpu(PATH_MAX, sizeof(u64));
	if (!sideband_paths)
		return -ENOMEM;
	ret = mt_space_watch();
	if (ret) {
		free_percpu(sideband_paths);
		return ret;
	}
	static_branch_enable(&mt_sideband_is_wanted);
	sideband_watching = true;
	return 0;
}

static void sideband_unwatch(struct work_struct *unused)
{
	mutex_lock(&sideband_mutex);
	if (sideband_watching && list_empty(&mt_sideband_list)) {
		static_branch_disable(&mt_sideband_is_wanted);
		mt_space_unwatch();
		/* Hooks may be using room for a path. */
		synchronize_rcu();
		free_percpu(sideband_paths);
		sideband_watching = false;
	}
	mutex_unlock(&sideband_mutex);
}

static DECLARE_DELAYED_WORK(sideband_unwatcher, sideband_unwatch);

/**
 * mt_sideband_create - give a session a sideband, if it is to have one
 * @session: the session, which has no thread yet
 * @setup: what is wanted, checked
 *
 * Return: 0 or a negative error.
 */
int mt_sideband_create(struct mt_session *session,
		       const struct mtrace_setup *setup)
{
	struct mt_sideband *sideband;
	int ret;

	if (!(setup->flags & MTRACE_SETUP_SIDEBAND))
		return 0;
	sideband = kzalloc(sizeof(*sideband), GFP_KERNEL);
	if (!sideband)
		return -ENOMEM;
	sideband->session = session;
	sideband->missed = mt_space_missed();
	ret = mt_ring_alloc(&sideband->ring, setup->sideband_size);
	if (ret)
		goto err_free;

	mutex_lock(&sideband_mutex);
	ret = sideband_watch();
	if (!ret)
		list_add_tail_rcu(&sideband->link, &mt_sideband_list);
	mutex_unlock(&sideband_mutex);
	if (ret)
		goto err_free_ring;
	session->trace.sideband = sideband;
	return 0;

err_free_ring:
	mt_ring_free(&sideband->ring);
err_free:
	kfree(sideband);
	return ret;
}

/**
 * mt_sideband_destroy - have no sideband of a session any more
 * @session: the session, which has no thread any more
 */
void mt_sideband_destroy(struct mt_session *session)
{
	struct mt_sideband *sideband = session->trace.sideband;

	if (!sideband)
		return;
	mutex_lock(&sideband_mutex);
	list_del_rcu(&sideband->link);
	if (list_empty(&mt_sideband_list))
		schedule_delayed_work(&sideband_unwatcher, SIDEBAND_LINGER);
	mutex_unlock(&sideband_mutex);
	/* Hooks may have found it. */
	synchronize_rcu();

	session->trace.sideband = NULL;
	mt_ring_free(&sideband->ring);
	kfree(sideband);
}

/**
 * mt_sideband_exit - watch nothing any more
 *
 * There is no session.
 */
void mt_sideband_exit(void)
{
	cancel_delayed_work_sync(&sideband_unwatcher);
	sideband_unwatch(NULL);
}

/**
 * mt_sideband_run - the session starts or stops
 * @session: the session
 * @run: which
 */
void mt_sideband_run(struct mt_session *session, bool run)
{
	struct mt_sideband *sideband = session->trace.sideband;
	struct mtrace_record_run record = {};

	if (!sideband)
		return;
	record.head = mt_sideband_head(sideband, MTRACE_RECORD_RUN, current);
	record.running = run;
	mt_sideband_put(sideband, &record.head, sizeof(record), NULL);
}

/* Probes that were missed may have been of any process. */
static void sideband_tell_missed(struct mt_sideband *sideband)
{
	unsigned long told = READ_ONCE(sideband->missed);
	unsigned long missed = mt_space_missed();
	struct mtrace_record_loss record = {
		.head.type = MTRACE_RECORD_LOSS,
		.head.cpu = raw_smp_processor_id(),
		.what = MTRACE_LOSS_HOOK,
	};

	/* Another reader may know of more, or be about to tell the same. */
	if ((long)(missed - told) <= 0 ||
	    cmpxchg(&sideband->missed, told, missed) != told)
		return;
	record.count = missed - told;
	mt_sideband_put(sideband, &record.head, sizeof(record), NULL);
}

/**
 * mt_sideband_is_ready - tell whether read() has something that matters
 * @session: the session, set up or not
 */
bool mt_sideband_is_ready(const struct mt_session *session)
{
	/* With the release in mt_session_setup(). */
	return smp_load_acquire(&session->ready) && session->trace.sideband &&
	       mt_ring_is_ready(&session->trace.sideband->ring);
}

/**
 * mt_sideband_read - take records
 * @session: the session, set up or not
 * @to: where to
 * @count: bytes that there are
 * @wait: whether to wait for a record
 *
 * Return: the bytes that were taken, or an error as the protocol lists them.
 */
ssize_t mt_sideband_read(struct mt_session *session, char __user *to,
			 size_t count, bool wait)
{
	struct mt_sideband *sideband;
	ssize_t ret;

	/* With the release in mt_session_setup(). */
	if (!smp_load_acquire(&session->ready) || !session->trace.sideband)
		return -EINVAL;
	sideband = session->trace.sideband;
	for (;;) {
		sideband_tell_missed(sideband);
		ret = mt_ring_read(&sideband->ring, to, count);
		if (ret != -EAGAIN || !wait)
			return ret;
		ret = wait_event_interruptible(session->wait,
					       mt_sideband_is_ready(session));
		if (ret)
			return ret;
	}
}

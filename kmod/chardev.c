// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/mtrace
 *
 * Owns the file: who may open it, how an argument gets in and out, the mapping
 * of the buffer. Decides nothing of tracing.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/ioctl.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mtrace.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "access.h"
#include "attach.h"
#include "buffer.h"
#include "caps.h"
#include "chardev.h"
#include "compat.h"
#include "cpu.h"
#include "member.h"
#include "session.h"
#include "sideband.h"
#include "snapshot.h"
#include "stream.h"
#include "trigger.h"

union chardev_arg {
	u32 size;
	struct mtrace_caps caps;
	struct mtrace_setup setup;
	struct mtrace_thread thread;
	struct mtrace_snapshot snapshot;
	struct mtrace_describe describe;
	struct mtrace_release release;
	struct mtrace_status status;
	struct mtrace_trigger trigger;
	struct mtrace_stream_read stream_read;
	struct mtrace_stream_release stream_release;
};

static int chardev_caps(struct mt_session *session, union chardev_arg *arg)
{
	if (memchr_inv(arg->caps.reserved, 0, sizeof(arg->caps.reserved)))
		return -EINVAL;
	mt_caps_describe(&arg->caps);
	arg->caps.max_threads = mt_access_max_threads(&session->access);
	return 0;
}

static int chardev_setup(struct mt_session *session, union chardev_arg *arg)
{
	return mt_session_setup(session, &arg->setup);
}

static int chardev_get_setup(struct mt_session *session, union chardev_arg *arg)
{
	return mt_session_get_setup(session, &arg->setup);
}

static int chardev_attach(struct mt_session *session, union chardev_arg *arg)
{
	return mt_attach_begin(session, &arg->thread);
}

static int chardev_detach(struct mt_session *session, union chardev_arg *arg)
{
	return mt_attach_end(session, &arg->thread);
}

static int chardev_start(struct mt_session *session, union chardev_arg *arg)
{
	return mt_session_start(session);
}

static int chardev_stop(struct mt_session *session, union chardev_arg *arg)
{
	return mt_session_stop(session);
}

static int chardev_snapshot(struct mt_session *session, union chardev_arg *arg)
{
	return mt_snapshot_take(session, &arg->snapshot, MTRACE_REASON_CALL);
}

static int chardev_next_snapshot(struct mt_session *session,
				 union chardev_arg *arg)
{
	return mt_snapshot_next(session, &arg->snapshot);
}

static int chardev_describe(struct mt_session *session, union chardev_arg *arg)
{
	return mt_snapshot_describe(session, &arg->describe);
}

static int chardev_release_snapshot(struct mt_session *session,
				    union chardev_arg *arg)
{
	return mt_snapshot_release(session, &arg->release);
}

static int chardev_status(struct mt_session *session, union chardev_arg *arg)
{
	return mt_session_status(session, &arg->status);
}

static int chardev_add_trigger(struct mt_session *session,
			       union chardev_arg *arg)
{
	return mt_trigger_add(session, &arg->trigger);
}

static int chardev_remove_trigger(struct mt_session *session,
				  union chardev_arg *arg)
{
	return mt_trigger_remove(session, &arg->trigger);
}

static int chardev_stream_read(struct mt_session *session,
			       union chardev_arg *arg)
{
	return mt_stream_read(session, &arg->stream_read);
}

static int chardev_stream_release(struct mt_session *session,
				  union chardev_arg *arg)
{
	return mt_stream_release(session, &arg->stream_release);
}

/**
 * enum chardev_lock - what is held while a call is made
 * @CHARDEV_MUTEX: the session's mutex
 * @CHARDEV_BOTH: that, and before it the one of those who read: the call takes away
 *	what is read
 * @CHARDEV_READING: that of those who read alone: the call writes to user space
 *	more than its structure, and takes the session's mutex itself
 * @CHARDEV_ARMING: the session's mutex, and before it the one of what changes
 *	breakpoints
 * @CHARDEV_TRIGGERS: that one alone
 */
enum chardev_lock {
	CHARDEV_MUTEX,
	CHARDEV_BOTH,
	CHARDEV_READING,
	CHARDEV_ARMING,
	CHARDEV_TRIGGERS,
};

/**
 * struct chardev_call - one ioctl
 * @cmd: its command
 * @size: sizeof its structure, 0 for none
 * @first_size: the same in the first version of the protocol, the shortest
 *	that is accepted
 * @tells: the errors with which the structure is written back, or 0
 * @call: does it
 * @lock: what it is called with
 */
struct chardev_call {
	unsigned int cmd;
	u32 size;
	u32 first_size;
	int tells[2];
	int (*call)(struct mt_session *session, union chardev_arg *arg);
	enum chardev_lock lock;
};

static const struct chardev_call chardev_calls[] = {
	{ MTRACE_IOC_GET_CAPS, sizeof(struct mtrace_caps), 104, {},
	  chardev_caps },
	{ MTRACE_IOC_SETUP, sizeof(struct mtrace_setup), 224,
	  { -ENOMEM, -EOPNOTSUPP }, chardev_setup },
	{ MTRACE_IOC_ATTACH, sizeof(struct mtrace_thread), 16, {},
	  chardev_attach, CHARDEV_ARMING },
	{ MTRACE_IOC_DETACH, sizeof(struct mtrace_thread), 16, {},
	  chardev_detach, CHARDEV_ARMING },
	{ MTRACE_IOC_START, 0, 0, {}, chardev_start },
	{ MTRACE_IOC_STOP, 0, 0, {}, chardev_stop },
	{ MTRACE_IOC_SNAPSHOT, sizeof(struct mtrace_snapshot), 224, {},
	  chardev_snapshot },
	{ MTRACE_IOC_DESCRIBE, sizeof(struct mtrace_describe), 32,
	  { -ENOSPC }, chardev_describe, CHARDEV_READING },
	{ MTRACE_IOC_RELEASE, sizeof(struct mtrace_release), 16, {},
	  chardev_release_snapshot, CHARDEV_BOTH },
	{ MTRACE_IOC_GET_STATUS, sizeof(struct mtrace_status), 128, {},
	  chardev_status },
	{ MTRACE_IOC_NEXT_SNAPSHOT, sizeof(struct mtrace_snapshot), 224, {},
	  chardev_next_snapshot },
	{ MTRACE_IOC_ADD_TRIGGER, sizeof(struct mtrace_trigger), 88, {},
	  chardev_add_trigger, CHARDEV_TRIGGERS },
	{ MTRACE_IOC_REMOVE_TRIGGER, sizeof(struct mtrace_trigger), 88, {},
	  chardev_remove_trigger, CHARDEV_TRIGGERS },
	{ MTRACE_IOC_STREAM_RELEASE, sizeof(struct mtrace_stream_release), 24,
	  {}, chardev_stream_release, CHARDEV_BOTH },
	{ MTRACE_IOC_STREAM_READ, sizeof(struct mtrace_stream_read), 40, {},
	  chardev_stream_read, CHARDEV_READING },
	{ MTRACE_IOC_GET_SETUP, sizeof(struct mtrace_setup), 224, {},
	  chardev_get_setup },
};

/* A structure may grow, and its size is in the command: it is not compared. */
static const struct chardev_call *chardev_find(unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(chardev_calls); i++)
		if (!((chardev_calls[i].cmd ^ cmd) & ~IOCSIZE_MASK))
			return &chardev_calls[i];
	return NULL;
}

static int chardev_copy_in(const struct chardev_call *call,
			   union chardev_arg *arg, void __user *user)
{
	u32 size;
	int ret;

	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (size < call->first_size)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(arg, call->size, user, size);
	if (ret)
		return ret;
	/* It may have been changed meanwhile; what was checked is used. */
	arg->size = size;
	return 0;
}

static int chardev_copy_out(const struct chardev_call *call,
			    const union chardev_arg *arg, void __user *user)
{
	if (!(_IOC_DIR(call->cmd) & _IOC_READ))
		return 0;
	if (copy_to_user(user, arg, min(arg->size, call->size)))
		return -EFAULT;
	return 0;
}

static int chardev_call(const struct chardev_call *call,
			struct mt_session *session, union chardev_arg *arg)
{
	int ret;

	if (call->lock == CHARDEV_READING)
		return call->call(session, arg);
	ret = mt_session_lock(session);
	if (ret)
		return ret;
	ret = call->call(session, arg);
	mutex_unlock(&session->mutex);
	return ret;
}

static int chardev_call_arming(const struct chardev_call *call,
			       struct mt_session *session,
			       union chardev_arg *arg)
{
	int ret;

	ret = mt_session_lock_arming(session);
	if (ret)
		return ret;
	if (call->lock == CHARDEV_TRIGGERS)
		mutex_unlock(&session->mutex);
	ret = call->call(session, arg);
	if (call->lock == CHARDEV_ARMING)
		mutex_unlock(&session->mutex);
	mutex_unlock(&session->arming);
	return ret;
}

static int chardev_call_locked(const struct chardev_call *call,
			       struct mt_session *session,
			       union chardev_arg *arg)
{
	int ret;

	if (call->lock == CHARDEV_MUTEX)
		return chardev_call(call, session, arg);
	if (call->lock == CHARDEV_ARMING || call->lock == CHARDEV_TRIGGERS)
		return chardev_call_arming(call, session, arg);
	if (mutex_lock_killable(&session->reading))
		return -EINTR;
	ret = chardev_call(call, session, arg);
	mutex_unlock(&session->reading);
	return ret;
}

static long chardev_ioctl(struct file *file, unsigned int cmd,
			  unsigned long user)
{
	const struct chardev_call *call = chardev_find(cmd);
	struct mt_session *session = file->private_data;
	void __user *to = (void __user *)user;
	union chardev_arg arg = {};
	int ret;

	if (!call)
		return -ENOTTY;
	if (mt_cpu_is_shut_down())
		return -ENODEV;
	if (!mt_access_may_call(&session->access, cmd))
		return -EPERM;
	if (call->size) {
		ret = chardev_copy_in(call, &arg, to);
		/* A result that cannot be told must not come about. */
		if (!ret)
			ret = chardev_copy_out(call, &arg, to);
		if (ret)
			return ret;
	}

	ret = chardev_call_locked(call, session, &arg);
	if (call->size &&
	    (!ret || ret == call->tells[0] || ret == call->tells[1]) &&
	    chardev_copy_out(call, &arg, to))
		return -EFAULT;
	return ret;
}

static ssize_t chardev_read(struct file *file, char __user *to, size_t count,
			    loff_t *unused)
{
	return mt_sideband_read(file->private_data, to, count,
				!(file->f_flags & O_NONBLOCK));
}

static __poll_t chardev_poll(struct file *file, poll_table *table)
{
	struct mt_session *session = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &session->wait, table);
	if (READ_ONCE(session->nr_untold))
		events |= EPOLLPRI;
	if (mt_sideband_is_ready(session))
		events |= EPOLLIN | EPOLLRDNORM;
	if (mt_stream_is_waiting(session))
		events |= EPOLLRDBAND;
	return events;
}

static vm_fault_t chardev_fault(struct vm_fault *vmf)
{
	struct mt_session *session = vmf->vma->vm_file->private_data;
	struct page *page;

	page = mt_buffer_page(&session->buffer, vmf->pgoff);
	if (!page)
		return VM_FAULT_SIGBUS;
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct chardev_vm_ops = {
	.fault = chardev_fault,
};

/*
 * Called with the mmap lock held, which is taken under a mutex where a probe is put
 * into what is mapped: hence no mutex here. The mapping keeps the file and so the
 * session.
 */
static int chardev_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct mt_session *session = file->private_data;
	unsigned long nr_pages;

	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;
	/* With the release in mt_session_setup(): the buffer is whole. */
	if (!smp_load_acquire(&session->ready))
		return -EINVAL;
	nr_pages = session->buffer.nr_pages;
	if (vma->vm_pgoff > nr_pages ||
	    vma_pages(vma) > nr_pages - vma->vm_pgoff)
		return -EINVAL;

	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY,
		     VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &chardev_vm_ops;
	return 0;
}

static int chardev_open(struct inode *inode, struct file *file)
{
	struct mt_session *session;

	if (mt_cpu_is_shut_down())
		return -ENODEV;
	session = mt_session_create();
	if (IS_ERR(session))
		return PTR_ERR(session);
	file->private_data = session;
	return nonseekable_open(inode, file);
}

static int chardev_release(struct inode *inode, struct file *file)
{
	mt_session_destroy(file->private_data);
	return 0;
}

static const struct file_operations chardev_fops = {
	.owner = THIS_MODULE,
	.open = chardev_open,
	.release = chardev_release,
	.read = chardev_read,
	.unlocked_ioctl = chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = chardev_poll,
	.mmap = chardev_mmap,
};

static struct miscdevice chardev_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = MTRACE_DEVICE_NAME,
	.fops = &chardev_fops,
	.mode = 0600,
};

/**
 * mt_chardev_init - make the device
 *
 * Return: 0 or a negative error.
 */
int __init mt_chardev_init(void)
{
	return misc_register(&chardev_misc);
}

/**
 * mt_chardev_exit - remove it; no file of it is open
 */
void mt_chardev_exit(void)
{
	misc_deregister(&chardev_misc);
}

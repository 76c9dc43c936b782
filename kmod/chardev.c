// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/mtrace
 *
 * Owns the file: who may open it, how an argument gets in and out, the mapping
 * of the buffer. Decides nothing of tracing.
 */
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/ioctl.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mtrace.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "buffer.h"
#include "caps.h"
#include "chardev.h"
#include "compat.h"
#include "cpu.h"
#include "member.h"
#include "session.h"
#include "snapshot.h"

union chardev_arg {
	u32 size;
	struct mtrace_caps caps;
	struct mtrace_setup setup;
	struct mtrace_thread thread;
	struct mtrace_snapshot snapshot;
	struct mtrace_describe describe;
	struct mtrace_release release;
	struct mtrace_status status;
};

static int chardev_caps(struct mt_session *session, union chardev_arg *arg)
{
	if (memchr_inv(arg->caps.reserved, 0, sizeof(arg->caps.reserved)))
		return -EINVAL;
	mt_caps_describe(&arg->caps);
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
	return mt_member_attach(session, &arg->thread);
}

static int chardev_detach(struct mt_session *session, union chardev_arg *arg)
{
	return mt_member_detach(session, &arg->thread);
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
	return mt_snapshot_take(session, &arg->snapshot);
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

/**
 * struct chardev_call - one ioctl
 * @cmd: its command
 * @size: sizeof its structure, 0 for none
 * @first_size: the same in the first version of the protocol, the shortest
 *	that is accepted
 * @tells: the errors with which the structure is written back, or 0
 * @call: does it
 */
struct chardev_call {
	unsigned int cmd;
	u32 size;
	u32 first_size;
	int tells[2];
	int (*call)(struct mt_session *session, union chardev_arg *arg);
};

static const struct chardev_call chardev_calls[] = {
	{ MTRACE_IOC_GET_CAPS, sizeof(struct mtrace_caps), 104, {},
	  chardev_caps },
	{ MTRACE_IOC_SETUP, sizeof(struct mtrace_setup), 224,
	  { -ENOMEM, -EOPNOTSUPP }, chardev_setup },
	{ MTRACE_IOC_ATTACH, sizeof(struct mtrace_thread), 16, {},
	  chardev_attach },
	{ MTRACE_IOC_DETACH, sizeof(struct mtrace_thread), 16, {},
	  chardev_detach },
	{ MTRACE_IOC_START, 0, 0, {}, chardev_start },
	{ MTRACE_IOC_STOP, 0, 0, {}, chardev_stop },
	{ MTRACE_IOC_SNAPSHOT, sizeof(struct mtrace_snapshot), 56, {},
	  chardev_snapshot },
	{ MTRACE_IOC_DESCRIBE, sizeof(struct mtrace_describe), 32,
	  { -ENOSPC }, chardev_describe },
	{ MTRACE_IOC_RELEASE, sizeof(struct mtrace_release), 16, {},
	  chardev_release_snapshot },
	{ MTRACE_IOC_GET_STATUS, sizeof(struct mtrace_status), 104, {},
	  chardev_status },
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
	if (call->size) {
		ret = chardev_copy_in(call, &arg, to);
		/* A result that cannot be told must not come about. */
		if (!ret)
			ret = chardev_copy_out(call, &arg, to);
		if (ret)
			return ret;
	}

	if (mutex_lock_killable(&session->mutex))
		return -EINTR;
	ret = call->call(session, &arg);
	mutex_unlock(&session->mutex);

	if (call->size &&
	    (!ret || ret == call->tells[0] || ret == call->tells[1]) &&
	    chardev_copy_out(call, &arg, to))
		return -EFAULT;
	return ret;
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
 * Called with the mmap lock held, which a call takes under the mutex when it
 * copies: hence no mutex here. The mapping keeps the file and so the session.
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

	/* The trace of any thread can be had: what perf asks for, for that. */
	if (!perfmon_capable())
		return -EPERM;
	if (mt_cpu_is_shut_down())
		return -ENODEV;
	session = mt_session_create();
	if (!session)
		return -ENOMEM;
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
	.unlocked_ioctl = chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
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

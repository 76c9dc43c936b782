/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_ACCESS_H
#define _MT_ACCESS_H

#include <linux/list.h>
#include <linux/mtrace.h>
#include <linux/types.h>

struct cred;
struct linux_binprm;
struct pid;
struct task_struct;

/**
 * struct mt_access - what the opener of a session may do with it
 * @owner: the process that opened the file
 * @privileged: it may trace any thread; all below is of meaning only where it
 *	may not
 * @cred: what it was then; its user is who is charged
 * @link: among the sessions without privilege
 * @charged: pages of locked memory that the user is charged for the session
 */
struct mt_access {
	struct pid *owner;
	bool privileged;
	const struct cred *cred;
	struct list_head link;
	unsigned long charged;
};

int mt_access_open(struct mt_access *access);
void mt_access_close(struct mt_access *access);

bool mt_access_is_watched(void);
bool mt_access_may_call(const struct mt_access *access, unsigned int cmd);
u32 mt_access_max_threads(const struct mt_access *access);
int mt_access_check(const struct mt_access *access,
		    const struct mtrace_setup *setup);
int mt_access_charge(struct mt_access *access, u64 bytes, u64 *available);
void mt_access_uncharge(struct mt_access *access);

const struct pid *mt_access_tracer(const struct mt_access *access);
bool mt_access_is_tracer(const struct pid *tracer,
			 const struct task_struct *task);
bool mt_access_may_attach(const struct mt_access *access,
			  struct task_struct *task);
bool mt_access_is_gained(const struct linux_binprm *bprm);

#endif /* _MT_ACCESS_H */

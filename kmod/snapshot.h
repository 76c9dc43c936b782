/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_SNAPSHOT_H
#define _MT_SNAPSHOT_H

#include <linux/list.h>
#include <linux/mtrace.h>
#include <linux/types.h>

struct mt_session;

/**
 * struct mt_snapshot - what all threads had written at one moment
 * @link: in the session's list of held or of idle ones
 * @id: its number
 * @regions: the regions
 * @nr_regions: how many
 */
struct mt_snapshot {
	struct list_head link;
	u64 id;
	struct list_head regions;
	u32 nr_regions;
};

int mt_snapshot_alloc(struct mt_session *session);
void mt_snapshot_free(struct mt_session *session);

int mt_snapshot_take(struct mt_session *session, struct mtrace_snapshot *arg);
int mt_snapshot_describe(struct mt_session *session,
			 struct mtrace_describe *arg);
int mt_snapshot_release(struct mt_session *session, struct mtrace_release *arg);

#endif /* _MT_SNAPSHOT_H */

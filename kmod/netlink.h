/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_NETLINK_H
#define _MT_NETLINK_H

#include <linux/mtrace.h>
#include <linux/types.h>

struct mt_session;
struct sk_buff;

int mt_netlink_init(void);
void mt_netlink_exit(void);

bool mt_netlink_is_heard(void);
void *mt_netlink_begin(struct sk_buff *skb, u8 cmd);
void mt_netlink_multicast(struct sk_buff *skb, void *header);

size_t mt_netlink_snapshot_size(void);
int mt_netlink_put_snapshot(struct sk_buff *skb, u32 session,
			    const struct mtrace_snapshot *snapshot, int error);
int mt_netlink_put_status(struct sk_buff *skb, struct mt_session *session);
int mt_netlink_put_threads(struct sk_buff *skb, struct mt_session *session,
			   u32 *next);

#endif /* _MT_NETLINK_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_ATTACH_H
#define _MT_ATTACH_H

#include <linux/mtrace.h>

struct mt_session;

int mt_attach_begin(struct mt_session *session, struct mtrace_thread *arg);
int mt_attach_end(struct mt_session *session, struct mtrace_thread *arg);
bool mt_attach_is_due(struct mt_session *session);
void mt_attach_review(struct mt_session *session);

#endif /* _MT_ATTACH_H */

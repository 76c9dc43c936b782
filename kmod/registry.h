/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_REGISTRY_H
#define _MT_REGISTRY_H

#include <linux/types.h>

struct mt_session;

int mt_registry_add(struct mt_session *session);
void mt_registry_remove(struct mt_session *session);
struct mt_session *mt_registry_get(u32 number);
struct mt_session *mt_registry_next(unsigned long *from);
void mt_registry_put(struct mt_session *session);

#endif /* _MT_REGISTRY_H */

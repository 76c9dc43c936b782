/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_TICK_H
#define _MT_TICK_H

#include <linux/types.h>

void mt_tick_init(void);
void mt_tick_start(u64 period_ns);
void mt_tick_end(void);

#endif /* _MT_TICK_H */

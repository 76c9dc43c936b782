/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_SPACE_H
#define _MT_SPACE_H

#include <linux/types.h>

void mt_space_init(void);
void mt_space_exit(void);

u32 mt_space_kinds(void);
int mt_space_watch(void);
void mt_space_unwatch(void);
unsigned long mt_space_missed(void);

#endif /* _MT_SPACE_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_HOOKS_H
#define _MT_HOOKS_H

int mt_hooks_init(void);
int mt_hooks_want(void);
void mt_hooks_exit(void);

#endif /* _MT_HOOKS_H */

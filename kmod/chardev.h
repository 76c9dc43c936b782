/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_CHARDEV_H
#define _MT_CHARDEV_H

int mt_chardev_init(void);
void mt_chardev_exit(void);

#endif /* _MT_CHARDEV_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_CPU_H
#define _MT_CPU_H

#include <linux/types.h>

int mt_cpu_init(void);
void mt_cpu_exit(void);
int mt_cpu_get(u32 pmu_type);
void mt_cpu_put(void);
bool mt_cpu_is_shut_down(void);

#endif /* _MT_CPU_H */

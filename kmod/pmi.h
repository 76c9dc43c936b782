/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_PMI_H
#define _MT_PMI_H

void mt_pmi_init(void);
int mt_pmi_get(void);
void mt_pmi_put(void);

#endif /* _MT_PMI_H */

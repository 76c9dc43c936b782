/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MT_TEST_HALT_H
#define MT_TEST_HALT_H

int sleep_init(void);
void sleep_exit(void);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What can be told of a thread's trace by its packets alone, without the code
 * that ran. Knows nothing of regions and recordings.
 */
#ifndef MTRACE_RECORD_PACKETS_H
#define MTRACE_RECORD_PACKETS_H

#include <stdbool.h>

#include "user/recording/recording.h"

/*
 * True if traced code ran in the bytes of @pieces, in time order: some packet
 * tells of an instruction. Also true where that cannot be told, because no PSB
 * is in them; false where there are none.
 */
bool mt_packets_show_code(const struct mt_piece pieces[2]);

#endif /* MTRACE_RECORD_PACKETS_H */

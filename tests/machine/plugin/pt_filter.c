// SPDX-License-Identifier: GPL-2.0
/*
 * Filters.
 */
#include "pt_filter.h"

/* 36.2.4.1 and 36.2.4.2 */
bool pt_filter_context(const struct pt_msrs *m, uint8_t cpl, uint64_t cr3)
{
	if (!(m->ctl & (cpl == 0 ? CTL_OS : CTL_USER)))
		return false;

	/* The address in CR3; with IA-32e paging not its PCID. */
	return !(m->ctl & CTL_CR3_FILTER) || (cr3 & 0x000ffffffffff000ULL) == m->cr3_match;
}

enum {
	RANGE_EXISTS	= 1,
	RANGE_MATCHES	= 2,
};

/* Of the ranges configured as @cfg. Both ends belong to a range. */
static unsigned int look_up(const struct pt_msrs *m, uint64_t lip, unsigned int cfg)
{
	unsigned int i, found = 0;

	for (i = 0; i < 4; i++) {
		if (CTL_ADDR_CFG(m->ctl, i) != cfg)
			continue;
		found |= RANGE_EXISTS;
		if (m->addr[2 * i] <= lip && lip <= m->addr[2 * i + 1])
			found |= RANGE_MATCHES;
	}
	return found;
}

bool pt_filter_all_ips(const struct pt_msrs *m)
{
	return !look_up(m, 0, ADDR_CFG_FILTER);
}

bool pt_filter_ip(const struct pt_msrs *m, uint64_t lip)
{
	return look_up(m, lip, ADDR_CFG_FILTER) != RANGE_EXISTS;
}

bool pt_filter_trace_stop(const struct pt_msrs *m, uint64_t lip)
{
	return look_up(m, lip, ADDR_CFG_TRACE_STOP) & RANGE_MATCHES;
}

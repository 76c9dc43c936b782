/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where trace bytes go in physical memory: a Table of Physical Addresses, or
 * a single range (SDM 3C, 36.2.6).
 *
 * Owns: the output pointers, STATUS.Error, Stopped and PendTopaPMI; when a ToPA
 * PMI is due; the faults "stop", "readonly", "pmi-lost" and "pmi-late".
 * Must not know: QEMU, packets, how a PMI reaches the guest.
 */
#ifndef PT_OUTPUT_H
#define PT_OUTPUT_H

#include "pt_fault.h"
#include "pt_msr.h"

#include <stddef.h>

struct pt_memory {
	/* Both return 0, or -1 for an address where there is no memory. */
	int (*read)(void *arg, uint64_t pa, void *buf, size_t len);
	int (*write)(void *arg, uint64_t pa, const void *buf, size_t len);
	/* A ToPA PMI is to be signalled. */
	void (*pmi)(void *arg);
	void *arg;
};

/* ToPA entry, 36.2.6.2 */
#define TOPA_END		PT_BIT(0)
#define TOPA_INT		PT_BIT(2)
#define TOPA_STOP		PT_BIT(4)
#define TOPA_SIZE(e)		(4096ULL << PT_FIELD(e, 9, 6))
#define TOPA_RESERVED		(PT_BIT(1) | PT_BIT(3) | PT_BIT(5) | PT_MASK(11, 10))

/*
 * A processor with a single ToPA entry signals the PMI "before the output wraps"
 * (36.2.6.2). The SDM does not say how much; Linux's driver takes the region for
 * full within TOPA_PMI_MARGIN bytes of its end, and so it is that here.
 */
#define PT_OUTPUT_PMI_MARGIN	512

struct pt_output_counters {
	uint64_t bytes;		/* taken, wherever they went */
	uint64_t pmi, pmi_lost, pmi_late;
	uint64_t stopped;	/* by the fault */
};

struct pt_output {
	struct pt_msrs *msrs;
	const struct pt_caps *caps;
	struct pt_memory mem;

	/* the region in use; the processor caches its ToPA entry */
	uint64_t entry;
	uint64_t base;
	uint64_t size;
	bool active;
	bool pmi_signalled;	/* for this pass through the region */

	uint64_t pmi_wait;	/* bytes until a late PMI; 0: none waits */
	uint64_t pmi_count;	/* pt_fault's, for "pmi-lost" ... */
	uint64_t stop_count;	/* ... and for "stop" */
	bool stop_wanted;
	struct pt_output_counters count;
};

void pt_output_init(struct pt_output *out, struct pt_msrs *msrs,
		    const struct pt_caps *caps, const struct pt_memory *mem);

/*
 * TraceEn was set: look at the configuration. Returns false, with
 * STATUS.Error set, if it is bad.
 */
bool pt_output_start(struct pt_output *out);

/*
 * Store bytes. Returns false once output has ended by STOP or by an error;
 * what did not fit is lost.
 */
bool pt_output_write(struct pt_output *out, const void *buf, size_t len);

/*
 * How many bytes may be kept back to be written at once; 0: any. One ToPA entry
 * alone needs few, or the PMI before its end comes with the end.
 */
static inline uint32_t pt_output_granule(const struct pt_output *out)
{
	return out->caps->ecx & CAP_ECX_MULTI_ENTRY ? 0 : PT_OUTPUT_PMI_MARGIN / 8;
}

/* TraceEn was cleared. */
void pt_output_end(struct pt_output *out);

#endif

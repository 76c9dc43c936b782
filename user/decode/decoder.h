/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From one thread's PT bytes to control flow, by libipt's block decoder. A pure
 * function: no I/O, no messages, no symbols, no state between calls, so that
 * several threads may decode at the same time (each with its own mt_code).
 */
#ifndef MTRACE_DECODE_DECODER_H
#define MTRACE_DECODE_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include "user/decode/flow.h"
#include "user/image/code.h"

/* How the trace was made: mt_meta has it all. */
struct mt_decode_config {
	uint32_t cpu_family;
	uint32_t cpu_model;
	uint32_t cpu_stepping;
	uint32_t tsc_khz;	/* stands in for nom_freq where that is 0 */
	uint32_t nom_freq;
	uint32_t mtc_freq;
	uint32_t cpuid_15_eax;
	uint32_t cpuid_15_ebx;
	uint64_t end_tsc;	/* when the trace was taken, 0 if unknown: no event is
				 * later, whatever damaged packets say */
};

/* Room for every pt_error_code; a larger one is counted in the last. */
#define MT_DECODE_ERRORS	64

struct mt_decode_stats {
	uint64_t segments;	/* STARTs */
	uint64_t calls;		/* near calls in scope */
	uint64_t insns;
	uint64_t overflows;	/* packets lost by the CPU */
	uint64_t errors;	/* places where decoding had to begin anew */
	uint64_t errors_by_code[MT_DECODE_ERRORS];	/* pt_error_code */
	uint64_t synced;	/* whole PSBs that decoding began at */
	uint64_t skipped;	/* bytes before the first PSB, where all is unknown */
};

/*
 * Decode @len @bytes, oldest first, which may begin and end anywhere. Calls @fn
 * with batches of events; the last one, if any was known, is MT_FLOW_END. After
 * an error there is a GAP and decoding begins anew at the next PSB. What follows
 * the last packet is decoded as far as it needs none.
 *
 * *@stats is set in any case. Returns 0 (also when the bytes hold nothing that
 * decodes), -ENOMEM, -EINVAL if libipt refuses @config, or what @fn returned.
 */
int mt_decode(const struct mt_decode_config *config, const struct mt_code *code,
	      const uint8_t *bytes, size_t len, mt_flow_fn fn, void *ctx,
	      struct mt_decode_stats *stats);

/* libipt's text for mt_flow.error and for an index of errors_by_code. */
const char *mt_decode_error(int code);

#endif /* MTRACE_DECODE_DECODER_H */

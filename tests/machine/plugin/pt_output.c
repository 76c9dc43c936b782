// SPDX-License-Identifier: GPL-2.0
/*
 * Trace output to physical memory.
 */
#include "pt_output.h"

/* IA32_RTIT_OUTPUT_MASK_PTRS, 36.2.7.8 */
static uint64_t out_offset(const struct pt_output *out)
{
	return out->msrs->output_mask >> 32;
}

static void out_set_offset(struct pt_output *out, uint64_t offset)
{
	out->msrs->output_mask = (out->msrs->output_mask & PT_MASK(31, 0)) | offset << 32;
}

static uint64_t table_index(const struct pt_output *out)
{
	return PT_FIELD(out->msrs->output_mask, 31, 7);
}

static void set_table_index(struct pt_output *out, uint64_t index)
{
	out->msrs->output_mask = (out->msrs->output_mask & PT_MASK(63, 32)) |
				 (index << 7 & PT_MASK(31, 7)) | OUTPUT_MASK_LOW;
}

static bool single_entry(const struct pt_output *out)
{
	return !(out->caps->ecx & CAP_ECX_MULTI_ENTRY);
}

/* ---- PMI ---- */

static void pmi_raise(struct pt_output *out)
{
	out->pmi_wait = 0;
	out->count.pmi++;
	out->mem.pmi(out->mem.arg);
}

/* A ToPA PMI is due. */
static void pmi_signal(struct pt_output *out)
{
	if (out->msrs->ctl & CTL_INJECT_PSB_PMI)
		out->msrs->status |= STATUS_PEND_TOPA_PMI;

	if (pt_fault_due(PT_FAULT_PMI_LOST, &out->pmi_count, 1)) {
		out->count.pmi_lost++;
	} else if (!pt_faults.n[PT_FAULT_PMI_LATE]) {
		pmi_raise(out);
	} else if (!out->pmi_wait) {
		/* Two that wait are one, as in the local APIC. */
		out->count.pmi_late++;
		out->pmi_wait = pt_faults.n[PT_FAULT_PMI_LATE];
	}
}

/* @len bytes were written; a late PMI's time may have come. */
static void pmi_progress(struct pt_output *out, uint64_t len)
{
	if (!out->pmi_wait)
		return;
	if (len < out->pmi_wait)
		out->pmi_wait -= len;
	else
		pmi_raise(out);
}

/* No more output will come. */
static void pmi_overdue(struct pt_output *out)
{
	if (out->pmi_wait)
		pmi_raise(out);
}

/*
 * "ToPA PMI and Single Output Region ToPA Implementation", 36.2.6.2: ahead of
 * the region's end, once in each pass.
 */
static void pmi_ahead_of_end(struct pt_output *out)
{
	if (!single_entry(out) || !(out->entry & TOPA_INT) || out->pmi_signalled ||
	    out_offset(out) + PT_OUTPUT_PMI_MARGIN < out->size)
		return;
	out->pmi_signalled = true;
	pmi_signal(out);
}

/* ---- ToPA ---- */

static bool fail(struct pt_output *out)
{
	out->msrs->status |= STATUS_ERROR;
	out->active = false;
	return false;
}

/* "ToPA Errors" in 36.2.6.2; numbers are those of its list. */
static bool entry_valid(const struct pt_output *out, uint64_t entry, uint64_t index)
{
	const uint64_t base = entry & PT_MASK(63, 12);

	/* 1, 2c */
	if (entry & (TOPA_RESERVED | PT_MASK(63, out->caps->phys_bits)))
		return false;

	if (entry & TOPA_END) {
		/* 4a, 4b */
		if (index == 0 || (entry & (TOPA_INT | TOPA_STOP)))
			return false;
	} else {
		/* 2b */
		if (base & (TOPA_SIZE(entry) - 1))
			return false;
	}

	/* 4c: one entry, then END that leads back to it */
	if (single_entry(out) && index &&
	    (!(entry & TOPA_END) || base != out->msrs->output_base))
		return false;

	return true;
}

/*
 * Make the entry that the pointers select the current region, going through
 * END entries. A table that consists of END alone is refused by entry_valid(),
 * which ends the loop. Where no memory answers a processor reads ones, and those
 * are reserved bits: an error like any other.
 */
static bool topa_load(struct pt_output *out)
{
	uint64_t entry;

	for (;;) {
		const uint64_t index = table_index(out);

		/* 2a */
		if (out->msrs->output_base & PT_MASK(11, 0))
			return fail(out);
		if (out->mem.read(out->mem.arg, out->msrs->output_base + index * 8,
				  &entry, sizeof(entry)))
			return fail(out);
		if (!entry_valid(out, entry, index))
			return fail(out);
		if (!(entry & TOPA_END))
			break;

		out->msrs->output_base = entry & PT_MASK(63, 12);
		set_table_index(out, 0);
	}

	out->entry = entry;
	out->base = entry & PT_MASK(63, 12);
	out->size = TOPA_SIZE(entry);
	out->pmi_signalled = false;
	return true;
}

/* "ToPA STOP": the pointers stay, with the offset at the size. */
static void stop(struct pt_output *out)
{
	if (out->stop_wanted)
		out->count.stopped++;
	out->stop_wanted = false;
	out->msrs->status |= STATUS_STOPPED;
	out->active = false;
}

/* The current region is full. */
static void topa_advance(struct pt_output *out)
{
	const bool interrupt = (out->entry & TOPA_INT) && !single_entry(out);

	if ((out->entry & TOPA_STOP) || out->stop_wanted) {
		stop(out);
	} else {
		out_set_offset(out, 0);
		set_table_index(out, table_index(out) + 1);
		topa_load(out);
	}

	/* Table 36-3, INT: the STOP happens before the INT. */
	if (interrupt)
		pmi_signal(out);
}

/* ---- single range ---- */

/* "Single-Range Output Errors" in 36.2.6.1 */
static bool single_range_load(struct pt_output *out)
{
	const uint64_t mask = (out->msrs->output_mask & PT_MASK(31, 0)) | OUTPUT_MASK_LOW;

	/* Ones from bit 0 up, and none of them set in the base. */
	if ((mask & (mask + 1)) || (out->msrs->output_base & mask))
		return fail(out);

	out->entry = 0;
	out->base = out->msrs->output_base;
	out->size = mask + 1;
	return true;
}

static void single_range_wrap(struct pt_output *out)
{
	if (out->stop_wanted)
		stop(out);
	else
		out_set_offset(out, 0);
}

/* ---- both ---- */

/*
 * Bytes sent where no memory answers are lost, as on a bus: restricted memory
 * need not be an error (table 36-5), and the local APIC's page is none (36.2.6.4).
 */
static void store(struct pt_output *out, uint64_t pa, const uint8_t *p, uint64_t n)
{
	const uint64_t limit = pt_faults.n[PT_FAULT_READONLY];
	uint64_t writable = n;

	if (limit)
		writable = out->count.bytes < limit ? limit - out->count.bytes : 0;
	if (writable > n)
		writable = n;
	if (writable)
		out->mem.write(out->mem.arg, pa, p, writable);

	out->count.bytes += n;
	if (pt_fault_due(PT_FAULT_STOP, &out->stop_count, n))
		out->stop_wanted = true;
}

void pt_output_init(struct pt_output *out, struct pt_msrs *msrs,
		    const struct pt_caps *caps, const struct pt_memory *mem)
{
	*out = (struct pt_output) {
		.msrs = msrs,
		.caps = caps,
		.mem = *mem,
	};
}

bool pt_output_start(struct pt_output *out)
{
	out->active = true;

	if (out->msrs->ctl & CTL_TOPA ? !topa_load(out) : !single_range_load(out))
		return false;
	/* "Illegal Output Offset", ToPA error 3 and the like for a range */
	if (out_offset(out) >= out->size)
		return fail(out);

	/* Table 36-7, PendTopaPMI: one that a disable kept back */
	if ((out->msrs->ctl & CTL_INJECT_PSB_PMI) &&
	    (out->msrs->status & STATUS_PEND_TOPA_PMI))
		pmi_signal(out);

	return true;
}

bool pt_output_write(struct pt_output *out, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	while (out->active && len) {
		const uint64_t offset = out_offset(out);
		const uint64_t room = out->size - offset;
		const size_t n = len < room ? len : room;

		store(out, out->base + offset, p, n);
		p += n;
		len -= n;
		out_set_offset(out, offset + n);

		pmi_progress(out, n);
		pmi_ahead_of_end(out);
		if (n < room)
			break;
		if (out->msrs->ctl & CTL_TOPA)
			topa_advance(out);
		else
			single_range_wrap(out);
	}

	if (!out->active)
		pmi_overdue(out);
	return out->active;
}

void pt_output_end(struct pt_output *out)
{
	out->active = false;
	pmi_overdue(out);
}

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

static bool fail(struct pt_output *out)
{
	out->msrs->status |= STATUS_ERROR;
	out->active = false;
	return false;
}

/* "ToPA Errors" in 36.2.6.2 */
static bool entry_valid(const struct pt_output *out, uint64_t entry, uint64_t index)
{
	const uint64_t base = entry & PT_MASK(63, 12);

	if (entry & (TOPA_RESERVED | PT_MASK(63, out->caps->phys_bits)))
		return false;

	if (entry & TOPA_END) {
		if (index == 0 || (entry & (TOPA_INT | TOPA_STOP)))
			return false;
	} else {
		if (base & (TOPA_SIZE(entry) - 1))
			return false;
	}

	/* A processor without multiple entries has one and END at index 1. */
	if (!(out->caps->ecx & CAP_ECX_MULTI_ENTRY) && index == 1 &&
	    (!(entry & TOPA_END) || base != out->msrs->output_base))
		return false;

	return true;
}

/*
 * Make the entry that the pointers select the current region, going through
 * END entries. A table that consists of END alone is refused by entry_valid(),
 * which ends the loop.
 */
static bool topa_load(struct pt_output *out)
{
	uint64_t entry;

	for (;;) {
		const uint64_t index = table_index(out);

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
	return true;
}

/* The current region is full. */
static bool topa_advance(struct pt_output *out)
{
	const uint64_t done = out->entry;

	if (done & TOPA_STOP) {
		/* "ToPA STOP": the pointers stay, with the offset at the size. */
		out->msrs->status |= STATUS_STOPPED;
		out->active = false;
	} else {
		out_set_offset(out, 0);
		set_table_index(out, table_index(out) + 1);
		topa_load(out);
	}

	if (done & TOPA_INT)
		out->mem.pmi(out->mem.arg);

	return out->active;
}

static bool single_range_load(struct pt_output *out)
{
	const uint64_t mask = (out->msrs->output_mask & PT_MASK(31, 0)) | OUTPUT_MASK_LOW;

	/* 36.2.6.1: ones from bit 0 up, none of them set in the base. */
	if ((mask & (mask + 1)) || (out->msrs->output_base & mask))
		return fail(out);

	out->entry = 0;
	out->base = out->msrs->output_base;
	out->size = mask + 1;
	return true;
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
	if (out_offset(out) >= out->size)
		return fail(out);

	return true;
}

bool pt_output_write(struct pt_output *out, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	while (out->active && len) {
		const uint64_t offset = out_offset(out);
		const uint64_t room = out->size - offset;
		const size_t n = len < room ? len : room;

		/* Bytes sent where no memory answers are lost, as on a bus. */
		out->mem.write(out->mem.arg, out->base + offset, p, n);
		p += n;
		len -= n;
		out_set_offset(out, offset + n);

		if (n < room)
			break;
		if (out->msrs->ctl & CTL_TOPA)
			topa_advance(out);
		else
			out_set_offset(out, 0);
	}

	return out->active;
}

void pt_output_end(struct pt_output *out)
{
	out->active = false;
}

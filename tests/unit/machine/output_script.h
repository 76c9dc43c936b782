/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ToPA or a range, what is written to it, and what must come of it, as
 * annotated text over a memory of the test's own. A line each; from "#" to its
 * end what rule of SDM 3C, chapter 36, it is. Addresses are hexadecimal, counts
 * of bytes decimal.
 *
 *	model NAME			a processor after power-up, ToPA chosen
 *	ctl VALUE			IA32_RTIT_CTL
 *	entry TABLE N BASE SIZE [INT] [STOP] [BITS]
 *					entry N of the table at TABLE; SIZE is 4K, 8K
 *					... 128M, or END; BITS are set besides
 *	pointers TABLE N OFFSET		OUTPUT_BASE and MASK_PTRS, for ToPA
 *	range BASE MASK OFFSET		the same for a single range, ToPA = 0
 *	fault KIND:N
 *	start ok|error			TraceEn is set
 *	write COUNT on|off		COUNT bytes of the value 1, then 2, ...;
 *					does output go on?
 *	end				TraceEn is cleared
 *	at TABLE N OFFSET		where the pointers must be
 *	at-range MASK OFFSET
 *	status VALUE			IA32_RTIT_STATUS
 *	set-status VALUE		by software
 *	pmis COUNT			raised so far
 *	memory ADDRESS COUNT VALUE	must be filled with it
 */
#ifndef OUTPUT_SCRIPT_H
#define OUTPUT_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pt_model.h"
#include "pt_output.h"

#define SCRIPT_MEMORY	(4U << 20)

static struct {
	uint8_t memory[SCRIPT_MEMORY];
	struct pt_msrs msrs;
	struct pt_output out;
	unsigned int pmis;
	uint64_t pmi_status;	/* IA32_RTIT_STATUS as the last PMI came */
	uint8_t value;
} script;

static inline int script_read(void *arg, uint64_t pa, void *buf, size_t len)
{
	(void)arg;
	if (pa + len > SCRIPT_MEMORY)
		return -1;
	memcpy(buf, script.memory + pa, len);
	return 0;
}

static inline int script_write(void *arg, uint64_t pa, const void *buf, size_t len)
{
	(void)arg;
	if (pa + len > SCRIPT_MEMORY)
		return -1;
	memcpy(script.memory + pa, buf, len);
	return 0;
}

static inline void script_pmi(void *arg)
{
	(void)arg;
	script.pmis++;
	script.pmi_status = script.msrs.status;
}

static inline bool script_model(const char *name)
{
	static const struct pt_memory mem = {
		.read = script_read, .write = script_write, .pmi = script_pmi,
	};

	memset(&script, 0, sizeof(script));
	memset(&pt_faults, 0, sizeof(pt_faults));
	if (!pt_model_select(name))
		return false;
	pt_msr_reset(&script.msrs);
	pt_output_init(&script.out, &script.msrs, &pt_caps, &mem);
	script.msrs.ctl = CTL_TRACE_EN | CTL_TOPA | CTL_BRANCH_EN;
	return true;
}

static inline bool script_entry(char **word, unsigned int n)
{
	static const char *const sizes[] = {
		"4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K",
		"1M", "2M", "4M", "8M", "16M", "32M", "64M", "128M",
	};
	const uint64_t pa = strtoull(word[1], NULL, 16) + 8 * strtoull(word[2], NULL, 10);
	uint64_t entry = strtoull(word[3], NULL, 16);
	uint64_t size;
	unsigned int i;

	for (size = 0; size < 16 && strcmp(sizes[size], word[4]); size++)
		;
	if (!strcmp(word[4], "END"))
		entry |= 1;
	else if (size < 16)
		entry |= size << 6;
	else
		return false;
	for (i = 5; i < n; i++) {
		if (!strcmp(word[i], "INT"))
			entry |= 4;
		else if (!strcmp(word[i], "STOP"))
			entry |= 16;
		else
			entry |= strtoull(word[i], NULL, 16);
	}
	return script_write(NULL, pa, &entry, sizeof(entry)) == 0;
}

static inline bool script_fill(size_t count)
{
	static uint8_t buf[SCRIPT_MEMORY];

	memset(buf, ++script.value, count);
	return pt_output_write(&script.out, buf, count);
}

static inline bool script_filled(uint64_t pa, uint64_t count, unsigned int value)
{
	while (count && script.memory[pa] == value) {
		pa++;
		count--;
	}
	return !count;
}

static inline uint64_t script_pointers(uint64_t index, uint64_t offset)
{
	return offset << 32 | index << 7 | 0x7f;
}

/* False if the line's expectation does not hold, or it is not understood. */
static inline bool script_line(char **word, unsigned int n)
{
	uint64_t hex[4], dec[4];
	unsigned int i;

	for (i = 1; i < 4; i++) {
		hex[i] = i < n ? strtoull(word[i], NULL, 16) : 0;
		dec[i] = i < n ? strtoull(word[i], NULL, 10) : 0;
	}

	if (!strcmp(word[0], "model") && n == 2) {
		return script_model(word[1]);
	} else if (!strcmp(word[0], "ctl") && n == 2) {
		script.msrs.ctl = hex[1];
	} else if (!strcmp(word[0], "entry") && n >= 5) {
		return script_entry(word, n);
	} else if (!strcmp(word[0], "pointers") && n == 4) {
		script.msrs.output_base = hex[1];
		script.msrs.output_mask = script_pointers(dec[2], dec[3]);
	} else if (!strcmp(word[0], "range") && n == 4) {
		script.msrs.ctl &= ~CTL_TOPA;
		script.msrs.output_base = hex[1];
		script.msrs.output_mask = dec[3] << 32 | hex[2];
	} else if (!strcmp(word[0], "fault") && n == 2) {
		return !pt_fault_parse(word[1]);
	} else if (!strcmp(word[0], "start") && n == 2) {
		return pt_output_start(&script.out) == !strcmp(word[1], "ok");
	} else if (!strcmp(word[0], "write") && n == 3) {
		return script_fill(dec[1]) == !strcmp(word[2], "on");
	} else if (!strcmp(word[0], "end") && n == 1) {
		pt_output_end(&script.out);
	} else if (!strcmp(word[0], "at") && n == 4) {
		return script.msrs.output_base == hex[1] &&
		       script.msrs.output_mask == script_pointers(dec[2], dec[3]);
	} else if (!strcmp(word[0], "at-range") && n == 3) {
		return script.msrs.output_mask == (dec[2] << 32 | hex[1]);
	} else if (!strcmp(word[0], "status") && n == 2) {
		return script.msrs.status == hex[1];
	} else if (!strcmp(word[0], "set-status") && n == 2) {
		script.msrs.status = hex[1];
	} else if (!strcmp(word[0], "pmis") && n == 2) {
		return script.pmis == dec[1];
	} else if (!strcmp(word[0], "memory") && n == 4) {
		return script_filled(hex[1], dec[2], dec[3]);
	} else {
		return false;
	}
	return true;
}

static inline void run_script(const char *text)
{
	char line[200], *word[12];
	unsigned int number, n;

	for (number = 1; *text; number++) {
		const size_t len = strcspn(text, "\n");
		char *save;

		snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "#\n"), text);
		n = 0;
		for (word[n] = strtok_r(line, " \t", &save); word[n] && n < 11;
		     word[n] = strtok_r(NULL, " \t", &save))
			n++;
		if (n && !script_line(word, n))
			fail_msg("line %u: \"%.*s\" does not hold: base %lx, pointers %lx, "
				 "status %lx, %u PMIs", number, (int)len, text,
				 script.msrs.output_base, script.msrs.output_mask,
				 script.msrs.status, script.pmis);
		text += len + (text[len] == '\n');
	}
}

#endif

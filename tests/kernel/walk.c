// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <intel-pt.h>
#include <sched.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "walk.h"

/*
 * What a step executes between two passes of walk_loop, counted by hand: four
 * instructions to the choice; three times a call and a return; the odd way one
 * jump more; two to the next step.
 */
#define INSNS_ODD	13
#define INSNS_EVEN	12

extern const char walk_begin[], walk_loop[], walk_odd[], walk_even[];
extern const char walk_done[], walk_end[];

/* walk(steps, seed) */
__asm__(".text\n"
	".globl walk_begin, walk_loop, walk_odd, walk_even, walk_done, walk_end\n"
	"walk_begin:\n"
	"	lea walk_a(%rip), %r8\n"
	"	lea walk_b(%rip), %r9\n"
	"walk_loop:\n"
	"	imul $1103515245, %esi, %esi\n"
	"	add $12345, %esi\n"
	"	test $0x10000, %esi\n"
	"	jz walk_even\n"
	"walk_odd:\n"
	"	call *%r8\n"
	"	call *%r9\n"
	"	call *%r8\n"
	"	jmp 1f\n"
	"walk_even:\n"
	"	call *%r9\n"
	"	call *%r8\n"
	"	call *%r9\n"
	"1:	dec %rdi\n"
	"	jnz walk_loop\n"
	"walk_done:\n"
	"	ret\n"
	"walk_a:	ret\n"
	"walk_b:	ret\n"
	"walk_end:\n");

static void (*const walk)(uint64_t steps, uint32_t seed) =
	(void (*)(uint64_t, uint32_t))walk_begin;

void walk_run(uint64_t steps, uint32_t seed)
{
	walk(steps, seed);
}

void work_walk(struct load *load, uint32_t index)
{
	(void)load;
	walk_run(WALK_STEPS, index);
}

void work_walk_about(struct load *load, uint32_t index)
{
	int i;

	(void)load;
	for (i = 0; i < 20; i++) {
		pin_to((index + i) % nr_cpus());
		walk_run(WALK_STEPS / 20, index);
		sched_yield();
	}
}

extern const char __executable_start[], etext[];

/*
 * The code of a load is that of the test, which it was forked from. What is not
 * the program's own is a library's.
 */
static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid,
		     uint64_t ip, void *context)
{
	struct iovec to = { buffer, size }, from = { (void *)ip, size };
	ssize_t n;

	(void)asid;
	(void)context;
	if (ip >= (uintptr_t)__executable_start && ip < (uintptr_t)etext) {
		if (size > (uintptr_t)etext - ip)
			size = (uintptr_t)etext - ip;
		memcpy(buffer, (void *)ip, size);
		return size;
	}
	n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	return n > 0 ? n : -pte_nomap;
}

static bool is_at(uint64_t ip, const char *label)
{
	return ip == (uintptr_t)label;
}

static void step_begins(struct walk *w)
{
	if (w->step && w->inside)
		CHECK_EQ(w->insns, w->odd ? INSNS_ODD : INSNS_EVEN);
	w->x = w->x * 1103515245 + 12345;
	w->odd = w->x & 0x10000;
	w->insns = 0;
	w->step++;
	w->steps++;
}

static void see(struct walk *w, uint64_t ip)
{
	if (ip < (uintptr_t)walk_begin || ip >= (uintptr_t)walk_end)
		return;
	if (is_at(ip, walk_begin)) {
		CHECK(!w->inside, "a walk begins in step %lu of another",
		      w->step);
		w->inside = true;
		w->step = 0;
		w->insns = 0;
		w->x = w->seed;
		return;
	}
	if (is_at(ip, walk_loop))
		step_begins(w);
	w->insns++;
	if (!w->inside)
		return;
	if (is_at(ip, walk_odd) || is_at(ip, walk_even))
		CHECK_EQ(is_at(ip, walk_odd), w->odd);
	if (is_at(ip, walk_done)) {
		CHECK_EQ(w->insns - 1, (w->odd ? INSNS_ODD : INSNS_EVEN));
		CHECK(w->step == WALK_STEPS || w->step == WALK_STEPS / 20,
		      "a walk of %lu steps", w->step);
		w->inside = false;
		w->walks++;
	}
}

/* Events up to the next instruction; returns the decoder's status. */
static int see_events(struct walk *w, struct pt_insn_decoder *decoder,
		      int status)
{
	struct pt_event event;

	while (status >= 0 && status & pts_event_pending) {
		status = pt_insn_event(decoder, &event, sizeof(event));
		if (status < 0)
			break;
		switch (event.type) {
		case ptev_enabled:
			if (w->left && w->left != event.variant.enabled.ip)
				FAIL("the trace went off at %#lx, and goes on at %#lx",
				     w->left, event.variant.enabled.ip);
			w->left = 0;
			break;
		case ptev_async_disabled:
			w->left = event.variant.async_disabled.at;
			break;
		default:
			break;
		}
	}
	return status;
}

void walk_follow(struct walk *w, const uint8_t *bytes, uint64_t size, bool gap,
		 bool cut)
{
	struct pt_insn_decoder *decoder;
	struct pt_config config;
	struct pt_image *image;
	struct pt_insn insn;
	uint64_t offset = 0;
	int status;

	if (gap) {
		w->inside = false;
		w->left = 0;
	}
	pt_config_init(&config);
	config.begin = (uint8_t *)bytes;
	config.end = (uint8_t *)bytes + size;
	decoder = pt_insn_alloc_decoder(&config);
	image = pt_image_alloc(NULL);
	if (!decoder || !image)
		FAIL("libipt gives no decoder");
	pt_image_set_callback(image, read_code, NULL);
	pt_insn_set_image(decoder, image);

	status = pt_insn_sync_forward(decoder);
	pt_insn_get_sync_offset(decoder, &offset);
	if (status < 0 || offset)
		FAIL("%lu bytes do not begin with PSB", size);
	while (status >= 0) {
		status = see_events(w, decoder, status);
		if (status < 0)
			break;
		/* The last one may have been decoded, in spite of an error. */
		memset(&insn, 0, sizeof(insn));
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (status >= 0 || insn.iclass != ptic_error)
			see(w, insn.ip);
	}
	pt_insn_get_offset(decoder, &offset);
	if (status != -pte_eos && !cut)
		FAIL("no instruction at %#lx of %#lx bytes, ip %#lx: %s",
		     offset, size, insn.ip, pt_errstr(pt_errcode(status)));
	pt_image_free(image);
	pt_insn_free_decoder(decoder);
}

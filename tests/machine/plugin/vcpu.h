/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One emulated logical processor: what the plugin keeps for it, and access to
 * its registers and to memory through QEMU.
 *
 * Owns: struct vcpu. All of a vCPU's state is touched by the thread that runs
 * it alone; what is shared is constant once the guest runs.
 * Must not know: when anything happens.
 */
#ifndef VCPU_H
#define VCPU_H

#include "pclog.h"
#include "pmu.h"
#include "pt_flow.h"
#include "qemu_plugin.h"

#define VCPU_MAX	64

enum vcpu_reg {
	REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSP, REG_RIP,
	REG_CS, REG_CR3, REG_EFER,
	REG_COUNT,
};

/* Scoreboard: what translated code reads and writes inline. */
struct vcpu_inline {
	uint64_t active;	/* VCPU_* below: call back at the next block */
	uint64_t pending;	/* struct block *, whose last instruction was begun */
	uint64_t cr3_written;
};

#define VCPU_TRACING	1ULL	/* TriggerEn */
#define VCPU_CPUID	2ULL	/* results of a CPUID are to be amended */

/* A translated block, as QEMU translated it; see block_delta(). */
struct block {
	uint64_t start;
	uint8_t cpl;
	uint8_t mode;
	struct pt_branch branch;
};

struct vcpu {
	unsigned int index;
	struct vcpu_inline *shared;

	struct pt_msrs msrs;
	struct pt_output output;
	struct pt_flow flow;
	struct pmu pmu;
	struct pclog *pclog;

	struct pt_where at;	/* the start of the block being executed */
	uint64_t trace_delta;	/* its address less that at translation */
	uint64_t hook_delta;	/* the same, kept for intercepted instructions */
	struct block pending;	/* a copy, when a flush frees the original */

	bool fault_hint;	/* the next delivery is of an exception */
	bool gp_pending;	/* ... which the plugin provoked */
	uint64_t gp_rcx;

	uint32_t cpuid_leaf;
	uint32_t tsc_aux;
	uint64_t pmis;
} __attribute__((aligned(64)));

extern unsigned int vcpu_log_level;

bool vcpu_setup(void);
struct vcpu *vcpu_get(unsigned int index);
struct vcpu *vcpu_if_used(unsigned int index);
void vcpu_init(unsigned int index, const struct pt_clock *clock, const char *pclog_prefix);
qemu_plugin_u64 vcpu_entry(size_t offset);
#define VCPU_ENTRY(field)	vcpu_entry(offsetof(struct vcpu_inline, field))

/* Of the vCPU whose thread calls. */
uint64_t reg_read(enum vcpu_reg reg);
void reg_write(enum vcpu_reg reg, uint64_t val);
bool virt_read(uint64_t va, void *buf, size_t len);
enum x86_mode code_mode(uint64_t cs);

int phys_read(void *arg, uint64_t pa, void *buf, size_t len);
int phys_write(void *arg, uint64_t pa, const void *buf, size_t len);

void vcpu_log(const struct vcpu *v, unsigned int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif

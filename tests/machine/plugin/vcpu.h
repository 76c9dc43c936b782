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

#include "count.h"
#include "idt.h"
#include "pclog.h"
#include "pmu.h"
#include "pt_flow.h"
#include "pt_packet_log.h"
#include "qemu_plugin.h"

#define VCPU_MAX	64

/* The first sixteen as ModRM numbers them. */
enum vcpu_reg {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
	REG_RIP, REG_EFLAGS, REG_CS, REG_FS_BASE, REG_GS_BASE,
	REG_CR0, REG_CR2, REG_CR3, REG_CR4, REG_EFER,
	REG_COUNT,
};

/*
 * Scoreboard: what translated code reads and writes inline. Its size keeps the
 * processors' cache lines apart, and is one that code can shift by.
 */
struct vcpu_inline {
	uint64_t active;	/* VCPU_* below: call back at the next block */
	uint64_t pending;	/* struct block *, whose last instruction was begun */
	uint64_t cr3_written;

	/* for counts alone */
	uint64_t insns[2];	/* at CPL 0, above */
	uint64_t begun;		/* the latest that was counted: VCPU_BEGUN_* */

	uint64_t unused[10];
};
_Static_assert(sizeof(struct vcpu_inline) == 128, "a power of two, two cache lines");

#define VCPU_BEGUN_OFFSET	PT_MASK(11, 0)	/* its address in its page */
#define VCPU_BEGUN_USER		PT_BIT(12)
#define VCPU_BEGUN_REP		PT_BIT(13)
#define VCPU_BEGUN_SOFT_INT	PT_BIT(14)
#define VCPU_BEGUN		PT_BIT(15)

#define VCPU_TRACING	1ULL	/* TriggerEn */
#define VCPU_AMEND	2ULL	/* results of an instruction are to be amended */

/* A block, at its address at translation. */
struct block {
	uint64_t start;
	uint64_t cs_base;
	uint8_t cpl;
	uint8_t mode;
	/*
	 * Its end is a direct branch whose two successors have different offsets
	 * in a page, which no relocation changes.
	 */
	bool distinct;
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
	struct pt_packet_log *packet_log;

	struct pt_where at;	/* the start of the block being executed ... */
	bool at_known;		/* ... if it was looked at */
	uint64_t trace_delta;	/* its address less that at translation */
	uint64_t hook_delta;	/* the same, kept for intercepted instructions */
	struct block pending;	/* a copy, when a flush frees the original */
	unsigned int needs;	/* PT_FLOW_NEEDS_* of this trace */
	bool filtered;		/* it has address ranges */
	unsigned int jumps;	/* direct ones */

	bool asleep;		/* in HLT or MWAIT, and the trace was told */
	bool fault_hint;	/* the next delivery is of an exception */
	bool gp_pending;	/* ... which the plugin provoked */
	uint64_t gp_rcx;

	uint8_t amend_class;	/* the instruction for VCPU_AMEND ... */
	uint64_t amend_ip;	/* ... which, if it faults, had no results */
	uint32_t cpuid_leaf;
	uint64_t rdmsr_val;

	uint64_t left_for;	/* where vcpu_leave() went ... */
	uint64_t left_flags;	/* ... with these flags of the system */

	uint64_t tsc_adjust;	/* its TSC less the machine's clock */
	uint64_t tsc_aux;
	struct idt idt;
	struct count count;
	uint64_t rep_insns;	/* instructions up to the latest repeated one */
	uint64_t stale;		/* INT3s that were no longer there */
} __attribute__((aligned(64)));

extern unsigned int vcpu_log_level;

bool vcpu_setup(void);
struct vcpu *vcpu_get(unsigned int index);
struct vcpu *vcpu_if_used(unsigned int index);
/* A prefix is NULL if that log is not wanted. */
void vcpu_init(unsigned int index, const char *pclog_prefix, const char *packet_prefix,
	       const struct pt_flow_options *options);
qemu_plugin_u64 vcpu_entry(size_t offset);
#define VCPU_ENTRY(field)	vcpu_entry(offsetof(struct vcpu_inline, field))

/* Of the vCPU whose thread calls. */
uint64_t reg_read(enum vcpu_reg reg);
void reg_write(enum vcpu_reg reg, uint64_t val);
bool virt_read(uint64_t va, void *buf, size_t len);
bool virt_write(uint64_t va, const void *buf, size_t len);
uint64_t vcpu_tsc(const struct vcpu *v);

/*
 * Leaves the block for @ip, before the instruction that is about to be executed.
 *
 * QEMU has the arithmetic flags as operands, and at a block's end puts away of
 * which operation. Nothing does so here, and an event that comes before another
 * block has done so would save what an operand has where RFLAGS has IF or TF.
 * vcpu_delivered(), called at each delivery, puts these right in the frame. The
 * arithmetic flags remain unknown: they must not be wanted at @ip.
 */
__attribute__((noreturn)) void vcpu_leave(struct vcpu *v, uint64_t ip);
void vcpu_delivered(struct vcpu *v, uint64_t from);

/* RIP, CS and RFLAGS, as a delivery in IA-32e mode has pushed them. */
struct vcpu_frame {
	uint64_t rip, cs, rflags;
};

/*
 * The frame of the delivery that has interrupted @from: its address, or 0 if none
 * is there. It is above an error code for some exceptions.
 */
uint64_t vcpu_find_frame(uint64_t from, struct vcpu_frame *frame);

enum x86_mode code_mode(uint64_t cs);
uint64_t code_base(uint64_t cs);

int phys_read(void *arg, uint64_t pa, void *buf, size_t len);
int phys_write(void *arg, uint64_t pa, const void *buf, size_t len);

void vcpu_log(const struct vcpu *v, unsigned int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif

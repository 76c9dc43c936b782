// SPDX-License-Identifier: GPL-2.0
/*
 * The vCPUs, their registers and memory.
 */
#include "vcpu.h"
#include "clock.h"
#include "pt_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct vcpu vcpus[VCPU_MAX];
static struct qemu_plugin_scoreboard *scoreboard;
unsigned int vcpu_log_level;

/* QEMU numbers registers alike on all vCPUs: one set of handles is enough. */
static struct qemu_plugin_register *regs[REG_COUNT];
static const char *const reg_names[REG_COUNT] = {
	[REG_RAX] = "rax", [REG_RCX] = "rcx", [REG_RDX] = "rdx", [REG_RBX] = "rbx",
	[REG_RSP] = "rsp", [REG_RBP] = "rbp", [REG_RSI] = "rsi", [REG_RDI] = "rdi",
	[REG_R8] = "r8", [REG_R9] = "r9", [REG_R10] = "r10", [REG_R11] = "r11",
	[REG_R12] = "r12", [REG_R13] = "r13", [REG_R14] = "r14", [REG_R15] = "r15",
	[REG_RIP] = "rip", [REG_EFLAGS] = "eflags", [REG_CS] = "cs",
	[REG_FS_BASE] = "fs_base", [REG_GS_BASE] = "gs_base",
	[REG_CR0] = "cr0", [REG_CR2] = "cr2", [REG_CR3] = "cr3", [REG_CR4] = "cr4",
	[REG_EFER] = "efer",
};

#define EFER_LMA	PT_BIT(10)
#define CR0_PE		PT_BIT(0)

#define RFLAGS_1		PT_BIT(1)
#define RFLAGS_RF		PT_BIT(16)
#define RFLAGS_ARITHMETIC	0x8d5ULL
/*
 * TF, IF, IOPL, NT, VM, AC, VIF, VIP, ID. QEMU does not show DF, which nobody sets
 * around such an instruction.
 */
#define RFLAGS_SYSTEM		0x3e7300ULL

#define NOWHERE			PT_BIT(63)	/* no canonical address */

static struct qp_bytes *scratch(size_t len)
{
	static __thread struct qp_bytes *bytes;

	if (!bytes)
		bytes = g_byte_array_new();
	return bytes->len == len ? bytes : g_byte_array_set_size(bytes, len);
}

/* QEMU appends the value to what is there. */
uint64_t reg_read(enum vcpu_reg reg)
{
	struct qp_bytes *b = scratch(8);
	uint64_t val = 0;

	b->len = 0;
	if (!regs[reg] || !qemu_plugin_read_register(regs[reg], b))
		return 0;
	if (b->len >= 8)
		memcpy(&val, b->data, 8);
	else
		memcpy(&val, b->data, b->len);
	return val;
}

void reg_write(enum vcpu_reg reg, uint64_t val)
{
	struct qp_bytes *b = scratch(8);

	memcpy(b->data, &val, 8);
	qemu_plugin_write_register(regs[reg], b);
}

bool virt_read(uint64_t va, void *buf, size_t len)
{
	struct qp_bytes *b = scratch(0);

	if (!qemu_plugin_read_memory_vaddr(va, b, len))
		return false;
	memcpy(buf, b->data, len);
	return true;
}

bool virt_write(uint64_t va, const void *buf, size_t len)
{
	struct qp_bytes *b = scratch(len);

	memcpy(b->data, buf, len);
	return qemu_plugin_write_memory_vaddr(va, b);
}

int phys_read(void *arg, uint64_t pa, void *buf, size_t len)
{
	struct qp_bytes *b = scratch(0);

	(void)arg;
	if (qemu_plugin_read_memory_hwaddr(pa, b, len))
		return -1;
	memcpy(buf, b->data, len);
	return 0;
}

int phys_write(void *arg, uint64_t pa, const void *buf, size_t len)
{
	struct qp_bytes *b = scratch(len);

	(void)arg;
	memcpy(b->data, buf, len);
	return qemu_plugin_write_memory_hwaddr(pa, b) ? -1 : 0;
}

/*
 * MODE.Exec wants CS.L and CS.D, which no register of QEMU's shows. Linux has
 * fixed selectors for 32-bit code: 23H for programs, 08H in the kernel.
 */
enum x86_mode code_mode(uint64_t cs)
{
	if (!(reg_read(REG_CR0) & CR0_PE))
		return X86_MODE_16;
	if (!(reg_read(REG_EFER) & EFER_LMA) || cs == 0x23 || cs == 0x08)
		return X86_MODE_32;
	return X86_MODE_64;
}

/* Known in real mode; else code segments are flat, or it is not shown by QEMU. */
uint64_t code_base(uint64_t cs)
{
	return reg_read(REG_CR0) & CR0_PE ? 0 : cs << 4;
}

static void find_registers(void)
{
	struct qp_array *array = qemu_plugin_get_registers();
	const qemu_plugin_reg_descriptor *desc = (const void *)array->data;
	unsigned int i, j;

	for (i = 0; i < array->len; i++) {
		for (j = 0; j < REG_COUNT; j++) {
			if (!strcmp(desc[i].name, reg_names[j]))
				regs[j] = desc[i].handle;
		}
	}
	g_array_free(array, 1);
}

void vcpu_leave(struct vcpu *v, uint64_t ip)
{
	v->left_for = ip;
	v->left_flags = reg_read(REG_EFLAGS) & RFLAGS_SYSTEM;
	qemu_plugin_set_pc(ip);
}

uint64_t vcpu_find_frame(uint64_t from, struct vcpu_frame *frame)
{
	const uint64_t rsp = reg_read(REG_RSP);
	uint64_t words[4];
	size_t at;

	if (!virt_read(rsp, words, sizeof(words)))
		return 0;
	at = words[0] == from ? 0 : 1;
	if (words[at] != from)
		return 0;
	memcpy(frame, words + at, sizeof(*frame));
	return rsp + at * sizeof(*words);
}

void vcpu_delivered(struct vcpu *v, uint64_t from)
{
	const uint64_t left_for = v->left_for;
	struct vcpu_frame frame;
	uint64_t at;

	v->left_for = NOWHERE;
	if (left_for != from || !(reg_read(REG_EFER) & EFER_LMA))
		return;
	at = vcpu_find_frame(from, &frame);
	if (!at)
		return;
	frame.rflags = (frame.rflags & (RFLAGS_ARITHMETIC | RFLAGS_RF)) | v->left_flags | RFLAGS_1;
	virt_write(at, &frame, sizeof(frame));
}

struct vcpu *vcpu_get(unsigned int index)
{
	return &vcpus[index];
}

struct vcpu *vcpu_if_used(unsigned int index)
{
	return vcpus[index].shared ? &vcpus[index] : NULL;
}

qemu_plugin_u64 vcpu_entry(size_t offset)
{
	return (qemu_plugin_u64) { .score = scoreboard, .offset = offset };
}

bool vcpu_setup(void)
{
	scoreboard = qemu_plugin_scoreboard_new(sizeof(struct vcpu_inline));
	return scoreboard != NULL;
}

uint64_t vcpu_tsc(const struct vcpu *v)
{
	return clock_tsc() + v->tsc_adjust;
}

static uint64_t read_tsc(void *arg)
{
	return vcpu_tsc(arg);
}

static void raise_pmi(void *arg)
{
	struct vcpu *v = arg;

	vcpu_log(v, 1, "PMI");
	pmu_raise_topa(&v->pmu);
}

static void observe_trace(void *arg, bool on)
{
	struct vcpu *v = arg;

	if (v->pclog)
		pclog_trace(v->pclog, on, v->msrs.output_base, v->msrs.output_mask,
			    vcpu_tsc(v));
	if (v->packet_log)
		pt_packet_log_trace(v->packet_log, on, v->msrs.output_base,
				    v->msrs.output_mask, vcpu_tsc(v));
}

static void observe_packet(void *arg, const struct pt_pkt *p)
{
	pt_packet_log_packet(((struct vcpu *)arg)->packet_log, p);
}

static void observe_packets(void *arg, bool on)
{
	struct vcpu *v = arg;

	if (v->pclog)
		pclog_packets(v->pclog, on, v->flow.cr3,
			      vcpu_tsc(v));
}

void vcpu_init(unsigned int index, const char *pclog_prefix, const char *packet_prefix,
	       const struct pt_flow_options *options)
{
	struct vcpu *v = &vcpus[index];
	const struct pt_clock clock = {
		.tsc = read_tsc,
		.arg = v,
		.art_num = ART_NUMERATOR,
		.art_den = ART_DENOMINATOR,
		.cbr = clock_ratio(),
	};
	const struct pt_memory mem = {
		.read = phys_read,
		.write = phys_write,
		.pmi = raise_pmi,
		.arg = v,
	};
	const struct pt_observer observer = {
		.trace = observe_trace,
		.packets = observe_packets,
		.packet = packet_prefix ? observe_packet : NULL,
		.arg = v,
	};

	v->left_for = NOWHERE;
	if (!regs[REG_RIP])
		find_registers();

	v->index = index;
	count_init(&v->count, index);
	v->shared = qemu_plugin_scoreboard_find(scoreboard, index);
	pt_msr_reset(&v->msrs);
	pmu_reset(&v->pmu);
	pt_output_init(&v->output, &v->msrs, &pt_caps, &mem);
	pt_flow_init(&v->flow, &v->msrs, &v->output, &clock, &observer);
	v->flow.options = *options;
	if (pclog_prefix)
		v->pclog = pclog_open(pclog_prefix, index);
	if (packet_prefix)
		v->packet_log = pt_packet_log_open(packet_prefix, index);
}

void vcpu_log(const struct vcpu *v, unsigned int level, const char *fmt, ...)
{
	va_list ap;

	if (level > vcpu_log_level)
		return;
	fprintf(stderr, "ptemu: cpu%u: ", v->index);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

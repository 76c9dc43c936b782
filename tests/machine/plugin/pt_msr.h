/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Intel PT register file of one logical processor, and what CPUID says
 * of it.
 *
 * Owns: CPUID leaf 14H, the IA32_RTIT_* values, and which accesses fault.
 * Must not know: QEMU, packets, where output goes, processor models.
 *
 * Section numbers are those of the SDM, volume 3C, chapter 36 (Intel Processor
 * Trace); later editions call the same chapter 35, 32 or 33. What only they
 * have (event trace, TNT disable, PSB and PMI preservation) is in the tables of
 * the same names.
 *
 * INIT changes none of the registers: table 36-50, cases 30 and 31, has TraceEn
 * stay as it is, and so has SDM 3A, table 9-1. So there is no function for it.
 */
#ifndef PT_MSR_H
#define PT_MSR_H

#include <stdbool.h>
#include <stdint.h>

#define PT_BIT(n)		(1ULL << (n))
#define PT_MASK(hi, lo)		((~0ULL >> (63 - (hi))) & (~0ULL << (lo)))
#define PT_FIELD(v, hi, lo)	(((v) & PT_MASK(hi, lo)) >> (lo))

enum {
	MSR_RTIT_OUTPUT_BASE	= 0x560,
	MSR_RTIT_OUTPUT_MASK	= 0x561,
	MSR_RTIT_CTL		= 0x570,
	MSR_RTIT_STATUS		= 0x571,
	MSR_RTIT_CR3_MATCH	= 0x572,
	MSR_RTIT_ADDR0_A	= 0x580,
	MSR_RTIT_ADDR3_B	= 0x587,
};

/* 36.2.7.2, IA32_RTIT_CTL */
#define CTL_TRACE_EN		PT_BIT(0)
#define CTL_CYC_EN		PT_BIT(1)
#define CTL_OS			PT_BIT(2)
#define CTL_USER		PT_BIT(3)
#define CTL_PWR_EVT_EN		PT_BIT(4)
#define CTL_FUP_ON_PTW		PT_BIT(5)
#define CTL_FABRIC_EN		PT_BIT(6)
#define CTL_CR3_FILTER		PT_BIT(7)
#define CTL_TOPA		PT_BIT(8)
#define CTL_MTC_EN		PT_BIT(9)
#define CTL_TSC_EN		PT_BIT(10)
#define CTL_DIS_RETC		PT_BIT(11)
#define CTL_PTW_EN		PT_BIT(12)
#define CTL_BRANCH_EN		PT_BIT(13)
#define CTL_MTC_FREQ(v)		PT_FIELD(v, 17, 14)
#define CTL_CYC_THRESH(v)	PT_FIELD(v, 22, 19)
#define CTL_PSB_FREQ(v)		PT_FIELD(v, 27, 24)
#define CTL_EVENT_EN		PT_BIT(31)
#define CTL_ADDR_CFG(v, n)	PT_FIELD(v, 35 + 4 * (n), 32 + 4 * (n))
#define CTL_DIS_TNT		PT_BIT(55)
#define CTL_INJECT_PSB_PMI	PT_BIT(56)	/* InjectPsbPmiOnEnable */

/* Values of ADDRn_CFG */
#define ADDR_CFG_OFF		0
#define ADDR_CFG_FILTER		1
#define ADDR_CFG_TRACE_STOP	2

/* 36.2.7.4, IA32_RTIT_STATUS */
#define STATUS_FILTER_EN	PT_BIT(0)
#define STATUS_CONTEXT_EN	PT_BIT(1)
#define STATUS_TRIGGER_EN	PT_BIT(2)
#define STATUS_ERROR		PT_BIT(4)
#define STATUS_STOPPED		PT_BIT(5)
#define STATUS_PEND_PSB		PT_BIT(6)
#define STATUS_PEND_TOPA_PMI	PT_BIT(7)
#define STATUS_BYTE_CNT		PT_MASK(48, 32)
#define STATUS_BYTE_CNT_MAX	0x1ffffULL

/* 36.2.7.8, IA32_RTIT_OUTPUT_MASK_PTRS: bits 6:0 always read as ones */
#define OUTPUT_MASK_LOW		0x7fULL

/* 36.3.1, CPUID.(14H,0) */
#define CAP_EBX_CR3_FILTER	PT_BIT(0)
#define CAP_EBX_PSB_CYC		PT_BIT(1)
#define CAP_EBX_IP_FILTER	PT_BIT(2)
#define CAP_EBX_MTC		PT_BIT(3)
#define CAP_EBX_PTWRITE		PT_BIT(4)
#define CAP_EBX_PWR_EVT		PT_BIT(5)
#define CAP_EBX_PSB_PMI_KEEP	PT_BIT(6)	/* PSB and PMI preservation */
#define CAP_EBX_EVENT_TRACE	PT_BIT(7)
#define CAP_EBX_DIS_TNT		PT_BIT(8)
#define CAP_ECX_TOPA		PT_BIT(0)
#define CAP_ECX_MULTI_ENTRY	PT_BIT(1)
#define CAP_ECX_SINGLE_RANGE	PT_BIT(2)
#define CAP_ECX_FABRIC		PT_BIT(3)
#define CAP_ECX_LIP		PT_BIT(31)

struct pt_caps {
	uint32_t max_subleaf;	/* CPUID.(14H,0):EAX */
	uint32_t ebx;		/* CPUID.(14H,0):EBX */
	uint32_t ecx;		/* CPUID.(14H,0):ECX */
	uint32_t ranges;	/* CPUID.(14H,1):EAX[2:0] */
	uint32_t mtc_map;	/* CPUID.(14H,1):EAX[31:16] */
	uint32_t cyc_map;	/* CPUID.(14H,1):EBX[15:0] */
	uint32_t psb_map;	/* CPUID.(14H,1):EBX[31:16] */
	bool pt_in_vmx;		/* IA32_VMX_MISC[14] */
	unsigned int phys_bits;	/* CPUID.80000008H:EAX[7:0] */
	unsigned int linear_bits;	/* CPUID.80000008H:EAX[15:8] */
};

struct pt_msrs {
	uint64_t ctl;
	uint64_t status;
	uint64_t output_base;
	uint64_t output_mask;
	uint64_t cr3_match;
	uint64_t addr[8];
	bool in_vmx;		/* between VMXON and VMXOFF */
};

enum pt_msr_result {
	PT_MSR_OK,
	PT_MSR_FAULT,		/* #GP(0) */
	PT_MSR_NOT_MINE,
};

/* Power-up and cold RESET: all is cleared (36.2.7.1). */
void pt_msr_reset(struct pt_msrs *m);

/*
 * Warm RESET: a processor with IP filtering keeps all but TraceEn, another
 * keeps nothing (36.2.7.1).
 */
void pt_msr_warm_reset(struct pt_msrs *m, const struct pt_caps *caps);

void pt_msr_cpuid(const struct pt_caps *caps, uint32_t subleaf, uint32_t regs[4]);

/*
 * pt_msr_write() only stores: that a change of TraceEn starts or ends a trace
 * is its caller's affair.
 */
enum pt_msr_result pt_msr_write(struct pt_msrs *m, const struct pt_caps *caps,
				uint32_t index, uint64_t val);
enum pt_msr_result pt_msr_read(const struct pt_msrs *m, const struct pt_caps *caps,
			       uint32_t index, uint64_t *val);

/*
 * VMXON and VMXOFF (SDM 3D, A.6, bit 14). A processor that cannot trace in VMX
 * operation clears TraceEn at VMXON, and has every WRMSR of IA32_RTIT_CTL fault
 * until VMXOFF. To be asked before pt_msr_vmxon(), for who has to end a trace:
 */
static inline bool pt_msr_vmxon_ends_trace(const struct pt_msrs *m, const struct pt_caps *caps)
{
	return !caps->pt_in_vmx && (m->ctl & CTL_TRACE_EN);
}

void pt_msr_vmxon(struct pt_msrs *m, const struct pt_caps *caps);
void pt_msr_vmxoff(struct pt_msrs *m);

/* TriggerEn, 36.2.5.2 */
static inline bool pt_msr_trigger_en(const struct pt_msrs *m)
{
	return (m->ctl & CTL_TRACE_EN) &&
	       !(m->status & (STATUS_ERROR | STATUS_STOPPED));
}

/*
 * Whether TraceEn, being set, brings a PSB+ (36.2.7.3 and 36.3.1): always
 * without a configurable PSB, else if PacketByteCnt is zero, or if a PSB was
 * kept pending.
 */
bool pt_msr_psb_at_start(const struct pt_msrs *m, const struct pt_caps *caps);

/*
 * TraceEn is being cleared, @count bytes after the last PSB; @psb_due: the next
 * one was due. Sets PacketByteCnt and PendPSB, if the processor has them.
 */
void pt_msr_store_progress(struct pt_msrs *m, const struct pt_caps *caps, uint64_t count,
			   bool psb_due);

#endif

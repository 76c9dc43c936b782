// SPDX-License-Identifier: GPL-2.0
/*
 * The table of processor models.
 *
 * Where values are from, each a dump of a real processor:
 *
 * [aida]	CPUID and MSR dumps by AIDA64, collected by InstLatX64 and packed in
 *		Go's klauspost/cpuid as testdata/cpuid_data.zip (Debian: package
 *		golang-github-klauspost-cpuid-dev 2.2.3), named here without the
 *		leading "GenuineIntel0"
 * [libcpuid]	raw dumps in libcpuid's repository, tests/intel/...
 *
 * IA32_VMX_MISC is MSR 485H; its bit 14 says that PT works in VMX operation.
 */
#include "pt_model.h"

#include <string.h>

/* From the registers of CPUID leaf 14H as a dump shows them. */
#define CAPS(eax0, ebx0, ecx0, eax1, ebx1, vmx_misc) {			\
	.max_subleaf = (eax0),						\
	.ebx = (ebx0),							\
	.ecx = (ecx0),							\
	.ranges = (eax1) & 7,						\
	.mtc_map = (eax1) >> 16,					\
	.cyc_map = (ebx1) & 0xffff,					\
	.psb_map = (ebx1) >> 16,					\
	.pt_in_vmx = (vmx_misc) >> 14 & 1,				\
	.phys_bits = 40,						\
	.linear_bits = 48,						\
}

/*
 * Everything that the emulator can do, whether or not one real processor has
 * it all: no dump has both event trace and four ranges. MTC periods and PSB
 * periods are those of every public dump; cycle thresholds are Goldmont's, the
 * longest list. Addresses are offsets, not LIPs; there is no trace transport.
 */
#define MAX_EBX	(CAP_EBX_CR3_FILTER | CAP_EBX_PSB_CYC | CAP_EBX_IP_FILTER | CAP_EBX_MTC |	\
		 CAP_EBX_PTWRITE | CAP_EBX_PWR_EVT | CAP_EBX_PSB_PMI_KEEP |			\
		 CAP_EBX_EVENT_TRACE | CAP_EBX_DIS_TNT)
#define MAX_ECX	(CAP_ECX_TOPA | CAP_ECX_MULTI_ENTRY | CAP_ECX_SINGLE_RANGE)
#define MAX_CAPS	CAPS(1, MAX_EBX, MAX_ECX, 0x02490004, 0x003fffff, 0x4000)

const struct pt_model pt_models[] = {
	{ "max", 0, MAX_CAPS },
	{
		/*
		 * [aida] 0306D4_Broadwell: Core M-5Y70. MSR 485H = 300481E5H.
		 * 040671 (i7-5775C), 050662 and 0406F1 (Xeon) say the same.
		 */
		"broadwell", 0x000306d4,
		CAPS(0x00000000, 0x00000001, 0x00000001, 0, 0, 0x300481e5),
	}, {
		/*
		 * [aida] 0506E3_Skylake: Core i5-6400T. MSR 485H = 7004C1E7H.
		 * 0406E3 and 050654 (Xeon) and Kaby to Comet Lake say the same.
		 */
		"skylake", 0x000506e3,
		CAPS(0x00000001, 0x0000000f, 0x00000007, 0x02490002, 0x003f3fff, 0x7004c1e7),
	}, {
		/*
		 * [aida] 0706E5_IceLakeY: Core i7-1065G7. MSR 485H = 7004C1E7H.
		 * Its leaf 14H differs from Skylake's in the thresholds alone.
		 */
		"icelake", 0x000706e5,
		CAPS(0x00000001, 0x0000000f, 0x00000007, 0x02490002, 0x003f1fff, 0x7004c1e7),
	}, {
		/*
		 * [libcpuid] x86-64/golden-cove/sapphire-rapids-ws-xeon-w9: Xeon
		 * w9-3475X. MSR 485H is assumed: no public dump of it was found;
		 * the core is Alder Lake's, and no model since Skylake lacks the bit.
		 */
		"sapphire-rapids", 0x000806f8,
		CAPS(0x00000001, 0x0000005f, 0x00000007, 0x02490002, 0x003f003f, 0x7004c1e7),
	}, {
		/*
		 * [aida] 090672_AlderLake_02: Core i5-12400, which has P-cores
		 * alone; [libcpuid] core_12th_gen/alder-lake-s-i9 has the same. An
		 * E-core adds LIP (ECX[31]) and more thresholds. MSR 485H = 7004C1E7H.
		 */
		"alderlake", 0x00090672,
		CAPS(0x00000001, 0x0000005f, 0x00000007, 0x02490002, 0x003f003f, 0x7004c1e7),
	},
};

const unsigned int pt_model_count = sizeof(pt_models) / sizeof(pt_models[0]);
const char pt_model_names[] = "max, broadwell, skylake, icelake, sapphire-rapids, alderlake";

const struct pt_model *pt_model = &pt_models[0];
struct pt_caps pt_caps = MAX_CAPS;

bool pt_model_select(const char *name)
{
	unsigned int i;

	for (i = 0; i < pt_model_count; i++) {
		if (strcmp(pt_models[i].name, name))
			continue;
		pt_model = &pt_models[i];
		pt_caps = pt_model->caps;
		return true;
	}
	return false;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * libipt's packet and instruction decoders.
 */
#include "libipt_decode.h"

#include "pt_packet.h"

#include <intel-pt.h>
#include <inttypes.h>
#include <stdio.h>

static int read_code(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip,
		     void *context)
{
	const struct decode_config *c = context;
	const size_t n = c->read(ip, buf, size);

	(void)asid;
	return n ? (int)n : -pte_nomap;
}

static void fill_config(const struct decode_config *c, struct pt_config *config)
{
	pt_config_init(config);
	config->begin = c->trace;
	config->end = c->trace + c->size;
	config->mtc_freq = c->mtc_freq;
	config->cpuid_0x15_eax = c->art_num;
	config->cpuid_0x15_ebx = c->art_den;
	config->nom_freq = 24;
	config->addr_filter.config.addr_cfg = c->addr_cfg;
	config->addr_filter.addr0_a = c->addr[0];
	config->addr_filter.addr0_b = c->addr[1];
	config->addr_filter.addr1_a = c->addr[2];
	config->addr_filter.addr1_b = c->addr[3];
	config->addr_filter.addr2_a = c->addr[4];
	config->addr_filter.addr2_b = c->addr[5];
	config->addr_filter.addr3_a = c->addr[6];
	config->addr_filter.addr3_b = c->addr[7];
}

size_t decode_insns(const struct decode_config *c, uint64_t *ips, size_t max, char error[256])
{
	struct pt_insn_decoder *d;
	struct pt_config config;
	struct pt_insn insn = { 0 };
	uint64_t offset = 0;
	size_t n = 0;
	int status;

	error[0] = 0;
	fill_config(c, &config);
	d = pt_insn_alloc_decoder(&config);
	if (!d) {
		snprintf(error, 256, "no decoder");
		return 0;
	}
	pt_image_set_callback(pt_insn_get_image(d), read_code, (void *)c);

	status = pt_insn_sync_forward(d);
	while (status >= 0 && n < max) {
		if (status & pts_event_pending) {
			struct pt_event ev;

			status = pt_insn_event(d, &ev, sizeof(ev));
			if (status >= 0 && ev.type == ptev_overflow)
				ips[n++] = DECODE_OVERFLOW;
			if (status >= 0 && ev.type == ptev_stop)
				ips[n++] = DECODE_STOP;
			continue;
		}
		if (status & pts_eos)
			break;
		status = pt_insn_next(d, &insn, sizeof(insn));
		/* With an error, too, the instruction may be there. */
		if (status >= 0 || (status != -pte_eos && insn.iclass != ptic_error))
			ips[n++] = insn.ip;
	}
	if (status < 0 && status != -pte_eos) {
		pt_insn_get_offset(d, &offset);
		snprintf(error, 256, "%s at %" PRIx64 ", trace offset %" PRIu64,
			 pt_errstr(pt_errcode(status)), insn.ip, offset);
	}
	pt_insn_free_decoder(d);
	return n;
}

int decode_packet(const struct decode_config *c, size_t offset, unsigned int *kind,
		  uint64_t v[3])
{
	struct pt_packet_decoder *d;
	struct pt_config config;
	struct pt_packet p;
	int status;

	fill_config(c, &config);
	/* One decoder for a packet is slow, but has no state to go wrong. */
	config.begin += offset;
	d = pt_pkt_alloc_decoder(&config);
	if (!d)
		return -pte_nomem;
	status = pt_pkt_sync_set(d, 0);
	if (status >= 0)
		status = pt_pkt_next(d, &p, sizeof(p));
	pt_pkt_free_decoder(d);
	if (status < 0)
		return status;

	v[0] = v[1] = v[2] = 0;
	switch (p.type) {
	case ppt_psb:		*kind = PT_PSB; break;
	case ppt_psbend:	*kind = PT_PSBEND; break;
	case ppt_stop:		*kind = PT_TRACESTOP; break;
	case ppt_ovf:		*kind = PT_OVF; break;
	case ppt_fup:		*kind = PT_FUP; goto ip;
	case ppt_tip:		*kind = PT_TIP; goto ip;
	case ppt_tip_pge:	*kind = PT_TIP_PGE; goto ip;
	case ppt_tip_pgd:	*kind = PT_TIP_PGD;
ip:
		v[0] = p.payload.ip.ip;
		v[1] = p.payload.ip.ipc;
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		*kind = PT_TNT;
		v[0] = p.payload.tnt.payload;
		v[1] = p.payload.tnt.bit_size;
		break;
	case ppt_mode:
		if (p.payload.mode.leaf != pt_mol_exec)
			return -pte_bad_packet;
		*kind = PT_MODE_EXEC;
		v[0] = p.payload.mode.bits.exec.csl | p.payload.mode.bits.exec.csd << 1;
		break;
	case ppt_pip:
		*kind = PT_PIP;
		v[0] = p.payload.pip.cr3;
		v[1] = p.payload.pip.nr;
		break;
	case ppt_tsc:
		*kind = PT_TSC;
		v[0] = p.payload.tsc.tsc;
		break;
	case ppt_cbr:
		*kind = PT_CBR;
		v[0] = p.payload.cbr.ratio;
		break;
	case ppt_tma:
		*kind = PT_TMA;
		v[0] = p.payload.tma.ctc;
		v[1] = p.payload.tma.fc;
		break;
	case ppt_mtc:
		*kind = PT_MTC;
		v[0] = p.payload.mtc.ctc;
		break;
	case ppt_cyc:
		*kind = PT_CYC;
		v[0] = p.payload.cyc.value;
		break;
	case ppt_exstop:
		*kind = PT_EXSTOP;
		v[0] = p.payload.exstop.ip;
		break;
	case ppt_mwait:
		*kind = PT_MWAIT;
		v[0] = p.payload.mwait.hints;
		v[1] = p.payload.mwait.ext;
		break;
	case ppt_pwre:
		*kind = PT_PWRE;
		v[0] = p.payload.pwre.state;
		v[1] = p.payload.pwre.sub_state;
		v[2] = p.payload.pwre.hw;
		break;
	case ppt_pwrx:
		*kind = PT_PWRX;
		v[0] = p.payload.pwrx.last;
		v[1] = p.payload.pwrx.deepest;
		v[2] = p.payload.pwrx.interrupt | p.payload.pwrx.store << 2 |
		       p.payload.pwrx.autonomous << 3;
		break;
	case ppt_ptw:
		*kind = PT_PTW;
		v[0] = p.payload.ptw.payload;
		v[1] = pt_ptw_size(p.payload.ptw.plc);
		v[2] = p.payload.ptw.ip;
		break;
	default:
		return -pte_bad_opc;
	}
	return status;
}

bool decode_ip(uint64_t *last, uint64_t payload, uint64_t ip_bytes)
{
	switch (ip_bytes) {
	case 0:
		return false;
	case 1:
		*last = (*last & ~0ULL << 16) | payload;
		return true;
	case 2:
		*last = (*last & ~0ULL << 32) | payload;
		return true;
	case 3:
		*last = (int64_t)(payload << 16) >> 16;
		return true;
	case 4:
		*last = (*last & ~0ULL << 48) | payload;
		return true;
	case 6:
		*last = payload;
		return true;
	default:
		/* Reserved: no IP that is expected. */
		*last = ~0ULL;
		return true;
	}
}

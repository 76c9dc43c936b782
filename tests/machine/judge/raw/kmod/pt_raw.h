/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ioctls of pt_raw.ko, the judge's own way to program Intel PT: what Linux's
 * driver never does (CR3 filter, TraceStop, a single range, traces of all that a
 * processor runs).
 *
 *	fd = open("/dev/pt_raw", O_RDWR)
 *	ioctl(fd, PT_RAW_START, &start)		on all processors
 *	ioctl(fd, PT_RAW_STOP, &result)
 *	pread(fd, buf, size, cpu << 32)		the trace of one
 *	ioctl(fd, PT_RAW_CLOCK, &clock)		time stamps around TSC packets
 */
#ifndef PT_RAW_H
#define PT_RAW_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PT_RAW_CPUS	8
#define PT_RAW_RANGES	4
#define PT_RAW_PAIRS	500

enum pt_raw_cr3 {
	PT_RAW_CR3_NONE,
	PT_RAW_CR3_USER,	/* what the process's own code runs with */
	PT_RAW_CR3_KERNEL,	/* what the kernel serves it with; another under PTI */
};

struct pt_raw_start {
	__u64 ctl;		/* IA32_RTIT_CTL without ToPA, CR3Filter, TraceEn */
	__u64 addr[2 * PT_RAW_RANGES];
	__s32 pid;		/* whose CR3 */
	__u32 cr3;		/* enum pt_raw_cr3 */
	__u32 regions;		/* of a ToPA table, at most 32; 0: a single range */
	__u32 order;		/* pages of a region, as a power of two */
	__u64 cr3_match;	/* out */
};

struct pt_raw_result {
	__u64 size[PT_RAW_CPUS];
	__u64 status[PT_RAW_CPUS];	/* IA32_RTIT_STATUS before TraceEn was cleared */
	__u32 cpus;
	__u32 wrapped;			/* a single range was too small */
};

/* RDTSC before and after a WRMSR that sets TraceEn, and the TSC packet it made. */
struct pt_raw_pair {
	__u64 before, packet, after;
};

struct pt_raw_clock {
	__u32 cpu;
	__u32 tsc_khz;		/* out */
	struct pt_raw_pair pair[PT_RAW_PAIRS];
};

#define PT_RAW_START	_IOWR('P', 1, struct pt_raw_start)
#define PT_RAW_STOP	_IOR('P', 2, struct pt_raw_result)
#define PT_RAW_CLOCK	_IOWR('P', 3, struct pt_raw_clock)

#endif

/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * mtrace - per-thread Intel Processor Trace with snapshots
 *
 * This header is the whole protocol between mtrace.ko and user space.
 *
 * A session is one open file of /dev/mtrace. It owns a buffer, the threads that
 * are traced into it and the snapshots taken of them, and dies with the file.
 * The order of life is
 *
 *	open -> GET_CAPS -> SETUP -> ATTACH... -> START -> SNAPSHOT ->
 *	DESCRIBE -> (read the mapping) -> RELEASE -> ... -> STOP -> close
 *
 * The buffer is allocated by SETUP, never grows, and is divided into equal
 * regions, each a power of two in size. A region is *live* (one thread's
 * output, which wraps in it), *frozen* (part of a snapshot) or *free*.
 * SNAPSHOT freezes the live region of every thread of the session and gives
 * each thread a free one instead, while tracing goes on. RELEASE makes the
 * frozen regions of a snapshot free again.
 *
 * The buffer is mapped read-only by mmap() of the file from offset 0; a region
 * that DESCRIBE reports at offset O is at byte O of that mapping. A frozen
 * region does not change until it is released.
 *
 * Conventions: every structure begins with its size in bytes as the caller
 * knows it, set by the caller (0 is EINVAL). A structure longer than the
 * kernel's is accepted if what the kernel does not know is zero, else E2BIG;
 * a shorter one down to the first published size is accepted and the rest
 * taken as zero. Reserved fields and unknown flags must be zero, else EINVAL.
 * A failed call changes nothing. All numbers are in the CPU's byte order,
 * sizes and offsets are in bytes, times are values of the TSC.
 *
 * Errors that any call may give: EFAULT (bad pointer), EINVAL (a field is out
 * of its range or reserved), ENOTTY (no such call), ENODEV (the session was
 * shut down by the kernel: a reboot or the last CPU that can trace is gone).
 */
#ifndef _UAPI_LINUX_MTRACE_H
#define _UAPI_LINUX_MTRACE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Raised when a change is not compatible; the tool and the module must agree. */
#define MTRACE_ABI_VERSION	1

/* What the tool and the module call the device node below /dev. */
#define MTRACE_DEVICE_NAME	"mtrace"

/**
 * struct mtrace_caps - what this machine and this module can do
 * @size: in: sizeof(struct mtrace_caps)
 * @abi_version: MTRACE_ABI_VERSION of the module
 * @cpu_family: display family of CPUID leaf 1
 * @cpu_model: display model of CPUID leaf 1
 * @cpu_stepping: stepping of CPUID leaf 1
 * @tsc_khz: frequency of the TSC, in kHz, as the kernel uses it
 * @tsc_art_numerator: CPUID.15H:EBX, 0 where unknown
 * @tsc_art_denominator: CPUID.15H:EAX, 0 where unknown
 * @max_nonturbo_ratio: MSR_PLATFORM_INFO[15:8], the ratio that CBR packets
 *	are relative to (libipt's nom_freq); 0 where unknown
 * @max_threads: largest mtrace_setup.max_threads that is accepted
 * @cpuid14: CPUID leaf 14H, subleaf 0 (EAX, EBX, ECX, EDX) then subleaf 1:
 *	SDM vol. 3, "Detection of Intel Processor Trace and Capability
 *	Enumeration"
 * @max_region_size: largest region that this CPU's ToPA can describe
 * @trace_flags: every MTRACE_TRACE_* that this CPU supports
 * @nr_ranges: largest mtrace_setup.nr_ranges that is accepted:
 *	CPUID.(EAX=14H,ECX=1):EAX[2:0]
 * @reserved: zero
 */
struct mtrace_caps {
	__u32 size;
	__u32 abi_version;
	__u32 cpu_family;
	__u32 cpu_model;
	__u32 cpu_stepping;
	__u32 tsc_khz;
	__u32 tsc_art_numerator;
	__u32 tsc_art_denominator;
	__u32 max_nonturbo_ratio;
	__u32 max_threads;
	__u32 cpuid14[8];
	__u64 max_region_size;
	__u32 trace_flags;
	__u32 nr_ranges;
	__u32 reserved[4];
};

/*
 * mtrace_setup.trace_flags: what is traced, and with which packets.
 *
 * With KERNEL the trace has PIP packets, and they have the values of CR3: who
 * may trace the kernel learns where page tables are in physical memory, as by
 * perf. Without it the trace has no physical address.
 *
 * CR3 traces a thread only while CR3 has the thread's own address space, which
 * exec changes: what the kernel does in the thread's name in another one is
 * left out. Where the kernel isolates its page tables (PTI), user and kernel
 * code have different CR3s, and one of USER and KERNEL alone can be had. The
 * address space that the filter has is no part of what the protocol tells.
 */
#define MTRACE_TRACE_USER	(1U << 0)	/* RTIT_CTL.User */
#define MTRACE_TRACE_KERNEL	(1U << 1)	/* RTIT_CTL.OS */
#define MTRACE_TRACE_TSC	(1U << 2)	/* RTIT_CTL.TSCEn */
#define MTRACE_TRACE_MTC	(1U << 3)	/* RTIT_CTL.MTCEn, with mtc_freq */
#define MTRACE_TRACE_CYC	(1U << 4)	/* RTIT_CTL.CYCEn, with cyc_thresh */
#define MTRACE_TRACE_NORETCOMP	(1U << 5)	/* RTIT_CTL.DisRETC */
#define MTRACE_TRACE_PTW	(1U << 6)	/* RTIT_CTL.PTWEn */
#define MTRACE_TRACE_PTW_FUP	(1U << 7)	/* RTIT_CTL.FUPonPTW, with PTW */
#define MTRACE_TRACE_POWER	(1U << 8)	/* RTIT_CTL.PwrEvtEn */
#define MTRACE_TRACE_NOBRANCH	(1U << 9)	/* RTIT_CTL.BranchEn is clear */
#define MTRACE_TRACE_CR3	(1U << 10)	/* RTIT_CTL.CR3Filter */
#define MTRACE_TRACE_EVENT	(1U << 11)	/* RTIT_CTL.EventEn */
#define MTRACE_TRACE_NOTNT	(1U << 12)	/* RTIT_CTL.DisTNT */
#define MTRACE_TRACE_FLAGS_ALL	((1U << 13) - 1)

/* mtrace_setup.missing: what a set-up asked for and the CPU has not. */
#define MTRACE_CAP_CR3_FILTER	(1U << 0)	/* CPUID.14H:EBX[0] */
#define MTRACE_CAP_PSB_CYC	(1U << 1)	/* EBX[1]: CYC, psb_freq */
#define MTRACE_CAP_IP_FILTER	(1U << 2)	/* EBX[2]: ranges */
#define MTRACE_CAP_MTC		(1U << 3)	/* EBX[3]: MTC, NOBRANCH */
#define MTRACE_CAP_PTWRITE	(1U << 4)	/* EBX[4] */
#define MTRACE_CAP_POWER	(1U << 5)	/* EBX[5] */
#define MTRACE_CAP_EVENT	(1U << 7)	/* EBX[7] */
#define MTRACE_CAP_NOTNT	(1U << 8)	/* EBX[8] */
/* It has the field, but not with that value. */
#define MTRACE_CAP_MTC_FREQ	(1U << 16)	/* mtc_freq; cpuid14[4] >> 16 */
#define MTRACE_CAP_CYC_THRESH	(1U << 17)	/* cyc_thresh; cpuid14[5] */
#define MTRACE_CAP_PSB_FREQ	(1U << 18)	/* psb_freq; cpuid14[5] >> 16 */
#define MTRACE_CAP_RANGES	(1U << 19)	/* so many; cpuid14[4] & 7 */
/* The kernel isolates its page tables: CR3 with both of USER and KERNEL. */
#define MTRACE_CAP_SAME_CR3	(1U << 20)

/* mtrace_range.kind; the values of RTIT_CTL.ADDRn_CFG */
#define MTRACE_RANGE_FILTER	1
#define MTRACE_RANGE_STOP	2

/* What there is room for; a CPU may have fewer, see mtrace_caps.nr_ranges. */
#define MTRACE_MAX_RANGES	4

/**
 * struct mtrace_range - a range of code that filters or stops the trace
 * @start: address of its first byte
 * @end: address of its last byte, not before @start
 * @kind: MTRACE_RANGE_FILTER: what lies in none of the ranges of this kind is
 *	not traced. MTRACE_RANGE_STOP: a thread that gets into it is traced no
 *	more until its next snapshot, which takes what led there and begins
 *	anew; its region has MTRACE_REGION_STOPPED
 * @pad: zero
 *
 * Both addresses must be canonical, and those of user code unless
 * MTRACE_TRACE_KERNEL is given. A range has nothing to do with a process: each
 * thread of the session has it in its own address space.
 */
struct mtrace_range {
	__u64 start;
	__u64 end;
	__u32 kind;
	__u32 pad;
};

/* mtrace_setup.flags: how the session grows. */
#define MTRACE_SETUP_INHERIT_THREADS	(1U << 0)	/* clone() with CLONE_THREAD */
#define MTRACE_SETUP_INHERIT_PROCESSES	(1U << 1)	/* fork() and the like */
#define MTRACE_SETUP_FLAGS_ALL		((1U << 2) - 1)

/**
 * struct mtrace_setup - allocate the buffer and fix the tracing options
 * @size: in: sizeof(struct mtrace_setup)
 * @flags: in: MTRACE_SETUP_*
 * @buffer_size: in: bytes of trace memory in all, a power of two and at least
 *	one page
 * @max_threads: in: threads that can be traced at the same time, 1 to
 *	mtrace_caps.max_threads. A thread that would be inherited beyond that
 *	is not traced and is counted in mtrace_status.refused_threads
 * @max_snapshots: in: snapshots that can be held unreleased while every
 *	thread still finds a free region, at least 1
 * @trace_flags: in: MTRACE_TRACE_*; at least one of USER and KERNEL
 * @mtc_freq: in: RTIT_CTL.MTCFreq, 0 unless MTRACE_TRACE_MTC
 * @cyc_thresh: in: RTIT_CTL.CycThresh, 0 unless MTRACE_TRACE_CYC
 * @psb_freq: in: RTIT_CTL.PSBFreq
 * @nr_ranges: in: how many of @range are meant
 * @pmu_type: in: /sys/bus/event_source/devices/intel_pt/type, by which the
 *	module reserves PT against perf; 0 where the kernel has no such PMU
 * @nr_regions: out: regions that the buffer was divided into
 * @region_size: out: bytes of one region:
 *	buffer_size / (max_threads * (1 + max_snapshots)), rounded down to a
 *	power of two, at most mtrace_caps.max_region_size
 * @rtit_ctl: out: IA32_RTIT_CTL as it will be programmed
 * @available: out: where the call failed with ENOMEM, the bytes of memory
 *	that were available then; else 0
 * @start_tsc: out: the TSC at a moment of the call ...
 * @start_monotonic_ns: out: ... and CLOCK_MONOTONIC ...
 * @start_realtime_ns: out: ... and CLOCK_REALTIME at the same moment
 * @range: in: ranges of addresses; those from @nr_ranges on are zero
 * @missing: out: where the call failed with EOPNOTSUPP, every MTRACE_CAP_* that
 *	it would have taken; else 0
 * @pad: zero
 * @reserved: zero
 *
 * Errors: EBUSY (already set up; or PT is in use by another user such as perf
 * or the firmware), EOPNOTSUPP (see @missing), EACCES (kernel tracing is
 * forbidden by lockdown), ENOMEM (see @available), ENOSPC (a region
 * would be smaller than one page). PTW_FUP without PTW, and a range that is
 * none, are EINVAL. Of all failures, EOPNOTSUPP and ENOMEM alone write the
 * structure back.
 *
 * MTRACE_IOC_GET_SETUP gives the structure as SETUP has left it: what the
 * session got. All but @size must be zero. Errors: EINVAL (not set up).
 */
struct mtrace_setup {
	__u32 size;
	__u32 flags;
	__u64 buffer_size;
	__u32 max_threads;
	__u32 max_snapshots;
	__u32 trace_flags;
	__u8 mtc_freq;
	__u8 cyc_thresh;
	__u8 psb_freq;
	__u8 nr_ranges;
	__u32 pmu_type;
	__u32 nr_regions;
	__u64 region_size;
	__u64 rtit_ctl;
	__u64 available;
	__u64 start_tsc;
	__u64 start_monotonic_ns;
	__u64 start_realtime_ns;
	struct mtrace_range range[MTRACE_MAX_RANGES];
	__u32 missing;
	__u32 pad;
	__u64 reserved[4];
};

/**
 * struct mtrace_thread - name a thread to attach or detach
 * @size: in: sizeof(struct mtrace_thread)
 * @flags: in: zero
 * @tid: in: thread id, in the caller's pid namespace
 * @pad: zero
 *
 * ATTACH errors: EINVAL (not set up; or a thread of the kernel, which has no
 * address space, with MTRACE_TRACE_CR3), ESRCH (no such thread, or it is
 * exiting), EEXIST (in this session already), EBUSY (in another session),
 * ENOSPC (max_threads are traced, or no region is free).
 * DETACH errors: EINVAL (not set up), ESRCH (not in this session). The last
 * region of a thread that was detached or exited stays part of the next
 * snapshot, unless the thread never ran in it.
 */
struct mtrace_thread {
	__u32 size;
	__u32 flags;
	__s32 tid;
	__u32 pad;
};

/**
 * struct mtrace_snapshot - freeze what all threads of the session have written
 * @size: in: sizeof(struct mtrace_snapshot)
 * @flags: in: zero
 * @id: out: number of the snapshot, from 1
 * @tsc: out: the TSC when the switch of the threads began
 * @tsc_end: out: the TSC when the last thread was switched
 * @nr_regions: out: regions frozen; MTRACE_IOC_DESCRIBE tells of each
 * @nr_unswitched: out: threads that found no free region and went on in their
 *	own: nothing of them is in this snapshot
 * @reserved: zero
 *
 * Errors: EINVAL (not set up), ENOBUFS (no region is free at all: release a
 * snapshot first; tracing goes on).
 */
struct mtrace_snapshot {
	__u32 size;
	__u32 flags;
	__u64 id;
	__u64 tsc;
	__u64 tsc_end;
	__u32 nr_regions;
	__u32 nr_unswitched;
	__u64 reserved[2];
};

/* mtrace_region.flags */
#define MTRACE_REGION_WRAPPED	(1U << 0)	/* older bytes were overwritten */
#define MTRACE_REGION_EXITED	(1U << 1)	/* the thread exited or was detached */
#define MTRACE_REGION_ERROR	(1U << 2)	/* RTIT_STATUS.Error was seen */
#define MTRACE_REGION_STOPPED	(1U << 3)	/* it came to a STOP range */

/**
 * struct mtrace_region - one frozen region of a snapshot
 * @tid: thread id as in the owner's pid namespace, 0 where it has none there
 * @pid: thread group id likewise
 * @offset: of the region in the mapping
 * @head: offset in the region of the byte that would have been written next
 * @valid: bytes of trace: @head if the region did not wrap, else its size
 * @start_tsc: TSC when the region was given to the thread
 * @end_tsc: TSC when it was frozen
 * @flags: MTRACE_REGION_*
 * @cpu: the CPU that the thread ran on last
 * @switches: context switches of the thread into this region
 * @pad: zero
 * @comm: the thread's name when the region was frozen, NUL-terminated
 *
 * In time order the bytes are [head, size) then [0, head) of a region that
 * wrapped, and [0, head) of one that did not.
 */
struct mtrace_region {
	__s32 tid;
	__s32 pid;
	__u64 offset;
	__u64 head;
	__u64 valid;
	__u64 start_tsc;
	__u64 end_tsc;
	__u32 flags;
	__u32 cpu;
	__u32 switches;
	__u32 pad;
	char comm[16];
};

/**
 * struct mtrace_describe - list the regions of a snapshot
 * @size: in: sizeof(struct mtrace_describe)
 * @region_size: in: sizeof(struct mtrace_region)
 * @id: in: the snapshot
 * @regions: in: pointer to an array of struct mtrace_region
 * @count: in: elements that fit; out: regions that the snapshot has
 * @pad: zero
 *
 * Errors: ENOENT (no such snapshot), ENOSPC (@count is too small: nothing
 * but @count, which then says how many are needed, is written).
 */
struct mtrace_describe {
	__u32 size;
	__u32 region_size;
	__u64 id;
	__u64 regions;
	__u32 count;
	__u32 pad;
};

/**
 * struct mtrace_release - make a snapshot's regions free again
 * @size: in: sizeof(struct mtrace_release)
 * @flags: in: zero
 * @id: in: the snapshot
 *
 * Errors: ENOENT (no such snapshot).
 */
struct mtrace_release {
	__u32 size;
	__u32 flags;
	__u64 id;
};

/**
 * struct mtrace_status - counters of the session
 * @size: in: sizeof(struct mtrace_status)
 * @flags: zero
 * @running: 1 between START and STOP
 * @nr_threads: threads that are traced now
 * @nr_snapshots: snapshots held unreleased
 * @regions_live: regions by state ...
 * @regions_frozen: ...
 * @regions_free: ...
 * @refused_threads: threads not inherited because max_threads was reached or no
 *	region was free
 * @wraps: regions found wrapped when frozen
 * @errors: times RTIT_STATUS.Error was seen or the CPU refused to trace
 * @stops: times that a thread came to a range that stops the trace
 * @unswitched: threads that a snapshot found no free region for
 * @recycled: regions of exited threads that were made free before a snapshot
 *	took them, because free ones ran short: their trace is lost
 * @reserved: zero
 */
struct mtrace_status {
	__u32 size;
	__u32 flags;
	__u32 running;
	__u32 nr_threads;
	__u32 nr_snapshots;
	__u32 regions_live;
	__u32 regions_frozen;
	__u32 regions_free;
	__u64 refused_threads;
	__u64 wraps;
	__u64 errors;
	__u64 stops;
	__u64 unswitched;
	__u64 recycled;
	__u64 reserved[3];
};

#define MTRACE_IOC_MAGIC	0xBE

#define MTRACE_IOC_GET_CAPS	_IOWR(MTRACE_IOC_MAGIC, 0, struct mtrace_caps)
#define MTRACE_IOC_SETUP	_IOWR(MTRACE_IOC_MAGIC, 1, struct mtrace_setup)
#define MTRACE_IOC_ATTACH	_IOW(MTRACE_IOC_MAGIC, 2, struct mtrace_thread)
#define MTRACE_IOC_DETACH	_IOW(MTRACE_IOC_MAGIC, 3, struct mtrace_thread)
/* START and STOP take no argument; EINVAL: not set up; EALREADY: as asked. */
#define MTRACE_IOC_START	_IO(MTRACE_IOC_MAGIC, 4)
#define MTRACE_IOC_STOP		_IO(MTRACE_IOC_MAGIC, 5)
#define MTRACE_IOC_SNAPSHOT	_IOWR(MTRACE_IOC_MAGIC, 6, struct mtrace_snapshot)
#define MTRACE_IOC_DESCRIBE	_IOWR(MTRACE_IOC_MAGIC, 7, struct mtrace_describe)
#define MTRACE_IOC_RELEASE	_IOW(MTRACE_IOC_MAGIC, 8, struct mtrace_release)
#define MTRACE_IOC_GET_STATUS	_IOWR(MTRACE_IOC_MAGIC, 9, struct mtrace_status)
#define MTRACE_IOC_GET_SETUP	_IOWR(MTRACE_IOC_MAGIC, 11, struct mtrace_setup)

#ifndef __cplusplus
_Static_assert(sizeof(struct mtrace_caps) == 104, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_range) == 24, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_setup) == 224, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_thread) == 16, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_snapshot) == 56, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_region) == 80, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_describe) == 32, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_release) == 16, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_status) == 104, "mtrace ABI");
#endif

#endif /* _UAPI_LINUX_MTRACE_H */

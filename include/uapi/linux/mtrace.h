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
 * Not only the owner takes snapshots: NEXT_SNAPSHOT tells it of the others, and
 * poll() of the file gives POLLPRI while there is one that it was not told of.
 *
 * A session that is set up with STREAM has no snapshots. Instead each region is
 * handed over when it is more than half full, while tracing goes on:
 *
 *	open -> SETUP -> ATTACH... -> START ->
 *	(poll -> STREAM_READ -> (read the mapping) -> STREAM_RELEASE)... ->
 *	STOP -> STREAM_READ -> STREAM_RELEASE -> close
 *
 * poll() gives POLLRDBAND while there is a descriptor that was not read yet.
 *
 * What the trace does not say - which thread ran where, which code was mapped -
 * is in records that read() gives, see linux/mtrace_sideband.h.
 *
 * The buffer is mapped read-only by mmap() of the file from offset 0; a region
 * that DESCRIBE reports at offset O is at byte O of that mapping. A frozen
 * region, or one that was handed over, does not change until it is released.
 *
 * Who opens the file with CAP_PERFMON or CAP_SYS_ADMIN has a session that may
 * trace any thread. Who opens it without gets EPERM, unless the module's
 * parameter "unprivileged" is set; then the session is one that
 *	- traces only threads that the process which opened the file traces by
 *	  ptrace, each as long as that is so, and their user code alone;
 *	- is called by that process alone: who else it gives the file to may map
 *	  the buffer and read the records, but makes no other call;
 *	- has the memory of its buffer charged to its user, within RLIMIT_MEMLOCK
 *	  unless the caller has CAP_IPC_LOCK;
 *	- loses a thread that executes a set-user-id program or the like, before
 *	  the first instruction of that: mtrace_status.gained;
 *	- is one of at most 16 of its user: EMFILE.
 * What else it is refused fails with EPERM. Where the difference is said to be
 * that of a session with or without privilege, this is what is meant.
 *
 * Conventions: every structure begins with its size in bytes as the caller
 * knows it, set by the caller (0 is EINVAL). A structure longer than the
 * kernel's, of a page at most, is accepted if what the kernel does not know is
 * zero, else E2BIG; a shorter one down to the first published size is accepted and
 * the rest taken as zero. Reserved fields and unknown flags must be zero, else EINVAL.
 * A failed call changes nothing, but that MTRACE_STREAM_FLUSH has been done when
 * the descriptors cannot be copied, and that of a thread that exits while ATTACH
 * is at it the sideband and netlink tell that it came and went. All numbers are in
 * the CPU's byte order, sizes and offsets are in bytes, times are values of the TSC.
 *
 * Errors that any call may give: EFAULT (bad pointer), EINVAL (a field is out
 * of its range or reserved), ENOTTY (no such call), ENODEV (the session was
 * shut down by the kernel: a reboot, or a panic). On a CPU that comes online and
 * cannot be had, since perf came first, no thread is traced; the kernel's log
 * says so.
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
 * @max_threads: largest mtrace_setup.max_threads that is accepted of this
 *	session: 4096, or 256 without privilege
 * @cpuid14: CPUID leaf 14H, subleaf 0 (EAX, EBX, ECX, EDX) then subleaf 1:
 *	SDM vol. 3, "Detection of Intel Processor Trace and Capability
 *	Enumeration"
 * @max_region_size: largest region that this CPU's ToPA can describe
 * @trace_flags: every MTRACE_TRACE_* that this CPU supports
 * @nr_ranges: largest mtrace_setup.nr_ranges that is accepted:
 *	CPUID.(EAX=14H,ECX=1):EAX[2:0]
 * @sideband: MTRACE_SIDEBAND_*: what of address spaces is recorded
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
	__u32 sideband;
	__u32 reserved[3];
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
#define MTRACE_SETUP_STREAM		(1U << 2)	/* hand regions over */
#define MTRACE_SETUP_SIDEBAND		(1U << 3)	/* linux/mtrace_sideband.h */
/*
 * When the module takes a snapshot by itself, between START and STOP. Not with
 * STREAM.
 */
#define MTRACE_SETUP_SNAPSHOT_AT_EXIT	(1U << 4)	/* a thread exits */
#define MTRACE_SETUP_SNAPSHOT_AT_SIGNAL	(1U << 5)	/* a signal kills one */
#define MTRACE_SETUP_FLAGS_ALL		(MTRACE_SETUP_INHERIT_THREADS | \
					 MTRACE_SETUP_INHERIT_PROCESSES | \
					 MTRACE_SETUP_STREAM | \
					 MTRACE_SETUP_SIDEBAND | \
					 MTRACE_SETUP_SNAPSHOT_AT_EXIT | \
					 MTRACE_SETUP_SNAPSHOT_AT_SIGNAL)

/**
 * struct mtrace_setup - allocate the buffer and fix the tracing options
 * @size: in: sizeof(struct mtrace_setup)
 * @flags: in: MTRACE_SETUP_*
 * @buffer_size: in: bytes of trace memory in all, a power of two and at least
 *	one page
 * @max_threads: in: threads that can be traced at the same time, 1 to
 *	mtrace_caps.max_threads. A thread that would be inherited beyond that
 *	is not traced and is counted in mtrace_status.refused_threads; one that
 *	is refused for want of privilege, because its parent's tracer does not
 *	trace it, is not counted
 * @max_snapshots: in: snapshots that can be held unreleased while every
 *	thread still finds a free region, at least 1. With
 *	MTRACE_SETUP_STREAM: regions of each thread that can be held, likewise
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
 * @session: out: the number of the session in this kernel, from 1, by which
 *	others name it (linux/mtrace_netlink.h)
 * @sideband_size: in: bytes of the ring of records, 0 for
 *	MTRACE_SIDEBAND_DEFAULT; zero unless MTRACE_SETUP_SIDEBAND; out: what
 *	it is
 * @pad: zero
 * @reserved: zero
 *
 * Errors: EBUSY (already set up; or PT is in use by another user such as perf
 * or the firmware), EOPNOTSUPP (see @missing), EACCES (kernel tracing is
 * forbidden by lockdown), EPERM (without privilege: KERNEL, POWER, EVENT, a
 * @pmu_type of 0, or more than 256 threads), ENOMEM (see @available; without
 * privilege that is what RLIMIT_MEMLOCK leaves, tables included, where it is the
 * cause), ENOSPC (a region would be smaller than one page). PTW_FUP without PTW,
 * and a range that is none, are EINVAL. Of all failures, EOPNOTSUPP and ENOMEM
 * alone write the structure back.
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
	__u32 session;
	__u32 sideband_size;
	__u32 pad;
	__u64 reserved[3];
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
 * exiting), EPERM (without privilege: the caller does not trace it by ptrace, or
 * it runs a program that ptrace may not look into without CAP_SYS_PTRACE, such
 * as one that has other rights than its user or must not be read),
 * EEXIST (in this session already), EBUSY (in another session),
 * ENOSPC (max_threads are traced, no region is free, or a breakpoint of one of
 * the session's triggers finds no free debug register in the thread), ENOMEM (for
 * a breakpoint), EINTR (a signal kills the caller, while it waits for an exec).
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

/* mtrace_snapshot.reason: who asked for a snapshot. */
#define MTRACE_REASON_CALL	1	/* MTRACE_IOC_SNAPSHOT */
#define MTRACE_REASON_COMMAND	2	/* another process, by netlink */
#define MTRACE_REASON_TRIGGER	3	/* MTRACE_IOC_ADD_TRIGGER */
#define MTRACE_REASON_EXIT	4	/* MTRACE_SETUP_SNAPSHOT_AT_EXIT */
#define MTRACE_REASON_SIGNAL	5	/* MTRACE_SETUP_SNAPSHOT_AT_SIGNAL */

/* mtrace_snapshot.flags */
#define MTRACE_SNAPSHOT_WAIT	(1U << 0)	/* until each finds a region */

/**
 * struct mtrace_regs - the general registers of a thread in user code
 *
 * Those of a thread that is in the kernel are what it had when it got there.
 * Of the kernel's own registers nothing is told.
 */
struct mtrace_regs {
	__u64 ax;
	__u64 bx;
	__u64 cx;
	__u64 dx;
	__u64 si;
	__u64 di;
	__u64 bp;
	__u64 sp;
	__u64 r8;
	__u64 r9;
	__u64 r10;
	__u64 r11;
	__u64 r12;
	__u64 r13;
	__u64 r14;
	__u64 r15;
	__u64 ip;
	__u64 flags;
};

/**
 * struct mtrace_snapshot - freeze what all threads of the session have written
 * @size: in: sizeof(struct mtrace_snapshot)
 * @flags: in: MTRACE_SNAPSHOT_WAIT: rather than to leave a thread out or to
 *	fail, wait until every thread finds a free region; out: zero
 * @id: out: number of the snapshot, from 1
 * @tsc: out: the TSC when the switch of the threads began
 * @tsc_end: out: the TSC when the last thread was switched
 * @nr_regions: out: regions frozen; MTRACE_IOC_DESCRIBE tells of each
 * @nr_unswitched: out: threads that found no free region and went on in their
 *	own: nothing of them is in this snapshot
 * @reason: out: MTRACE_REASON_*
 * @missed: out: how often a snapshot was asked for, since the one before this,
 *	that was not taken because no region was free
 * @tid: out: the thread that it was taken for, as in the owner's pid namespace;
 *	0 with MTRACE_REASON_CALL and _COMMAND, and where it has none there
 * @pid: out: its thread group likewise
 * @trigger: out: the trigger's number, with MTRACE_REASON_TRIGGER; else 0
 * @signal: out: the signal, with MTRACE_REASON_SIGNAL; else 0
 * @regs: out: the thread's registers at that moment; all zero where it has no
 *	user code, or there is no thread
 * @reserved: zero
 *
 * A snapshot begins with interrupts off on one CPU, for a time that grows with the
 * number of threads in the session: each is given its fresh region there, so that
 * all of them are frozen as nearly at once as can be. Who wants short times has
 * few threads in a session.
 *
 * A thread that another snapshot is being taken of at that moment is not in
 * this one: all that it has run until then is in the other.
 *
 * MTRACE_REASON_TRIGGER: the thread's region is part of it, and ends with the
 * thread's way to the trigger, unless another snapshot has taken that, so that
 * this one has nothing of the thread. MTRACE_REASON_EXIT: the thread's last
 * region is part of the snapshot, unless the thread has run nothing since the
 * one before. MTRACE_REASON_SIGNAL: the thread is the first of its process that
 * learns of its death, before a core is dumped. A signal that another tracer
 * takes away, that is handled or ignored, or that stops the process, does not
 * count; nor does a thread's end by another one's exec or exit_group(), or by
 * seccomp's strict mode, which delivers none. Nobody is stopped: the regions are
 * frozen before the thread goes on, and are the owner's soon after.
 *
 * Errors: EINVAL (not set up), ENOBUFS (no region is free at all: release a
 * snapshot first; tracing goes on), EINTR (a signal came while it waited,
 * unless its handler restarts calls). With MTRACE_SETUP_STREAM there are no
 * snapshots: EINVAL.
 *
 * MTRACE_IOC_NEXT_SNAPSHOT gives the oldest snapshot that is held, was not asked
 * for by SNAPSHOT, and was not given before. It does not wait: poll() does.
 * @flags must be zero. Errors: EINVAL (not set up), EAGAIN (there is none, as
 * always with MTRACE_SETUP_STREAM).
 */
struct mtrace_snapshot {
	__u32 size;
	__u32 flags;
	__u64 id;
	__u64 tsc;
	__u64 tsc_end;
	__u32 nr_regions;
	__u32 nr_unswitched;
	__u32 reason;
	__u32 missed;
	__s32 tid;
	__s32 pid;
	__u32 trigger;
	__u32 signal;
	struct mtrace_regs regs;
	__u64 reserved[2];
};

/* mtrace_region.flags */
#define MTRACE_REGION_WRAPPED	(1U << 0)	/* older bytes were overwritten */
#define MTRACE_REGION_EXITED	(1U << 1)	/* the thread exited or was detached */
#define MTRACE_REGION_ERROR	(1U << 2)	/* RTIT_STATUS.Error was seen */
#define MTRACE_REGION_STOPPED	(1U << 3)	/* it came to a STOP range */
#define MTRACE_REGION_LOST	(1U << 4)	/* what is in it has a gap */

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
 * @switches: how often the thread began to be traced into this region: by context
 *	switches, and by the module (START, a snapshot)
 * @pad: zero
 * @comm: the thread's name when the region was frozen, NUL-terminated
 *
 * LOST: the CPU ended its output within the region though nothing told it to, so
 * that a packet may be cut off and what ran until the thread's next switch is
 * missing; behind that the trace begins anew with PSB+. Each time is counted in
 * mtrace_status.errors.
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
 * Errors: EINVAL (not set up), ENOENT (no such snapshot), ENOSPC (@count is too
 * small: nothing but @count, which then says how many are needed, is written).
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
 * Errors: EINVAL (not set up), ENOENT (no such snapshot).
 */
struct mtrace_release {
	__u32 size;
	__u32 flags;
	__u64 id;
};

/* mtrace_trigger.kind */
#define MTRACE_TRIGGER_BREAKPOINT	1	/* in the debug registers */
#define MTRACE_TRIGGER_UPROBE		2	/* in the code of a file */

/* mtrace_trigger.access */
#define MTRACE_ACCESS_EXEC	1	/* before the instruction */
#define MTRACE_ACCESS_WRITE	2	/* after the access */
#define MTRACE_ACCESS_READWRITE	3	/* after the access */

/* mtrace_trigger.flags */
#define MTRACE_TRIGGER_ONESHOT	(1U << 0)	/* for one snapshot */
#define MTRACE_TRIGGER_FLAGS_ALL	MTRACE_TRIGGER_ONESHOT

/**
 * struct mtrace_trigger - take a snapshot when a thread comes to something
 * @size: in: sizeof(struct mtrace_trigger)
 * @flags: in: MTRACE_TRIGGER_*
 * @kind: in: MTRACE_TRIGGER_BREAKPOINT: an address in the address space of the
 *	thread, by one of the four debug registers of the CPU. _UPROBE: an
 *	instruction in a file, wherever that is mapped
 * @access: in: of BREAKPOINT: MTRACE_ACCESS_*; else 0
 * @address: in: of BREAKPOINT: where, in user space and a multiple of @length;
 *	of UPROBE: the offset in the file of an instruction, of the first of its
 *	bytes: the kernel does not know where instructions begin
 * @ref_offset: in: of UPROBE: offset in the file of a 16-bit number that is
 *	raised while the probe is there (a semaphore of SDT), or 0; else 0
 * @length: in: of BREAKPOINT but for EXEC: bytes that are watched: 1, 2, 4 or 8;
 *	else 0
 * @fd: in: of UPROBE: the file, open for reading; else 0
 * @tid: in: the only thread that it is for, as in the caller's pid namespace;
 *	or 0: all threads of the session, those that join it later included
 * @number: of ADD_TRIGGER: in: zero; out: the trigger's number in the session,
 *	from 1. Of REMOVE_TRIGGER: in: which
 * @hits: out, of REMOVE_TRIGGER: how often a thread came to it ...
 * @missed: ... and how often no snapshot was taken because no region was free
 * @reserved: zero
 *
 * ADD_TRIGGER: between START and STOP, each time that a thread of the session
 * comes to the trigger a snapshot of all its threads is taken, with
 * MTRACE_REASON_TRIGGER, at that very moment: no thread is stopped for it, and
 * nothing that this one runs behind the trigger is in the snapshot. Its registers
 * are those of that moment: before the instruction of EXEC and of a probe, after
 * that of a data access. Data that the kernel accesses for the thread, as in
 * read() and write(), count, too: that snapshot is taken when the kernel next
 * lets itself be interrupted, and accesses until then are one hit.
 *
 * A breakpoint stays over exec, at the same address of the new program, and goes
 * to each new thread that the session inherits before that runs. There are two
 * threads that may run some time without it: one whose clone() is under way while
 * ADD_TRIGGER is called, and one that executes a set-user-id program or the like,
 * since the kernel takes all breakpoints out of a thread there; the module puts
 * them back as soon as it can. Where it cannot, that is counted in
 * mtrace_status.unarmed. A thread that is detached keeps the breakpoint until
 * REMOVE_TRIGGER if it has borne threads with it, or was born with it, but does not
 * hit it. A trigger with ONESHOT does nothing more once there is a snapshot, but is
 * still to be removed.
 *
 * ADD_TRIGGER errors: EINVAL (not set up; set up with MTRACE_SETUP_STREAM; or the
 * kernel refuses a probe there), ENOSPC (a thread has no debug register free: the
 * kernel's and debuggers' breakpoints count; or the session has 256 triggers),
 * ESRCH (@tid is not in the session), EBADF (@fd is none that is open for
 * reading), EPERM (a probe without privilege), EOPNOTSUPP (an instruction that
 * cannot be probed), ENOMEM, and others of the kernel's probes.
 * REMOVE_TRIGGER takes only @size and @number, has all else be zero, and gives
 * the trigger as it was; its snapshots stay. Errors: EINVAL (not set up; not
 * zero), ENOENT (no such trigger).
 */
struct mtrace_trigger {
	__u32 size;
	__u32 flags;
	__u32 kind;
	__u32 access;
	__u64 address;
	__u64 ref_offset;
	__u32 length;
	__s32 fd;
	__s32 tid;
	__u32 number;
	__u64 hits;
	__u64 missed;
	__u64 reserved[3];
};

/* mtrace_stream_desc.flags */
#define MTRACE_STREAM_FIRST	(1U << 0)	/* the thread has had none before */
#define MTRACE_STREAM_LAST	(1U << 1)	/* it exited or was detached */
#define MTRACE_STREAM_ERROR	(1U << 2)	/* RTIT_STATUS.Error was seen */
#define MTRACE_STREAM_STOPPED	(1U << 3)	/* it came to a STOP range */
#define MTRACE_STREAM_OVERRUN	(1U << 4)	/* the region's end was reached */
#define MTRACE_STREAM_LOST	(1U << 5)	/* see lost_bytes and so on */

/**
 * struct mtrace_stream_desc - a region that is handed over
 * @seq: its number, from 1, one more with each
 * @tid: thread id as in the owner's pid namespace, 0 where it has none there
 * @pid: thread group id likewise
 * @offset: of the region in the mapping
 * @bytes: bytes of trace, from the region's first. They begin with PSB and
 *	decode alone; those of all descriptors of a thread, one after the other,
 *	are all that it ran, but for what is said to be lost, and what
 *	mtrace_status.errors counts that the CPU refused. 0 where there is no
 *	region: the descriptor then tells of a loss or of the thread's end alone
 * @start_tsc: TSC when the region was given to the thread
 * @end_tsc: TSC when it was taken from it
 * @lost_bytes: bytes of trace that were written to memory and given up since the
 *	thread's descriptor before, because no region was free when there should
 *	have been an exchange
 * @lost_from_tsc: nothing that ran before is lost (but for earlier losses) ...
 * @lost_to_tsc: ... and nothing that ran since. Both are 0 without
 *	MTRACE_STREAM_LOST
 * @flags: MTRACE_STREAM_*
 * @cpu: the CPU that the thread ran on last
 * @switches: how often the thread was started to be traced into this region, by
 *	context switches and by the module
 * @pad: zero
 * @comm: the thread's name, NUL-terminated
 *
 * OVERRUN says that the module did not look at the thread in time - it is looked
 * at a quarter of the region at one byte a nanosecond, but not more often than
 * each 250 us, and when PT interrupts at the half of the region - and the CPU
 * stopped at the region's end: the last packet may be cut off there. The next
 * descriptor of the thread has LOST and tells the interval. It is in no count of
 * bytes, since what the CPU would have written was not; likewise after ERROR.
 * To have that never happen, have regions of 1 MiB or more.
 *
 * What is lost of a thread that exits, and for which there is no room in the
 * ring of descriptors, is told by one with @tid 0, for all such threads
 * together.
 */
struct mtrace_stream_desc {
	__u64 seq;
	__s32 tid;
	__s32 pid;
	__u64 offset;
	__u64 bytes;
	__u64 start_tsc;
	__u64 end_tsc;
	__u64 lost_bytes;
	__u64 lost_from_tsc;
	__u64 lost_to_tsc;
	__u32 flags;
	__u32 cpu;
	__u32 switches;
	__u32 pad;
	char comm[16];
};

/*
 * mtrace_stream_read.flags: hand over first what all threads have written, be it
 * little. A thread that came to a range that stops the trace begins anew.
 */
#define MTRACE_STREAM_FLUSH		(1U << 0)
#define MTRACE_STREAM_READ_FLAGS_ALL	((1U << 1) - 1)

/**
 * struct mtrace_stream_read - read the descriptors that were not read yet
 * @size: in: sizeof(struct mtrace_stream_read)
 * @flags: in: MTRACE_STREAM_FLUSH
 * @descs: in: pointer to an array of struct mtrace_stream_desc
 * @desc_size: in: sizeof(struct mtrace_stream_desc)
 * @count: in: elements that fit; out: elements that were written, 0 where there
 *	is nothing new: poll() waits
 * @nr_waiting: out: descriptors that are still to be read
 * @nr_unflushed: out: threads that MTRACE_STREAM_FLUSH found no free region for
 *	and that keep what they have
 * @pad: zero
 *
 * Each descriptor is read once, in order. MTRACE_IOC_STOP hands over what there
 * is, as MTRACE_STREAM_FLUSH does, and so does the end of a thread.
 *
 * Errors: EINVAL (not set up, or without MTRACE_SETUP_STREAM).
 */
struct mtrace_stream_read {
	__u32 size;
	__u32 flags;
	__u64 descs;
	__u32 desc_size;
	__u32 count;
	__u32 nr_waiting;
	__u32 nr_unflushed;
	__u64 pad;
};

/**
 * struct mtrace_stream_release - give regions back
 * @size: in: sizeof(struct mtrace_stream_release)
 * @flags: in: zero
 * @seq: in: number of the oldest descriptor that was not released
 * @count: in: how many to release from that on, at least 1
 * @pad: zero
 *
 * Descriptors are released in order, whether they have a region or not. Their
 * regions are cleaned and become free.
 *
 * Errors: EINVAL (not set up, or without MTRACE_SETUP_STREAM; @seq is not the
 * oldest; more than were read).
 */
struct mtrace_stream_release {
	__u32 size;
	__u32 flags;
	__u64 seq;
	__u32 count;
	__u32 pad;
};

/**
 * struct mtrace_status - counters of the session
 * @size: in: sizeof(struct mtrace_status)
 * @flags: zero
 * @running: 1 between START and STOP
 * @nr_threads: threads that are traced now
 * @nr_snapshots: snapshots held unreleased, those being taken included
 * @regions_live: regions by state: a thread's, or the last of one that is gone
 * @regions_frozen: in snapshots, or handed over and not released ...
 * @regions_free: ...
 * @refused_threads: threads not inherited because max_threads was reached or no
 *	region was free; not one that somebody has attached meanwhile
 * @wraps: regions found wrapped when frozen
 * @errors: times RTIT_STATUS.Error was seen, the CPU refused to trace or it
 *	ended its output (MTRACE_REGION_LOST)
 * @stops: times that a thread came to a range that stops the trace
 * @unswitched: threads that a snapshot found no free region for
 * @recycled: regions of exited threads that were made free before a snapshot
 *	took them, because free ones ran short: their trace is lost
 * @nobufs: times that no snapshot was taken because no region was free
 * @gained: threads that left the session because they executed a program with
 *	other rights, or one that must not be read
 * @stream_bytes: bytes of trace handed over
 * @stream_lost_bytes: bytes given up, as in mtrace_stream_desc.lost_bytes
 * @stream_overruns: times that a thread came to the end of its region, also of
 *	one that was given up as a whole and has no descriptor
 * @unarmed: times that a thread that was inherited, or has executed a program,
 *	did not get a trigger's breakpoint, for want of a debug register or of
 *	memory: it passes that trigger by
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
	__u64 nobufs;
	__u64 gained;
	__u64 stream_bytes;
	__u64 stream_lost_bytes;
	__u64 stream_overruns;
	__u64 unarmed;
};

#define MTRACE_IOC_MAGIC	0xBE

#define MTRACE_IOC_GET_CAPS	_IOWR(MTRACE_IOC_MAGIC, 0, struct mtrace_caps)
#define MTRACE_IOC_SETUP	_IOWR(MTRACE_IOC_MAGIC, 1, struct mtrace_setup)
#define MTRACE_IOC_ATTACH	_IOW(MTRACE_IOC_MAGIC, 2, struct mtrace_thread)
#define MTRACE_IOC_DETACH	_IOW(MTRACE_IOC_MAGIC, 3, struct mtrace_thread)
/*
 * START and STOP take no argument; EINVAL: not set up; EALREADY: as asked;
 * EACCES of START: kernel tracing is forbidden by lockdown, which came since.
 */
#define MTRACE_IOC_START	_IO(MTRACE_IOC_MAGIC, 4)
#define MTRACE_IOC_STOP		_IO(MTRACE_IOC_MAGIC, 5)
#define MTRACE_IOC_SNAPSHOT	_IOWR(MTRACE_IOC_MAGIC, 6, struct mtrace_snapshot)
#define MTRACE_IOC_DESCRIBE	_IOWR(MTRACE_IOC_MAGIC, 7, struct mtrace_describe)
#define MTRACE_IOC_RELEASE	_IOW(MTRACE_IOC_MAGIC, 8, struct mtrace_release)
#define MTRACE_IOC_GET_STATUS	_IOWR(MTRACE_IOC_MAGIC, 9, struct mtrace_status)
#define MTRACE_IOC_NEXT_SNAPSHOT _IOWR(MTRACE_IOC_MAGIC, 10, struct mtrace_snapshot)
#define MTRACE_IOC_ADD_TRIGGER	_IOWR(MTRACE_IOC_MAGIC, 12, struct mtrace_trigger)
#define MTRACE_IOC_REMOVE_TRIGGER _IOWR(MTRACE_IOC_MAGIC, 13, struct mtrace_trigger)
#define MTRACE_IOC_GET_SETUP	_IOWR(MTRACE_IOC_MAGIC, 11, struct mtrace_setup)
#define MTRACE_IOC_STREAM_RELEASE _IOW(MTRACE_IOC_MAGIC, 14, struct mtrace_stream_release)
#define MTRACE_IOC_STREAM_READ	_IOWR(MTRACE_IOC_MAGIC, 15, struct mtrace_stream_read)

#ifndef __cplusplus
_Static_assert(sizeof(struct mtrace_caps) == 104, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_range) == 24, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_setup) == 224, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_thread) == 16, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_regs) == 144, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_snapshot) == 224, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_region) == 80, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_describe) == 32, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_release) == 16, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_trigger) == 88, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_status) == 128, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_stream_desc) == 104, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_stream_read) == 40, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_stream_release) == 24, "mtrace ABI");
#endif

#endif /* _UAPI_LINUX_MTRACE_H */

/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * mtrace's sideband - what Processor Trace does not say
 *
 * A session that was set up with MTRACE_SETUP_SIDEBAND keeps records of what
 * its threads and their address spaces do, in a ring of
 * mtrace_setup.sideband_size bytes, which read() of the session's file empties.
 *
 * read() gives whole records, oldest first, as many as there are and fit.
 * Where there is none it fails with EAGAIN if the file is O_NONBLOCK, and
 * waits if not. One that waits is woken, and poll() gives POLLIN, when there is
 * a record of another type than SWITCH or when a quarter of the ring is full:
 * so a reader does not itself cause the switches that it then reads of.
 * Errors: EINVAL (no sideband was asked for; or the next record does not fit,
 * which MTRACE_RECORD_MAX bytes always hold), EFAULT (nothing is taken),
 * EINTR.
 *
 * The times of the records of a session never go back in the order in which
 * they are read. A record that finds the ring full is lost; a LOST record
 * counts those that are at the place where they are missing.
 *
 * The address spaces: every MMAP and MUNMAP names the address space that it is
 * of by a number that no other one ever has. THREAD says which one a thread has
 * from then on, FORK which one a child has, EXEC which one a process has after
 * an exec; the MMAPs of the new program come before its EXEC, and have the new
 * number. An owner without privilege does not get these, because it is not known
 * until the EXEC whether it may: it is the tracer, and reads /proc/PID/maps when
 * it is told of the exec. Records begin when a thread is attached. What is mapped at that time
 * is read from /proc/PID/maps thereafter: each mapping found there and not
 * removed by a MUNMAP of an earlier time than the reading's end is valid, and
 * MMAPs since the attach say when those came that came later.
 */
#ifndef _UAPI_LINUX_MTRACE_SIDEBAND_H
#define _UAPI_LINUX_MTRACE_SIDEBAND_H

#include <linux/types.h>

/* mtrace_setup.sideband_size: a power of two in these bounds, or 0. */
#define MTRACE_SIDEBAND_MIN	(1U << 14)
#define MTRACE_SIDEBAND_MAX	(1U << 26)
#define MTRACE_SIDEBAND_DEFAULT	(1U << 20)

/* No record is longer. */
#define MTRACE_RECORD_MAX	8192

/*
 * mtrace_caps.sideband: what of the address spaces is recorded. There is no
 * tracepoint for it: a kernel without kprobes, or that lacks one of the
 * functions that they are put on, does without these records. All others are
 * there always.
 */
#define MTRACE_SIDEBAND_MMAP	(1U << 0)	/* mmap, and mprotect to PROT_EXEC */
#define MTRACE_SIDEBAND_MUNMAP	(1U << 1)	/* munmap, and mmap over it */
#define MTRACE_SIDEBAND_MREMAP	(1U << 2)	/* mremap to another address */
#define MTRACE_SIDEBAND_MPROTECT (1U << 3)	/* mprotect from PROT_EXEC */
#define MTRACE_SIDEBAND_GROW	(1U << 4)	/* mremap where it is */

/* mtrace_record.type */
#define MTRACE_RECORD_LOST	1	/* struct mtrace_record_lost */
#define MTRACE_RECORD_RUN	2	/* struct mtrace_record_run */
#define MTRACE_RECORD_THREAD	3	/* struct mtrace_record_thread */
#define MTRACE_RECORD_EXIT	4	/* struct mtrace_record_exit */
#define MTRACE_RECORD_COMM	5	/* struct mtrace_record_comm */
#define MTRACE_RECORD_FORK	6	/* struct mtrace_record_fork */
#define MTRACE_RECORD_EXEC	7	/* struct mtrace_record_exec */
#define MTRACE_RECORD_SWITCH	8	/* struct mtrace_record_switch */
#define MTRACE_RECORD_MMAP	9	/* struct mtrace_record_mmap */
#define MTRACE_RECORD_MUNMAP	10	/* struct mtrace_record_munmap */
#define MTRACE_RECORD_LOSS	11	/* struct mtrace_record_loss */

/**
 * struct mtrace_record - what each record begins with
 * @type: MTRACE_RECORD_*; one of an unknown type is to be skipped
 * @size: bytes of the record, a multiple of 8; may grow by later versions
 * @tid: the thread that it is about, as in the owner's pid namespace; 0 where
 *	it is about none, or about one that has no number there
 * @tsc: when
 * @pid: its thread group likewise
 * @cpu: the CPU that the record was made on: of a SWITCH, and of what a thread
 *	does itself, the one that it runs on
 */
struct mtrace_record {
	__u16 type;
	__u16 size;
	__s32 tid;
	__u64 tsc;
	__s32 pid;
	__u32 cpu;
};

/**
 * struct mtrace_record_lost - records that found the ring full
 * @head: .tid is 0, .tsc is @to_tsc
 * @count: how many
 * @from_tsc: time of the first
 * @to_tsc: time of the last
 */
struct mtrace_record_lost {
	struct mtrace_record head;
	__u64 count;
	__u64 from_tsc;
	__u64 to_tsc;
};

/**
 * struct mtrace_record_run - START or STOP of the session
 * @head: .tid is the thread that asked for it
 * @running: 1 or 0
 * @pad: zero
 */
struct mtrace_record_run {
	struct mtrace_record head;
	__u32 running;
	__u32 pad;
};

/* mtrace_record_thread.how */
#define MTRACE_THREAD_ATTACHED	1	/* by MTRACE_IOC_ATTACH */
#define MTRACE_THREAD_FORKED	2	/* inherited; FORK comes before */

/**
 * struct mtrace_record_thread - a thread is one of the session from now on
 * @head: the thread
 * @space: the number of its address space; 0 for a thread of the kernel
 * @how: MTRACE_THREAD_*
 * @pad: zero
 * @comm: its name, NUL-terminated
 *
 * One that another session takes at that moment has this and an exit, DETACHED,
 * with nothing between.
 */
struct mtrace_record_thread {
	struct mtrace_record head;
	__u64 space;
	__u32 how;
	__u32 pad;
	char comm[16];
};

/* mtrace_record_exit.how */
#define MTRACE_EXIT_EXITED	1
#define MTRACE_EXIT_DETACHED	2	/* by MTRACE_IOC_DETACH */
#define MTRACE_EXIT_GAINED	3	/* it gained rights by exec, see mtrace.h */

/**
 * struct mtrace_record_exit - a thread is none of the session any more
 * @head: the thread
 * @how: MTRACE_EXIT_*
 * @pad: zero
 */
struct mtrace_record_exit {
	struct mtrace_record head;
	__u32 how;
	__u32 pad;
};

/**
 * struct mtrace_record_comm - a thread has another name
 * @head: the thread
 * @comm: the name, NUL-terminated
 *
 * An exec gives one, too, before the MMAPs of the new program.
 */
struct mtrace_record_comm {
	struct mtrace_record head;
	char comm[16];
};

/**
 * struct mtrace_record_fork - a thread makes a thread or a process
 * @head: the thread
 * @child_tid: the new thread
 * @child_pid: its thread group
 * @space: the number of its address space, whose code is that of the parent
 *	at this time
 *
 * A child that is inherited has a THREAD record thereafter, one that should be
 * and could not a LOSS record.
 */
struct mtrace_record_fork {
	struct mtrace_record head;
	__s32 child_tid;
	__s32 child_pid;
	__u64 space;
};

/**
 * struct mtrace_record_exec - a process runs another program
 * @head: the thread, by the number that it has now
 * @space: the number of the new address space
 * @ino: inode of the program's file ...
 * @major: ... and the device that it is on, as in /proc/PID/maps ...
 * @minor: ...
 * @generation: ... and its generation there
 * @old_tid: the number that the thread had before
 * @path: of the file, NUL-terminated, padded with NULs: see struct
 *	mtrace_record_mmap
 */
struct mtrace_record_exec {
	struct mtrace_record head;
	__u64 space;
	__u64 ino;
	__u32 major;
	__u32 minor;
	__u32 generation;
	__s32 old_tid;
	char path[];
};

/* mtrace_record_switch.how */
#define MTRACE_SWITCH_IN	0	/* it comes to the CPU */
#define MTRACE_SWITCH_PREEMPTED	1	/* it leaves it and could run on */
#define MTRACE_SWITCH_BLOCKED	2	/* it leaves it and waits */

/**
 * struct mtrace_record_switch - a thread comes to a CPU or leaves it
 * @head: the thread, and the CPU
 * @how: MTRACE_SWITCH_*
 * @pad: zero
 *
 * These are the switches at which the trace begins and ends: there are none
 * while the session does not run, none when a thread is on a CPU at START or
 * STOP or at a snapshot, and no last one of a thread that exits.
 */
struct mtrace_record_switch {
	struct mtrace_record head;
	__u32 how;
	__u32 pad;
};

/**
 * struct mtrace_record_mmap - memory can be executed from now on
 * @head: the thread that did it, which need not be one of the session, only
 *	of an address space that one of the session has
 * @space: the number of the address space
 * @addr: address of its first byte
 * @len: its length in bytes
 * @offset: of the first byte in the file, 0 without one
 * @ino: inode of the file, 0 without one ...
 * @major: ... and the device that it is on, as in /proc/PID/maps ...
 * @minor: ...
 * @generation: ... and its generation there
 * @prot: PROT_*
 * @path: of the file as seen from the thread's root, ``//toolong`` where it has
 *	no path of at most PATH_MAX bytes; or a name in brackets as in
 *	/proc/PID/maps; or empty. NUL-terminated, padded with NULs
 *
 * It takes the place of what was there before. The memory may have been there
 * without being executable, or executable already, in part or as a whole.
 * Of memory that mremap makes longer where it is, it is what is new.
 */
struct mtrace_record_mmap {
	struct mtrace_record head;
	__u64 space;
	__u64 addr;
	__u64 len;
	__u64 offset;
	__u64 ino;
	__u32 major;
	__u32 minor;
	__u32 generation;
	__u32 prot;
	char path[];
};

/**
 * struct mtrace_record_munmap - memory cannot be executed any more
 * @head: the thread that did it, see struct mtrace_record_mmap
 * @space: the number of the address space
 * @addr: address of its first byte
 * @len: its length in bytes
 *
 * It was unmapped, mapped anew without PROT_EXEC, or lost that by mprotect.
 * The end of an address space, by exit or exec, has no record of this type.
 */
struct mtrace_record_munmap {
	struct mtrace_record head;
	__u64 space;
	__u64 addr;
	__u64 len;
};

/* mtrace_record_loss.what */
#define MTRACE_LOSS_ERROR	1	/* RTIT_STATUS.Error, or refused by the CPU */
#define MTRACE_LOSS_STOPPED	2	/* the thread came to a STOP range */
#define MTRACE_LOSS_REFUSED	3	/* a child (.tid) was not inherited */
#define MTRACE_LOSS_UNSWITCHED	4	/* a snapshot had no region for it */
#define MTRACE_LOSS_RECYCLED	5	/* a region of an exited thread was given up */
#define MTRACE_LOSS_HOOK	6	/* MUNMAP or MMAP records may be missing */
#define MTRACE_LOSS_UNARMED	7	/* it has not got a trigger's breakpoint */

/**
 * struct mtrace_record_loss - trace, or what the sideband is made of, is lost
 * @head: the thread that it was of; .tid is 0 for HOOK
 * @what: MTRACE_LOSS_*
 * @pad: zero
 * @count: how often
 */
struct mtrace_record_loss {
	struct mtrace_record head;
	__u32 what;
	__u32 pad;
	__u64 count;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct mtrace_record) == 24, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_record_lost) == 48, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_record_run) == 32, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_record_thread) == 56, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_record_exit) == 32, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_record_comm) == 40, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_record_fork) == 40, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_record_exec) == 56, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_record_switch) == 32, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_record_mmap) == 80, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_record_munmap) == 48, "mtrace ABI");
_Static_assert(sizeof(struct mtrace_record_loss) == 40, "mtrace ABI");
#endif

#endif /* _UAPI_LINUX_MTRACE_SIDEBAND_H */

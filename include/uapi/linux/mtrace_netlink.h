/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * mtrace - sessions by generic netlink
 *
 * A session belongs to who has its file open (linux/mtrace.h). By this family
 * other processes can take its snapshots, start and stop it, look at it, and be
 * told of what happens to it. What a snapshot holds is for the owner alone,
 * whom poll() and MTRACE_IOC_NEXT_SNAPSHOT tell of it.
 *
 * The family is called "mtrace", has version 1 and is there in the initial
 * network namespace only. Every command needs CAP_PERFMON or CAP_SYS_ADMIN in
 * the initial user namespace, of the caller and of who opened the socket.
 *
 * Which sessions a command means: that of the number MTRACE_NLA_SESSION, which
 * MTRACE_IOC_SETUP has told its owner; or each session of the process
 * MTRACE_NLA_PID: those that trace a thread of it, and those that it has opened.
 * One of them must be given, and not both. A session can be named from its
 * set-up until its file is closed.
 *
 * Messages are checked strictly: unknown attributes, attributes that the
 * command does not take, and values out of range are refused, with the reason
 * as the text of the extended ack (NLMSGERR_ATTR_MSG) and, where it is an
 * attribute's fault, that attribute's offset (NLMSGERR_ATTR_OFFS). A dump that
 * is refused for another reason than its attributes' form has a text only from
 * Linux 6.3 on.
 *
 * Thread and process ids in commands and replies are those of the caller's pid
 * namespace, 0 for what has none there; in events those of the initial one, but
 * for those of MTRACE_NLA_SNAPSHOT, which are as its owner is told.
 * All numbers are in the CPU's byte order. New attributes may be added to
 * replies and events: a receiver skips what it does not know.
 *
 * Errors of all commands: EPERM (rights), EINVAL (no or both of SESSION and
 * PID; bad message), ERANGE (SESSION or PID is no such number), ENOENT (no such
 * session), ESRCH (no such process, or it has no session), ENODEV (the kernel
 * is going down), ENOMEM, EINTR (the caller was killed).
 */
#ifndef _UAPI_LINUX_MTRACE_NETLINK_H
#define _UAPI_LINUX_MTRACE_NETLINK_H

#define MTRACE_GENL_NAME	"mtrace"
#define MTRACE_GENL_VERSION	1

/*
 * The group of the events. To join it takes CAP_SYS_ADMIN. Kernels that cannot
 * keep others out of a group (before 5.10.204, 5.15.143, 6.1.68 and 6.6.7, and
 * others before 6.7) have none.
 */
#define MTRACE_GENL_GROUP_EVENTS "events"

/**
 * enum mtrace_nl_cmd - what is asked or told
 * @MTRACE_NL_CMD_UNSPEC: none
 * @MTRACE_NL_CMD_SNAPSHOT: take a snapshot of each session that is meant. The
 *	reply, of the same command, has a MTRACE_NLA_SNAPSHOT for each, with
 *	MTRACE_NLA_SNAPSHOT_ERROR where one could not be taken. Error: where
 *	none could, that of the first: ENOBUFS (no region is free), EINVAL (it
 *	streams)
 * @MTRACE_NL_CMD_STATUS: by MTRACE_NLA_SESSION: the reply has
 *	MTRACE_NLA_SESSION and MTRACE_NLA_STATUS. As a dump: the same for all
 *	sessions, or for those that are meant, in the order of their numbers, and
 *	a MTRACE_NLA_THREAD for each traced thread. Where they are too many for
 *	one message, more messages with MTRACE_NLA_SESSION and
 *	MTRACE_NLA_THREAD follow. Threads that come or go while a dump is being
 *	read may be missing or still be in it
 * @MTRACE_NL_CMD_START: as MTRACE_IOC_START, for each session that is meant.
 *	Error, where it did nothing for any: that of the first: EALREADY, EACCES
 * @MTRACE_NL_CMD_STOP: as MTRACE_IOC_STOP, likewise
 * @MTRACE_NL_CMD_SNAPSHOT_EVENT: a snapshot was taken, whoever asked for it;
 *	has a MTRACE_NLA_SNAPSHOT
 * @MTRACE_NL_CMD_THREAD_EVENT: a thread has come, gone or been refused; has
 *	MTRACE_NLA_SESSION and a MTRACE_NLA_THREAD. None for the threads
 *	that a session still has when it is closed
 * @MTRACE_NL_CMD_LOSS_EVENT: something is not, or may not be, in the trace; has
 *	MTRACE_NLA_SESSION and a MTRACE_NLA_LOSS
 *
 * Events are told in the order in which they came about. They pass through a
 * queue of fixed length; what finds it full is not told, but for a
 * MTRACE_NL_LOSS_EVENTS that says how many these were. A receiver that does
 * not read fast enough sees ENOBUFS, as with any netlink socket.
 */
enum mtrace_nl_cmd {
	MTRACE_NL_CMD_UNSPEC,
	MTRACE_NL_CMD_SNAPSHOT,
	MTRACE_NL_CMD_STATUS,
	MTRACE_NL_CMD_START,
	MTRACE_NL_CMD_STOP,
	MTRACE_NL_CMD_SNAPSHOT_EVENT,
	MTRACE_NL_CMD_THREAD_EVENT,
	MTRACE_NL_CMD_LOSS_EVENT,
};

/**
 * enum mtrace_nla - attributes of a message
 * @MTRACE_NLA_UNSPEC: none
 * @MTRACE_NLA_SESSION: u32: number of a session, from 1
 * @MTRACE_NLA_PID: u32: id of a process, 1 to 2^31 - 1
 * @MTRACE_NLA_SNAPSHOT: nested &enum mtrace_nla_snapshot
 * @MTRACE_NLA_STATUS: nested &enum mtrace_nla_status
 * @MTRACE_NLA_THREAD: nested &enum mtrace_nla_thread
 * @MTRACE_NLA_LOSS: nested &enum mtrace_nla_loss
 *
 * Commands take the first two alone.
 */
enum mtrace_nla {
	MTRACE_NLA_UNSPEC,
	MTRACE_NLA_SESSION,
	MTRACE_NLA_PID,
	MTRACE_NLA_SNAPSHOT,
	MTRACE_NLA_STATUS,
	MTRACE_NLA_THREAD,
	MTRACE_NLA_LOSS,
	__MTRACE_NLA_MAX,
};

#define MTRACE_NLA_MAX	(__MTRACE_NLA_MAX - 1)

/**
 * enum mtrace_nla_snapshot - one snapshot; see struct mtrace_snapshot
 * @MTRACE_NLA_SNAPSHOT_UNSPEC: none
 * @MTRACE_NLA_SNAPSHOT_PAD: fills up
 * @MTRACE_NLA_SNAPSHOT_SESSION: u32: its session
 * @MTRACE_NLA_SNAPSHOT_ERROR: u32: it could not be taken: the errno. Then
 *	there is none of what follows
 * @MTRACE_NLA_SNAPSHOT_ID: u64: its number
 * @MTRACE_NLA_SNAPSHOT_REASON: u32: MTRACE_REASON_*
 * @MTRACE_NLA_SNAPSHOT_TSC: u64: the TSC when the switch of the threads began
 * @MTRACE_NLA_SNAPSHOT_TSC_END: u64: the TSC when the last one was switched
 * @MTRACE_NLA_SNAPSHOT_NR_REGIONS: u32: regions frozen
 * @MTRACE_NLA_SNAPSHOT_NR_UNSWITCHED: u32: threads that are not in it for
 *	want of a free region
 * @MTRACE_NLA_SNAPSHOT_MISSED: u32: snapshots asked for since the one before
 *	that were not taken
 * @MTRACE_NLA_SNAPSHOT_TID: u32: the thread that it was taken for, as its owner
 *	is told. This and what follows is not there where it is 0
 * @MTRACE_NLA_SNAPSHOT_PID: u32: its process likewise
 * @MTRACE_NLA_SNAPSHOT_TRIGGER: u32: the trigger that it came to
 * @MTRACE_NLA_SNAPSHOT_SIGNAL: u32: the signal that kills it
 */
enum mtrace_nla_snapshot {
	MTRACE_NLA_SNAPSHOT_UNSPEC,
	MTRACE_NLA_SNAPSHOT_PAD,
	MTRACE_NLA_SNAPSHOT_SESSION,
	MTRACE_NLA_SNAPSHOT_ERROR,
	MTRACE_NLA_SNAPSHOT_ID,
	MTRACE_NLA_SNAPSHOT_REASON,
	MTRACE_NLA_SNAPSHOT_TSC,
	MTRACE_NLA_SNAPSHOT_TSC_END,
	MTRACE_NLA_SNAPSHOT_NR_REGIONS,
	MTRACE_NLA_SNAPSHOT_NR_UNSWITCHED,
	MTRACE_NLA_SNAPSHOT_MISSED,
	MTRACE_NLA_SNAPSHOT_TID,
	MTRACE_NLA_SNAPSHOT_PID,
	MTRACE_NLA_SNAPSHOT_TRIGGER,
	MTRACE_NLA_SNAPSHOT_SIGNAL,
	__MTRACE_NLA_SNAPSHOT_MAX,
};

#define MTRACE_NLA_SNAPSHOT_MAX	(__MTRACE_NLA_SNAPSHOT_MAX - 1)

/**
 * enum mtrace_nla_status - a session; see struct mtrace_status and mtrace_setup
 * @MTRACE_NLA_STATUS_UNSPEC: none
 * @MTRACE_NLA_STATUS_PAD: fills up
 * @MTRACE_NLA_STATUS_OWNER: u32: the process that has opened it
 * @MTRACE_NLA_STATUS_RUNNING: u8: 1 between start and stop, else 0
 * @MTRACE_NLA_STATUS_TRACE_FLAGS: u32: MTRACE_TRACE_*
 * @MTRACE_NLA_STATUS_BUFFER_SIZE: u64: bytes of trace memory in all
 * @MTRACE_NLA_STATUS_REGION_SIZE: u64: bytes of one region
 * @MTRACE_NLA_STATUS_MAX_THREADS: u32: threads that it can trace at a time
 * @MTRACE_NLA_STATUS_NR_THREADS: u32: threads that it traces
 * @MTRACE_NLA_STATUS_NR_SNAPSHOTS: u32: snapshots held unreleased
 * @MTRACE_NLA_STATUS_REGIONS_LIVE: u32: regions by state ...
 * @MTRACE_NLA_STATUS_REGIONS_FROZEN: u32: ...
 * @MTRACE_NLA_STATUS_REGIONS_FREE: u32: ...
 * @MTRACE_NLA_STATUS_REFUSED_THREADS: u64: threads not inherited
 * @MTRACE_NLA_STATUS_WRAPS: u64: regions found wrapped when frozen
 * @MTRACE_NLA_STATUS_ERRORS: u64: trace errors of the CPU
 * @MTRACE_NLA_STATUS_STOPS: u64: times that a thread came to a stop range
 * @MTRACE_NLA_STATUS_UNSWITCHED: u64: threads that a snapshot could not take
 * @MTRACE_NLA_STATUS_RECYCLED: u64: regions of exited threads that no snapshot
 *	got to see
 * @MTRACE_NLA_STATUS_NOBUFS: u64: snapshots not taken for want of a free region
 * @MTRACE_NLA_STATUS_GAINED: u64: threads that left for a program with other
 *	rights
 * @MTRACE_NLA_STATUS_STREAM_BYTES: u64: bytes handed to the stream's reader
 * @MTRACE_NLA_STATUS_STREAM_LOST_BYTES: u64: bytes that it was too slow for
 * @MTRACE_NLA_STATUS_STREAM_OVERRUNS: u64: times that a thread came to the end
 *	of its region
 * @MTRACE_NLA_STATUS_UNARMED: u64: times that a thread did not get a trigger's
 *	breakpoint
 */
enum mtrace_nla_status {
	MTRACE_NLA_STATUS_UNSPEC,
	MTRACE_NLA_STATUS_PAD,
	MTRACE_NLA_STATUS_OWNER,
	MTRACE_NLA_STATUS_RUNNING,
	MTRACE_NLA_STATUS_TRACE_FLAGS,
	MTRACE_NLA_STATUS_BUFFER_SIZE,
	MTRACE_NLA_STATUS_REGION_SIZE,
	MTRACE_NLA_STATUS_MAX_THREADS,
	MTRACE_NLA_STATUS_NR_THREADS,
	MTRACE_NLA_STATUS_NR_SNAPSHOTS,
	MTRACE_NLA_STATUS_REGIONS_LIVE,
	MTRACE_NLA_STATUS_REGIONS_FROZEN,
	MTRACE_NLA_STATUS_REGIONS_FREE,
	MTRACE_NLA_STATUS_REFUSED_THREADS,
	MTRACE_NLA_STATUS_WRAPS,
	MTRACE_NLA_STATUS_ERRORS,
	MTRACE_NLA_STATUS_STOPS,
	MTRACE_NLA_STATUS_UNSWITCHED,
	MTRACE_NLA_STATUS_RECYCLED,
	MTRACE_NLA_STATUS_NOBUFS,
	MTRACE_NLA_STATUS_GAINED,
	MTRACE_NLA_STATUS_STREAM_BYTES,
	MTRACE_NLA_STATUS_STREAM_LOST_BYTES,
	MTRACE_NLA_STATUS_STREAM_OVERRUNS,
	MTRACE_NLA_STATUS_UNARMED,
	__MTRACE_NLA_STATUS_MAX,
};

#define MTRACE_NLA_STATUS_MAX	(__MTRACE_NLA_STATUS_MAX - 1)

/* MTRACE_NLA_THREAD_EVENT */
#define MTRACE_NL_THREAD_START		1	/* it was attached or inherited */
#define MTRACE_NL_THREAD_EXIT		2	/* it has exited */
#define MTRACE_NL_THREAD_DETACHED	3	/* it lives on untraced */
#define MTRACE_NL_THREAD_REFUSED	4	/* it should have been inherited */

/**
 * enum mtrace_nla_thread - a thread
 * @MTRACE_NLA_THREAD_UNSPEC: none
 * @MTRACE_NLA_THREAD_TID: u32: its id
 * @MTRACE_NLA_THREAD_PID: u32: that of its process
 * @MTRACE_NLA_THREAD_COMM: string: its name
 * @MTRACE_NLA_THREAD_CPU: u32: the CPU that it is being traced on. Not there
 *	where it is on none, and in events
 * @MTRACE_NLA_THREAD_EVENT: u32, in events: MTRACE_NL_THREAD_*
 */
enum mtrace_nla_thread {
	MTRACE_NLA_THREAD_UNSPEC,
	MTRACE_NLA_THREAD_TID,
	MTRACE_NLA_THREAD_PID,
	MTRACE_NLA_THREAD_COMM,
	MTRACE_NLA_THREAD_CPU,
	MTRACE_NLA_THREAD_EVENT,
	__MTRACE_NLA_THREAD_MAX,
};

#define MTRACE_NLA_THREAD_MAX	(__MTRACE_NLA_THREAD_MAX - 1)

/* MTRACE_NLA_LOSS_KIND; the first six are the counters of that name. */
#define MTRACE_NL_LOSS_ERRORS		1
#define MTRACE_NL_LOSS_STOPS		2
#define MTRACE_NL_LOSS_UNSWITCHED	3
#define MTRACE_NL_LOSS_RECYCLED		4
#define MTRACE_NL_LOSS_WRAPS		5
#define MTRACE_NL_LOSS_NOBUFS		6	/* a snapshot was not taken */
#define MTRACE_NL_LOSS_EVENTS		7	/* events were not told, of any session */
#define MTRACE_NL_LOSS_STREAM		8	/* bytes, as stream_lost_bytes */
#define MTRACE_NL_LOSS_UNARMED		9	/* as the counter */

/**
 * enum mtrace_nla_loss - what was lost
 * @MTRACE_NLA_LOSS_UNSPEC: none
 * @MTRACE_NLA_LOSS_PAD: fills up
 * @MTRACE_NLA_LOSS_KIND: u32: MTRACE_NL_LOSS_*
 * @MTRACE_NLA_LOSS_COUNT: u64: how many of them since the last such event
 * @MTRACE_NLA_LOSS_TID: u32: the thread of it, where it is one thread's
 */
enum mtrace_nla_loss {
	MTRACE_NLA_LOSS_UNSPEC,
	MTRACE_NLA_LOSS_PAD,
	MTRACE_NLA_LOSS_KIND,
	MTRACE_NLA_LOSS_COUNT,
	MTRACE_NLA_LOSS_TID,
	__MTRACE_NLA_LOSS_MAX,
};

#define MTRACE_NLA_LOSS_MAX	(__MTRACE_NLA_LOSS_MAX - 1)

#endif /* _UAPI_LINUX_MTRACE_NETLINK_H */

// SPDX-License-Identifier: GPL-2.0
/* What is refused by generic netlink, and what is said of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/mtrace_netlink.h>

#include "ask.h"
#include "harness.h"

/* A bad message: its error, a text that says so, and whose fault it is. */
static void check_bad(struct nl_message *message, int want, const char *text,
		      uint32_t offset, int line)
{
	nl_call(&nl, message, &answer);
	if (answer.error != want || answer.nr)
		fail("test_netlink_refused.c", line, "errno %d (%s), not %d",
		     answer.error, answer.text, want);
	if (!strstr(answer.text, text))
		fail("test_netlink_refused.c", line, "'%s' says nothing of '%s'",
		     answer.text, text);
	if (answer.offset != offset)
		fail("test_netlink_refused.c", line, "offset %u, not %u",
		     answer.offset, offset);
}

#define CHECK_BAD(want, text, offset)					\
	check_bad(&message, want, text, offset, __LINE__)

/* Of the first and the second attribute of a message. */
#define FIRST	(NLMSG_HDRLEN + 4)
#define SECOND	(FIRST + 8)

/* Before Linux 6.3 a dump that cannot begin has no way to say why. */
static void check_dump_text(const char *text)
{
	struct utsname host;
	unsigned int major, minor;

	uname(&host);
	CHECK_EQ(sscanf(host.release, "%u.%u", &major, &minor), 2);
	if (major * 100 + minor >= 603)
		CHECK(strstr(answer.text, text), "'%s'", answer.text);
}

TEST(netlink_bad_messages)
{
	static const uint8_t acts[] = {
		MTRACE_NL_CMD_SNAPSHOT, MTRACE_NL_CMD_START, MTRACE_NL_CMD_STOP,
	};
	uint8_t zeros[16] = { 0 };
	struct nl_message message;
	struct session s;
	uint32_t number;
	size_t i;

	nl_open(&nl);
	session_open(&s, setup_of(MIB(1), 2, 1));
	number = s.setup.session;
	for (i = 0; i < sizeof(acts); i++) {
		/* Nothing named, both, and what is not there. */
		nl_begin(&nl, &message, acts[i], 0);
		CHECK_BAD(EINVAL, "a session or a pid is needed", 0);
		nl_put_u32(&message, MTRACE_NLA_SESSION, number);
		nl_put_u32(&message, MTRACE_NLA_PID, getpid());
		CHECK_BAD(EINVAL, "not both", SECOND);
		nl_begin(&nl, &message, acts[i], 0);
		nl_put_u32(&message, MTRACE_NLA_SESSION, number + 1);
		CHECK_BAD(ENOENT, "no session of this number", FIRST);
		nl_begin(&nl, &message, acts[i], 0);
		nl_put_u32(&message, MTRACE_NLA_PID, getppid());
		CHECK_BAD(ESRCH, "no session traces this process", FIRST);
		nl_begin(&nl, &message, acts[i], 0);
		nl_put_u32(&message, MTRACE_NLA_PID, INT32_MAX);
		CHECK_BAD(ESRCH, "no process", FIRST);

		/* Values and sizes that are none. */
		nl_begin(&nl, &message, acts[i], 0);
		nl_put_u32(&message, MTRACE_NLA_SESSION, 0);
		CHECK_BAD(ERANGE, "out of range", FIRST);
		nl_begin(&nl, &message, acts[i], 0);
		nl_put_u32(&message, MTRACE_NLA_PID, 0);
		CHECK_BAD(ERANGE, "out of range", FIRST);
		nl_begin(&nl, &message, acts[i], 0);
		nl_put_u32(&message, MTRACE_NLA_PID, 1u << 31);
		CHECK_BAD(ERANGE, "out of range", FIRST);
		nl_begin(&nl, &message, acts[i], 0);
		nl_put(&message, MTRACE_NLA_SESSION, zeros, 2);
		CHECK_BAD(EINVAL, "attribute", FIRST);
		nl_begin(&nl, &message, acts[i], 0);
		nl_put(&message, MTRACE_NLA_SESSION, zeros, 8);
		CHECK_BAD(EINVAL, "attribute", FIRST);
		nl_begin(&nl, &message, acts[i], 0);
		nl_put(&message, MTRACE_NLA_PID, zeros, 0);
		CHECK_BAD(EINVAL, "attribute", FIRST);

		/* Attributes that no command takes, and that there are not. */
		nl_begin(&nl, &message, acts[i], 0);
		nl_put_u32(&message, MTRACE_NLA_SESSION, number);
		nl_put(&message, MTRACE_NLA_STATUS, zeros, 4);
		CHECK_BAD(EINVAL, "attribute", SECOND);
		nl_begin(&nl, &message, acts[i], 0);
		nl_put_u32(&message, MTRACE_NLA_SESSION, number);
		nl_put_u32(&message, 100, 1);
		CHECK_BAD(EINVAL, "attribute", SECOND);
		nl_begin(&nl, &message, acts[i], 0);
		nl_put_u32(&message, MTRACE_NLA_SESSION, number);
		memcpy((uint8_t *)&message + message.header.nlmsg_len, zeros,
		       3);
		message.header.nlmsg_len += 3;
		CHECK_BAD(EINVAL, "leftover", 0);
		/* None of them is a dump. */
		nl_begin(&nl, &message, acts[i], NLM_F_DUMP);
		nl_put_u32(&message, MTRACE_NLA_SESSION, number);
		nl_call(&nl, &message, &answer);
		CHECK_EQ(answer.error, EOPNOTSUPP);
	}
	nl_begin(&nl, &message, MTRACE_NL_CMD_STATUS, 0);
	CHECK_BAD(EINVAL, "a session is needed", 0);
	nl_put_u32(&message, MTRACE_NLA_PID, getpid());
	CHECK_BAD(EINVAL, "a session is needed", 0);
	nl_begin(&nl, &message, MTRACE_NL_CMD_STATUS, NLM_F_DUMP);
	nl_put_u32(&message, MTRACE_NLA_SESSION, number);
	nl_put_u32(&message, MTRACE_NLA_PID, getpid());
	CHECK_EQ(nl_call(&nl, &message, &answer), EINVAL);
	check_dump_text("not both");
	CHECK_EQ(dump(MTRACE_NLA_PID, INT32_MAX), ESRCH);
	check_dump_text("no process");
	/* But what is wrong by the policy it says everywhere. */
	nl_begin(&nl, &message, MTRACE_NL_CMD_STATUS, NLM_F_DUMP);
	nl_put_u32(&message, MTRACE_NLA_PID, 0);
	CHECK_BAD(ERANGE, "out of range", FIRST);
	nl_begin(&nl, &message, MTRACE_NL_CMD_STATUS, NLM_F_DUMP);
	nl_put_u32(&message, 100, 1);
	CHECK_BAD(EINVAL, "attribute", FIRST);

	/* Events are told, not asked for; and what comes after them is nothing. */
	for (i = MTRACE_NL_CMD_SNAPSHOT_EVENT; i < 256; i++) {
		nl_begin(&nl, &message, i, 0);
		nl_call(&nl, &message, &answer);
		CHECK_EQ(answer.error, EOPNOTSUPP);
	}
	/* None of all this has had an effect. */
	CHECK_EQ(must_status(s.fd).running, 0);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 0);
	CHECK_EQ(must_snapshot(&s).id, 1);
}

/* A closed session and one that was never set up have no number. */
TEST(netlink_knows_no_dead_session)
{
	struct session s;
	int fd = open_device();

	nl_open(&nl);
	session_open(&s, setup_of(MIB(1), 2, 1));
	CHECK_ASK(MTRACE_NL_CMD_STATUS, MTRACE_NLA_SESSION, s.setup.session, 0);
	CHECK_EQ(dump(MTRACE_NLA_PID, getpid()), 0);
	CHECK_EQ(answer.nr, 1);
	session_close(&s);
	CHECK_ASK(MTRACE_NL_CMD_STATUS, MTRACE_NLA_SESSION, s.setup.session,
		  ENOENT);
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_SESSION, s.setup.session,
		  ENOENT);
	CHECK_EQ(dump(MTRACE_NLA_PID, getpid()), ESRCH);
	close(fd);
}

/* Of all capabilities only these, so far as they are not those of this list. */
static void keep_caps(const int *caps, int nr)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];
	int i;

	CHECK_EQ(syscall(SYS_capget, &header, data), 0);
	data[0].effective = 0;
	data[1].effective = 0;
	for (i = 0; i < nr; i++)
		data[caps[i] / 32].effective |= 1u << caps[i] % 32;
	CHECK_EQ(syscall(SYS_capset, &header, data), 0);
}

static void check_no_rights(uint32_t session)
{
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_SESSION, session, EPERM);
	CHECK(strstr(answer.text, "CAP_PERFMON"), "'%s'", answer.text);
	CHECK_ASK(MTRACE_NL_CMD_START, MTRACE_NLA_SESSION, session, EPERM);
	CHECK_ASK(MTRACE_NL_CMD_STOP, MTRACE_NLA_SESSION, session, EPERM);
	CHECK_ASK(MTRACE_NL_CMD_STATUS, MTRACE_NLA_SESSION, session, EPERM);
	CHECK_EQ(dump(0, 0), EPERM);
	check_dump_text("CAP_PERFMON");
	/* Nor is it told whether there is such a session. */
	CHECK_ASK(MTRACE_NL_CMD_STATUS, MTRACE_NLA_SESSION, session + 1, EPERM);
}

TEST(netlink_needs_rights)
{
	static const int perfmon[] = { CAP_PERFMON };
	static const int admin[] = { CAP_SYS_ADMIN };
	static const int others[] = { CAP_NET_ADMIN, CAP_SYS_PTRACE };
	struct session s;
	struct nl mine;
	int status;
	pid_t pid;

	session_open(&s, setup_of(MIB(1), 2, 1));
	nl_open(&mine);
	/* Its number for a group is the same in each socket. */
	keep_caps(others, 2);
	nl_open(&nl);
	check_no_rights(s.setup.session);
	CHECK_ERRNO(nl_join(&nl), EPERM);
	/* A socket that somebody with rights has opened gives none. */
	close(nl.fd);
	nl = mine;
	check_no_rights(s.setup.session);

	/* Nor do rights help with a socket of somebody without. */
	nl_open(&nl);
	keep_caps(admin, 1);
	check_no_rights(s.setup.session);

	nl_open(&nl);
	CHECK_ASK(MTRACE_NL_CMD_START, MTRACE_NLA_SESSION, s.setup.session, 0);
	CHECK_EQ(dump(0, 0), 0);
	CHECK_ERRNO(nl_join(&nl), 0);
	keep_caps(perfmon, 1);
	nl_open(&nl);
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_SESSION, s.setup.session,
		  0);
	CHECK_EQ(dump(0, 0), 0);

	/* Root of another user namespace is root of that alone. */
	pid = fork();
	if (!pid) {
		CHECK_ERRNO(unshare(CLONE_NEWUSER), 0);
		nl_open(&nl);
		check_no_rights(s.setup.session);
		CHECK_ERRNO(nl_join(&nl), EPERM);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

TEST(netlink_is_in_one_network_alone)
{
	nl_open(&nl);
	CHECK_ERRNO(unshare(CLONE_NEWNET), 0);
	CHECK_EQ(nl_try_open(&nl), ENOENT);
}

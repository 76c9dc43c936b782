// SPDX-License-Identifier: GPL-2.0
/*
 * All sessions, by number
 *
 * Owns the numbers and who uses a session without having its file open: until
 * they are done the session is not destroyed. A session is here from the end of
 * its set-up until its file is closed. Knows nothing of what a session does.
 */
#include <linux/completion.h>
#include <linux/limits.h>
#include <linux/refcount.h>
#include <linux/xarray.h>

#include "registry.h"
#include "session.h"

static DEFINE_XARRAY_ALLOC1(registry_sessions);
static u32 registry_next_number;

/**
 * mt_registry_add - give a session a number, and let it be found by that
 * @session: the session, set up
 *
 * A number comes again only after all others have been given.
 *
 * Return: 0 or a negative error.
 */
int mt_registry_add(struct mt_session *session)
{
	int ret;

	refcount_set(&session->users, 1);
	init_completion(&session->unused);
	/* It has its number before it can be found. */
	ret = xa_alloc_cyclic(&registry_sessions, &session->setup.session,
			      session, xa_limit_32b, &registry_next_number,
			      GFP_KERNEL);
	return ret < 0 ? ret : 0;
}

/**
 * mt_registry_remove - let a session be found no more
 * @session: a session that was added
 *
 * Nobody who found it uses it any more on return.
 */
void mt_registry_remove(struct mt_session *session)
{
	xa_erase(&registry_sessions, session->setup.session);
	mt_registry_put(session);
	wait_for_completion(&session->unused);
}

/**
 * mt_registry_get - find a session by its number
 * @number: the number
 *
 * Return: the session, which the caller puts; or NULL.
 */
struct mt_session *mt_registry_get(u32 number)
{
	struct mt_session *session;

	xa_lock(&registry_sessions);
	session = xa_load(&registry_sessions, number);
	if (session)
		refcount_inc(&session->users);
	xa_unlock(&registry_sessions);
	return session;
}

/**
 * mt_registry_next - find the session of the lowest number that is not below one
 * @from: that; becomes the next one
 *
 * Return: the session, which the caller puts; or NULL.
 */
struct mt_session *mt_registry_next(unsigned long *from)
{
	struct mt_session *session;

	xa_lock(&registry_sessions);
	session = xa_find(&registry_sessions, from, U32_MAX, XA_PRESENT);
	if (session)
		refcount_inc(&session->users);
	(*from)++;
	xa_unlock(&registry_sessions);
	return session;
}

/**
 * mt_registry_put - have no more to do with a session
 * @session: a session that was found
 */
void mt_registry_put(struct mt_session *session)
{
	if (refcount_dec_and_test(&session->users))
		complete(&session->unused);
}

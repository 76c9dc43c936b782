// SPDX-License-Identifier: GPL-2.0
/*
 * The change between plain and watched code.
 *
 * qemu_plugin_reset() is the plugin API's only way to drop all translations. It
 * happens later, between blocks and with all processors stopped, and takes
 * away the plugin's callbacks, which are then registered again. Until then, code of
 * the old kind runs on: so whoever needs the new one does not go on, but comes
 * back to its instruction by vcpu_leave(), which leaves the block, until
 * the change is made. QEMU ignores a second reset while one is on its way.
 */
#include "watch.h"

#include <time.h>

/* Translating all code anew costs some 100 ms. */
#define REST_SECONDS	2

bool watch_on;

static qemu_plugin_id_t plugin_id;
static void (*subscribe_again)(qemu_plugin_id_t id);
static bool wanted;
static unsigned int traced;	/* processors with TraceEn set */
static time_t traced_last;

static time_t seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec;
}

/* All processors are stopped, and no translation is left. */
static void changed(void *udata)
{
	(void)udata;
	/* One may have begun to trace since code was found to need no watching. */
	watch_on = __atomic_load_n(&wanted, __ATOMIC_RELAXED) ||
		   __atomic_load_n(&traced, __ATOMIC_RELAXED);
	traced_last = seconds();
	subscribe_again(plugin_id);
}

static void change(bool on)
{
	__atomic_store_n(&wanted, on, __ATOMIC_RELAXED);
	qemu_plugin_reset(plugin_id, changed, NULL);
}

void watch_need(struct vcpu *v, uint64_t ip)
{
	if (watch_on)
		return;
	change(true);
	vcpu_leave(v, ip);
}

void watch_retranslate(struct vcpu *v, uint64_t ip)
{
	change(watch_on);
	vcpu_leave(v, ip);
}

void watch_traced(bool on)
{
	__atomic_add_fetch(&traced, on ? 1 : -1, __ATOMIC_RELAXED);
	if (!on)
		__atomic_store_n(&traced_last, seconds(), __ATOMIC_RELAXED);
}

void watch_rest(void)
{
	if (watch_on && !__atomic_load_n(&traced, __ATOMIC_RELAXED) &&
	    seconds() - __atomic_load_n(&traced_last, __ATOMIC_RELAXED) >= REST_SECONDS)
		change(false);
}

void watch_setup(qemu_plugin_id_t id, void (*subscribe)(qemu_plugin_id_t id))
{
	plugin_id = id;
	subscribe_again = subscribe;
	traced_last = seconds();
	subscribe(id);
}

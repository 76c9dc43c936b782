// SPDX-License-Identifier: GPL-2.0
/*
 * An Intel PT processor out of stock QEMU: composes the parts, reads arguments.
 * docs/PT-MACHINE.md explains these.
 *
 *	-plugin ptemu.so[,ARGUMENT=VALUE]…
 */
#include "clock.h"
#include "follow.h"
#include "pt_fault.h"
#include "pt_model.h"
#include "saved.h"
#include "translate.h"
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
					   int argc, char **argv);

static const char *pclog_prefix;
static const char *packet_prefix;
static struct pt_flow_options flow_options;
static const char *stats_path;
static const char *restore_path;

static void on_vcpu_init(unsigned int index, void *udata)
{
	(void)udata;
	vcpu_init(index, pclog_prefix, packet_prefix, &flow_options);
	saved_restore(vcpu_get(index));
}

static void write_stats(FILE *f, const struct vcpu *v)
{
	const struct pt_counters *c = &v->flow.enc.count;
	const struct pt_output_counters *out = &v->output.count;

	fprintf(f, "cpu %u bytes %lu psb %lu tnt %lu tip %lu fup %lu pge %lu pgd %lu "
		"pip %lu mode %lu ovf %lu tsc %lu mtc %lu cyc %lu ret_compressed %lu "
		"pmi_lost %lu pmi_late %lu fault_stop %lu stale %lu pmi %lu\n",
		v->index, c->bytes, c->of_type[PT_PSB], c->of_type[PT_TNT], c->of_type[PT_TIP],
		c->of_type[PT_FUP], c->of_type[PT_TIP_PGE],
		c->of_type[PT_TIP_PGD], c->of_type[PT_PIP], c->of_type[PT_MODE_EXEC],
		c->of_type[PT_OVF], c->of_type[PT_TSC], c->of_type[PT_MTC],
		c->of_type[PT_CYC], c->ret_compressed, out->pmi_lost, out->pmi_late,
		out->stopped, v->stale, out->pmi);
}

static void write_results(void *udata)
{
	FILE *stats = stats_path ? fopen(stats_path, "w") : NULL;
	unsigned int i;

	(void)udata;
	for (i = 0; i < VCPU_MAX; i++) {
		struct vcpu *v = vcpu_if_used(i);

		if (!v)
			continue;
		if (stats)
			write_stats(stats, v);
		if (count_is_on())
			count_finish(&v->count, v->shared->insns);
		/* QEMU has stopped the vCPUs. */
		if (v->pclog)
			pclog_close(v->pclog);
		v->pclog = NULL;
		if (v->packet_log)
			pt_packet_log_close(v->packet_log);
		v->packet_log = NULL;
	}
	if (stats)
		fclose(stats);
}

/* Each returns NULL, or what is wrong with the value; it may keep the value. */
static const char *arg_pclog(const char *val)
{
	pclog_prefix = val;
	return NULL;
}

static const char *arg_packets(const char *val)
{
	packet_prefix = val;
	return NULL;
}

static const char *arg_stats(const char *val)
{
	stats_path = val;
	return NULL;
}

static const char *arg_log(const char *val)
{
	char *end;

	vcpu_log_level = strtoul(val, &end, 10);
	return *end ? "not a number" : NULL;
}

static const char *arg_model(const char *val)
{
	static char text[512];

	if (pt_model_select(val))
		return NULL;
	snprintf(text, sizeof(text), "unknown; known are %s", pt_model_names);
	return text;
}

static const char *arg_tnt(const char *val)
{
	flow_options.tnt_long = !strcmp(val, "long");
	return flow_options.tnt_long || !strcmp(val, "short") ? NULL
		: "unknown; known are short, long";
}

static const char *arg_tips(const char *val)
{
	flow_options.no_deferred_tips = !strcmp(val, "prompt");
	return flow_options.no_deferred_tips || !strcmp(val, "deferred") ? NULL
		: "unknown; known are deferred, prompt";
}

static const char *arg_count(const char *val)
{
	return count_setup(val) ? NULL : "cannot be written";
}

static const char *arg_save(const char *val)
{
	saved_setup(val);
	return NULL;
}

static const char *arg_restore(const char *val)
{
	restore_path = val;
	return NULL;
}

static const struct {
	const char *name;
	const char *(*set)(const char *val);
} arguments[] = {
	{ "model", arg_model },
	{ "fault", pt_fault_parse },
	{ "tnt", arg_tnt },
	{ "tips", arg_tips },
	{ "pclog", arg_pclog },
	{ "packets", arg_packets },
	{ "stats", arg_stats },
	{ "count", arg_count },
	{ "save", arg_save },
	{ "restore", arg_restore },
	{ "log", arg_log },
};

#define ARGUMENTS	(sizeof(arguments) / sizeof(arguments[0]))

/* QEMU keeps the text. */
static bool parse_argument(const char *arg)
{
	const char *val = strchr(arg, '='), *wrong;
	const size_t len = val ? (size_t)(val - arg) : strlen(arg);
	size_t i;

	for (i = 0; i < ARGUMENTS; i++) {
		if (strlen(arguments[i].name) == len && !strncmp(arg, arguments[i].name, len))
			break;
	}
	if (i == ARGUMENTS) {
		fprintf(stderr, "ptemu: unknown argument '%.*s' (known:", (int)len, arg);
		for (i = 0; i < ARGUMENTS; i++)
			fprintf(stderr, "%s %s", i ? "," : "", arguments[i].name);
		fprintf(stderr, ")\n");
		return false;
	}
	wrong = val && val[1] ? arguments[i].set(val + 1) : "needs a value";
	if (wrong)
		fprintf(stderr, "ptemu: %s: %s\n", arg, wrong);
	return !wrong;
}

static void subscribe(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate_block, NULL);
	qemu_plugin_register_vcpu_discon_cb(id, QEMU_PLUGIN_DISCON_ALL,
					    follow_discontinuity, NULL);
	qemu_plugin_register_flush_cb(id, translate_flush, NULL);
	qemu_plugin_register_atexit_cb(id, write_results, NULL);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
					   int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		if (!parse_argument(argv[i]))
			return -1;
	}
	if (!info->system_emulation || strcmp(info->target_name, "x86_64")) {
		fprintf(stderr, "ptemu: needs qemu-system-x86_64\n");
		return -1;
	}
	if (info->system.max_vcpus > VCPU_MAX) {
		fprintf(stderr, "ptemu: more than %d processors\n", VCPU_MAX);
		return -1;
	}

	clock_init();
	if (restore_path && !saved_read(restore_path))
		return -1;
	if (!vcpu_setup())
		return -1;
	translate_setup(pclog_prefix != NULL);
	watch_setup(id, subscribe);
	return 0;
}

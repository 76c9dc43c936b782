// SPDX-License-Identifier: GPL-2.0
/*
 * An Intel PT processor out of stock QEMU: composes the parts, reads arguments.
 *
 *	-plugin ptemu.so[,pclog=PREFIX][,stats=FILE][,log=LEVEL]
 *
 *	pclog=PREFIX	write the executed program counters of vCPU n to PREFIX.n
 *	stats=FILE	write counts of packets and events to FILE at exit
 *	log=LEVEL	to stderr: 1 MSR accesses and PMIs, 3 discontinuities too
 */
#include "intercept.h"
#include "translate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
					   int argc, char **argv);

static struct pt_clock machine_clock;
static const char *pclog_prefix;
static const char *stats_path;

static void on_vcpu_init(unsigned int index, void *udata)
{
	(void)udata;
	vcpu_init(index, &machine_clock, pclog_prefix);
}

static void write_stats(FILE *f, const struct vcpu *v)
{
	const struct pt_counters *c = &v->flow.enc.count;

	fprintf(f, "cpu %u bytes %lu psb %lu tnt %lu tip %lu fup %lu pge %lu pgd %lu "
		"pip %lu mode %lu ovf %lu tsc %lu mtc %lu cyc %lu ret_compressed %lu "
		"pmi %lu\n", v->index, c->bytes, c->of_type[PT_PSB], c->of_type[PT_TNT],
		c->of_type[PT_TIP], c->of_type[PT_FUP], c->of_type[PT_TIP_PGE],
		c->of_type[PT_TIP_PGD], c->of_type[PT_PIP], c->of_type[PT_MODE_EXEC],
		c->of_type[PT_OVF], c->of_type[PT_TSC], c->of_type[PT_MTC],
		c->of_type[PT_CYC], c->ret_compressed, v->pmis);
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
		/* QEMU has stopped the vCPUs. */
		if (v->pclog)
			pclog_close(v->pclog);
		v->pclog = NULL;
	}
	if (stats)
		fclose(stats);
}

static bool parse_argument(const char *arg)
{
	const char *val = strchr(arg, '=');
	char *end;

	if (!val || !*++val)
		return false;

	if (!strncmp(arg, "pclog=", 6)) {
		pclog_prefix = strdup(val);
	} else if (!strncmp(arg, "stats=", 6)) {
		stats_path = strdup(val);
	} else if (!strncmp(arg, "log=", 4)) {
		vcpu_log_level = strtoul(val, &end, 10);
		return !*end;
	} else {
		return false;
	}
	return true;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
					   int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		if (!parse_argument(argv[i])) {
			fprintf(stderr, "ptemu: bad argument \"%s\"\n", argv[i]);
			return -1;
		}
	}
	if (!info->system_emulation || strcmp(info->target_name, "x86_64")) {
		fprintf(stderr, "ptemu: needs qemu-system-x86_64\n");
		return -1;
	}
	if (info->system.max_vcpus > VCPU_MAX) {
		fprintf(stderr, "ptemu: more than %d processors\n", VCPU_MAX);
		return -1;
	}

	intercept_clock_init(&machine_clock);
	if (!vcpu_setup())
		return -1;
	translate_setup(pclog_prefix != NULL);

	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate_block, NULL);
	qemu_plugin_register_vcpu_discon_cb(id, QEMU_PLUGIN_DISCON_ALL,
					    translate_discontinuity, NULL);
	qemu_plugin_register_flush_cb(id, translate_flush, NULL);
	qemu_plugin_register_atexit_cb(id, write_results, NULL);
	return 0;
}

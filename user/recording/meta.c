// SPDX-License-Identifier: GPL-2.0
/* struct mt_meta, and meta.json. */
#include <errno.h>
#include <stdlib.h>

#include "user/recording/private.h"

void mt_meta_free(struct mt_meta *meta)
{
	free(meta->tool);
	free(meta->kernel);
	for (char **arg = meta->command; arg && *arg; arg++)
		free(*arg);
	free(meta->command);
	*meta = (struct mt_meta){ 0 };
}

struct json_object *mt_meta_to_json(const struct mt_meta *meta)
{
	struct json_object *object = json_object_new_object();
	struct json_object *command = json_object_new_array();
	int err = 0;

	if (!object || !command) {
		json_object_put(object);
		json_object_put(command);
		return NULL;
	}
	for (char **arg = meta->command; arg && *arg; arg++) {
		struct json_object *value = json_object_new_string(*arg);

		if (!value || json_object_array_add(command, value)) {
			json_object_put(value);
			mt_first_error(&err, -ENOMEM);
		}
	}
	mt_first_error(&err, mt_json_add_number(object, "format", MT_RECORDING_FORMAT));
	mt_first_error(&err, mt_json_add_string(object, "tool", meta->tool));
	mt_first_error(&err, mt_json_add_string(object, "kernel", meta->kernel));
	mt_first_error(&err, mt_json_add(object, "command", command));
	mt_first_error(&err, mt_json_add_number(object, "cpu_family", meta->cpu_family));
	mt_first_error(&err, mt_json_add_number(object, "cpu_model", meta->cpu_model));
	mt_first_error(&err, mt_json_add_number(object, "cpu_stepping", meta->cpu_stepping));
	mt_first_error(&err, mt_json_add_number(object, "tsc_khz", meta->tsc_khz));
	mt_first_error(&err, mt_json_add_number(object, "cpuid_15_eax", meta->cpuid_15_eax));
	mt_first_error(&err, mt_json_add_number(object, "cpuid_15_ebx", meta->cpuid_15_ebx));
	mt_first_error(&err, mt_json_add_number(object, "nom_freq", meta->nom_freq));
	mt_first_error(&err, mt_json_add_number(object, "mtc_freq", meta->mtc_freq));
	mt_first_error(&err, mt_json_add_hex(object, "rtit_ctl", meta->rtit_ctl));
	mt_first_error(&err, mt_json_add_hex(object, "start_tsc", meta->start_tsc));
	mt_first_error(&err, mt_json_add_hex(object, "start_monotonic_ns",
					     meta->start_monotonic_ns));
	mt_first_error(&err, mt_json_add_hex(object, "start_realtime_ns",
					     meta->start_realtime_ns));
	if (err) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

static char **command_from_json(struct mt_json_reader *reader, struct json_object *object)
{
	struct json_object *array;
	char **command;
	size_t count;

	array = mt_json_array(reader, object, "command", &count);
	if (!array)
		return NULL;
	command = calloc(count + 1, sizeof(*command));
	if (!command) {
		mt_json_fail(reader, -ENOMEM, "out of memory");
		return NULL;
	}
	/* The first failure leaves NULL, which ends the array. */
	for (size_t i = 0; i < count; i++)
		command[i] = mt_json_element_string(reader, json_object_array_get_idx(array, i),
						    "command");
	return command;
}

void mt_meta_from_json(struct mt_json_reader *reader, struct json_object *object,
		       struct mt_meta *meta)
{
	uint32_t format = mt_json_u32(reader, object, "format");

	if (!reader->err && format != MT_RECORDING_FORMAT) {
		mt_json_fail(reader, -EPROTONOSUPPORT,
			     "format %u is not one that this mtrace-user reads (%u): use the "
			     "version that wrote the recording", format, MT_RECORDING_FORMAT);
		return;
	}
	meta->tool = mt_json_string(reader, object, "tool");
	meta->kernel = mt_json_string(reader, object, "kernel");
	meta->command = command_from_json(reader, object);
	meta->cpu_family = mt_json_u32(reader, object, "cpu_family");
	meta->cpu_model = mt_json_u32(reader, object, "cpu_model");
	meta->cpu_stepping = mt_json_u32(reader, object, "cpu_stepping");
	meta->tsc_khz = mt_json_u32(reader, object, "tsc_khz");
	meta->cpuid_15_eax = mt_json_u32(reader, object, "cpuid_15_eax");
	meta->cpuid_15_ebx = mt_json_u32(reader, object, "cpuid_15_ebx");
	meta->nom_freq = mt_json_u32(reader, object, "nom_freq");
	meta->mtc_freq = mt_json_u32(reader, object, "mtc_freq");
	meta->rtit_ctl = mt_json_u64(reader, object, "rtit_ctl");
	meta->start_tsc = mt_json_u64(reader, object, "start_tsc");
	meta->start_monotonic_ns = mt_json_u64(reader, object, "start_monotonic_ns");
	meta->start_realtime_ns = mt_json_u64(reader, object, "start_realtime_ns");
}

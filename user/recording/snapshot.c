// SPDX-License-Identifier: GPL-2.0
/* struct mt_snapshot_info, and snapshot.json. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/recording/private.h"

static const char *const reason_names[] = {
	[MT_REASON_TRIGGER] = "trigger",
	[MT_REASON_COMMAND] = "command",
	[MT_REASON_EXIT] = "exit",
	[MT_REASON_EXEC] = "exec",
};

#define NR_REASONS	(sizeof(reason_names) / sizeof(reason_names[0]))

void mt_process_info_free(struct mt_process_info *process)
{
	for (size_t i = 0; i < process->nr_maps; i++) {
		free(process->maps[i].path);
		free(process->maps[i].build_id);
		free(process->maps[i].image);
	}
	free(process->maps);
	free(process->comm);
	*process = (struct mt_process_info){ 0 };
}

void mt_snapshot_info_free(struct mt_snapshot_info *info)
{
	for (size_t i = 0; i < info->nr_processes; i++)
		mt_process_info_free(&info->processes[i]);
	free(info->processes);
	for (size_t i = 0; i < info->nr_threads; i++) {
		free(info->threads[i].comm);
		free(info->threads[i].file);
	}
	free(info->threads);
	free(info->trigger_symbol);
	*info = (struct mt_snapshot_info){ 0 };
}

/* ---- to JSON ---- */

/*
 * A fresh object as the next element of @array; NULL with *@err set for want of
 * memory.
 */
static struct json_object *append_object(struct json_object *array, int *err)
{
	struct json_object *object = json_object_new_object();

	if (object && !json_object_array_add(array, object))
		return object;
	json_object_put(object);
	mt_first_error(err, -ENOMEM);
	return NULL;
}

static struct json_object *add_array(struct json_object *object, const char *key, int *err)
{
	struct json_object *array = json_object_new_array();

	mt_first_error(err, mt_json_add(object, key, array));
	return *err ? NULL : array;
}

static int map_to_json(struct json_object *object, const struct mt_map *map)
{
	int err = 0;

	mt_first_error(&err, mt_json_add_hex(object, "start", map->start));
	mt_first_error(&err, mt_json_add_hex(object, "end", map->end));
	mt_first_error(&err, mt_json_add_hex(object, "offset", map->offset));
	mt_first_error(&err, mt_json_add_string(object, "path", map->path));
	if (map->build_id)
		mt_first_error(&err, mt_json_add_string(object, "build_id", map->build_id));
	if (map->image)
		mt_first_error(&err, mt_json_add_string(object, "image", map->image));
	return err;
}

static int process_to_json(struct json_object *object, const struct mt_process_info *process)
{
	struct json_object *maps, *map;
	int err = 0;

	mt_first_error(&err, mt_json_add_number(object, "pid", process->pid));
	mt_first_error(&err, mt_json_add_string(object, "comm", process->comm));
	maps = add_array(object, "maps", &err);
	for (size_t i = 0; !err && i < process->nr_maps; i++) {
		map = append_object(maps, &err);
		if (map)
			err = map_to_json(map, &process->maps[i]);
	}
	return err;
}

static int thread_to_json(struct json_object *object, const struct mt_thread_info *thread)
{
	int err = 0;

	mt_first_error(&err, mt_json_add_number(object, "pid", thread->pid));
	mt_first_error(&err, mt_json_add_number(object, "tid", thread->tid));
	mt_first_error(&err, mt_json_add_string(object, "comm", thread->comm));
	mt_first_error(&err, mt_json_add_string(object, "file", thread->file));
	mt_first_error(&err, mt_json_add_number(object, "bytes", thread->bytes));
	mt_first_error(&err, mt_json_add_hex(object, "start_tsc", thread->start_tsc));
	mt_first_error(&err, mt_json_add_hex(object, "end_tsc", thread->end_tsc));
	mt_first_error(&err, mt_json_add_number(object, "flags", thread->flags));
	mt_first_error(&err, mt_json_add_number(object, "cpu", thread->cpu));
	return err;
}

static int trigger_to_json(struct json_object *object, const struct mt_snapshot_info *info)
{
	struct json_object *trigger = json_object_new_object();
	int err = mt_json_add(object, "trigger", trigger);

	if (err)
		return err;
	if (info->trigger_symbol)
		mt_first_error(&err, mt_json_add_string(trigger, "symbol", info->trigger_symbol));
	mt_first_error(&err, mt_json_add_hex(trigger, "address", info->trigger_address));
	mt_first_error(&err, mt_json_add_number(trigger, "tid", info->trigger_tid));
	return err;
}

struct json_object *mt_snapshot_to_json(const struct mt_snapshot_info *info)
{
	struct json_object *object = json_object_new_object();
	struct json_object *array, *element;
	int err = 0;

	if (!object)
		return NULL;
	mt_first_error(&err, mt_json_add_number(object, "number", info->number));
	mt_first_error(&err, mt_json_add_string(object, "reason", reason_names[info->reason]));
	mt_first_error(&err, mt_json_add_hex(object, "tsc", info->tsc));
	mt_first_error(&err, mt_json_add_hex(object, "tsc_end", info->tsc_end));
	if (info->reason == MT_REASON_TRIGGER)
		mt_first_error(&err, trigger_to_json(object, info));
	mt_first_error(&err, mt_json_add_number(object, "nr_unswitched", info->nr_unswitched));

	array = add_array(object, "processes", &err);
	for (size_t i = 0; !err && i < info->nr_processes; i++) {
		element = append_object(array, &err);
		if (element)
			err = process_to_json(element, &info->processes[i]);
	}
	array = add_array(object, "threads", &err);
	for (size_t i = 0; !err && i < info->nr_threads; i++) {
		element = append_object(array, &err);
		if (element)
			err = thread_to_json(element, &info->threads[i]);
	}
	if (err) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

/* ---- from JSON ---- */

static void map_from_json(struct mt_json_reader *reader, struct json_object *object,
			  struct mt_map *map)
{
	map->start = mt_json_u64(reader, object, "start");
	map->end = mt_json_u64(reader, object, "end");
	map->offset = mt_json_u64(reader, object, "offset");
	map->path = mt_json_string(reader, object, "path");
	map->build_id = mt_json_optional_string(reader, object, "build_id");
	map->image = mt_json_file_name(reader, object, "image", 1);
	if (!reader->err && map->start >= map->end)
		mt_json_fail(reader, -EBADMSG, "a map ends at 0x%llx, not behind its start",
			     (unsigned long long)map->end);
}

static void process_from_json(struct mt_json_reader *reader, struct json_object *object,
			      struct mt_process_info *process)
{
	struct json_object *array;
	size_t count;

	process->pid = mt_json_pid(reader, object, "pid");
	process->comm = mt_json_string(reader, object, "comm");
	array = mt_json_array(reader, object, "maps", &count);
	if (!count)
		return;
	process->maps = calloc(count, sizeof(*process->maps));
	if (!process->maps) {
		mt_json_fail(reader, -ENOMEM, "out of memory");
		return;
	}
	process->nr_maps = count;
	for (size_t i = 0; i < count && !reader->err; i++)
		map_from_json(reader, mt_json_element(reader, array, i, "maps"),
			      &process->maps[i]);
}

static void thread_from_json(struct mt_json_reader *reader, struct json_object *object,
			     struct mt_thread_info *thread)
{
	thread->pid = mt_json_pid(reader, object, "pid");
	thread->tid = mt_json_pid(reader, object, "tid");
	thread->comm = mt_json_string(reader, object, "comm");
	thread->file = mt_json_file_name(reader, object, "file", 0);
	thread->bytes = mt_json_u64(reader, object, "bytes");
	thread->start_tsc = mt_json_u64(reader, object, "start_tsc");
	thread->end_tsc = mt_json_u64(reader, object, "end_tsc");
	thread->flags = mt_json_u32(reader, object, "flags");
	thread->cpu = mt_json_u32(reader, object, "cpu");
}

static enum mt_reason reason_from_json(struct mt_json_reader *reader, struct json_object *object)
{
	char *name = mt_json_string(reader, object, "reason");
	size_t reason;

	for (reason = 0; name && reason < NR_REASONS; reason++) {
		if (!strcmp(name, reason_names[reason]))
			break;
	}
	if (reason == NR_REASONS) {
		mt_json_fail(reader, -EBADMSG, "\"reason\" is '%s', which is not known", name);
		reason = MT_REASON_EXIT;
	}
	free(name);
	return (enum mt_reason)reason;
}

void mt_snapshot_from_json(struct mt_json_reader *reader, struct json_object *object,
			   struct mt_snapshot_info *info)
{
	struct json_object *array, *trigger;
	size_t count;

	info->number = mt_json_u64(reader, object, "number");
	info->reason = reason_from_json(reader, object);
	info->tsc = mt_json_u64(reader, object, "tsc");
	info->tsc_end = mt_json_u64(reader, object, "tsc_end");
	info->nr_unswitched = mt_json_u32(reader, object, "nr_unswitched");
	if (!reader->err && info->reason == MT_REASON_TRIGGER) {
		trigger = mt_json_object(reader, object, "trigger");
		info->trigger_symbol = mt_json_optional_string(reader, trigger, "symbol");
		info->trigger_address = mt_json_u64(reader, trigger, "address");
		info->trigger_tid = mt_json_pid(reader, trigger, "tid");
	}

	array = mt_json_array(reader, object, "processes", &count);
	info->processes = count ? calloc(count, sizeof(*info->processes)) : NULL;
	if (count && !info->processes) {
		mt_json_fail(reader, -ENOMEM, "out of memory");
		return;
	}
	info->nr_processes = count;
	for (size_t i = 0; i < count && !reader->err; i++)
		process_from_json(reader, mt_json_element(reader, array, i, "processes"),
				  &info->processes[i]);

	array = mt_json_array(reader, object, "threads", &count);
	info->threads = count ? calloc(count, sizeof(*info->threads)) : NULL;
	if (count && !info->threads) {
		mt_json_fail(reader, -ENOMEM, "out of memory");
		return;
	}
	info->nr_threads = count;
	for (size_t i = 0; i < count && !reader->err; i++)
		thread_from_json(reader, mt_json_element(reader, array, i, "threads"),
				 &info->threads[i]);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of a recording's files, and its structures to and from JSON: for the
 * files of this part alone.
 */
#ifndef MTRACE_RECORDING_PRIVATE_H
#define MTRACE_RECORDING_PRIVATE_H

#include "user/recording/json.h"
#include "user/recording/recording.h"

#define MT_META_FILE		"meta.json"
#define MT_SNAPSHOT_FILE	"snapshot.json"
#define MT_SNAPSHOTS_DIR	"snapshots"
#define MT_IMAGES_DIR		"images"
#define MT_SIDEBAND_FILE	"sideband"

/*
 * From a structure to JSON: the object, or NULL for want of memory. From JSON to
 * a structure that was zeroed: what failed is in @reader->err, and the structure
 * is to be freed in any case.
 */
struct json_object *mt_meta_to_json(const struct mt_meta *meta);
void mt_meta_from_json(struct mt_json_reader *reader, struct json_object *object,
		       struct mt_meta *meta);
struct json_object *mt_snapshot_to_json(const struct mt_snapshot_info *info);
void mt_snapshot_from_json(struct mt_json_reader *reader, struct json_object *object,
			   struct mt_snapshot_info *info);

/* Errors add up: keep the first of a row of calls. */
static inline void mt_first_error(int *err, int next)
{
	if (!*err)
		*err = next;
}

#endif /* MTRACE_RECORDING_PRIVATE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * The set of output files: which format each has, and handing on to all of them.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/output/file.h"
#include "user/output/format.h"
#include "user/output/output.h"

static const struct mt_format *const formats[] = {
	&mt_format_fxt,
	&mt_format_text,
	&mt_format_csv,
};

/* For people; a test holds it against the table above. */
static const char endings[] = ".fxt .txt .csv, each also with .gz";
static const char gz[] = ".gz";

struct target {
	const struct mt_format *format;
	struct mt_outfile *file;
	void *state;
};

struct mt_output {
	struct mt_sink sink;
	size_t count;
	struct target targets[];
};

/* Do @name's first @len characters end with @ending, in any case, behind something? */
static bool ends_with(const char *name, size_t len, const char *ending)
{
	size_t n = strlen(ending);

	return len > n && !strncasecmp(name + len - n, ending, n);
}

static const struct mt_format *find_format(const char *path, bool *compressed)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t len = strlen(name);
	size_t i;

	*compressed = ends_with(name, len, gz);
	if (*compressed)
		len -= sizeof(gz) - 1;
	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (ends_with(name, len, formats[i]->ending))
			return formats[i];
	return NULL;
}

int mt_output_check_name(const char *path)
{
	bool compressed;

	if (find_format(path, &compressed))
		return 0;
	if (*path)
		mt_error("output '%s': the ending tells no format; known are %s", path, endings);
	else
		mt_error("output '' has no name; it needs one that ends with one of %s", endings);
	return -EINVAL;
}

const char *mt_output_endings(void)
{
	return endings;
}

static int set_track_begin(void *ctx, const struct mt_track *track)
{
	struct mt_output *output = ctx;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < output->count; i++)
		err = output->targets[i].format->track_begin(output->targets[i].state, track);
	return err;
}

static int set_slice(void *ctx, const struct mt_slice *slice)
{
	struct mt_output *output = ctx;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < output->count; i++)
		err = output->targets[i].format->slice(output->targets[i].state, slice);
	return err;
}

static int set_track_end(void *ctx)
{
	struct mt_output *output = ctx;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < output->count; i++)
		err = output->targets[i].format->track_end(output->targets[i].state);
	return err;
}

static int open_target(struct target *target, const char *path)
{
	bool compressed;
	int err;

	err = mt_output_check_name(path);
	if (err)
		return err;
	target->format = find_format(path, &compressed);
	err = mt_outfile_open(path, compressed, &target->file);
	if (err)
		return err;
	return target->format->open(target->file, &target->state);
}

int mt_output_open(const char *const *paths, size_t count, struct mt_output **out)
{
	struct mt_output *output;
	size_t i;
	int err = 0;

	output = calloc(1, sizeof(*output) + count * sizeof(output->targets[0]));
	if (!output) {
		mt_error("out of memory");
		return -ENOMEM;
	}
	output->sink = (struct mt_sink){ set_track_begin, set_slice, set_track_end, output };
	for (i = 0; !err && i < count; i++) {
		output->count = i + 1;
		err = open_target(&output->targets[i], paths[i]);
	}
	if (err) {
		mt_output_close(output);
		return err;
	}
	*out = output;
	return 0;
}

int mt_output_snapshot(struct mt_output *output, const struct mt_snapshot_info *info)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < output->count; i++)
		err = output->targets[i].format->snapshot(output->targets[i].state, info);
	return err;
}

const struct mt_sink *mt_output_sink(struct mt_output *output)
{
	return &output->sink;
}

int mt_output_commit(struct mt_output *output)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < output->count; i++)
		err = output->targets[i].format->finish(output->targets[i].state);
	for (i = 0; !err && i < output->count; i++)
		err = mt_outfile_commit(output->targets[i].file);
	return err;
}

void mt_output_close(struct mt_output *output)
{
	size_t i;

	if (!output)
		return;
	for (i = 0; i < output->count; i++) {
		if (output->targets[i].state)
			output->targets[i].format->free(output->targets[i].state);
		mt_outfile_close(output->targets[i].file);
	}
	free(output);
}

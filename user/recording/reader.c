// SPDX-License-Identifier: GPL-2.0
/*
 * Reading a recording, which may come from another machine, be cut off, or be
 * made to do harm: nothing in it is believed before it is checked.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/array.h"
#include "user/base/log.h"
#include "user/recording/file.h"
#include "user/recording/private.h"

struct mt_recording {
	char *path;
	int dirfd;
	struct mt_meta meta;
	MT_ARRAY(struct mt_snapshot_info) snapshots;
	size_t nr_unreadable;
};

static int read_meta(struct mt_recording *rec)
{
	struct mt_json_reader reader = { 0 };
	struct json_object *object;
	char *file;

	if (asprintf(&file, "%s/" MT_META_FILE, rec->path) < 0)
		return -ENOMEM;
	reader.path = file;
	if (faccessat(rec->dirfd, MT_META_FILE, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT) {
		mt_error("'%s' is not a recording: it has no " MT_META_FILE, rec->path);
		free(file);
		return -ENOENT;
	}
	object = mt_json_load(&reader, rec->dirfd, MT_META_FILE);
	if (object)
		mt_meta_from_json(&reader, object, &rec->meta);
	json_object_put(object);
	free(file);
	return reader.err;
}

/* How much of the thread's bytes is not in its file. */
static uint64_t missing_bytes(int dirfd, const struct mt_thread_info *thread)
{
	struct stat st;
	int fd;

	fd = mt_file_open(dirfd, thread->file, &st);
	if (fd < 0)
		return thread->bytes;
	close(fd);
	return (uint64_t)st.st_size < thread->bytes ? thread->bytes - (uint64_t)st.st_size : 0;
}

/*
 * Snapshot @number, whose folder is @name below @snapshots. One that cannot be
 * read is told of and left out: the others are worth no less for that.
 */
static int read_snapshot(struct mt_recording *rec, int snapshots, const char *name,
			 uint64_t number)
{
	struct mt_json_reader reader = { .damaged = 1 };
	struct mt_snapshot_info info = { 0 };
	struct json_object *object;
	char *file;
	int dirfd, err;

	if (asprintf(&file, "%s/" MT_SNAPSHOTS_DIR "/%s/" MT_SNAPSHOT_FILE, rec->path, name) < 0)
		return -ENOMEM;
	reader.path = file;
	dirfd = openat(snapshots, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dirfd < 0)
		mt_json_fail(&reader, -errno, "its folder cannot be opened: %s", strerror(errno));
	object = mt_json_load(&reader, dirfd, MT_SNAPSHOT_FILE);
	if (object)
		mt_snapshot_from_json(&reader, object, &info);
	json_object_put(object);
	if (!reader.err && info.number != number)
		mt_json_fail(&reader, -EBADMSG, "\"number\" is %" PRIu64 ", not its folder's",
			     info.number);
	for (size_t i = 0; !reader.err && i < info.nr_threads; i++)
		info.threads[i].missing = missing_bytes(dirfd, &info.threads[i]);
	if (dirfd >= 0)
		close(dirfd);
	free(file);

	err = reader.err == -ENOMEM ? -ENOMEM : 0;
	if (!reader.err)
		err = mt_array_push(&rec->snapshots, info);
	if (reader.err || err)
		mt_snapshot_info_free(&info);
	rec->nr_unreadable += !!reader.err;
	return err;
}

/* True for a snapshot's folder: a number from 1 without zeros before it. */
static bool parse_number(const char *name, uint64_t *number)
{
	size_t len = strspn(name, "0123456789");

	if (!len || len > 19 || name[len] || *name == '0')
		return false;
	*number = strtoull(name, NULL, 10);
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct mt_snapshot_info *one = a, *other = b;

	return one->number < other->number ? -1 : one->number > other->number;
}

static int read_snapshots(struct mt_recording *rec)
{
	struct dirent *entry;
	uint64_t number;
	DIR *dir = NULL;
	int fd, err = 0;

	fd = openat(rec->dirfd, MT_SNAPSHOTS_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		/* Cut off before the first snapshot: nothing is wrong with it. */
		if (err == -ENOENT)
			return 0;
		mt_error("%s/" MT_SNAPSHOTS_DIR ": cannot be read: %s", rec->path, strerror(-err));
		return err;
	}
	while (!err && (entry = readdir(dir))) {
		if (parse_number(entry->d_name, &number))
			err = read_snapshot(rec, dirfd(dir), entry->d_name, number);
	}
	closedir(dir);
	if (err)
		return err;
	if (rec->nr_unreadable && !rec->snapshots.count) {
		mt_error("'%s': none of its %zu snapshots can be read", rec->path,
			 rec->nr_unreadable);
		return -EBADMSG;
	}
	if (rec->snapshots.count)
		qsort(rec->snapshots.data, rec->snapshots.count, sizeof(*rec->snapshots.data),
		      by_number);
	return 0;
}

int mt_recording_open(const char *path, struct mt_recording **out)
{
	struct mt_recording *rec = calloc(1, sizeof(*rec));
	int err;

	if (!rec || !(rec->path = strdup(path))) {
		free(rec);
		mt_error("'%s': out of memory", path);
		return -ENOMEM;
	}
	rec->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (rec->dirfd < 0) {
		err = -errno;
		if (err == -ENOTDIR)
			mt_error("'%s' is not a recording: it is not a directory", path);
		else
			mt_error("recording '%s' cannot be opened: %s", path, strerror(-err));
		goto fail;
	}
	err = read_meta(rec);
	if (!err)
		err = read_snapshots(rec);
	if (err == -ENOMEM)
		mt_error("'%s': out of memory", path);
	if (err)
		goto fail;
	*out = rec;
	return 0;

fail:
	mt_recording_close(rec);
	return err;
}

void mt_recording_close(struct mt_recording *rec)
{
	if (!rec)
		return;
	for (size_t i = 0; i < rec->snapshots.count; i++)
		mt_snapshot_info_free(&rec->snapshots.data[i]);
	mt_array_free(&rec->snapshots);
	mt_meta_free(&rec->meta);
	if (rec->dirfd >= 0)
		close(rec->dirfd);
	free(rec->path);
	free(rec);
}

const struct mt_meta *mt_recording_meta(const struct mt_recording *rec)
{
	return &rec->meta;
}

size_t mt_recording_nr_snapshots(const struct mt_recording *rec)
{
	return rec->snapshots.count;
}

const struct mt_snapshot_info *mt_recording_snapshot(const struct mt_recording *rec, size_t index)
{
	return &rec->snapshots.data[index];
}

int mt_recording_map_thread(const struct mt_recording *rec, size_t index, size_t thread,
			    const uint8_t **bytes, size_t *len)
{
	const struct mt_snapshot_info *info = &rec->snapshots.data[index];
	const struct mt_thread_info *what = &info->threads[thread];
	char dir[64];
	int err;

	snprintf(dir, sizeof(dir), MT_SNAPSHOTS_DIR "/%" PRIu64, info->number);
	err = mt_file_map(rec->dirfd, dir, what->file, what->bytes, bytes, len);
	/* Cut off before this file: as if it were empty. */
	if (err == -ENOENT)
		return 0;
	if (err)
		mt_error("%s/%s/%s: cannot be read: %s", rec->path, dir, what->file,
			 strerror(-err));
	return err;
}

void mt_recording_unmap(const uint8_t *bytes, size_t len)
{
	if (len)
		munmap((void *)(uintptr_t)bytes, len);
}

char *mt_recording_image_path(const struct mt_recording *rec, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/" MT_IMAGES_DIR "/%s", rec->path, name) < 0)
		return NULL;
	return path;
}

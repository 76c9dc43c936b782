// SPDX-License-Identifier: GPL-2.0
/*
 * Writing a recording: the order in which its files appear is what keeps one
 * that was cut off readable.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/array.h"
#include "user/base/log.h"
#include "user/recording/file.h"
#include "user/recording/private.h"

/* An image that was kept: its name says what it is and what its bytes' hash is. */
struct image {
	char *name;
	uint64_t hash;
	size_t len;
};

struct mt_recording_writer {
	char *path;
	int dirfd;
	int sideband;		/* the file, or -1 before its first byte */
	MT_ARRAY(struct image) images;
};

static void writer_free(struct mt_recording_writer *w)
{
	for (size_t i = 0; i < w->images.count; i++)
		free(w->images.data[i].name);
	mt_array_free(&w->images);
	if (w->sideband >= 0)
		close(w->sideband);
	if (w->dirfd >= 0)
		close(w->dirfd);
	free(w->path);
	free(w);
}

/* 0 if the directory @path has nothing in it, -EEXIST if it has, or -errno. */
static int check_empty(const char *path)
{
	struct dirent *entry;
	DIR *dir = opendir(path);
	int err = 0;

	if (!dir)
		return errno == ENOTDIR ? -EEXIST : -errno;
	while (!err && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = -EEXIST;
	}
	closedir(dir);
	return err;
}

/* Make @path a fresh directory; *@made says whether it was not there before. */
static int make_directory(const char *path, bool *made)
{
	int err = 0;

	*made = !mkdir(path, 0777);
	if (!*made)
		err = errno == EEXIST ? check_empty(path) : -errno;
	if (err == -EEXIST)
		mt_error("recording '%s': there is something already: name another directory, or "
			 "remove it", path);
	else if (err)
		mt_error("recording '%s': cannot be created: %s", path, strerror(-err));
	return err;
}

int mt_recording_create(const char *path, const struct mt_meta *meta,
			struct mt_recording_writer **out)
{
	struct mt_recording_writer *w = calloc(1, sizeof(*w));
	struct json_object *object = NULL;
	char *file = NULL;
	bool made = false;
	int err;

	if (w) {
		w->dirfd = -1;
		w->sideband = -1;
		w->path = strdup(path);
		object = mt_meta_to_json(meta);
	}
	if (!w || !w->path || !object || asprintf(&file, "%s/" MT_META_FILE, path) < 0) {
		mt_error("recording '%s': out of memory", path);
		file = NULL;
		err = -ENOMEM;
		goto fail;
	}
	err = make_directory(path, &made);
	if (err)
		goto fail;
	w->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->dirfd < 0 || mkdirat(w->dirfd, MT_SNAPSHOTS_DIR, 0777)) {
		err = -errno;
		mt_error("recording '%s': cannot be created: %s", path, strerror(-err));
		goto fail_remove;
	}
	err = mt_json_store(object, w->dirfd, MT_META_FILE, file);
	if (err)
		goto fail_remove;
	free(file);
	json_object_put(object);
	*out = w;
	return 0;

fail_remove:
	if (w->dirfd >= 0)
		unlinkat(w->dirfd, MT_SNAPSHOTS_DIR, AT_REMOVEDIR);
	if (made)
		rmdir(path);
fail:
	free(file);
	json_object_put(object);
	if (w)
		writer_free(w);
	return err;
}

/* FNV-1a: names images; that equal names mean equal bytes is checked by length too. */
static uint64_t hash_bytes(const unsigned char *bytes, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	return hash;
}

/* @label as part of a file's name: what could lead elsewhere becomes '_'. */
static void label_to_name(const char *label, char *name, size_t len)
{
	size_t used = 0;

	for (; *label && used < len - 1; label++) {
		if ((*label >= 'a' && *label <= 'z') || (*label >= 'A' && *label <= 'Z') ||
		    (*label >= '0' && *label <= '9') || *label == '-')
			name[used++] = *label;
		else if (used && name[used - 1] != '_')
			name[used++] = '_';
	}
	while (used && name[used - 1] == '_')
		used--;
	name[used] = '\0';
}

static int write_image(struct mt_recording_writer *w, const char *name, const void *bytes,
		       size_t len)
{
	int dirfd, fd, err = 0;

	if (mkdirat(w->dirfd, MT_IMAGES_DIR, 0777) && errno != EEXIST)
		return -errno;
	dirfd = openat(w->dirfd, MT_IMAGES_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return -errno;
	fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0) {
		err = -errno;
		goto out;
	}
	err = mt_file_write(fd, bytes, len);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlinkat(dirfd, name, 0);
out:
	close(dirfd);
	return err;
}

int mt_recording_add_image(struct mt_recording_writer *w, const char *label, const void *bytes,
			   size_t len, char **name)
{
	struct image image = { NULL, hash_bytes(bytes, len), len };
	char plain[32];
	int err;

	for (size_t i = 0; i < w->images.count; i++) {
		if (w->images.data[i].hash != image.hash || w->images.data[i].len != len)
			continue;
		*name = strdup(w->images.data[i].name);
		if (*name)
			return 0;
		goto fail_memory;
	}
	label_to_name(label, plain, sizeof(plain));
	if (asprintf(&image.name, "%s-%016" PRIx64 "-%zx", *plain ? plain : "code", image.hash,
		     len) < 0)
		goto fail_memory;
	err = write_image(w, image.name, bytes, len);
	if (err) {
		mt_error("%s/" MT_IMAGES_DIR "/%s: cannot be written: %s", w->path, image.name,
			 strerror(-err));
		goto fail;
	}
	*name = strdup(image.name);
	if (!*name || mt_array_push(&w->images, image)) {
		free(*name);
		free(image.name);
		goto fail_memory;
	}
	return 0;

fail_memory:
	mt_error("%s: out of memory", w->path);
	return -ENOMEM;
fail:
	free(image.name);
	return err;
}

/* "TID.pt", or "TID-2.pt" where the snapshot has that thread twice. */
static int name_thread(struct mt_snapshot_info *info, size_t index)
{
	struct mt_thread_info *thread = &info->threads[index];
	unsigned int same = 1;
	char *name;
	int len;

	for (size_t i = 0; i < index; i++)
		same += info->threads[i].tid == thread->tid;
	if (same == 1)
		len = asprintf(&name, "%d.pt", thread->tid);
	else
		len = asprintf(&name, "%d-%u.pt", thread->tid, same);
	if (len < 0)
		return -ENOMEM;
	free(thread->file);
	thread->file = name;
	return 0;
}

static int write_thread(const struct mt_recording_writer *w, int dirfd,
			const struct mt_snapshot_info *info, size_t index,
			const struct mt_piece *pieces)
{
	const char *name = info->threads[index].file;
	int fd, err = 0;

	fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		err = -errno;
	for (int piece = 0; piece < 2 && !err; piece++)
		err = mt_file_write(fd, pieces[piece].bytes, pieces[piece].len);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (err)
		mt_error("%s/" MT_SNAPSHOTS_DIR "/%" PRIu64 "/%s: cannot be written: %s", w->path,
			 info->number, name, strerror(-err));
	return err;
}

int mt_recording_add_snapshot(struct mt_recording_writer *w, struct mt_snapshot_info *info,
			      const struct mt_piece (*pieces)[2])
{
	char dir[64], *path = NULL;
	struct json_object *object = NULL;
	int dirfd = -1, err = 0;

	for (size_t i = 0; i < info->nr_threads && !err; i++) {
		info->threads[i].bytes = pieces[i][0].len + pieces[i][1].len;
		err = name_thread(info, i);
	}
	snprintf(dir, sizeof(dir), MT_SNAPSHOTS_DIR "/%" PRIu64, info->number);
	if (!err && asprintf(&path, "%s/%s/" MT_SNAPSHOT_FILE, w->path, dir) < 0) {
		path = NULL;
		err = -ENOMEM;
	}
	if (!err)
		object = mt_snapshot_to_json(info);
	if (!object) {
		mt_error("%s: out of memory", w->path);
		free(path);
		return -ENOMEM;
	}
	if (!mkdirat(w->dirfd, dir, 0777))
		dirfd = openat(w->dirfd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0) {
		err = -errno;
		mt_error("%s/%s: cannot be created: %s", w->path, dir, strerror(-err));
		goto out;
	}
	err = mt_json_store(object, dirfd, MT_SNAPSHOT_FILE, path);
	for (size_t i = 0; i < info->nr_threads && !err; i++)
		err = write_thread(w, dirfd, info, i, pieces[i]);
	close(dirfd);
out:
	json_object_put(object);
	free(path);
	return err;
}

int mt_recording_map_written(const struct mt_recording_writer *w, uint64_t number,
			     const char *file, const uint8_t **bytes, size_t *len)
{
	char dir[64];
	int err;

	snprintf(dir, sizeof(dir), MT_SNAPSHOTS_DIR "/%" PRIu64, number);
	err = mt_file_map(w->dirfd, dir, file, UINT64_MAX, bytes, len);
	if (err)
		mt_error("%s/%s/%s: cannot be read again: %s", w->path, dir, file, strerror(-err));
	return err;
}

int mt_recording_add_sideband(struct mt_recording_writer *w, const void *records, size_t len)
{
	int err = 0;

	if (w->sideband < 0) {
		w->sideband = openat(w->dirfd, MT_SIDEBAND_FILE,
				     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (w->sideband < 0)
			err = -errno;
	}
	if (!err)
		err = mt_file_write(w->sideband, records, len);
	if (err)
		mt_error("%s/" MT_SIDEBAND_FILE ": cannot be written: %s", w->path, strerror(-err));
	return err;
}

int mt_recording_finish(struct mt_recording_writer *w)
{
	writer_free(w);
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

int mt_recording_remove(const char *path)
{
	/* Depth first, and a link is removed, not followed. */
	return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) ? -errno : 0;
}

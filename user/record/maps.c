// SPDX-License-Identifier: GPL-2.0
/* Mappings of a live process; see the header. */
#include "user/record/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void mt_mappings_free(mt_mappings *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		free(maps->data[i].path);
	mt_array_free(maps);
}

/* The kernel writes a newline in a path as "\012", and nothing else differently. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (!strncmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

int mt_mapping_parse(char *line, struct mt_mapping *mapping)
{
	unsigned int major, minor;
	char perms[5];
	int used = 0;

	memset(mapping, 0, sizeof(*mapping));
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &mapping->start, &mapping->end, perms, &mapping->offset, &major, &minor,
		   &mapping->inode, &used) < 7 || strlen(perms) != 4 || !used)
		return -EINVAL;
	if (perms[2] != 'x')
		return 0;
	line[strcspn(line, "\n")] = '\0';
	unescape(line + used);
	mapping->dev = makedev(major, minor);
	mapping->path = strdup(line + used);
	return mapping->path ? 1 : -ENOMEM;
}

int mt_mappings_read(pid_t tid, mt_mappings *maps)
{
	struct mt_mapping mapping;
	char name[64], *line = NULL;
	size_t room = 0;
	FILE *file;
	int err = 0;

	mt_mappings_free(maps);
	snprintf(name, sizeof(name), "/proc/%d/maps", tid);
	file = fopen(name, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && getline(&line, &room, file) > 0) {
		err = mt_mapping_parse(line, &mapping);
		if (err <= 0)
			continue;
		err = mt_array_push(maps, mapping);
		if (err)
			free(mapping.path);
	}
	free(line);
	fclose(file);
	if (!err && !maps->count)
		err = -ESRCH;
	if (err)
		mt_mappings_free(maps);
	return err;
}

static void map_files_path(pid_t tid, const struct mt_mapping *mapping, char *path)
{
	snprintf(path, MT_MAPPING_PATH_LEN, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, tid,
		 mapping->start, mapping->end);
}

int mt_mapping_file(pid_t tid, const struct mt_mapping *mapping, char *path)
{
	struct stat st;

	if (!mapping->inode)
		return -ENOENT;
	map_files_path(tid, mapping, path);
	if (!stat(path, &st) && S_ISREG(st.st_mode))
		return 0;
	if (mapping->path[0] != '/')
		return -ENOENT;
	snprintf(path, MT_MAPPING_PATH_LEN, "/proc/%d/root%s", tid, mapping->path);
	if (!stat(path, &st) && S_ISREG(st.st_mode) && st.st_ino == mapping->inode)
		return 0;
	return -ENOENT;
}

bool mt_mapping_has_file(pid_t tid, const struct mt_mapping *mapping)
{
	char path[MT_MAPPING_PATH_LEN];
	struct stat named, mapped;

	if (!mapping->inode || mapping->path[0] != '/' || stat(mapping->path, &named) ||
	    !S_ISREG(named.st_mode))
		return false;
	/*
	 * Some file systems (btrfs, overlay) show another device in maps than stat()
	 * does, so what the mapping's own link says is better, where it can be had.
	 */
	map_files_path(tid, mapping, path);
	if (!stat(path, &mapped))
		return mapped.st_dev == named.st_dev && mapped.st_ino == named.st_ino;
	return named.st_ino == mapping->inode;
}

ssize_t mt_memory_read(pid_t tid, uint64_t address, void *bytes, size_t len)
{
	size_t done = 0;
	char name[64];
	ssize_t got;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/mem", tid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (done < len) {
		got = pread(fd, (char *)bytes + done, len - done, (off_t)(address + done));
		if (got <= 0)
			break;
		done += got;
	}
	close(fd);
	return done;
}

uint64_t mt_auxv(pid_t tid, uint64_t type)
{
	uint64_t pair[2], value = 0;
	char name[64];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/auxv", tid);
	file = fopen(name, "re");
	if (!file)
		return 0;
	while (fread(pair, sizeof(pair), 1, file) == 1) {
		if (pair[0] == type)
			value = pair[1];
	}
	fclose(file);
	return value;
}

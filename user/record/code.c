// SPDX-License-Identifier: GPL-2.0
/* The code of a process, for a recording; see the header. */
#include "user/record/code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/array.h"
#include "user/base/elf_symbols.h"
#include "user/base/log.h"
#include "user/base/size.h"
#include "user/record/maps.h"

/* An executable mapping without a file that is larger is not kept. */
#define CODE_IMAGE_MAX	(256ULL << 20)
#define CODE_IMAGE_SMALL	(64ULL << 10)

/* Build-ids are read once a file: at each snapshot there are dozens of them. */
struct known_file {
	uint64_t dev;
	uint64_t inode;
	char *build_id;		/* NULL: it has none */
};

struct mt_code {
	MT_ARRAY(struct known_file) files;
	struct mt_process_info last;	/* .comm is NULL before the first reading */
	bool told_large;
};

struct mt_code *mt_code_new(void)
{
	return calloc(1, sizeof(struct mt_code));
}

void mt_code_free(struct mt_code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->files.count; i++)
		free(code->files.data[i].build_id);
	mt_array_free(&code->files);
	mt_process_info_free(&code->last);
	free(code);
}

/* The build-id of the mapped file; NULL where there is none or it cannot be read. */
static const char *find_build_id(struct mt_code *code, pid_t tid, const struct mt_mapping *mapping)
{
	struct known_file file = { mapping->dev, mapping->inode, NULL };
	char path[MT_MAPPING_PATH_LEN];
	struct mt_elf *elf;

	for (size_t i = 0; i < code->files.count; i++) {
		if (code->files.data[i].dev == file.dev && code->files.data[i].inode == file.inode)
			return code->files.data[i].build_id;
	}
	if (mt_mapping_file(tid, mapping, path))
		return NULL;
	if (!mt_elf_open(path, &elf)) {
		const char *id = mt_elf_build_id(elf);

		file.build_id = id ? strdup(id) : NULL;
		mt_elf_close(elf);
	}
	if (mt_array_push(&code->files, file)) {
		free(file.build_id);
		return NULL;
	}
	return file.build_id;
}

/* Keep the bytes of @mapping in the recording; NULL in *@name if there are none. */
static int keep_image(struct mt_code *code, pid_t tid, const struct mt_mapping *mapping,
		      struct mt_recording_writer *w, char **name)
{
	uint64_t len = mapping->end - mapping->start;
	char size[64];
	ssize_t got;
	void *bytes;
	int err = 0;

	*name = NULL;
	if (len > CODE_IMAGE_MAX) {
		mt_size_format(len, size, sizeof(size));
		if (!code->told_large)
			mt_warn("%s of code that no file holds at 0x%llx are too much to keep: "
				"they will not be decoded", size,
				(unsigned long long)mapping->start);
		code->told_large = true;
		return 0;
	}
	bytes = malloc(len);
	if (!bytes) {
		mt_error("out of memory for the program's code");
		return -ENOMEM;
	}
	got = mt_memory_read(tid, mapping->start, bytes, len);
	/* [vsyscall] cannot be read, and is not run in user mode either. */
	if (got > 0 && (uint64_t)got == len)
		err = mt_recording_add_image(w, mapping->path, bytes, len, name);
	free(bytes);
	return err;
}

static char *read_comm(pid_t pid)
{
	char name[64], comm[64] = "";
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/comm", pid);
	file = fopen(name, "re");
	if (file) {
		if (!fgets(comm, sizeof(comm), file))
			comm[0] = '\0';
		fclose(file);
	}
	comm[strcspn(comm, "\n")] = '\0';
	return strdup(comm);
}

/* One mapping as the recording has it. */
static int convert(struct mt_code *code, pid_t tid, const struct mt_mapping *mapping,
		   enum mt_code_bytes bytes, struct mt_recording_writer *w, struct mt_map *map)
{
	const char *build_id = mapping->inode ? find_build_id(code, tid, mapping) : NULL;

	map->start = mapping->start;
	map->end = mapping->end;
	map->offset = mapping->offset;
	map->path = strdup(mapping->path);
	map->build_id = build_id ? strdup(build_id) : NULL;
	if (!map->path || (build_id && !map->build_id)) {
		mt_error("out of memory for the program's memory map");
		return -ENOMEM;
	}
	if (mt_mapping_has_file(tid, mapping))
		return 0;
	if (bytes == MT_CODE_SMALL && mapping->end - mapping->start > CODE_IMAGE_SMALL)
		return 0;
	return keep_image(code, tid, mapping, w, &map->image);
}

int mt_code_read(struct mt_code *code, pid_t pid, pid_t tid, enum mt_code_bytes bytes,
		 struct mt_recording_writer *w)
{
	struct mt_process_info process = { .pid = pid };
	mt_mappings maps = { 0 };
	int err;

	err = mt_mappings_read(tid, &maps);
	if (err == -ESRCH)
		return err;
	if (err) {
		mt_error("the program's memory map cannot be read: %s", strerror(-err));
		return err;
	}
	process.comm = read_comm(pid);
	process.maps = calloc(maps.count, sizeof(*process.maps));
	if (!process.comm || !process.maps) {
		mt_error("out of memory for the program's memory map");
		err = -ENOMEM;
		goto fail;
	}
	for (size_t i = 0; i < maps.count; i++) {
		process.nr_maps++;
		err = convert(code, tid, &maps.data[i], bytes, w, &process.maps[i]);
		if (err)
			goto fail;
	}
	mt_mappings_free(&maps);
	mt_process_info_free(&code->last);
	code->last = process;
	return 0;

fail:
	mt_mappings_free(&maps);
	mt_process_info_free(&process);
	return err;
}

static bool copy_string(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

int mt_code_copy(const struct mt_code *code, struct mt_process_info *process)
{
	const struct mt_process_info *last = &code->last;
	bool whole;

	if (!last->comm)
		return -ENOENT;
	*process = (struct mt_process_info){ .pid = last->pid };
	process->maps = calloc(last->nr_maps, sizeof(*process->maps));
	whole = copy_string(&process->comm, last->comm) && process->maps;
	for (size_t i = 0; whole && i < last->nr_maps; i++) {
		const struct mt_map *from = &last->maps[i];
		struct mt_map *to = &process->maps[process->nr_maps++];

		*to = *from;
		whole = copy_string(&to->path, from->path);
		whole = copy_string(&to->build_id, from->build_id) && whole;
		whole = copy_string(&to->image, from->image) && whole;
	}
	if (whole)
		return 0;
	mt_process_info_free(process);
	return -ENOMEM;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Opening of a mapped file, with the checks that it is what ran.
 */
#include "user/image/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/regular.h"

#define DELETED		" (deleted)"

/* @follow: a symbolic link too. */
static int map_bytes(struct mt_object *object, const char *path, bool follow)
{
	struct stat st;
	void *bytes;
	int fd, err = 0;

	fd = mt_regular_open(path, follow, &st);
	if (fd < 0)
		return fd;
	if (!st.st_size) {
		err = -ENODATA;
		goto out;
	}
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) {
		err = -errno;
		goto out;
	}
	object->bytes = bytes;
	object->len = st.st_size;
out:
	close(fd);
	return err;
}

/* Why a file cannot be read. */
static const char *reason(int err)
{
	switch (err) {
	case -EINVAL:
		return "it is no regular file";
	case -ENODATA:
		return "it is empty";
	}
	return strerror(-err);
}

static int read_elf(struct mt_object *object, const struct mt_elf *elf)
{
	size_t i;
	int err;

	object->is_elf = true;
	for (i = 0; i < mt_elf_nr_loads(elf); i++) {
		err = mt_array_push(&object->loads, *mt_elf_load(elf, i));
		if (err)
			return err;
	}
	return mt_symbols_read(&object->symbols, elf);
}

/* True if @elf is the file that ran, as far as can be known. */
static bool is_same(const struct mt_object *object, const char *path, const struct mt_elf *elf)
{
	const char *build_id = mt_elf_build_id(elf);

	if (!object->build_id)
		return true;
	if (build_id && !strcmp(build_id, object->build_id))
		return true;
	mt_warn("%s is not the file that ran: its build-id is %s, the recording has %s; "
		"what ran in it is not shown", path, build_id ? build_id : "(none)",
		object->build_id);
	return false;
}

/* Open @path as the object's bytes; a message is given for what fails. */
static int open_file(struct mt_object *object, const char *path)
{
	struct mt_elf *elf = NULL;
	int err;

	err = mt_elf_open(path, &elf);
	if (err == -ENOMEM)
		return err;
	if (err && err != -ENOEXEC) {
		mt_warn("cannot read %s: %s; what ran in it is not shown", path, reason(err));
		return 0;
	}
	err = 0;
	if (elf ? !is_same(object, path, elf) : object->build_id != NULL) {
		if (!elf)
			mt_warn("%s is not the file that ran: it is no ELF file; "
				"what ran in it is not shown", path);
		goto out;
	}
	err = map_bytes(object, path, true);
	if (err) {
		mt_warn("cannot read %s: %s; what ran in it is not shown", path, reason(err));
		err = 0;
		goto out;
	}
	object->file = strdup(path);
	if (!object->file)
		err = -ENOMEM;
	else if (elf)
		err = read_elf(object, elf);
out:
	mt_elf_close(elf);
	return err;
}

/* The bytes of one mapping; of the vdso they are a whole ELF file. */
static int open_image(struct mt_object *object, const char *image)
{
	struct mt_elf *elf = NULL;
	int err;

	object->is_image = true;
	/* In a recording no link is followed. */
	err = map_bytes(object, image, false);
	if (err) {
		mt_warn("cannot read %s, the code of %s: %s", image, object->name, reason(err));
		return 0;
	}
	object->file = strdup(image);
	if (!object->file)
		return -ENOMEM;
	err = mt_elf_open(image, &elf);
	if (!err)
		err = read_elf(object, elf);
	mt_elf_close(elf);
	return err == -ENOMEM ? err : 0;
}

/*
 * A file that was deleted may have been replaced by its equal; that it is the
 * same one can be told by the build-id alone.
 */
static int open_mapped(struct mt_object *object)
{
	size_t len = strlen(object->name), tail = strlen(DELETED);
	char *path;
	int err;

	if (object->name[0] != '/')
		return 0;
	if (!object->build_id || len <= tail || strcmp(object->name + len - tail, DELETED) != 0)
		return open_file(object, object->name);
	path = strndup(object->name, len - tail);
	if (!path)
		return -ENOMEM;
	err = open_file(object, path);
	free(path);
	return err;
}

int mt_object_open(const char *name, const char *build_id, const char *image,
		   struct mt_object **out)
{
	struct mt_object *object = calloc(1, sizeof(*object));
	int err = -ENOMEM;

	if (!object)
		return -ENOMEM;
	object->name = strdup(name && name[0] ? name : "[anonymous]");
	if (!object->name)
		goto err_close;
	if (build_id) {
		object->build_id = strdup(build_id);
		if (!object->build_id)
			goto err_close;
	}
	err = image ? open_image(object, image) : open_mapped(object);
	if (err)
		goto err_close;
	*out = object;
	return 0;

err_close:
	mt_object_close(object);
	return err;
}

void mt_object_close(struct mt_object *object)
{
	if (!object)
		return;
	mt_symbols_free(&object->symbols);
	mt_array_free(&object->loads);
	if (object->bytes)
		munmap((void *)object->bytes, object->len);
	free(object->file);
	free(object->build_id);
	free(object->name);
	free(object);
}

uint64_t mt_object_vaddr(const struct mt_object *object, uint64_t offset)
{
	const struct mt_elf_load *best = NULL;
	size_t i;

	for (i = 0; i < object->loads.count; i++) {
		const struct mt_elf_load *load = &object->loads.data[i];

		if (!mt_elf_load_covers(load, offset))
			continue;
		if (!best || (load->exec && !best->exec))
			best = load;
	}
	return best ? offset - best->offset + best->vaddr : offset;
}

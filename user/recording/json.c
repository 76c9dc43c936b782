// SPDX-License-Identifier: GPL-2.0
/* Strict reading and plain writing of JSON files; see the header. */
#include "user/recording/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/recording/file.h"

/* More than any snapshot.json that was ever written by far; less than memory. */
#define JSON_FILE_MAX	(256U << 20)

/* Objects in arrays in objects in arrays: no file of a recording is deeper. */
#define JSON_DEPTH	16

void mt_json_fail(struct mt_json_reader *reader, int err, const char *fmt, ...)
{
	char what[256];
	va_list ap;

	if (reader->err)
		return;
	reader->err = err;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (reader->damaged)
		mt_warn("%s: %s; left out", reader->path, what);
	else
		mt_error("%s: %s", reader->path, what);
}

/* Where in @bytes byte @at is, for people. */
static unsigned int line_of(const char *bytes, size_t at)
{
	unsigned int line = 1;

	for (size_t i = 0; i < at; i++)
		line += bytes[i] == '\n';
	return line;
}

/* Only white space may follow what was parsed. */
static bool is_blank(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!strchr(" \t\r\n", bytes[i]) || !bytes[i])
			return false;
	}
	return true;
}

static struct json_object *parse(struct mt_json_reader *reader, const char *bytes, size_t len)
{
	struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH);
	struct json_object *object = NULL;
	enum json_tokener_error error;
	size_t end;

	if (!tokener) {
		mt_json_fail(reader, -ENOMEM, "out of memory");
		return NULL;
	}
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
	object = json_tokener_parse_ex(tokener, bytes, (int)len);
	error = json_tokener_get_error(tokener);
	end = json_tokener_get_parse_end(tokener);
	json_tokener_free(tokener);

	if (error == json_tokener_continue || (error == json_tokener_success && !object && !len))
		mt_json_fail(reader, -EBADMSG, "the file ends in the middle of its text");
	else if (error != json_tokener_success)
		mt_json_fail(reader, -EBADMSG, "line %u: %s", line_of(bytes, end),
			     json_tokener_error_desc(error));
	else if (!is_blank(bytes + end, len - end))
		mt_json_fail(reader, -EBADMSG, "line %u: more text behind the end",
			     line_of(bytes, end));
	else if (!json_object_is_type(object, json_type_object))
		mt_json_fail(reader, -EBADMSG, "is not a JSON object");
	if (reader->err) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

struct json_object *mt_json_load(struct mt_json_reader *reader, int dirfd, const char *name)
{
	struct json_object *object = NULL;
	struct stat st;
	char *bytes;
	ssize_t len;
	int fd;

	if (reader->err)
		return NULL;
	fd = mt_file_open(dirfd, name, &st);
	if (fd < 0) {
		mt_json_fail(reader, fd, "cannot be read: %s", strerror(-fd));
		return NULL;
	}
	if (st.st_size > JSON_FILE_MAX) {
		mt_json_fail(reader, -EFBIG, "is too large (%jd bytes) to be part of a recording",
			     (intmax_t)st.st_size);
		goto out_close;
	}
	bytes = malloc(st.st_size + 1);
	if (!bytes) {
		mt_json_fail(reader, -ENOMEM, "out of memory");
		goto out_close;
	}
	len = mt_file_read(fd, bytes, st.st_size);
	if (len < 0)
		mt_json_fail(reader, (int)len, "cannot be read: %s", strerror((int)-len));
	else
		object = parse(reader, bytes, len);
	free(bytes);
out_close:
	close(fd);
	return object;
}

/* The value of @key if it is of @type. */
static struct json_object *get(struct mt_json_reader *reader, struct json_object *object,
			       const char *key, enum json_type type)
{
	struct json_object *value;

	if (reader->err)
		return NULL;
	if (!json_object_object_get_ex(object, key, &value)) {
		mt_json_fail(reader, -EBADMSG, "\"%s\" is missing", key);
		return NULL;
	}
	if (!json_object_is_type(value, type)) {
		mt_json_fail(reader, -EBADMSG, "\"%s\" is not of type %s", key,
			     json_type_to_name(type));
		return NULL;
	}
	return value;
}

static bool parse_hex(const char *text, uint64_t *value)
{
	size_t digits = strspn(text + 2, "0123456789abcdefABCDEF");

	if (!digits || digits > 16 || text[2 + digits])
		return false;
	*value = strtoull(text + 2, NULL, 16);
	return true;
}

uint64_t mt_json_u64(struct mt_json_reader *reader, struct json_object *object, const char *key)
{
	struct json_object *value;
	const char *text;
	uint64_t number;

	if (reader->err)
		return 0;
	if (!json_object_object_get_ex(object, key, &value)) {
		mt_json_fail(reader, -EBADMSG, "\"%s\" is missing", key);
		return 0;
	}
	if (json_object_is_type(value, json_type_string)) {
		text = json_object_get_string(value);
		if (!strncmp(text, "0x", 2) && parse_hex(text, &number))
			return number;
	} else if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0) {
		return json_object_get_uint64(value);
	}
	mt_json_fail(reader, -EBADMSG, "\"%s\" is not a number from 0 to 2^64 - 1", key);
	return 0;
}

uint32_t mt_json_u32(struct mt_json_reader *reader, struct json_object *object, const char *key)
{
	uint64_t value = mt_json_u64(reader, object, key);

	if (value > UINT32_MAX) {
		mt_json_fail(reader, -EBADMSG, "\"%s\" is not a number from 0 to 2^32 - 1", key);
		return 0;
	}
	return (uint32_t)value;
}

pid_t mt_json_pid(struct mt_json_reader *reader, struct json_object *object, const char *key)
{
	uint64_t value = mt_json_u64(reader, object, key);

	if (value > INT32_MAX) {
		mt_json_fail(reader, -EBADMSG, "\"%s\" is not a process or thread id", key);
		return 0;
	}
	return (pid_t)value;
}

char *mt_json_element_string(struct mt_json_reader *reader, struct json_object *value,
			     const char *key)
{
	const char *text;
	char *copy;

	if (reader->err)
		return NULL;
	if (!json_object_is_type(value, json_type_string)) {
		mt_json_fail(reader, -EBADMSG, "an element of \"%s\" is not of type string", key);
		return NULL;
	}
	text = json_object_get_string(value);
	if (strlen(text) != (size_t)json_object_get_string_len(value)) {
		mt_json_fail(reader, -EBADMSG, "\"%s\" has a NUL character in it", key);
		return NULL;
	}
	copy = strdup(text);
	if (!copy)
		mt_json_fail(reader, -ENOMEM, "out of memory");
	return copy;
}

char *mt_json_string(struct mt_json_reader *reader, struct json_object *object, const char *key)
{
	struct json_object *value = get(reader, object, key, json_type_string);

	return value ? mt_json_element_string(reader, value, key) : NULL;
}

char *mt_json_optional_string(struct mt_json_reader *reader, struct json_object *object,
			      const char *key)
{
	struct json_object *value;

	if (reader->err || !json_object_object_get_ex(object, key, &value) || !value)
		return NULL;
	return mt_json_string(reader, object, key);
}

struct json_object *mt_json_object(struct mt_json_reader *reader, struct json_object *object,
				   const char *key)
{
	return get(reader, object, key, json_type_object);
}

struct json_object *mt_json_array(struct mt_json_reader *reader, struct json_object *object,
				  const char *key, size_t *count)
{
	struct json_object *array = get(reader, object, key, json_type_array);

	*count = array ? json_object_array_length(array) : 0;
	return array;
}

struct json_object *mt_json_element(struct mt_json_reader *reader, struct json_object *array,
				    size_t index, const char *key)
{
	struct json_object *element;

	if (reader->err)
		return NULL;
	element = json_object_array_get_idx(array, index);
	if (!json_object_is_type(element, json_type_object)) {
		mt_json_fail(reader, -EBADMSG, "element %zu of \"%s\" is not an object", index,
			     key);
		return NULL;
	}
	return element;
}

char *mt_json_file_name(struct mt_json_reader *reader, struct json_object *object,
			const char *key, int optional)
{
	char *name = optional ? mt_json_optional_string(reader, object, key) :
				mt_json_string(reader, object, key);

	if (name && !mt_file_is_plain_name(name)) {
		mt_json_fail(reader, -EBADMSG, "\"%s\" is not the plain name of a file", key);
		free(name);
		return NULL;
	}
	return name;
}

int mt_json_add(struct json_object *object, const char *key, struct json_object *value)
{
	if (!value)
		return -ENOMEM;
	if (json_object_object_add(object, key, value)) {
		json_object_put(value);
		return -ENOMEM;
	}
	return 0;
}

int mt_json_add_hex(struct json_object *object, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return mt_json_add_string(object, key, text);
}

int mt_json_add_number(struct json_object *object, const char *key, uint64_t value)
{
	return mt_json_add(object, key, json_object_new_uint64(value));
}

int mt_json_add_string(struct json_object *object, const char *key, const char *value)
{
	return mt_json_add(object, key, json_object_new_string(value));
}

int mt_json_store(struct json_object *object, int dirfd, const char *name, const char *path)
{
	char part[64];
	const char *text;
	size_t len;
	int fd, err;

	text = json_object_to_json_string_length(object, JSON_C_TO_STRING_PRETTY |
						 JSON_C_TO_STRING_SPACED |
						 JSON_C_TO_STRING_NOSLASHESCAPE, &len);
	if (!text) {
		mt_error("%s: out of memory", path);
		return -ENOMEM;
	}
	snprintf(part, sizeof(part), "%s.part", name);
	fd = openat(dirfd, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0) {
		err = -errno;
		goto fail;
	}
	err = mt_file_write(fd, text, len);
	if (!err)
		err = mt_file_write(fd, "\n", 1);
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(dirfd, part, dirfd, name))
		err = -errno;
	if (!err)
		return 0;
	unlinkat(dirfd, part, 0);
fail:
	mt_error("%s: cannot be written: %s", path, strerror(-err));
	return err;
}
